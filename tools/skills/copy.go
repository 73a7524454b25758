package skills

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// copySkill is the tool that writes the files of a skill into the workspace.
type copySkill struct{ library *Library }

type copySkillArgs struct {
	Name    string `json:"name" jsonschema:"name of the skill" alias:"skill,skill_name,slug"`
	Path    string `json:"path,omitempty" jsonschema:"directory to write to, default skills/NAME" alias:"to,dir,directory,destination"`
	Version int64  `json:"version,omitempty" jsonschema:"published version number"`
}

func (copySkill) Spec() tool.Spec {
	return tool.Spec{
		Name: "copy_skill", Group: group, Title: "Copy skill", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc: `Copies a skill to the workspace, to run or change its files. Fails if a file there differs.
To only read instructions use use_skill.`,
		Also:     []string{"install_skill", "skill_install"},
		Keywords: "install checkout unpack edit scripts of a skill into my project",
	}
}

func (t copySkill) Do(ctx context.Context, a copySkillArgs) (tool.Result, error) {
	c, err := t.library.Copy(ctx, skillName(a.Name), a.Version, a.Path)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(c.format()), nil
}

// Copied is the result of [Library.Copy].
type Copied struct {
	Name  string
	Dir   string
	Files int
	Bytes int64
	Same  int // files that existed with the same content
}

func (c Copied) format() string {
	formatted := fmt.Sprintf("copied %s to %s: %s, %s",
		c.Name, tool.Visible(c.Dir), text.Plural(c.Files, "file"), formatSize(c.Bytes))
	if c.Same > 0 {
		formatted += fmt.Sprintf("; %d existed already", c.Same)
	}
	return formatted
}

// Copy writes the files of a skill to a directory of the workspace, all or none; "" is skills/NAME. It does not
// overwrite files that differ.
func (l *Library) Copy(ctx context.Context, name string, version int64, dir string) (c Copied, err error) {
	i, err := l.find(ctx, name, version)
	if err != nil {
		return c, err
	}
	if l.o.Files == nil {
		return c, noFiles()
	}
	if dir = strings.TrimSpace(dir); dir == "" {
		dir = path.Join("skills", i.slug)
	}
	files, err := l.contents(ctx, i)
	if err != nil {
		return c, err
	}
	c = Copied{Name: i.slug, Dir: path.Clean(dir), Files: len(files)}
	paths := make([]string, len(files))
	for n, f := range files {
		paths[n] = path.Join(dir, f.Path)
		c.Bytes += f.Size
	}
	_, err = l.o.Files.Change(ctx, paths, func(existing []*workspace.File) (changes []workspace.Change, err error) {
		for n, f := range files {
			if !existing[n].Exists {
				changes = append(changes, workspace.Change{Path: paths[n], Content: bytes.NewReader(f.Data)})
				continue
			}
			now, err := readAll(io.NewSectionReader(existing[n], 0, skill.MaxFile+1), skill.MaxFile)
			if err != nil || !bytes.Equal(now, f.Data) {
				return nil, tool.Errorf(tool.Conflict, "%q exists and differs", paths[n]).
					Try("copy to another path, or remove that directory")
			}
			c.Same++
		}
		return changes, nil
	})
	return c, err
}

func noFiles() error {
	return tool.Errorf(tool.Unavailable, "this caller has no workspace").
		Try("ask the operator to start the server with --workspace DIR")
}

// contents returns all files of a skill.
func (l *Library) contents(ctx context.Context, i item) (files []skill.Content, err error) {
	const advice = "copy what you need with the file tools"
	list := i.version.Files
	if i.directory != nil {
		more := false
		if list, more, err = i.directory.files(ctx, i.slug); err != nil {
			return nil, unusable(i.slug, err)
		}
		if more {
			return nil, tool.Errorf(tool.TooLarge, "skill %s has more than %d files", i.slug, skill.MaxFiles).
				Try(advice)
		}
		list = append([]skill.File{{Path: skill.Main}}, list...)
	}
	var total int64
	for _, f := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		data, err := l.read(ctx, i, f.Path, skill.MaxFile)
		if err != nil {
			return nil, tool.Errorf(tool.Unavailable, "%q of skill %s cannot be read", f.Path, i.slug).Because(err).
				Try(advice)
		}
		if total += int64(len(data)); total > skill.MaxBytes {
			return nil, tool.Errorf(tool.TooLarge, "skill %s has more than %d bytes", i.slug, skill.MaxBytes).
				Try(advice)
		}
		f.Size = int64(len(data))
		files = append(files, skill.Content{File: f, Data: data})
	}
	return files, nil
}
