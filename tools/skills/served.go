package skills

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Served has the files of published skills as a part of the caller's workspace: skills/NAME@VERSION/FILE. No skill of
// the workspace can have such a name. It is a [workspace.Source]. Directories above a version do not list it, so that
// searches of the workspace do not read all skills.
type Served struct {
	rows    rows
	visible Visible
}

// NewServed returns the files of the published skills in a store.
func NewServed(s *store.Store, visible Visible) Served {
	return Served{rows{s, func() bool { return false }}, visible}
}

func servedDir(slug string, number int64) string {
	return "skills/" + slug + "@" + strconv.FormatInt(number, 10)
}

// parseServed splits the name of a served file. The file is "" for the directory of a version.
func parseServed(name string) (slug string, number int64, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, "skills/")
	if !ok {
		return "", 0, "", false
	}
	dir, file, hasFile := strings.Cut(rest, "/")
	slug, digits, hasVersion := strings.Cut(dir, "@")
	number, err := strconv.ParseInt(digits, 10, 64)
	valid := hasVersion && err == nil && number > 0 && number < maxVersion && skill.ValidSlug(slug)
	ok = valid && servedDir(slug, number) == "skills/"+dir && (!hasFile || file != "" && path.Clean(file) == file)
	return slug, number, file, ok
}

// Serves reports whether a name of the workspace is the name of a file of a published skill.
func (Served) Serves(_ context.Context, name string) bool {
	_, _, _, ok := parseServed(name)
	return ok
}

// Read returns a file. The error about a missing one wraps [fs.ErrNotExist].
func (s Served) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	missing := &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	slug, number, file, ok := parseServed(name)
	if !ok || file == "" {
		return nil, time.Time{}, missing
	}
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	v, err := s.rows.find(ctx, o, slug, number)
	if errors.Is(err, errNotFound) || !s.visible.to(o.Agent, slug) {
		return nil, time.Time{}, missing
	}
	if err != nil {
		return nil, time.Time{}, unavailable(err)
	}
	for _, f := range v.Files {
		if f.Path == file {
			data, err := s.rows.blob(ctx, v.Owner, f.Digest)
			if err != nil {
				return nil, time.Time{}, unavailable(err)
			}
			return data, time.UnixMilli(v.Created), nil
		}
	}
	return nil, time.Time{}, missing
}

// List returns the files of the version that contains dir. It returns none for directories above a version, and for
// calls without a caller.
func (s Served) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	slug, number, _, ok := parseServed(dir)
	o, err := tool.OwnerFrom(ctx)
	if err != nil || !ok {
		return nil, nil
	}
	v, err := s.rows.find(ctx, o, slug, number)
	if errors.Is(err, errNotFound) || !s.visible.to(o.Agent, slug) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	list := make([]workspace.SourceEntry, len(v.Files))
	for i, f := range v.Files {
		list[i] = workspace.SourceEntry{
			Name: servedDir(slug, number) + "/" + f.Path, Size: f.Size, Modified: time.UnixMilli(v.Created),
		}
	}
	return list, nil
}

// Note returns nothing, since nothing is written.
func (Served) Note() string { return "" }

// Write refuses, because versions never change.
func (Served) Write(_ context.Context, name string, _ []byte) error { return immutable(name) }

// Remove refuses, because versions never change.
func (Served) Remove(_ context.Context, name string) error { return immutable(name) }

func immutable(name string) error {
	slug, _, _, _ := parseServed(name)
	return tool.Errorf(tool.Refused, "published versions of %s cannot be changed", slug).
		Try("copy it with copy_skill, change the copy, and publish that with publish_skill")
}
