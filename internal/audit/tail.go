package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// followEvery is how often Follow looks for new rows. Polling a few sizes is
// cheap, and works on every file system.
const followEvery = 250 * time.Millisecond

// A Filter says which rows to show; nil shows all.
type Filter func(*Row) bool

func (f Filter) shows(r *Row) bool { return f == nil || f(r) }

// Tail returns the last n rows that filter shows, of all chains by time, the
// latest last. It reads no more than it needs. Lines that are not rows are
// passed over, and nothing is verified.
func Tail(ctx context.Context, dir string, n int, filter Filter) ([]Row, error) {
	segments, err := segmentsOf(dir)
	if err != nil {
		return nil, err
	}
	return tail(ctx, segments, n, filter)
}

func tail(ctx context.Context, segments []segment, n int, filter Filter) ([]Row, error) {
	m := newMerge(segments, true)
	defer m.close()
	var rows []Row
	for len(rows) < n {
		row, err := m.next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		if filter.shows(row) {
			rows = append(rows, *row)
			rows[len(rows)-1].line = nil
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

// segmentsOf lists the segments of a data directory. No log is an empty one.
func segmentsOf(dir string) ([]segment, error) {
	segments, _, err := listSegments(filepath.Join(dir, "audit"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return segments, err
}

// Follow hands the last n rows to each, and then new ones as they come, from
// every process and across rotations, until ctx ends or each returns an error,
// which it returns. Rows that come together are in the order of their times.
func Follow(ctx context.Context, dir string, n int, filter Filter, each func(Row) error) error {
	segments, err := segmentsOf(dir)
	if err != nil {
		return err
	}
	at := positions{}
	seen, err := at.grow(segments)
	if err != nil {
		return err
	}
	rows, err := tail(ctx, seen, n, filter)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := each(row); err != nil {
			return err
		}
	}
	return followFrom(ctx, dir, at, filter, each)
}

func followFrom(ctx context.Context, dir string, at positions, filter Filter, each func(Row) error) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		segments, err := segmentsOf(dir)
		if err != nil {
			return err
		}
		grown, err := at.grow(segments)
		if err != nil {
			return err
		}
		if err := forEach(ctx, grown, filter, each); err != nil {
			return err
		}
	}
}

// positions say how far each file was read.
type positions map[string]int64

// grow returns what is new in segments, up to the last whole line, and moves on.
func (p positions) grow(segments []segment) ([]segment, error) {
	var grown []segment
	for _, seg := range segments {
		seg.from = p[seg.path]
		if seg.size <= seg.from {
			continue
		}
		end, err := wholeEnd(seg)
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if seg.size = end; end > seg.from {
			p[seg.path] = end
			grown = append(grown, seg)
		}
	}
	return grown, nil
}

// wholeEnd is where the last whole line of seg ends.
func wholeEnd(seg segment) (int64, error) {
	file, err := os.Open(seg.path)
	if errors.Is(err, os.ErrNotExist) {
		return seg.from, nil // retention was faster
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines, err := newBackward(file, seg.from, seg.size)
	if err != nil {
		return 0, err
	}
	return lines.end, nil
}

// forEach hands the rows of segments to each, by time.
func forEach(ctx context.Context, segments []segment, filter Filter, each func(Row) error) error {
	m := newMerge(segments, false)
	defer m.close()
	for {
		row, err := m.next(ctx)
		if err != nil || row == nil {
			return err
		}
		if !filter.shows(row) {
			continue
		}
		out := *row
		out.line = nil
		if err := each(out); err != nil {
			return err
		}
	}
}
