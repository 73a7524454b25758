package workspace

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// Undo takes a change back, if all its files are as it left them.
func (w *Workspace) Undo(ctx context.Context, id string) (Receipt, error) {
	past, ok, err := w.history.Find(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	v, err := w.historyView(ctx)
	if err != nil {
		return Receipt{}, err
	}
	if !ok || len(past.Files) == 0 || !v.canSeeAll(past.Record) {
		return Receipt{}, tool.Errorf(tool.NotFound, "no change %q", id).Try("call history on a file to see its changes and their ids")
	}
	if past.Undone != "" {
		return Receipt{}, tool.Errorf(tool.Conflict, "change %q was undone before, by %q", id, past.Undone).
			Try("undo %q to have it again", past.Undone)
	}
	u := &undo{w: w, ctx: ctx, past: past.Record}
	defer u.close()
	paths := make([]string, len(past.Files))
	for i, f := range past.Files {
		paths[i] = f.Path()
	}
	receipt, err := w.change(ctx, paths, id, u.plan)
	if err == nil {
		v.removeEmptyDirs(past.Record)
	}
	return receipt, err
}

// undo is one change that is taken back.
type undo struct {
	w      *Workspace
	ctx    context.Context
	past   history.Record
	opened []io.Closer
}

func (u *undo) close() {
	for _, c := range u.opened {
		_ = c.Close()
	}
}

// plan checks that nothing has happened since, and then has each file become
// what it was.
func (u *undo) plan(files []*File) ([]Change, error) {
	for i, f := range u.past.Files {
		if err := u.check(files[i], f); err != nil {
			return nil, err
		}
	}
	var changes []Change
	for i, f := range u.past.Files {
		change := Change{Path: f.Path(), Remove: f.Before == nil}
		if f.Before != nil {
			copied, err := u.open(files[i].Name, f.Before)
			if err != nil {
				return nil, err
			}
			change.Content, change.Mode = copied, f.Before.Mode
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// check refuses when a file is not as the change left it.
func (u *undo) check(now *File, f history.FileRecord) error {
	what, after := "", f.After
	switch {
	case f.External && !now.Exists && after != nil && after.Size == 0:
		// there are stores in which an empty file is none
	case after == nil && now.Exists:
		what = "was made again"
	case after != nil && !now.Exists:
		what = "was removed"
	case after != nil && now.Size != after.Size:
		what = "was changed"
	case after != nil:
		digest, err := u.w.history.Digest(u.ctx, now, now.Size)
		if err != nil {
			return err
		}
		if digest != after.Digest {
			what = "was changed"
		}
	}
	if what == "" {
		return nil
	}
	return tool.Errorf(tool.Conflict, "%q %s after change %q", now.Name, what, u.past.ID).
		Try("call history on it to see what was done later and undo that first, or mend it by hand")
}

// open opens a copy of what a file was.
func (u *undo) open(name string, before *history.Content) (io.Reader, error) {
	if !before.Kept {
		return nil, lostError(name, nil)
	}
	copied, err := u.w.history.OpenCopy(before)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, lostError(name, err)
	}
	if err != nil {
		return nil, err
	}
	u.opened = append(u.opened, copied)
	return &oldContent{copied, name}, nil
}

// oldContent puts it into words when a copy turns out to be another content.
type oldContent struct {
	io.Reader
	name string
}

func (o *oldContent) Read(b []byte) (int, error) {
	n, err := o.Reader.Read(b)
	if errors.Is(err, history.ErrDamaged) {
		err = lostError(o.name, err)
	}
	return n, err
}

func lostError(name string, cause error) error {
	return tool.Errorf(tool.Unavailable, "what %q was before is not kept any more, so the change cannot be undone", name).
		Try("mend the file by hand").Because(cause)
}
