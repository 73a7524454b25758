package skills

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// Served are the files of published skills, as a part of the caller's
// workspace: skills/NAME@VERSION/FILE. No skill of the workspace can have such
// a name. They are read, and listed version by version, so that searches of the
// workspace do not go through all skills that there are.
type Served struct{ rows Rows }

// NewServed gives access to the files of published skills.
func NewServed(rows Rows) Served { return Served{rows} }

func servedDir(slug string, number int64) string {
	return "skills/" + slug + "@" + strconv.FormatInt(number, 10)
}

// parseServed takes the name of a served file apart.
func parseServed(name string) (slug string, number int64, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, "skills/")
	if !ok {
		return "", 0, "", false
	}
	dir, file, hasFile := strings.Cut(rest, "/")
	slug, text, at := strings.Cut(dir, "@")
	number, err := strconv.ParseInt(text, 10, 64)
	ok = at && err == nil && number > 0 && number < mostVersion && skill.ValidSlug(slug) && servedDir(slug, number) == "skills/"+dir
	return slug, number, file, ok && (!hasFile || file != "" && path.Clean(file) == file)
}

// Serves reports whether a name of the workspace is one of a published skill.
func (Served) Serves(_ context.Context, name string) bool {
	_, _, _, ok := parseServed(name)
	return ok
}

// Read returns a file. Without one the error wraps [fs.ErrNotExist].
func (s Served) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	none := &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	slug, number, file, ok := parseServed(name)
	if !ok || file == "" {
		return nil, time.Time{}, none
	}
	o, err := owner(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	row, err := s.rows.Find(ctx, o, slug, number)
	if errors.Is(err, skill.ErrNone) {
		return nil, time.Time{}, none
	}
	if err != nil {
		return nil, time.Time{}, gone(err)
	}
	for _, f := range row.Files {
		if f.Path == file {
			data, err := s.rows.Blob(ctx, row.Owner, f.Digest)
			if err != nil {
				return nil, time.Time{}, gone(err)
			}
			return data, time.UnixMilli(row.Created), nil
		}
	}
	return nil, time.Time{}, none
}

// A ServedFile is one file in a list.
type ServedFile struct {
	Name     string
	Size     int64
	Modified time.Time
}

// List returns the files of the version that dir is, or is in; directories above
// have none.
func (s Served) List(ctx context.Context, dir string) ([]ServedFile, error) {
	slug, number, _, ok := parseServed(dir)
	o, err := owner(ctx)
	if err != nil || !ok {
		return nil, nil // nobody has no files
	}
	row, err := s.rows.Find(ctx, o, slug, number)
	if errors.Is(err, skill.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, gone(err)
	}
	list := make([]ServedFile, len(row.Files))
	for i, f := range row.Files {
		list[i] = ServedFile{servedDir(slug, number) + "/" + f.Path, f.Size, time.UnixMilli(row.Created)}
	}
	return list, nil
}

// Write refuses: versions never change.
func (Served) Write(_ context.Context, name string, _ []byte) error { return unchanging(name) }

// Remove refuses likewise.
func (Served) Remove(_ context.Context, name string) error { return unchanging(name) }

func unchanging(name string) error {
	slug, _, _, _ := parseServed(name)
	return tool.Errorf(tool.Refused, "a published version of %s never changes", slug).
		Try("get a copy with copy_skill, change that, and publish it with publish_skill")
}
