package audit

import "fmt"

// A Kind says what is wrong at a place of the log.
type Kind string

const (
	Changed    Kind = "changed"         // a line that was not written, or not like this, by a holder of the key
	Foreign    Kind = "foreign"         // a line that is none of ours, or does not belong here
	Missing    Kind = "missing"         // lines that were here
	Reordered  Kind = "reordered"       // a line that belongs further up
	Duplicated Kind = "duplicated"      // a line that was here before
	NoSegment  Kind = "missing segment" // a whole file
	BadHeader  Kind = "header mismatch" // a segment that says it is another one
	Truncated  Kind = "truncated"       // half a line that is not the end of a chain
	Torn       Kind = "torn"            // half a line that is: what a crash leaves
	Unnoted    Kind = "not in heads"    // a chain that could go without a trace
	OtherKey   Kind = "other key"       // written with a key that is not here
)

// A walker follows the links of one chain, and says of each line that does not
// fit how it does not.
type walker struct {
	counter string // of the lines that count
	seal    *sealer
	number  uint64      // of the last line that fitted
	last    mark        // of that line
	bad     uint64      // lines since, that may stand where others stood
	gaps    [][2]uint64 // what was missing when we came by
	adopt   bool        // what comes next cannot be checked against what was before
}

// step judges the next line. What is wrong is said once: afterwards the walker
// goes on from wherever the line was. The empty kind means that it fits.
func (w *walker) step(f frame, ok bool) (kind Kind, detail string) {
	switch {
	case !ok || f.counter != w.counter:
		w.bad++
		return Foreign, "this is no line of the audit log"
	case !w.seal.authentic(f):
		w.bad++
		return Changed, fmt.Sprintf("line %d was changed, or not written with this key", f.number)
	case w.adopt:
		w.accept(f)
		return "", ""
	}
	next := w.number + 1
	switch {
	case f.number == next && f.prev == w.last:
		w.accept(f)
		return "", ""
	case f.number < next && w.inGap(f.number):
		return Reordered, fmt.Sprintf("line %d belongs further up", f.number)
	case f.number < next:
		return Duplicated, fmt.Sprintf("line %d was here before", f.number)
	case f.number == next:
		w.bad++
		return Foreign, fmt.Sprintf("line %d is one of ours, but does not follow the line before; it may be of another chain", f.number)
	}
	// The lines between may be those that were bad.
	first := next + w.bad
	if first >= f.number {
		w.accept(f)
		return "", ""
	}
	kind, detail = w.missing(f.number)
	w.accept(f)
	return kind, detail
}

// missing notes that the lines before number are not here.
func (w *walker) missing(number uint64) (Kind, string) {
	from, to := w.number+1, number-1
	w.gaps = append(w.gaps, [2]uint64{from, to})
	if w.bad > 0 {
		return Missing, fmt.Sprintf("of the lines %d to %d all but %d are missing", from, to, w.bad)
	}
	if from == to {
		return Missing, fmt.Sprintf("line %d is missing", from)
	}
	return Missing, fmt.Sprintf("the lines %d to %d are missing", from, to)
}

func (w *walker) accept(f frame) {
	w.number, w.last, w.bad, w.adopt = f.number, f.hash, 0, false
}

func (w *walker) inGap(number uint64) bool {
	for _, g := range w.gaps {
		if g[0] <= number && number <= g[1] {
			return true
		}
	}
	return false
}
