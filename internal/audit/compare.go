package audit

import (
	"fmt"
	"maps"
	"slices"
)

// compare holds the ends of the chains against what the heads say of them.
func (c *check) compare(ends []chainEnd) {
	if c.book.absent && len(ends) > 0 {
		c.problem(headsName, 0, Missing, "there is no such file, so the ends of the chains cannot be checked")
	}
	found := map[string]bool{}
	for _, end := range ends {
		found[end.chain] = true
		if !end.strangerKey {
			c.compareStart(end)
			c.compareEnd(end)
		}
	}
	for _, chain := range sortedKeys(c.book.reached) {
		if !found[chain] && !c.book.gone(chain) {
			c.problem(segmentName(chain, 1), 0, NoSegment, fmt.Sprintf("the whole chain is missing; it had %d records", c.book.reached[chain].Seq))
		}
	}
}

// compareStart asks whether what is not there at the beginning of a chain was
// removed by retention.
func (c *check) compareStart(end chainEnd) {
	pruned := c.book.pruned[end.chain].Segment
	if end.first > pruned+1 {
		c.problem(segmentName(end.chain, pruned+1), 0, NoSegment, fmt.Sprintf("segments %d to %d are missing", pruned+1, end.first-1))
	}
}

// compareEnd asks whether a chain still is as long as it once was.
func (c *check) compareEnd(end chainEnd) {
	reached, known := c.book.reached[end.chain]
	switch {
	case !known:
		c.note(segmentName(end.chain, end.first), Unnoted, "heads does not know this chain yet; its end can be cut off unseen")
	case end.seq < reached.Seq && c.book.pruned[end.chain].Seq < reached.Seq:
		c.problem(segmentName(end.chain, reached.Segment), 0, Missing, fmt.Sprintf("the chain ends with record %d, and had reached %d", end.seq, reached.Seq))
	}
}

func sortedKeys(heads ...map[string]head) []string {
	all := map[string]bool{}
	for _, m := range heads {
		for k := range m {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
