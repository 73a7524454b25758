package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Ranges are wanted parts, as in "1-3,7". Empty ranges mean all.
type Ranges []Range

// A Range is from First to Last, both included. Last is math.MaxInt in "5-".
type Range struct{ First, Last int }

// ParseRanges reads "1-3,7" or "5-". Parts are returned in the order of the document,
// whatever the order of the ranges.
func ParseRanges(text string) (Ranges, error) {
	var all Ranges
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		low, high, span := strings.Cut(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(low))
		last := first
		if high = strings.TrimSpace(high); err == nil && span {
			if last = math.MaxInt; high != "" {
				last, err = strconv.Atoi(high)
			}
		}
		if err != nil || first < 1 || last < first {
			return nil, fmt.Errorf(`%q is not a range of pages; write for example "1-3,7" or "5-"`, part)
		}
		all = append(all, Range{first, last})
	}
	return all, nil
}

// Has reports whether part n is wanted.
func (r Ranges) Has(n int) bool {
	for _, one := range r {
		if one.First <= n && n <= one.Last {
			return true
		}
	}
	return len(r) == 0
}

// Last returns the greatest wanted part, and total if that is less or if all are wanted.
// A reader need not look beyond it.
func (r Ranges) Last(total int) int {
	if len(r) == 0 {
		return total
	}
	last := 0
	for _, one := range r {
		if one.First <= total {
			last = max(last, min(one.Last, total))
		}
	}
	return last
}

// Rest returns the wanted parts from part n on.
func (r Ranges) Rest(n int) Ranges {
	if len(r) == 0 {
		return Ranges{{n, math.MaxInt}}
	}
	var rest Ranges
	for _, one := range r {
		if one.Last >= n {
			rest = append(rest, Range{max(one.First, n), one.Last})
		}
	}
	return rest
}

// String returns the ranges as ParseRanges reads them.
func (r Ranges) String() string {
	var all []string
	for _, one := range r {
		switch {
		case one.First == one.Last:
			all = append(all, strconv.Itoa(one.First))
		case one.Last == math.MaxInt:
			all = append(all, strconv.Itoa(one.First)+"-")
		default:
			all = append(all, fmt.Sprintf("%d-%d", one.First, one.Last))
		}
	}
	return strings.Join(all, ",")
}

// window returns the parts that are read for a call: all of them if they are few, and
// otherwise the ten around the first one, always the same ten, so that the next call finds
// them in the cache.
func (r Ranges) window() Ranges {
	count, first := 0, 1
	for i, one := range r {
		if i == 0 || one.First < first {
			first = one.First
		}
		count = min(count+min(one.Last-one.First, chunk)+1, chunk+1)
	}
	if len(r) > 0 && count <= chunk {
		return r
	}
	start := (first-1)/chunk*chunk + 1
	return Ranges{{start, start + chunk - 1}}
}
