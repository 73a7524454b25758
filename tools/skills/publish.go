package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// publishSkill is the tool that stores a directory as a skill.
type publishSkill struct{ library *Library }

type publishSkillArgs struct {
	Path   string `json:"path" jsonschema:"directory with SKILL.md: front matter with name and description, then instructions" alias:"dir,directory,skill_path"`
	Accept bool   `json:"accept_warnings,omitempty" jsonschema:"publish despite warnings" alias:"acknowledge,force"`
}

func (publishSkill) Spec() tool.Spec {
	return tool.Spec{
		Name: "publish_skill", Group: group, Title: "Publish skill",
		Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc: `Stores a workspace directory as a new version of a skill, for this user in all workspaces.
Returns the version, and warnings about dangerous content.`,
		Also:     []string{"skill_publish", "save_skill", "tool::publish_skill"},
		Keywords: "save share version SKILL.md create make turn folder directory into a skill teach",
	}
}

func (t publishSkill) Do(ctx context.Context, a publishSkillArgs) (tool.Result, error) {
	p, err := t.library.Publish(ctx, a.Path, a.Accept)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(p.format()), nil
}

// Published is the result of [Library.Publish].
type Published struct {
	Name      string
	Title     string // the name in its SKILL.md; it may differ
	Version   int64
	Files     int
	Bytes     int64
	Same      bool   // the latest version has the same files
	Preceding string // source of a skill of this name with higher precedence, "" for none
	Findings  []skill.Finding
	LeftOut   []string // paths that were not published
}

func (p Published) format() string {
	var b strings.Builder
	if p.Same {
		fmt.Fprintf(&b, "nothing changed: %s has these files already, as version %d", p.Name, p.Version)
	} else {
		fmt.Fprintf(&b, "published %s, version %d: %s, %s",
			p.Name, p.Version, text.Plural(p.Files, "file"), formatSize(p.Bytes))
	}
	if p.Title != "" && p.Title != p.Name {
		fmt.Fprintf(&b, "\n[%q has the name %s here]", text.Clip(oneLine(p.Title), 200), p.Name)
	}
	if len(p.LeftOut) > 0 {
		fmt.Fprintf(&b, "\n[left out: %s]", text.Clip(oneLine(strings.Join(p.LeftOut, ", ")), 400))
	}
	if p.Preceding != "" {
		fmt.Fprintf(&b, "\n[the skill of this name in %s has precedence; to use this one send version %d]",
			oneLine(p.Preceding), p.Version)
	}
	if len(p.Findings) > 0 {
		b.WriteString("\n[published with these warnings, which are shown to its users]\n" + formatFindings(p.Findings))
	}
	return b.String()
}

// Publish stores a directory of the workspace as the next version of a skill of the caller. If the guard finds
// something, accept must be set.
func (l *Library) Publish(ctx context.Context, dir string, accept bool) (p Published, err error) {
	o, err := publisher(ctx)
	if err != nil {
		return p, err
	}
	if l.o.Files == nil {
		return p, noFiles()
	}
	files, leftOut, err := l.gather(ctx, dir)
	if err != nil {
		return p, err
	}
	d, err := skill.Pack(ctx, files, l.guard())
	if err != nil {
		return p, err
	}
	p, err = l.publish(ctx, o, d, accept)
	p.LeftOut = leftOut
	return p, err
}

// publisher returns the owner for skills that the caller publishes.
func publisher(ctx context.Context) (tool.Owner, error) {
	o, err := tool.OwnerFrom(ctx)
	if err == nil && o.User == "" {
		err = tool.Errorf(tool.Refused, "a call without a user cannot publish skills").
			Try("keep the skill in the directory skills of the workspace")
	}
	return o, err
}

// publish stores a draft as the next version of a skill of the caller.
func (l *Library) publish(ctx context.Context, o tool.Owner, d skill.Draft, accept bool) (p Published, err error) {
	if len(d.Findings) > 0 && !accept {
		return p, notAccepted(d.Findings)
	}
	caller := tool.CallerFrom(ctx)
	d.Owner, d.Author, d.Session = o, caller.Principal(), caller.Session
	v, isNew, err := l.store(ctx, d)
	if err != nil {
		return p, err
	}
	p = Published{
		Name: v.Slug, Title: v.Meta.Name, Version: v.Number, Files: len(v.Files), Bytes: v.Size, Same: !isNew,
		Findings: v.Findings,
	}
	if i, err := l.find(ctx, v.Slug, 0); err == nil && i.directory != nil {
		p.Preceding = i.directory.label()
	}
	return p, nil
}

func (l *Library) store(ctx context.Context, d skill.Draft) (Version, bool, error) {
	v, isNew, err := l.rows.publish(ctx, d)
	if errors.Is(err, errTooMany) {
		return v, false, tool.Errorf(tool.TooLarge, "%w", err).Try("ask the operator to remove some")
	}
	if err != nil {
		return v, false, unavailable(err)
	}
	return v, isNew, nil
}

