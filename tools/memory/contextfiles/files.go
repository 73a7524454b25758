package contextfiles

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Serves reports whether a name is the name of a context file and the caller has an agent. With
// Read, Write, Remove and List it makes Files a [workspace.Source].
func (*Files) Serves(ctx context.Context, name string) bool {
	return Is(name) && tool.CallerFrom(ctx).Agent != ""
}

// Note says that the file is not on the disk.
func (*Files) Note() string { return "kept for the agent, not as a file: commands do not see it" }

// Read returns the copy that the caller reads. Without one the error wraps [fs.ErrNotExist].
func (f *Files) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	file, err := f.Get(ctx, name)
	return []byte(file.Text), file.Modified, err
}

// Get is Read with all that is known of the copy.
func (f *Files) Get(ctx context.Context, name string) (File, error) {
	r, err := f.reader(ctx)
	if err != nil {
		return File{}, err
	}
	if !Is(name) {
		return File{}, notExist("read", name)
	}
	found, err := f.find(ctx, r, name)
	if err != nil {
		return File{}, err
	}
	file, has := found[name]
	if !has {
		return File{}, notExist("read", name)
	}
	return file, nil
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Write changes the copy that the caller may change. An empty BOOTSTRAP.md ends the first conversation.
func (f *Files) Write(ctx context.Context, name string, content []byte) error {
	r, err := f.reader(ctx)
	if err != nil {
		return err
	}
	o, err := r.target(name)
	if err != nil {
		return err
	}
	if endsBootstrap(name, string(content)) {
		return f.endBootstrap(ctx, r, o)
	}
	return f.put(ctx, o, r.author, name, string(content))
}

// Remove removes the copy that the caller may change; the copy of the next level is read then. Removing
// BOOTSTRAP.md ends the first conversation.
func (f *Files) Remove(ctx context.Context, name string) error {
	r, err := f.reader(ctx)
	if err != nil {
		return err
	}
	if !Is(name) {
		return notExist("remove", name)
	}
	o, err := r.target(name)
	if err != nil {
		return err
	}
	shown, err := f.find(ctx, r, name)
	if err != nil {
		return err
	}
	_, has := shown[name]
	if has && name == Bootstrap {
		return f.endBootstrap(ctx, r, o)
	}
	_, found, err := f.rows.Drop(ctx, o, name, r.author)
	if err != nil || found {
		return err
	}
	if has {
		return tool.Errorf(tool.Refused, "%q is shared by all users of the agent", name).
			Try("write a version of your own; it replaces the shared one for you")
	}
	return notExist("remove", name)
}

// List returns the files that the caller reads. All of them are in the workspace itself. Without the store it
// returns none, since the files on disk can still be listed; the store has logged the error.
func (f *Files) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	r, err := f.reader(ctx)
	if err != nil || dir != "." && !Is(dir) {
		return nil, nil
	}
	found, err := f.find(ctx, r, Names()...)
	if err != nil {
		return nil, ctx.Err()
	}
	var files []workspace.SourceEntry
	for _, file := range found {
		files = append(files, workspace.SourceEntry{Name: file.Name, Size: int64(len(file.Text)),
			Modified: file.Modified})
	}
	slices.SortStableFunc(files, func(a, b workspace.SourceEntry) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
