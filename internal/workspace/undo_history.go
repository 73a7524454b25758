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
	usualPast = 20
	mostPast  = 1000
)

// History tells what was done to a file, the latest first. The file need not
// be there any more.
func (w *Workspace) History(ctx context.Context, given string, limit int) ([]PastChange, error) {
	p, err := w.findPast(ctx, given)
	if err != nil {
		return nil, err
	}
	v, err := w.viewer(ctx)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = usualPast
	}
	limit = min(limit, mostPast)
	whole := path.Join(p.mount.real, p.name)
	hint := path.Base(p.name)
	if !utf8.ValidString(whole) {
		hint = "" // on record it is written in another way
	}
	var out []PastChange
	err = w.past.Past(ctx, hint, func(past history.Past) bool {
		for i, f := range past.Files {
			if f.Path() == whole && f.Away == (p.source != nil) && v.sees(past.Record, f) {
				out = append(out, v.tell(past, i))
				break
			}
		}
		return len(out) < limit
	})
	return out, err
}

// findPast finds a file that is there, or one that could be made: it may have
// been there.
func (w *Workspace) findPast(ctx context.Context, given string) (place, error) {
	p, err := w.find(ctx, given, toRead)
	var known *tool.Error
	if errors.As(err, &known) && known.Kind == tool.NotFound {
		if q, err := w.find(ctx, given, toWrite); err == nil {
			return q, nil
		}
	}
	return p, err
}

// A viewer is a caller who looks at what was done.
type viewer struct {
	*space
	ctx context.Context
}

func (w *Workspace) viewer(ctx context.Context) (*viewer, error) {
	s, err := w.space(ctx)
	return &viewer{s, ctx}, err
}

// sees reports whether the caller could reach a file by its name today.
func (v *viewer) sees(r history.Record, f history.FileRecord) bool {
	if f.Away {
		served := v.home.source != nil || v.route(v.ctx, v.home, string(f.Name)) != nil
		return served && r.By == v.caller.Principal() && string(f.Root) == v.home.real && !v.w.denied(v.home, string(f.Name))
	}
	if v.home.source != nil {
		return false
	}
	seen := false
	for _, m := range v.mounts() {
		name, in := within(m.real, f.Path())
		if in && v.w.denied(m, name) {
			return false
		}
		seen = seen || in
	}
	return seen
}

func (v *viewer) seesAll(r history.Record) bool {
	for _, f := range r.Files {
		if !v.sees(r, f) {
			return false
		}
	}
	return true
}

// tell describes what a change did to its nth file.
func (v *viewer) tell(p history.Past, n int) PastChange {
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
		sees := v.sees(p.Record, other)
		if i != n && sees {
			out.Others = append(out.Others, string(other.Shown))
		}
		out.Undoable = out.Undoable && sees && (other.Before == nil || v.w.past.Kept(other.Before))
	}
	return out
}

// tidy removes the directories that an undone change had made, when they are
// empty now.
func (v *viewer) tidy(r history.Record) {
	for _, f := range r.Files {
		for _, m := range v.mounts() {
			if len(f.Made) > 0 && m.root != nil && m.real == string(f.Root) && m.write {
				history.RemoveEmpty(m.root, f.Made)
				break
			}
		}
	}
}
