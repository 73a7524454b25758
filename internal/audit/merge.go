package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// A cursor walks over the rows of one chain, forwards or backwards. Lines that
// are not rows are passed over.
type cursor struct {
	segments []segment // still to be read
	back     bool
	file     *os.File
	lines    interface{ next() ([]byte, error) }
	chain    string
	row      Row // where it stands
	skipped  int // lines that are none of ours
}

// advance goes to the next row; false means that there is none.
func (c *cursor) advance(ctx context.Context) (bool, error) {
	for {
		if c.lines == nil {
			if len(c.segments) == 0 {
				return false, nil
			}
			if err := c.open(); err != nil {
				return false, err
			}
			continue
		}
		line, err := c.lines.next()
		if err == io.EOF {
			c.close()
			continue
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, fmt.Errorf("reading the audit log: %w", err)
		}
		if row, ok := parseRow(c.chain, line); ok {
			c.row = row
			return true, nil
		}
		if f, ok := split(line); !ok || f.counter != headerLine {
			c.skipped++
		}
	}
}

// open begins with the next segment. One that retention has removed is empty.
func (c *cursor) open() error {
	i := 0
	if c.back {
		i = len(c.segments) - 1
	}
	seg := c.segments[i]
	c.segments = slices.Delete(slices.Clone(c.segments), i, i+1)
	file, err := os.Open(seg.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	c.file, c.chain = file, seg.chain
	if !c.back {
		c.lines = newForward(io.NewSectionReader(file, seg.from, seg.size-seg.from))
		return nil
	}
	if c.lines, err = newBackward(file, seg.from, seg.size); err != nil {
		c.close()
		return fmt.Errorf("reading the audit log: %w", err)
	}
	return nil
}

func (c *cursor) close() {
	if c.file != nil {
		_ = c.file.Close() // only read
	}
	c.file, c.lines = nil, nil
}

// A merge reads the rows of many chains by time. It opens a chain only when its
// time has come, so that there are as many files open as processes that ran at
// once.
type merge struct {
	waiting [][]segment // the next first
	active  []*cursor
	back    bool
	current *cursor // whose row was returned last
	skipped int
}

func newMerge(segments []segment, back bool) *merge {
	m := &merge{waiting: chains(segments), back: back}
	slices.SortStableFunc(m.waiting, func(a, b []segment) int {
		if back {
			return m.edge(b).Compare(m.edge(a))
		}
		return m.edge(a).Compare(m.edge(b))
	})
	return m
}

// edge is a time that no row of a chain is beyond: before its start, or after
// its end. The clock of files is coarse, so we allow it a second.
func (m *merge) edge(chain []segment) time.Time {
	if m.back {
		return chain[len(chain)-1].touched.Add(time.Second)
	}
	start, _ := chainStart(chain[0].chain)
	return start
}

// next returns the next row, which is valid until the next call; nil is the end.
func (m *merge) next(ctx context.Context) (*Row, error) {
	if m.current != nil {
		if err := m.enter(ctx, m.current); err != nil {
			return nil, err
		}
		m.current = nil
	}
	for {
		best := m.best()
		if len(m.waiting) == 0 || best >= 0 && !m.beyond(m.active[best].row.Time, m.edge(m.waiting[0])) {
			if best < 0 {
				return nil, nil
			}
			m.current = m.active[best]
			m.active = slices.Delete(m.active, best, best+1)
			return &m.current.row, nil
		}
		c := &cursor{segments: m.waiting[0], back: m.back}
		m.waiting = m.waiting[1:]
		if err := m.enter(ctx, c); err != nil {
			return nil, err
		}
	}
}

// enter moves c on, and keeps it if there is more to come of it.
func (m *merge) enter(ctx context.Context, c *cursor) error {
	more, err := c.advance(ctx)
	if more {
		m.active = append(m.active, c)
		return nil
	}
	m.skipped += c.skipped
	c.close()
	return err
}

// best is the cursor whose row comes next, or -1.
func (m *merge) best() int {
	best := -1
	for i, c := range m.active {
		if best < 0 || m.beyond(m.active[best].row.Time, c.row.Time) {
			best = i
		}
	}
	return best
}

// beyond says that a comes after b in the direction in which we read.
func (m *merge) beyond(a, b time.Time) bool {
	if m.back {
		return a.Before(b)
	}
	return a.After(b)
}

func (m *merge) close() {
	for _, c := range m.active {
		c.close()
	}
	if m.current != nil {
		m.current.close()
	}
}
