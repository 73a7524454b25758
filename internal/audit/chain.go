package audit

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	format     = 2 // of the lines
	randomBits = 20
	nameTime   = "20060102T150405.000Z"
	nameLen    = len(nameTime) + 1 + randomBits/4
)

// newChainID is unique, as far as we need it, and sorts by time.
func newChainID(now time.Time) int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UnixMilli()<<randomBits | int64(binary.BigEndian.Uint32(b[:])>>(32-randomBits))
}

// chainName is what people see of a chain's number.
func chainName(id int64) string {
	start := time.UnixMilli(id >> randomBits).UTC()
	return fmt.Sprintf("%s-%0*x", start.Format(nameTime), randomBits/4, id&(1<<randomBits-1))
}

// chainID is the number that a name stands for.
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
	Key     string    `json:"key"` // which key seals it
	Version string    `json:"version,omitempty"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
	Boot    time.Time `json:"boot,omitzero"` // when the host started: with the pid, which process it was
}

// parseBeginning reads how a chain begins; nothing here says that it is
// authentic.
func parseBeginning(line []byte) (f sealedLine, b beginning, ok bool) {
	f, ok = parseLine(line)
	ok = ok && f.counter == firstLine && json.Unmarshal(f.line, &b) == nil
	return f, b, ok
}

// newChain makes a chain that is not in the store yet.
func newChain(now time.Time, k key, s *sealer, version string) (c chainRow, err error) {
	id := newChainID(now)
	host, _ := os.Hostname() // where it has none, the pid has to do
	line, link, err := s.sealJSON(beginning{
		Format: format, Time: now, Chain: chainName(id), Key: k.id(),
		Version: version, PID: os.Getpid(), Host: host, Boot: bootTime(),
	}, origin())
	return chainRow{ID: id, Key: k.id(), Line: line, Hash: link.String()}, err
}

// bootTime is when the host started, or zero where it does not say.
func bootTime() time.Time {
	stat, _ := os.ReadFile("/proc/stat")
	_, rest, _ := bytes.Cut(stat, []byte("\nbtime "))
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
