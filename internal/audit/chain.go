package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	format     = 2 // of lines
	randomBits = 20
	nameTime   = "20060102T150405.000Z"
	nameLen    = len(nameTime) + 1 + randomBits/4
)

// newChainID returns a number that is practically unique and sorts by time.
func newChainID(now time.Time) int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UnixMilli()<<randomBits | int64(binary.BigEndian.Uint32(b[:])>>(32-randomBits))
}

// chainName returns the name of a chain that is shown to people.
func chainName(id int64) string {
	start := time.UnixMilli(id >> randomBits).UTC()
	return fmt.Sprintf("%s-%0*x", start.Format(nameTime), randomBits/4, id&(1<<randomBits-1))
}

// chainID returns the number of a chain's name.
func chainID(name string) (id int64, ok bool) {
	text, random, _ := strings.Cut(name, "-")
	start, err := time.Parse(nameTime, text)
	low, bad := strconv.ParseInt(random, 16, 64)
	id = start.UnixMilli()<<randomBits | low
	return id, err == nil && bad == nil && chainName(id) == name
}

// A beginning is the first line of a chain.
type beginning struct {
	Format  int       `json:"format"`
	Time    time.Time `json:"ts"`
	Chain   string    `json:"chain"`
	Key     string    `json:"key"` // the id of the sealing key
	Version string    `json:"version,omitempty"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
}

// parseBeginning decodes the first line of a chain without checking its hash.
func parseBeginning(line []byte) (f sealedLine, b beginning, ok bool) {
	f, ok = parseLine(line)
	ok = ok && f.counter == firstLine && json.Unmarshal(f.line, &b) == nil
	return f, b, ok
}

// newChain returns a chain that is not in the store yet.
func newChain(now time.Time, k key, s *sealer, version string) (c chainRow, err error) {
	id := newChainID(now)
	host, _ := os.Hostname() // the host name is optional
	line, link, err := s.sealJSON(beginning{
		Format: format, Time: now, Chain: chainName(id), Key: k.id(),
		Version: version, PID: os.Getpid(), Host: host,
	}, origin())
	return chainRow{ID: id, Key: k.id(), Line: line, Hash: link.String()}, err
}

// A line is {"COUNTER":NUMBER,...,"prev":"HASH","hash":"HASH"}; the name of the counter is the
// kind of the line. prev is the plain SHA-256 of the line before; it can be checked without a
// key. hash is the HMAC of all bytes before it. So a line confirms the line before it even if
// that has another key.
const (
	rowLine   = "seq"
	firstLine = "format"
	headLine  = "head"

	prevName = `,"prev":"`
	hashName = `","hash":"`
	lineEnd  = `"}`
	linkLen  = 2 * sha256.Size
	tailLen  = len(prevName) + linkLen + len(hashName) + linkLen + len(lineEnd)
	maxLine  = 1 << 20 // more than 20 texts that consist of escapes
)

// A link is a SHA-256 hash in hexadecimal.
type link [linkLen]byte

// origin returns the link in the first line of a chain.
func origin() link {
	return link(bytes.Repeat([]byte{'0'}, linkLen))
}

func (m link) String() string { return string(m[:]) }

// linkOf returns the link of a line. The next line contains it as prev.
func linkOf(line []byte) (m link) {
	sum := sha256.Sum256(line)
	hex.Encode(m[:], sum[:])
	return m
}

// A sealer seals lines with a key. It is not safe for concurrent use.
type sealer struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newSealer(k key) *sealer {
	return &sealer{mac: hmac.New(sha256.New, k[:])}
}

// hmac returns the HMAC of covered.
func (s *sealer) hmac(covered []byte) (m link) {
	s.mac.Reset()
	s.mac.Write(covered)
	hex.Encode(m[:], s.mac.Sum(s.sum[:0]))
	return m
}

// seal appends the links and the closing brace to a line, and returns it with
// its link.
func (s *sealer) seal(b []byte, prev link) ([]byte, link) {
	b = append(b, prevName...)
	b = append(b, prev[:]...)
	m := s.hmac(b)
	b = append(b, hashName...)
	b = append(b, m[:]...)
	b = append(b, lineEnd...)
	return b, linkOf(b)
}

// sealJSON returns the line of v, a struct with a counter as its first field.
func (s *sealer) sealJSON(v any, prev link) (line string, link link, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", prev, fmt.Errorf("encoding a line of the audit log: %w", err)
	}
	text, link = s.seal(text[:len(text)-1], prev)
	return string(text), link, nil
}

// authentic reports whether the line was sealed with this key.
func (s *sealer) authentic(f sealedLine) bool {
	m := s.hmac(f.covered)
	return hmac.Equal(m[:], f.hash[:])
}

// A sealedLine is the position of a line in its chain.
type sealedLine struct {
	counter string // rowLine, firstLine or headLine
	number  uint64
	line    []byte
	covered []byte // the part of line that the hash covers
	prev    link
	hash    link
}

// parseLinks splits off the end of a line. It accepts any input, and reports
// whether the line has the right form.
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

// parseLine parses a whole line, without its other fields.
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

// cutLink removes name and the link after it from the front of b.
func cutLink(b *[]byte, name string, m *link) bool {
	rest, ok := bytes.CutPrefix(*b, []byte(name))
	if !ok || len(rest) < linkLen {
		return false
	}
	got, ok := parseLink(string(rest[:linkLen]))
	*m, *b = got, rest[linkLen:]
	return ok
}

// parseLink parses a link.
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

// parseRow decodes a record, without checking its hash. It reports whether the
// line is a record.
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
