package audit

import (
	"fmt"
)

// A Kind is the kind of a [Problem].
type Kind string

const (
	Changed   Kind = "changed"   // a line that was changed or not written with the key
	Foreign   Kind = "foreign"   // a line that does not belong here
	Missing   Kind = "missing"   // missing lines
	Misplaced Kind = "misplaced" // a line that is there twice, or belongs further up
	OtherKey  Kind = "other key" // sealed with a key that is missing; only links were checked
	NoKey     Kind = "no key"    // there is no key
	Unended   Kind = "no end"    // a process that runs or was killed has not ended the chain
)

// A walker checks the lines of one chain in order.
type walker struct {
	counter string  // kind of the lines
	seal    *sealer // nil without the key; then only links are checked
	number  uint64  // of the last valid line
	last    link    // its link
	bad     uint64  // invalid lines since then; some may be changed lines
	adopt   bool    // accept any predecessor of the next line
}

// step checks the next line. It reports each problem once and continues after
// it. An empty kind means that the line is valid.
func (w *walker) step(f sealedLine, ok bool) (kind Kind, detail string) {
	switch {
	case !ok || f.counter != w.counter:
		w.bad++
		return Foreign, "not a line of the audit log"
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
	case f.number < next:
		return Misplaced, fmt.Sprintf("line %d is there twice, or belongs further up", f.number)
	case f.number == next && w.seal == nil:
		w.accept(f)
		return Changed, fmt.Sprintf("line %d does not follow the line before it: one of the two was changed", f.number)
	case f.number == next:
		w.bad++
		return Foreign, fmt.Sprintf("line %d does not follow the line before it; it may be of another chain", f.number)
	}
	// The missing lines may be the invalid ones.
	if next+w.bad >= f.number {
		w.accept(f)
		return "", ""
	}
	detail = w.missing(f.number)
	w.accept(f)
	return Missing, detail
}

// missing describes the lines that are missing before number.
func (w *walker) missing(number uint64) string {
	from, to := w.number+1, number-1
	switch {
	case w.bad > 0:
		return fmt.Sprintf("lines %d to %d are missing, except for %d", from, to, w.bad)
	case from == to:
		return fmt.Sprintf("line %d is missing", from)
	}
	return fmt.Sprintf("lines %d to %d are missing", from, to)
}

func (w *walker) accept(f sealedLine) {
	w.number, w.last, w.bad, w.adopt = f.number, linkOf(f.line), 0, false
}

// start continues after a line that is known from elsewhere.
func (w *walker) start(p point) {
	w.number, w.bad = p.Seq, 0
	last, ok := parseLink(p.Mark)
	w.last, w.adopt = last, !ok
}

// stepRow is step for a record of the store. Its columns must be equal to the
// fields of its line.
func (w *walker) stepRow(r recordRow) (row Row, fits bool) {
	_, _, row = w.judgeRow(r)
	return row, row.line != ""
}

// judgeRow is stepRow with the problem. It returns a row only if it is valid.
func (w *walker) judgeRow(r recordRow) (kind Kind, detail string, row Row) {
	f, ok := parseLine([]byte(r.Line))
	if kind, detail = w.step(f, ok); kind != "" {
		return kind, detail, Row{}
	}
	got, ok := parseRow(r.Chain, r.Line)
	if !ok {
		return Foreign, "not a record", Row{}
	}
	who, what := lookupKey(&got.Record)
	if r.Seq != int64(f.number) || r.At != got.Time.UnixMicro() || r.Who != who || r.What != what {
		return Changed, fmt.Sprintf("the columns of record %d differ from its line", f.number), Row{}
	}
	return "", "", got
}
