package audit

import (
	"fmt"
)

// A Kind says what is wrong at a place of the log.
type Kind string

const (
	Changed    Kind = "changed"    // a line that was not written, or not like this, by a holder of the key
	Foreign    Kind = "foreign"    // a line that is none of ours, or does not belong here
	Missing    Kind = "missing"    // lines that were here
	Reordered  Kind = "reordered"  // a line that belongs further up
	Duplicated Kind = "duplicated" // a line that was here before
	OtherKey   Kind = "other key"  // sealed with a key that is not here, so that only links can be checked
	NoKey      Kind = "no key"     // there is none here at all
	Unended    Kind = "no end"     // a chain whose process runs still, or was killed
)

// A walker follows the links of one chain, and says of each line that does not
// fit how it does not.
type walker struct {
	counter string      // of the lines that count
	seal    *sealer     // nil when the key is not here: then links have to do
	number  uint64      // of the last line that fitted
	last    link        // the link of that line
	bad     uint64      // lines since, that may stand where others stood
	gaps    [][2]uint64 // what was missing when we came by
	adopt   bool        // what comes next cannot be checked against what was before
}

// step judges the next line. What is wrong is said once: afterwards the walker
// goes on from wherever the line was. The empty kind means that it fits.
func (w *walker) step(f sealedLine, ok bool) (kind Kind, detail string) {
	switch {
	case !ok || f.counter != w.counter:
		w.bad++
		return Foreign, "this is no line of the audit log"
	case w.seal != nil && !w.seal.authentic(f):
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
	case f.number == next && w.seal == nil:
		w.accept(f)
		return Changed, fmt.Sprintf("line %d does not follow the line before: one of the two was changed", f.number)
	case f.number == next:
		w.bad++
		return Foreign, fmt.Sprintf("line %d is one of ours, but does not follow the line before; it may be of another chain", f.number)
	}
	// The lines between may be those that were bad.
	if next+w.bad >= f.number {
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

func (w *walker) accept(f sealedLine) {
	w.number, w.last, w.bad, w.adopt = f.number, linkOf(f.line), 0, false
}

// start sets the walker behind a line that is known from elsewhere.
func (w *walker) start(p point) {
	w.number, w.bad = p.Seq, 0
	last, ok := parseLink(p.Mark)
	w.last, w.adopt = last, !ok
}

func (w *walker) inGap(number uint64) bool {
	for _, g := range w.gaps {
		if g[0] <= number && number <= g[1] {
			return true
		}
	}
	return false
}

// stepRow is step for a record as the store has it. Its columns have to say
// what its line says.
func (w *walker) stepRow(r recordRow) (row Row, fits bool) {
	_, _, row = w.judgeRow(r)
	return row, row.line != ""
}

// judgeRow also says what is wrong. Only of what fits there is a row.
func (w *walker) judgeRow(r recordRow) (kind Kind, detail string, row Row) {
	f, ok := parseLine([]byte(r.Line))
	if kind, detail = w.step(f, ok); kind != "" {
		return kind, detail, Row{}
	}
	got, ok := parseRow(r.Chain, r.Line)
	if !ok {
		return Foreign, "this is no record", Row{}
	}
	who, what := lookupKey(&got.Record)
	if r.Seq != int64(f.number) || r.At != got.Time.UnixMicro() || r.Who != who || r.What != what {
		return Changed, fmt.Sprintf("its columns are not what the line of record %d says", f.number), Row{}
	}
	return "", "", got
}
