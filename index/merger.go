package index

import (
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// mergeOptions returns the rules for which segments are merged. Sizes are in documents.
// Segments smaller than the floor count as that large: it bounds how often the
// same few documents are written again when documents come one by one.
func mergeOptions() *mergeplan.MergePlanOptions {
	return &mergeplan.MergePlanOptions{
		MaxSegmentsPerTier:   10,
		MaxSegmentSize:       1_000_000,
		TierGrowth:           10,
		SegmentsPerMergeTask: 10,
		FloorSegmentSize:     200,
		ReclaimDeletesWeight: 2,
	}
}

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

// mergeSome merges the segments of one task of the plan, and reports whether
// there was one.
func (s *store) mergeSome() (merged bool, err error) {
	defer catchFaults(&err)()
	view, err := s.view()
	if err != nil {
		return false, err
	}
	defer view.Close()
	parts, err := planMerge(view)
	if err != nil || len(parts) == 0 {
		return false, err
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

// planMerge returns the parts of the first task of the plan, or none.
func planMerge(view *snapshot) ([]*part, error) {
	var sizes []mergeplan.Segment
	for i, p := range view.parts {
		sizes = append(sizes, partSize{i, p})
	}
	plan, err := mergeplan.Plan(sizes, mergeOptions())
	if err != nil || plan == nil {
		return nil, err
	}
	for _, task := range plan.Tasks {
		var parts []*part
		for _, one := range task.Segments {
			parts = append(parts, one.(partSize).part)
		}
		if len(parts) > 1 || len(parts) == 1 && parts[0].deleted != nil {
			return parts, nil
		}
	}
	return nil, nil
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

// partSize describes a part to the planner.
type partSize struct {
	index int
	part  *part
}

// Id is named by the planner's interface.
func (p partSize) Id() uint64          { return uint64(p.index) }
func (p partSize) FullSize() int64     { return int64(p.part.file.Count()) }
func (p partSize) LiveSize() int64     { return int64(p.part.live()) }
func (p partSize) HasVector() bool     { return false }
func (p partSize) FileSize() int64     { return p.FullSize() }
func (p partSize) LiveFileSize() int64 { return p.LiveSize() }
