package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// Undo implements [Files].
func (w *Workspace) Undo(ctx context.Context, id string) (Receipt, error) {
	v, err := w.historyView(ctx)
	if err != nil {
		return Receipt{}, err
	}
	w.settle(ctx, v.home)
	past, ok, err := w.history.Find(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	if !ok || len(past.Files) == 0 || !v.canSeeAll(past.Record) {
		return Receipt{}, tool.Errorf(tool.NotFound, "this server has no change %q", id).
			Try("call history on a file to see its changes and their ids")
	}
	if past.Undone != "" {
		return Receipt{}, tool.Errorf(tool.Conflict, "change %q was already undone, by %q", id, past.Undone).
			Try("undo %q to redo it", past.Undone)
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
		for _, name := range past.Left {
			receipt.Left = append(receipt.Left, string(name))
		}
	}
	return receipt, err
}

// An undo is the reversal of one change.
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

// plan checks that no file has changed since, and returns the changes that restore
// the old contents.
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

// check returns an error if a file is not as the change left it.
func (u *undo) check(now *File, f history.FileRecord) error {
	what, after := "", f.After
	switch {
	case f.External && !now.Exists && after != nil && after.Size == 0:
		// some sources remove a file when it becomes empty
	case after == nil && now.Exists:
		what = "was created again"
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
		Try("call history on it to see the later changes and undo those first, or edit it")
}

// open opens the copy of an old content.
func (u *undo) open(name string, before *history.Content) (io.Reader, error) {
	if !before.Kept {
		return nil, lostError(name, nil)
	}
	copied, err := u.w.history.Open(u.ctx, before)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lostError(name, err)
	}
	if err != nil {
		return nil, err
	}
	u.opened = append(u.opened, copied)
	return &oldContent{copied, name}, nil
}

// oldContent reports a damaged copy as an error for the caller.
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
	return tool.Errorf(tool.Unavailable, "the old content of %q is no longer kept, so it cannot be restored", name).
		Try("edit the file instead").Because(cause)
}

const (
	defaultHistory = 20
	maxHistory     = 1000
)

// History implements [Files]. It also works for a file that no longer exists.
func (w *Workspace) History(ctx context.Context, given string, limit int) ([]PastChange, error) {
	v, err := w.historyView(ctx)
	if err != nil {
		return nil, err
	}
	w.settle(ctx, v.home)
	var p location
	whole, hint := "", ""
	if given != "" {
		if p, err = w.resolvePast(ctx, given); err != nil {
			return nil, err
		}
		whole = path.Join(p.mount.realPath, p.name)
		if utf8.ValidString(whole) { // otherwise the record encodes it differently
			hint = path.Base(p.name)
		}
	}
	if limit <= 0 {
		limit = defaultHistory
	}
	limit = min(limit, maxHistory)
	var out []PastChange
	err = w.history.Each(ctx, hint, func(past history.LoggedChange) bool {
		for i, f := range past.Files {
			this := whole == "" || f.Path() == whole && f.External == (p.source != nil)
			if this && v.canSee(past.Record, f) {
				out = append(out, v.describe(past, i))
				break
			}
		}
		return len(out) < limit
	})
	return out, err
}

// resolvePast resolves a path that exists, or one that could be created: a file
// may have existed there.
func (w *Workspace) resolvePast(ctx context.Context, given string) (location, error) {
	p, err := w.resolve(ctx, given, toRead)
	var known *tool.Error
	if errors.As(err, &known) && known.Kind == tool.NotFound {
		if q, err := w.resolve(ctx, given, toWrite); err == nil {
			return q, nil
		}
	}
	return p, err
}

// A historyView is a caller's view of past changes.
type historyView struct {
	*callerView
	ctx context.Context
}

func (w *Workspace) historyView(ctx context.Context) (*historyView, error) {
	s, err := w.viewFor(ctx)
	return &historyView{s, ctx}, err
}

// canSee reports whether the caller could now reach a file of a record by its name.
func (v *historyView) canSee(r history.Record, f history.FileRecord) bool {
	if f.External {
		return v.sourceFor(v.ctx, v.home, string(f.Name)) != nil && r.By == v.caller.Principal() &&
			string(f.Root) == v.home.realPath && !v.w.denied(v.home, string(f.Name))
	}
	seen := false
	for _, m := range v.mounts() {
		name, in := within(m.realPath, f.Path())
		if in && v.w.denied(m, name) {
			return false
		}
		seen = seen || in
	}
	return seen
}

func (v *historyView) canSeeAll(r history.Record) bool {
	for _, f := range r.Files {
		if !v.canSee(r, f) {
			return false
		}
	}
	return true
}

// describe describes the effect of a change on its nth file.
func (v *historyView) describe(p history.LoggedChange, n int) PastChange {
	f := p.Files[n]
	out := PastChange{
		ID: p.ID, Time: p.Time, Tool: p.Tool, Command: p.Command, By: p.By, Action: "changed", Undone: p.Undone,
		UndoneBy: p.UndoneBy,
		Script:   p.Script, Undoable: p.Undone == "", File: string(f.Shown),
	}
	for _, name := range p.Left {
		out.Left = append(out.Left, string(name))
	}
	if f.Before == nil {
		out.Action = "created"
	} else {
		out.Before = f.Before.Size
	}
	if f.After == nil {
		out.Action = "removed"
	} else {
		out.After = f.After.Size
	}
	for i, other := range p.Files {
		sees := v.canSee(p.Record, other)
		switch {
		case other.Before == nil:
			out.Created++
		case other.After == nil:
			out.Removed++
		default:
			out.Changed++
		}
		if i != n && sees {
			out.Others = append(out.Others, string(other.Shown))
		}
		out.Undoable = out.Undoable && sees && (other.Before == nil || v.w.history.Has(v.ctx, other.Before))
	}
	return out
}

// removeEmptyDirs removes the directories that an undone change had created, if
// they are now empty.
func (v *historyView) removeEmptyDirs(r history.Record) {
	for _, f := range r.Files {
		for _, m := range v.mounts() {
			if len(f.Made) > 0 && m.realPath == string(f.Root) && m.write {
				history.RemoveEmpty(m.root, f.Made)
				break
			}
		}
	}
}
