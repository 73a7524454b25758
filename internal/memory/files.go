package memory

import (
	"context"
	"io/fs"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Files is the memory as the file tools see it: MEMORY.md, memory.md and what
// is beneath memory/, with the names that they have in a workspace.
type Files struct{ m *Memory }

// Files makes the file tools' view.
func (m *Memory) Files() Files { return Files{m} }

// A File is one document in a list.
type File struct {
	Name     string
	Size     int64
	Modified time.Time
}

const mostListed = 20_000

// Serves reports whether a name is that of a memory, for a caller who has one.
func (Files) Serves(ctx context.Context, name string) bool {
	if !IsPath(name) { // which is so of nearly all that a search goes through
		return false
	}
	_, _, err := who(ctx)
	return err == nil
}

// Read returns the caller's document, or else the shared one. Without one the
// error wraps fs.ErrNotExist.
func (f Files) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	o, _, err := who(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	if path, err := pathOf(name); err != nil || path != name {
		return nil, time.Time{}, absent("read", name)
	}
	d, found, err := f.m.o.Rows.Memory(ctx, o, name)
	if err == nil && !found {
		err = absent("read", name)
	}
	return []byte(d.Text), d.Updated, err
}

func absent(what, name string) error {
	return &fs.PathError{Op: what, Path: name, Err: fs.ErrNotExist}
}

// Write makes a document of the caller's own what it says. Category, tags and
// expiry stay.
func (f Files) Write(ctx context.Context, name string, content []byte) error {
	o, by, err := who(ctx)
	if err != nil {
		return err
	}
	path, err := pathOf(name)
	if err != nil {
		return err
	}
	if path != name {
		return tool.Errorf(tool.Invalid, "%q cannot be the name of a memory", name).Try("call it %q, or keep the file elsewhere in the workspace", path)
	}
	text := string(content)
	if err := checkText(path, text); err != nil {
		return err
	}
	_, _, err = f.m.o.Rows.PutMemory(ctx, memory.Change{Owner: o, Path: path, Text: text, Digest: digest(text), By: by})
	return err
}

// Remove forgets a document of the caller's own.
func (f Files) Remove(ctx context.Context, name string) error {
	o, by, err := who(ctx)
	if err != nil {
		return err
	}
	if path, err := pathOf(name); err != nil || path != name {
		return absent("remove", name)
	}
	_, found, err := f.m.o.Rows.DropMemory(ctx, o, name, by)
	if err != nil || found {
		return err
	}
	if _, found, err = f.m.o.Rows.Memory(ctx, o, name); err == nil && found {
		return tool.Errorf(tool.Refused, "%q is shared by all users of the agent", name).Try("write a version of your own, which then counts for you")
	}
	if err == nil {
		err = absent("remove", name)
	}
	return err
}

// List returns all documents that the caller reads, if some can be in a
// directory.
func (f Files) List(ctx context.Context, in string) ([]File, error) {
	o, _, err := who(ctx)
	if err != nil || in != "." && in+"/" != dir && !IsPath(in) {
		return nil, nil // nobody has no files, nor has any other directory
	}
	list, err := f.m.o.Rows.Memories(ctx, o, mostListed)
	files := make([]File, len(list))
	for i, e := range list {
		files[i] = File{Name: e.Path, Size: e.Size, Modified: e.Updated}
	}
	return files, err
}
