package index

import (
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

const (
	// mergeSize is how many segments of about the same size are merged, and by
	// how much these sizes differ.
	mergeSize = 10
	// smallSegment is the size in documents up to which segments count as equal.
	smallSegment = 200
	// largeSegment is the size from which segments are not merged with others.
	largeSegment = 500_000
)

// mergeAll merges segments until the store is closed. A merge that fails, as
// on a full disk, is tried again after the next change.
func (s *store) mergeAll() {
	for {
		select {
		case <-s.closing:
			return
		case <-s.wake:
		}
		for {
			merged, err := s.mergeSome()
			if !merged || err != nil {
				break
			}
		}
	}
}

// mergeSome merges some segments, and reports whether there was something to merge.
func (s *store) mergeSome() (merged bool, err error) {
	defer catchFaults(&err)()
	view, err := s.view()
	if err != nil {
		return false, err
	}
	defer view.Close()
	parts := planMerge(view)
	if len(parts) == 0 {
		return false, nil
	}
	var segments []segment.Segment
	var drops []*roaring.Bitmap
	for _, p := range parts {
		segments = append(segments, p.file.Segment)
		drops = append(drops, p.deleted)
	}
	number := s.nextNumber()
	numbers, _, err := s.plugin.Merge(segments, drops, s.path(number), s.closing, nil)
	if err != nil {
		return true, err
	}
	made, err := s.openPart(number)
	if err != nil {
		return true, err
	}
	return true, s.replace(parts, made, numbers)
}

// planMerge returns the segments to merge next: some of about the same size, or
// one of which most documents are deleted. It returns none if search is fast.
func planMerge(view *snapshot) []*part {
	levels := map[int][]*part{}
	for _, p := range view.parts {
		live, level := p.live(), 0
		if all := int(p.file.Count()); all > smallSegment && all > 2*live {
			return []*part{p}
		}
		if live > largeSegment {
			continue
		}
		for size := smallSegment; size < live; size *= mergeSize {
			level++
		}
		levels[level] = append(levels[level], p)
		if len(levels[level]) == mergeSize {
			return levels[level]
		}
	}
	return nil
}

// replace puts the merged segment in the place of the old ones. Documents that
// were deleted during the merge are deleted from it, too. numbers has, for each
// old part, the new number of each document.
func (s *store) replace(old []*part, made *part, numbers [][]uint64) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	now, err := s.view()
	if err != nil {
		return errors.Join(err, made.file.release())
	}
	defer now.Close()
	deleted := roaring.New()
	for i, before := range old {
		for number, renumbered := range numbers[i] {
			if deletedSince(before, now.find(before.file), uint32(number)) {
				deleted.Add(uint32(renumbered))
			}
		}
	}
	if !deleted.IsEmpty() {
		made.deleted = deleted
	}
	next := &snapshot{values: now.values}
	for _, p := range now.parts {
		if !slices.ContainsFunc(old, func(o *part) bool { return o.file == p.file }) {
			next.parts = append(next.parts, p)
		}
	}
	next.parts = append(next.parts, made)
	return s.commit(next)
}

// deletedSince reports whether a document of a part was deleted after the part
// was read. now is the same part later, or nil if all its documents are
// deleted.
func deletedSince(before, now *part, number uint32) bool {
	if before.deleted != nil && before.deleted.Contains(number) {
		return false
	}
	return now == nil || now.deleted != nil && now.deleted.Contains(number)
}
