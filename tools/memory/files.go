package memory

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Files is a [workspace.Source] of memories: MEMORY.md, memory.md and the Markdown files below memory/.
type Files struct{ m *Memory }

// Files returns the memories as files of the workspace.
func (m *Memory) Files() Files { return Files{m} }

const maxListed = 20_000

// Serves reports whether a name is the name of a memory and the caller has an agent. Without an
// agent these are ordinary files, and memories are reached with the memory tools only.
func (Files) Serves(ctx context.Context, name string) bool {
	if !IsPath(name) { // true for nearly all names that a search asks for
		return false
	}
	path, err := pathOf(name)
	return err == nil && path == name && tool.CallerFrom(ctx).Agent != ""
}

// Note says that the file is not on the disk.
func (Files) Note() string { return "kept as a memory, not as a file: commands do not see it" }

// Read returns the caller's document, otherwise the shared one. Without one the error wraps fs.ErrNotExist.
func (f Files) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	if path, err := pathOf(name); err != nil || path != name {
		return nil, time.Time{}, notExist("read", name)
	}
	d, found, err := f.m.o.Rows.Get(ctx, o, name)
	if err == nil && !found {
		err = notExist("read", name)
	}
	return []byte(d.Text), d.Updated, err
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Write writes a document of the caller's own. Category, tags and expiry stay.
func (f Files) Write(ctx context.Context, name string, content []byte) error {
	o, by, err := caller(ctx)
	if err != nil {
		return err
	}
	path, err := pathOf(name)
	if err != nil {
		return err
	}
	if path != name {
		return tool.Errorf(tool.Invalid, "%q cannot be the name of a memory", name).
			Try("call it %q, or keep the file elsewhere in the workspace", path)
	}
	text := string(content)
	if err := checkText(path, text); err != nil {
		return err
	}
	_, _, err = f.m.o.Rows.Put(ctx, Change{Owner: o, Path: path, Text: text, Digest: digestOfWords(text), By: by})
	return err
}

// Remove removes a document of the caller's own.
func (f Files) Remove(ctx context.Context, name string) error {
	o, by, err := caller(ctx)
	if err != nil {
		return err
	}
	if path, err := pathOf(name); err != nil || path != name {
		return notExist("remove", name)
	}
	_, found, err := f.m.o.Rows.Drop(ctx, o, name, by)
	if err != nil || found {
		return err
	}
	if _, found, err = f.m.o.Rows.Get(ctx, o, name); err == nil && found {
		return tool.Errorf(tool.Refused, "%q is shared by all users of the agent", name).
			Try("write a version of your own; it replaces the shared one for you")
	}
	if err == nil {
		err = notExist("remove", name)
	}
	return err
}

// List returns the documents that the caller reads, if some can be in a directory.
func (f Files) List(ctx context.Context, in string) ([]workspace.SourceEntry, error) {
	if tool.CallerFrom(ctx).Agent == "" || in != "." && !strings.HasPrefix(in+"/", dir) && !IsPath(in) {
		return nil, nil
	}
	entries, err := f.m.entries(ctx)
	files := make([]workspace.SourceEntry, len(entries))
	for i, e := range entries {
		files[i] = workspace.SourceEntry{Name: e.Path, Size: e.Size, Modified: e.Updated}
	}
	return files, err
}

// entries lists the documents that the caller reads. Without the store it returns none, since the files on disk can
// still be listed; the store has logged the error.
func (m *Memory) entries(ctx context.Context) ([]Entry, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return nil, nil
	}
	entries, err := m.o.Rows.List(ctx, o, maxListed)
	if err != nil {
		return nil, ctx.Err()
	}
	return entries, nil
}
