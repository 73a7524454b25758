package skills

import (
	"bytes"
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Publish keeps a directory of the workspace as the next version of a skill of
// the caller's own.
func (l *Library) Publish(ctx context.Context, dir string, accept bool) (p skills.Published, err error) {
	o, err := owner(ctx)
	if err != nil {
		return p, err
	}
	if o.User == "" {
		return p, tool.Errorf(tool.Refused, "without a user there is nobody to publish a skill for").
			Try("keep it in the directory skills of the workspace")
	}
	if l.o.Files == nil {
		return p, noFiles()
	}
	files, left, err := l.gather(ctx, dir)
	if err != nil {
		return p, err
	}
	d, err := skill.Pack(ctx, files, l.guard())
	if err != nil {
		return p, err
	}
	if len(d.Findings) > 0 && !accept {
		return p, warned(d.Findings)
	}
	c := tool.CallerFrom(ctx)
	d.Owner, d.Author, d.Session = o, c.Principal(), c.Session
	row, isNew, err := l.keep(ctx, d)
	if err != nil {
		return p, err
	}
	p = skills.Published{
		Name: row.Slug, Title: row.Meta.Name, Version: row.Number, Files: len(row.Files), Bytes: row.Size, Same: !isNew, Findings: row.Findings, Left: left, Needs: skill.Needs(d.Files),
	}
	if i, err := l.find(ctx, row.Slug, 0); err == nil && i.place != nil {
		p.Before = i.place.label()
	}
	return p, nil
}

func noFiles() error {
	return tool.Errorf(tool.Unavailable, "this caller has no files").Try("have the server started with --workspace DIR")
}

func (l *Library) keep(ctx context.Context, d skill.Draft) (skill.Row, bool, error) {
	row, isNew, err := l.o.Rows.Publish(ctx, d)
	if errors.Is(err, skill.ErrFull) {
		return row, false, tool.Errorf(tool.TooLarge, "%w", err).Try("ask the operator to remove some")
	}
	if err != nil {
		return row, false, gone(err)
	}
	return row, isNew, nil
}

func warned(list []skill.Finding) error {
	const most = 8
	var lines []string
	for _, f := range list[:min(most, len(list))] {
		lines = append(lines, f.String())
	}
	text := strings.Join(lines, "; ")
	if len(list) > most {
		text += "; and more"
	}
	return tool.Errorf(tool.Refused, "the skill has what wicked skills have: %s", tool.Visible(text)).
		Try("mend that, or where it has to be so, publish with accept_warnings: whoever uses the skill is shown the warnings")
}

// gather reads a directory through the caller's own files.
func (l *Library) gather(ctx context.Context, dir string) (files []skill.Content, left []string, err error) {
	dir = strings.TrimSpace(dir)
	if base := path.Base(dir); base == skill.Main {
		dir = path.Dir(dir)
	}
	if dir == "" {
		return nil, nil, tool.Errorf(tool.Invalid, "no directory was named").Try("send the path of one with a %s", skill.Main)
	}
	list, err := l.o.Files.List(ctx, workspace.ListQuery{Path: dir, Depth: 10, Limit: 5 * skill.MostFiles, Ignored: true})
	if err != nil {
		return nil, nil, err
	}
	if list.More > 0 {
		return nil, nil, tool.Errorf(tool.TooLarge, "a skill has at most %d files, and %q has many more", skill.MostFiles, dir).
			Try("name the directory of the skill alone")
	}
	if len(list.Unlisted) > 0 {
		return nil, nil, tool.Errorf(tool.Unavailable, "%q cannot be read", list.Unlisted[0]).Try("leave it out")
	}
	wanted, left, err := choose(list.Entries)
	if err != nil {
		return nil, nil, err
	}
	var total int64
	for _, name := range wanted {
		if err := ctx.Err(); err != nil {
			return nil, nil, context.Cause(ctx)
		}
		data, err := readFile(ctx, l.o.Files, path.Join(dir, name), skill.MostFile)
		if errors.Is(err, errLong) {
			return nil, nil, tool.Errorf(tool.TooLarge, "%q has more than %d bytes", name, skill.MostFile).Try("leave it out, or split it")
		}
		if err != nil {
			return nil, nil, err
		}
		if total += int64(len(data)); total > skill.MostBytes {
			return nil, nil, tool.Errorf(tool.TooLarge, "a skill has at most %d bytes", skill.MostBytes).
				Try("leave out what its instructions do not need")
		}
		files = append(files, skill.Content{File: skill.File{Path: name}, Data: data})
	}
	return files, left, nil
}

// choose tells the files of a skill from what is left out, and refuses what can
// be no file of a skill.
func choose(entries []workspace.Entry) (wanted, left []string, err error) {
	for _, e := range entries {
		switch {
		case e.Mode.IsDir() && !skill.Junk(e.Name):
		case skill.Junk(e.Name):
			if !skill.Junk(path.Dir(e.Name)) {
				left = append(left, e.Name)
			}
		case e.Mode&iofs.ModeSymlink != 0:
			return nil, nil, tool.Errorf(tool.Refused, "%q is a link, and skills have none", e.Name).Try("put the file itself in its place")
		case !e.Mode.IsRegular():
			return nil, nil, tool.Errorf(tool.Refused, "%q is no regular file", e.Name).Try("remove it")
		case len(wanted) == skill.MostFiles:
			return nil, nil, tool.Errorf(tool.TooLarge, "a skill has at most %d files", skill.MostFiles).
				Try("leave out what its instructions do not need")
		default:
			wanted = append(wanted, e.Name)
		}
	}
	return wanted, left, nil
}

// Copy writes the files of a skill to a directory of the workspace, all or
// none. Files that are there already and differ are not overwritten.
func (l *Library) Copy(ctx context.Context, name string, version int64, dir string) (c skills.Copied, err error) {
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
	c = skills.Copied{Name: i.slug, Dir: path.Clean(dir), Files: len(files)}
	paths := make([]string, len(files))
	for n, f := range files {
		paths[n] = path.Join(dir, f.Path)
		c.Bytes += f.Size
	}
	_, err = l.o.Files.Change(ctx, paths, func(there []*workspace.File) (changes []workspace.Change, err error) {
		for n, f := range files {
			if !there[n].Exists {
				changes = append(changes, workspace.Change{Path: paths[n], Content: bytes.NewReader(f.Data)})
				continue
			}
			now, err := readAll(io.NewSectionReader(there[n], 0, skill.MostFile+1), skill.MostFile)
			if err != nil || !bytes.Equal(now, f.Data) {
				return nil, tool.Errorf(tool.Conflict, "%q is there already and differs", paths[n]).
					Try("copy to another path, or remove that directory")
			}
			c.Kept++
		}
		return changes, nil
	})
	return c, err
}

// contents are all files of a skill.
func (l *Library) contents(ctx context.Context, i item) (files []skill.Content, err error) {
	list := i.row.Files
	if i.place != nil {
		more := false
		if list, more, err = i.place.files(ctx, i.slug); err != nil {
			return nil, cannot(i.slug, err)
		}
		if more {
			return nil, tool.Errorf(tool.TooLarge, "skill %s has more than %d files", i.slug, skill.MostFiles).Try("copy what you need with the file tools")
		}
		list = append([]skill.File{{Path: skill.Main}}, list...)
	}
	var total int64
	for _, f := range list {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		data, err := l.read(ctx, i, f.Path, skill.MostFile)
		if err != nil {
			return nil, tool.Errorf(tool.Unavailable, "%q of skill %s cannot be read", f.Path, i.slug).Because(err).Try("copy the rest with the file tools")
		}
		if total += int64(len(data)); total > skill.MostBytes {
			return nil, tool.Errorf(tool.TooLarge, "skill %s has more than %d bytes", i.slug, skill.MostBytes).Try("copy what you need with the file tools")
		}
		f.Size = int64(len(data))
		files = append(files, skill.Content{File: f, Data: data})
	}
	return files, nil
}
