package searchindex

import (
	"context"
	"errors"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// Candidates returns the files beneath dir that may have a match of re, in the
// order of their names: all that a walk finds that leaves out what is hidden
// or ignored, less those that cannot match. ok is false when the index cannot
// answer; then walk. dir is a name beneath the root, or ".".
func (x *Index) Candidates(ctx context.Context, dir string, re *syntax.Regexp) (names []string, ok bool) {
	q := trigram.Of(re)
	return x.answer(ctx, dir, func(v *view) []string { return v.candidates(dir, q) })
}

// Files returns all files beneath dir that a walk finds, as Candidates does.
// They must not be changed.
func (x *Index) Files(ctx context.Context, dir string) (names []string, ok bool) {
	return x.answer(ctx, dir, func(v *view) []string { return v.names(dir) })
}

// Unread returns the directories beneath dir that could not be listed at the
// last answer.
func (x *Index) Unread(dir string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []string
	if x.view != nil {
		for name := range x.view.unread {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(out, func(name string) bool { return name != dir && len(beneath([]string{name}, dir)) == 0 })
}

func (x *Index) answer(ctx context.Context, dir string, get func(*view) []string) (names []string, ok bool) {
	x.used.Store(time.Now().UnixNano())
	const tries = 10 // when the background finds out more in between
	for range tries {
		if !x.refresh(ctx) {
			return nil, false
		}
		if names, ok, again := x.query(ctx, dir, get); !again {
			return names, ok
		}
	}
	return nil, false
}

// query asks the view as it is; again says that there is something to look at
// first.
func (x *Index) query(ctx context.Context, dir string, get func(*view) []string) (names []string, ok, again bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	v, err := x.view, error(nil)
	if v == nil && x.statAll && x.seg != nil {
		v, err = x.load(ctx, nil)
	}
	switch {
	case v == nil || err != nil:
		return nil, false, false
	case v.lost || len(v.relist) > 0:
		return nil, false, true
	case !v.hasDir(dir):
		return nil, false, false
	}
	if err := segment.Guard(func() { names = get(v) }); err != nil {
		x.request()
		return nil, false, false
	}
	if x.stale.Store(int64(v.freshCount)); x.tooStale(v.freshCount) {
		x.request()
	}
	return names, true, false
}

// refresh brings the view up to now, and reports whether there can be an answer.
func (x *Index) refresh(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.view == nil && x.statAll && x.seg != nil:
		return true
	case x.view == nil:
		x.request()
		return false
	}
	err := x.view.refresh(ctx)
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // what is left to do, the next one does
		return false
	}
	x.log.Debug("the index of files is not up to date", "cause", err)
	_ = x.closeView()
	x.request()
	return false
}

// candidates are the files that may match, in order.
func (v *view) candidates(dir string, q trigram.Query) []string {
	fresh := v.freshNames(dir)
	if v.seg == nil {
		return fresh
	}
	lo, hi := v.seg.Range(dir)
	files, some := v.seg.Eval(q, lo, hi)
	if some {
		files = v.seg.AddAlways(files, lo, hi)
	} else {
		files = v.liveFiles(dir, nil)
	}
	files = slices.DeleteFunc(files, func(n uint32) bool { return !v.alive(n) || v.seg.Flags(n)&segment.Binary != 0 })
	return mergeSorted(v.namesOf(files), fresh)
}