func notAccepted(list []skill.Finding) error {
	const maxShown = 8
	var lines []string
	for _, f := range list[:min(maxShown, len(list))] {
		lines = append(lines, f.String())
	}
	found := strings.Join(lines, "; ")
	if len(list) > maxShown {
		found += "; and more"
	}
	return tool.Errorf(tool.Refused, "the security check found: %s", tool.Visible(found)).
		Try("remove that or, if it is needed, publish with accept_warnings: the warnings are shown with the skill")
}

// gather reads the files of a directory through the caller's own files.
func (l *Library) gather(ctx context.Context, dir string) (files []skill.Content, leftOut []string, err error) {
	dir = strings.TrimSpace(dir)
	if base := path.Base(dir); base == skill.Main {
		dir = path.Dir(dir)
	}
	if dir == "" {
		return nil, nil, tool.Errorf(tool.Invalid, "path is empty").
			Try("send the path of a directory with a %s", skill.Main)
	}
	q := workspace.ListQuery{Path: dir, Depth: 10, Limit: 5 * skill.MaxFiles, Ignored: true}
	list, err := l.o.Files.List(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if list.More > 0 {
		return nil, nil, tool.Errorf(tool.TooLarge, "%q has many more than %d files", dir, skill.MaxFiles).
			Try("send the path of a directory that has only the skill")
	}
	if len(list.Unlisted) > 0 {
		return nil, nil, tool.Errorf(tool.Unavailable, "%q cannot be read", list.Unlisted[0]).Try("remove it")
	}
	names, leftOut, err := selectFiles(list.Entries)
	if err != nil {
		return nil, nil, err
	}
	var total int64
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		data, err := readFile(ctx, l.o.Files, path.Join(dir, name), skill.MaxFile)
		if errors.Is(err, errTooLong) {
			return nil, nil, tool.Errorf(tool.TooLarge, "%q has more than %d bytes", name, skill.MaxFile).
				Try("remove it, or split it")
		}
		if err != nil {
			return nil, nil, err
		}
		if total += int64(len(data)); total > skill.MaxBytes {
			return nil, nil, tool.Errorf(tool.TooLarge, "a skill has at most %d bytes", skill.MaxBytes).
				Try("remove files that its instructions do not need")
		}
		files = append(files, skill.Content{File: skill.File{Path: name}, Data: data})
	}
	return files, leftOut, nil
}

// selectFiles returns the names of a skill's files and of the files left out, and refuses files that a skill
// cannot have.
func selectFiles(entries []workspace.Entry) (names, leftOut []string, err error) {
	for _, e := range entries {
		switch {
		case e.Mode.IsDir() && !skill.IsJunk(e.Name):
		case skill.IsJunk(e.Name):
			if !skill.IsJunk(path.Dir(e.Name)) {
				leftOut = append(leftOut, e.Name)
			}
		case e.Mode&fs.ModeSymlink != 0:
			return nil, nil, tool.Errorf(tool.Refused, "%q is a link, which a skill cannot have", e.Name).
				Try("replace it with the file itself")
		case !e.Mode.IsRegular():
			return nil, nil, tool.Errorf(tool.Refused, "%q is not a regular file", e.Name).Try("remove it")
		case len(names) == skill.MaxFiles:
			return nil, nil, tool.Errorf(tool.TooLarge, "a skill has at most %d files", skill.MaxFiles).
				Try("remove files that its instructions do not need")
		default:
			names = append(names, e.Name)
		}
	}
	return names, leftOut, nil
}

// Share copies the latest version of a user's skill to the skills of all users of the agent, and returns the shared
// version. It is for operators.
func (l *Library) Share(ctx context.Context, o tool.Owner, slug string) (Version, error) {
	v, err := l.rows.find(ctx, o, slug, 0)
	if errors.Is(err, errNotFound) || err == nil && v.Owner != o {
		return Version{}, notOwned(o, slug)
	}
	if err != nil {
		return Version{}, unavailable(err)
	}
	files, err := l.contents(ctx, item{slug: slug, version: v})
	if err != nil {
		return Version{}, err
	}
	shared, _, err := l.store(ctx, skill.Draft{
		Owner: o.Shared(), Slug: slug, Meta: v.Meta, Files: files, Findings: v.Findings,
		Author: v.Author, Session: v.Session,
	})
	return shared, err
}

// Remove removes a skill of an owner with all its versions. It is for operators.
func (l *Library) Remove(ctx context.Context, o tool.Owner, slug string) error {
	err := l.rows.remove(ctx, o, slug)
	if errors.Is(err, errNotFound) {
		return notOwned(o, slug)
	}
	return err
}

func notOwned(o tool.Owner, slug string) error {
	return tool.Errorf(tool.NotFound, "user %q of agent %q has no skill %q", o.User, o.Agent, slug).
		Try("list the user's skills")
}

// List returns the published skills that an owner sees. It is for operators.
func (l *Library) List(ctx context.Context, o tool.Owner) ([]Version, error) {
	list, _, err := l.rows.list(ctx, o)
	return slices.DeleteFunc(list, func(v Version) bool { return !l.o.Visible.to(o.Agent, v.Slug) }), err
}
