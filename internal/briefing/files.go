package briefing

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A File is one document in a list.
type File struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Serves reports whether a name is that of a document, for a caller who has an
// agent.
func (*Briefing) Serves(ctx context.Context, name string) bool {
	return Is(name) && tool.CallerFrom(ctx).Agent != ""
}

// Read returns the copy that counts for the caller. Without one the error wraps
// [fs.ErrNotExist].
func (b *Briefing) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	d, err := b.Get(ctx, name)
	return []byte(d.Text), d.Modified, err
}

// Get is Read with all that is known of the copy.
func (b *Briefing) Get(ctx context.Context, name string) (Document, error) {
	r, err := b.reader(ctx)
	if err != nil {
		return Document{}, err
	}
	if !Is(name) {
		return Document{}, absent("read", name)
	}
	found, err := b.look(ctx, r, name)
	if err != nil {
		return Document{}, err
	}
	d, has := found[name]
	if !has {
		return Document{}, absent("read", name)
	}
	return d, nil
}

func absent(what, name string) error {
	return &fs.PathError{Op: what, Path: name, Err: fs.ErrNotExist}
}

// Write changes the copy that is the caller's to change. An empty BOOTSTRAP.md
// says that the first conversation is over.
func (b *Briefing) Write(ctx context.Context, name string, content []byte) error {
	r, err := b.reader(ctx)
	if err != nil {
		return err
	}
	o, err := r.target(name)
	if err != nil {
		return err
	}
	if over(name, string(content)) {
		return b.finish(ctx, r, o)
	}
	return b.put(ctx, o, r.hand, name, string(content))
}

// Remove removes the copy that is the caller's to change: what is behind it
// counts again. Whoever removes BOOTSTRAP.md means what an empty one says.
func (b *Briefing) Remove(ctx context.Context, name string) error {
	r, err := b.reader(ctx)
	if err != nil {
		return err
	}
	if !Is(name) {
		return absent("remove", name)
	}
	o, err := r.target(name)
	if err != nil {
		return err
	}
	shown, err := b.look(ctx, r, name)
	if err != nil {
		return err
	}
	_, has := shown[name]
	if has && name == Bootstrap {
		return b.finish(ctx, r, o)
	}
	_, found, err := b.rows.DropMemory(ctx, o, name, r.hand)
	if err != nil || found {
		return err
	}
	if has {
		return tool.Errorf(tool.Refused, "%q is shared by all users of the agent", name).Try("write a version of your own, which then counts for you")
	}
	return absent("remove", name)
}

// List returns the documents that count for the caller and are in a directory:
// all are in the workspace itself.
func (b *Briefing) List(ctx context.Context, dir string) ([]File, error) {
	r, err := b.reader(ctx)
	if err != nil || dir != "." && !Is(dir) {
		return nil, nil // who has no agent has no documents, and no other directory has any
	}
	found, err := b.look(ctx, r, Names()...)
	var files []File
	for _, d := range found {
		files = append(files, File{d.Name, int64(len(d.Text)), d.Modified})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}
