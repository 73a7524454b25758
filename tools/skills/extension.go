package skills

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// This file has the skills as MCP's skills extension serves them: each file is a resource, and a directory lists its
// files. The server makes the digests.

// SkillURIs lists the URIs of the skills that the caller sees.
func (l *Library) SkillURIs(ctx context.Context) (list []string, err error) {
	prompts, err := l.Prompts(ctx)
	for _, p := range prompts {
		list = append(list, URI(p.Name))
	}
	return list, err
}

// fileURI returns the URI of a file or a directory of a skill; "" is the directory of the skill.
func fileURI(slug, file string) string {
	uri := Scheme + slug
	for step := range strings.SplitSeq(file, "/") {
		if step != "" {
			uri += "/" + url.PathEscape(step)
		}
	}
	return uri
}

// listFiles returns the skill with a name and its files, SKILL.md first.
func (l *Library) listFiles(ctx context.Context, slug string) (i item, files []skill.File, err error) {
	if i, err = l.find(ctx, slug, 0); err != nil {
		return i, nil, err
	}
	if i.slug != slug || i.problem != "" {
		return i, nil, tool.Errorf(tool.NotFound, "there is no skill %q", slug)
	}
	files, more := i.version.Files, false
	if i.directory != nil {
		if files, more, err = i.directory.files(ctx, slug); err != nil && ctx.Err() != nil {
			return i, nil, context.Cause(ctx)
		}
	}
	if more || err != nil {
		return i, nil, tool.Errorf(tool.TooLarge, "skill %s has too many files, or some that cannot be listed", slug).
			Because(err).Try("use it with use_skill")
	}
	all := []skill.File{{Path: skill.Main}}
	for _, f := range files {
		if f.Path != skill.Main {
			all = append(all, f)
		}
	}
	return i, all, nil
}

// maxServed is the maximum size of all files of a skill that [Library.SkillFiles] reads.
const maxServed = 16 << 20

// SkillFiles returns all files of a skill by the URI of its SKILL.md, as [Library.Resource] returns each.
func (l *Library) SkillFiles(ctx context.Context, uri string) (parts []tool.Part, err error) {
	slug := strings.TrimSuffix(strings.TrimPrefix(uri, Scheme), "/"+skill.Main)
	if uri != URI(slug) || !skill.ValidSlug(slug) {
		return nil, tool.Errorf(tool.NotFound, "%.200q is not the %s of a skill", uri, skill.Main)
	}
	i, files, err := l.listFiles(ctx, slug)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, f := range files {
		if !isLocal(f.Path) {
			return nil, tool.Errorf(tool.Invalid, "skill %s has a file whose name cannot be in a URI: %.200q", slug, f.Path).
				Try("rename it")
		}
		part, err := l.resource(ctx, i, f.Path, fileURI(slug, f.Path))
		if known := tool.AsError(err); err != nil && known.Kind == tool.NotFound {
			err = tool.Errorf(tool.Invalid, "%s", known.What)
		}
		if err != nil {
			return nil, err
		}
		if total += len(part.Text) + len(part.Data); total > maxServed {
			return nil, tool.Errorf(tool.TooLarge, "skill %s has more than %d bytes", slug, maxServed)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// SkillDirectory lists the files and directories in a directory of a skill.
func (l *Library) SkillDirectory(ctx context.Context, uri string) (list []tool.Resource, err error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	slug, given, below := strings.Cut(rest, "/")
	dir, err := url.PathUnescape(given)
	if !ok || err != nil || !skill.ValidSlug(slug) || below && !isLocal(dir) || fileURI(slug, dir) != uri {
		return nil, tool.Errorf(tool.NotFound, "%.200q is not a directory of a skill", uri)
	}
	i, files, err := l.listFiles(ctx, slug)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range files {
		name := f.Path
		if dir != "" {
			if name, ok = strings.CutPrefix(f.Path, dir+"/"); !ok {
				continue
			}
		}
		name, _, deeper := strings.Cut(name, "/")
		at := path.Join(dir, name)
		if seen[at] || !isLocal(at) {
			continue
		}
		seen[at] = true
		r := tool.Resource{URI: fileURI(slug, at), Name: tool.Visible(name)}
		switch {
		case deeper:
			r.MIME = "inode/directory"
		case isMarkdown(at):
			r.MIME = "text/markdown"
		}
		if at == skill.Main {
			r.Name, r.Description = slug, i.meta.Description
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, tool.Errorf(tool.NotFound, "skill %s has no directory %.200q", slug, dir)
	}
	return list, nil
}
