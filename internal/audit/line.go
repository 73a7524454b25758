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
// counter says what kind of line it is. prev is the link of the line before: a
// plain hash of all of it, which everybody can check. hash is a hash under the
// key of all that stands before it. So a line vouches for the one before it
// also when that was sealed with a key that is not here.
const (
	rowLine   = "seq"
	firstLine = "format"
	headLine  = "head"

	prevName = `,"prev":"`
	hashName = `","hash":"`
	lineEnd  = `"}`
	linkLen  = 2 * sha256.Size
	tailLen  = len(prevName) + linkLen + len(hashName) + linkLen + len(lineEnd)
	maxLine  = 1 << 20 // more than 20 texts of nothing but escapes
)

// A readCheckpoint is a hash, in hex.
type link [linkLen]byte

// origin is what the first line of a chain names as the line before it.
func origin() link {
	return link(bytes.Repeat([]byte{'0'}, linkLen))
}

func (m link) String() string { return string(m[:]) }

// linkOf is what the line after this one names as the line before it.
func linkOf(line []byte) (m link) {
	sum := sha256.Sum256(line)
	hex.Encode(m[:], sum[:])
	return m
}

// A sealer ends lines under a key. It is not safe for concurrent use.
type sealer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newSealer(k key) *sealer {
	return &sealer{mac: hmac.New(sha256.New, k[:])}
}

// readCheckpoint is the hash of covered under the key.
func (s *sealer) sum_(covered []byte) (m link) {
	s.mac.Reset()
	s.mac.Write(covered)
	hex.Encode(m[:], s.mac.Sum(s.sum[:0]))
	return m
}

// seal ends the line b, which lacks its links and its closing brace, and
// returns its own link as well.
func (s *sealer) seal(b []byte, prev link) ([]byte, link) {
	b = append(b, prevName...)
	b = append(b, prev[:]...)
	m := s.sum_(b)
	b = append(b, hashName...)
	b = append(b, m[:]...)
	b = append(b, lineEnd...)
	return b, linkOf(b)
}

// sealJSON makes a line of v, a struct whose first field is a counter.
func (s *sealer) sealJSON(v any, prev link) (line string, link link, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", prev, fmt.Errorf("encoding a line of the audit log: %w", err)
	}
	text, link = s.seal(text[:len(text)-1], prev)
	return string(text), link, nil
}

// authentic says whether f was sealed under this key.
func (s *sealer) authentic(f sealedLine) bool {
	m := s.sum_(f.covered)
	return hmac.Equal(m[:], f.hash[:])
}

// A sealedLine is what a line says about its place.
type sealedLine struct {
	counter string // rowLine, firstLine or headLine
	number  uint64
	line    []byte
	covered []byte // by the hash; part of the line
	prev    link
	hash    link
}

// parseLinks takes the end of a line apart. It is for strangers' input: false means
// that this is no line of ours.
func parseLinks(line []byte) (f sealedLine, ok bool) {
	if len(line) < tailLen || len(line) > maxLine {
		return sealedLine{}, false
	}
	tail := line[len(line)-tailLen:]
	if !cutLink(&tail, prevName, &f.prev) || !cutLink(&tail, hashName, &f.hash) || string(tail) != lineEnd {
		return sealedLine{}, false
	}
	f.line, f.covered = line, line[:len(line)-linkLen-len(hashName)-len(lineEnd)]
	return f, true
}

// parseLine takes a whole line apart, as links does its end.
func parseLine(line []byte) (f sealedLine, ok bool) {
	if f, ok = parseLinks(line); !ok {
		return sealedLine{}, false
	}
	for _, counter := range [...]string{rowLine, firstLine, headLine} {
		rest, found := bytes.CutPrefix(line, []byte(`{"`+counter+`":`))
		digits, _, more := bytes.Cut(rest, []byte(","))
		if !found || !more {
			continue
		}
		number, err := strconv.ParseUint(string(digits), 10, 63)
		f.counter, f.number = counter, number
		return f, err == nil
	}
	return sealedLine{}, false
}

// cutLink takes name and the mark after it off the front of b.
func cutLink(b *[]byte, name string, m *link) bool {
	rest, ok := bytes.CutPrefix(*b, []byte(name))
	if !ok || len(rest) < linkLen {
		return false
	}
	got, ok := parseLink(string(rest[:linkLen]))
	*m, *b = got, rest[linkLen:]
	return ok
}

// parseLink reads a mark that stands alone.
func parseLink(text string) (m link, ok bool) {
	if len(text) != linkLen {
		return m, false
	}
	copy(m[:], text)
	for _, c := range m {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return m, false
		}
	}
	return m, true
}

// parseRow reads a record. Other lines, and those that are none of ours, are
// not rows; nothing here says that a row is authentic.
func parseRow(chain int64, line string) (Row, bool) {
	f, ok := parseLine([]byte(line))
	if !ok || f.counter != rowLine {
		return Row{}, false
	}
	var r Row
	if err := json.Unmarshal(f.line, &r); err != nil {
		return Row{}, false
	}
	r.Chain, r.line = chainName(chain), line
	return r, true
}
