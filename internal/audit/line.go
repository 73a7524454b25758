package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
)

// A line is {"COUNTER":NUMBER,...,"prev":"MARK","hash":"MARK"}, where the
// counter says what kind of line it is, and the hash covers all that stands
// before it.
const (
	rowLine    = "seq"
	headerLine = "segment"
	headLine   = "head"

	prevName = `,"prev":"`
	hashName = `","hash":"`
	lineEnd  = `"}`
	markLen  = 2 * sha256.Size
	tailLen  = len(prevName) + markLen + len(hashName) + markLen + len(lineEnd)
	maxLine  = 1 << 20 // more than 20 texts of nothing but escapes
)

// A mark is the hash of a line, in hex.
type mark [markLen]byte

// origin is what the first line of a chain names as the line before it.
func origin() mark {
	return mark(bytes.Repeat([]byte{'0'}, markLen))
}

func (m mark) String() string { return string(m[:]) }

// A sealer ends lines under a key. It is not safe for concurrent use.
type sealer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newSealer(k key) *sealer {
	return &sealer{mac: hmac.New(sha256.New, k[:])}
}

// mark is the hash of covered.
func (s *sealer) mark(covered []byte) (m mark) {
	s.mac.Reset()
	s.mac.Write(covered)
	hex.Encode(m[:], s.mac.Sum(s.sum[:0]))
	return m
}

// seal ends the line that begins at b[start:], which lacks its links and its
// closing brace.
func (s *sealer) seal(b []byte, start int, prev mark) ([]byte, mark) {
	b = append(b, prevName...)
	b = append(b, prev[:]...)
	m := s.mark(b[start:])
	b = append(b, hashName...)
	b = append(b, m[:]...)
	b = append(b, lineEnd...)
	return append(b, '\n'), m
}

// sealJSON appends v, a struct whose first field is a counter, as a line.
func (s *sealer) sealJSON(b []byte, v any, prev mark) ([]byte, mark, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return b, prev, fmt.Errorf("encoding a line of the audit log: %w", err)
	}
	start := len(b)
	b, m := s.seal(append(b, text[:len(text)-1]...), start, prev)
	return b, m, nil
}

// authentic says whether f was sealed under this key.
func (s *sealer) authentic(f frame) bool {
	m := s.mark(f.covered)
	return hmac.Equal(m[:], f.hash[:])
}

// A frame is what a line says about its place.
type frame struct {
	counter string // rowLine, headerLine or headLine
	number  uint64
	covered []byte // by the hash; part of the line
	prev    mark
	hash    mark
}

// split takes a line apart, without its newline. It is for strangers' input:
// false means that this is no line of ours.
func split(line []byte) (f frame, ok bool) {
	if len(line) < tailLen || len(line) > maxLine {
		return frame{}, false
	}
	tail := line[len(line)-tailLen:]
	if !cutMark(&tail, prevName, &f.prev) || !cutMark(&tail, hashName, &f.hash) || string(tail) != lineEnd {
		return frame{}, false
	}
	f.covered = line[:len(line)-markLen-len(hashName)-len(lineEnd)]
	for _, counter := range [...]string{rowLine, headerLine, headLine} {
		rest, found := bytes.CutPrefix(line, []byte(`{"`+counter+`":`))
		digits, _, more := bytes.Cut(rest, []byte(","))
		if !found || !more {
			continue
		}
		number, err := strconv.ParseUint(string(digits), 10, 64)
		f.counter, f.number = counter, number
		return f, err == nil
	}
	return frame{}, false
}

// cutMark takes name and the mark after it off the front of b.
func cutMark(b *[]byte, name string, m *mark) bool {
	rest, ok := bytes.CutPrefix(*b, []byte(name))
	if !ok || len(rest) < markLen {
		return false
	}
	copy(m[:], rest)
	for _, c := range m {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	*b = rest[markLen:]
	return true
}

// parseRow reads a record. Other lines, and those that are none of ours, are
// not rows; nothing here says that a row is authentic.
func parseRow(chain string, line []byte) (Row, bool) {
	f, ok := split(line)
	if !ok || f.counter != rowLine {
		return Row{}, false
	}
	var r Row
	if err := json.Unmarshal(line, &r); err != nil {
		return Row{}, false
	}
	r.Chain, r.line = chain, line
	return r, true
}
