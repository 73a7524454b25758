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
		last = max(last, min(one.Last, total))
	}
	return last
}
