package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// prune applies the retention, and rewrites heads when it has grown.
func (l *Log) prune(now time.Time) error {
	segments, _, err := listSegments(l.dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(l.dir, headsName))
	if (err != nil || info.Size() < headsEnough) && !l.due(segments, now) {
		return nil // most often: nothing to do costs no lock
	}
	unlock, err := lockDir(l.dir)
	if err != nil {
		return err
	}
	defer unlock()
	s := newSealer(l.key)
	if l.due(segments, now) {
		if err := l.remove(s, segments, now); err != nil {
			return err
		}
	}
	sound := true
	book, err := readHeads(l.dir, s, func(int, Kind, string) { sound = false })
	if err != nil || !sound || book.size < headsEnough {
		return err // evidence stays as it is
	}
	return rewriteHeads(l.dir, s, book)
}

// due says whether there may be something to remove: by size, or because a
// chain began long ago.
func (l *Log) due(segments []segment, now time.Time) bool {
	var total int64
	old := false
	for _, s := range segments {
		total += s.size
		if start, ok := chainStart(s.chain); ok && l.opts.MaxAge > 0 && now.Sub(start) > l.opts.MaxAge {
			old = true
		}
	}
	return old || l.opts.MaxBytes > 0 && total > l.opts.MaxBytes
}

// A closedSegment is one that nobody writes to any more.
type closedSegment struct {
	segment
	end
	ended time.Time // never before that of its predecessor, whatever the clock did
}

// An end is what the last line of a segment says.
type end struct {
	Time  time.Time `json:"ts"`
	Seq   uint64    `json:"seq"`
	After uint64    `json:"after"` // instead of Seq, in a header
	Hash  string    `json:"hash"`
}

// remove removes the oldest closed segments that are too old or too many. The
// heads are written first: what they do not know to be pruned would be missed.
func (l *Log) remove(s *sealer, segments []segment, now time.Time) error {
	var total int64
	for _, s := range segments {
		total += s.size
	}
	closed, err := closedSegments(s, segments)
	if err != nil {
		return err
	}
	var victims []string
	tombs := map[string]head{}
	for _, c := range closed {
		expired := l.opts.MaxAge > 0 && now.Sub(c.ended) > l.opts.MaxAge
		if !expired && (l.opts.MaxBytes == 0 || total <= l.opts.MaxBytes) {
			break // the others are younger
		}
		total -= c.size
		victims = append(victims, c.path)
		tombs[c.chain] = head{Kind: headPruned, Chain: c.chain, Segment: c.number, Seq: max(c.Seq, c.After), Mark: c.Hash}
	}
	if len(victims) == 0 {
		return nil
	}
	lines := slices.SortedFunc(maps.Values(tombs), func(a, b head) int { return cmp.Compare(a.Chain, b.Chain) })
	if err := appendHeads(l.dir, s, lines); err != nil {
		return err
	}
	for _, path := range victims {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing an old segment: %w", err)
		}
	}
	return nil
}

// closedSegments returns, oldest first, what may be removed: segments that
// nobody has locked and whose end is authentic. Its end, not the time of the
// file, says how old a segment is, so that nobody has their traces removed by
// touching files. Of a chain only what is before the first other segment.
func closedSegments(s *sealer, segments []segment) ([]closedSegment, error) {
	var closed []closedSegment
	for _, chain := range chains(segments) {
		var ended time.Time
		for _, seg := range chain {
			e, ok, err := closedEnd(s, seg)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if e.Time.After(ended) {
				ended = e.Time
			}
			closed = append(closed, closedSegment{seg, e, ended})
		}
	}
	slices.SortStableFunc(closed, func(a, b closedSegment) int { return a.ended.Compare(b.ended) })
	return closed, nil
}

// closedEnd reads the last line of a segment. It is not ok when somebody writes
// to it or the line is not authentic.
func closedEnd(s *sealer, seg segment) (e end, ok bool, err error) {
	file, err := os.OpenFile(seg.path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return end{}, false, nil
	}
	if err != nil {
		return end{}, false, fmt.Errorf("looking at an old segment: %w", err)
	}
	defer file.Close() // also releases the lock; who is done with a segment never comes back
	if free, err := tryLock(file); err != nil || !free {
		return end{}, false, err
	}
	lines, err := newBackward(file, 0, seg.size)
	if err != nil {
		return end{}, false, err
	}
	line, err := lines.next()
	if err != nil {
		return end{}, false, nil // no whole line, so no end to go by
	}
	f, ok := split(line)
	ok = ok && s.authentic(f) && json.Unmarshal(line, &e) == nil
	return e, ok, nil
}
