package workspace

import (
	"context"
	"errors"
	"path"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

const (
	defaultHistory = 20
	maxHistory     = 1000
)

// History tells what was done to a file, the latest first. The file need not
// be there any more.
func (w *Workspace) History(ctx context.Context, given string, limit int) ([]PastChange, error) {
	p, err := w.resolvePast(ctx, given)
	if err != nil {
		return nil, err
	}
	v, err := w.historyView(ctx)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultHistory
	}
	limit = min(limit, maxHistory)
	whole := path.Join(p.mount.realPath, p.name)
	hint := path.Base(p.name)
	if !utf8.ValidString(whole) {
		hint = "" // on record it is written in another way
	}
	var out []PastChange
	err = w.history.Each(ctx, hint, func(past history.LoggedChange) bool {
		for i, f := range past.Files {
			if f.Path() == whole && f.External == (p.source != nil) && v.canSee(past.Record, f) {
				out = append(out, v.describe(past, i))
				break
			}
		}
		return len(out) < limit
	})
	return out, err
}

// resolvePast finds a file that is there, or one that could be made: it may have
// been there.
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

// A historyView is a caller who looks at what was done.
type historyView struct {
	*callerView
	ctx context.Context
}

func (w *Workspace) historyView(ctx context.Context) (*historyView, error) {
	s, err := w.viewFor(ctx)
	return &historyView{s, ctx}, err
}

// canSee reports whether the caller could reach a file by its name today.
func (v *historyView) canSee(r history.Record, f history.FileRecord) bool {
	if f.External {
		served := v.home.source != nil || v.sourceFor(v.ctx, v.home, string(f.Name)) != nil
		return served && r.By == v.caller.Principal() && string(f.Root) == v.home.realPath && !v.w.denied(v.home, string(f.Name))
	}
	if v.home.source != nil {
		return false
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

// describe describes what a change did to its nth file.
func (v *historyView) describe(p history.LoggedChange, n int) PastChange {
	f := p.Files[n]
	out := PastChange{ID: p.ID, Time: p.Time, Tool: p.Tool, By: p.By, Action: "changed", Undone: p.Undone, Undoable: p.Undone == ""}
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
		if i != n && sees {
			out.Others = append(out.Others, string(other.Shown))
		}
		out.Undoable = out.Undoable && sees && (other.Before == nil || v.w.history.Kept(other.Before))
	}
	return out
}

// removeEmptyDirs removes the directories that an undone change had made, when they are
// empty now.
func (v *historyView) removeEmptyDirs(r history.Record) {
	for _, f := range r.Files {
		for _, m := range v.mounts() {
			if len(f.Made) > 0 && m.root != nil && m.realPath == string(f.Root) && m.write {
				history.RemoveEmpty(m.root, f.Made)
				break
			}
		}
	}
}
