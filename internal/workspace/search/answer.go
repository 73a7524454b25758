package search

import (
	"context"
)

// resultBuilder makes the answer of what the chunks hold.
func (s *run) result(ctx context.Context, w *worker) (Found, error) {
	a := &resultBuilder{run: s, w: w, skip: s.m.q.Offset, left: s.m.q.Limit, budget: maxHeldBytes}
	for _, c := range s.chunks[:s.doneChunks] {
		a.found.Searched += c.searched
		a.found.Unread += c.unread
		for i := range c.hits {
			a.found.Matches += c.hits[i].matches
			if s.m.q.Mode == Content {
				a.addLines(ctx, &c.hits[i])
			} else {
				a.addFile(&c.hits[i])
			}
		}
		if err := ctx.Err(); err != nil {
			return Found{}, err
		}
	}
	return a.found, nil
}

// An resultBuilder is a fs.Found in the making.
type resultBuilder struct {
	run        *run
	w          *worker
	skip, left int // matching lines, or files
	budget     int // emitBytes of lines
	found      Found
}

// fileSource adds a hit, unless it is before or after the page.
func (a *resultBuilder) addFile(h *hit) {
	switch {
	case a.skip > 0:
		a.skip--
	case a.left == 0:
		a.found.More = true
	default:
		a.left--
		a.found.Files = append(a.found.Files, FileMatches{Name: h.name, Matches: h.matches, Binary: h.binary})
	}
}

// addLines adds those lines of a hit that are on the page.
func (a *resultBuilder) addLines(ctx context.Context, h *hit) {
	if a.skip >= h.matches {
		a.skip -= h.matches
		return
	}
	skip, take := a.skip, min(h.matches-a.skip, a.left)
	a.skip = 0
	if take < h.matches-skip {
		a.found.More = true
	}
	if take == 0 {
		return
	}
	lines := h.lines
	if lines == nil || skip > 0 || take < min(h.matches, a.run.m.q.Limit) {
		lines = a.reread(ctx, h, skip, take)
	}
	for _, line := range lines {
		a.budget -= len(line.Text) + lineOverhead
	}
	if a.left -= take; len(lines) == 0 {
		return
	}
	a.found.Files = append(a.found.Files, FileMatches{Name: h.name, Matches: h.matches, Binary: h.binary, Lines: lines})
}

// reread reads the lines of a hit that were not kept. What was changed since
// then is as it is now.
func (a *resultBuilder) reread(ctx context.Context, h *hit, skip, take int) []Line {
	p := a.run.m.newPage(skip, take, a.budget)
	if p == nil {
		a.found.More, a.left = true, take
		return nil
	}
	if _, err := a.run.file(ctx, a.w, h.name, skip+take+1, p); err != nil {
		return nil
	}
	if p.full {
		a.found.More, a.left = true, take
	}
	return p.lines
}
