package audit

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	format       = 1 // of the files
	segmentEnd   = ".jsonl"
	chainIDTime  = "20060102T150405.000000Z"
	chainIDLen   = len(chainIDTime) + 1 + 16
	segmentDigit = 6
)

// newChainID is unique and sorts by time.
func newChainID(now time.Time) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.Format(chainIDTime) + "-" + hex.EncodeToString(b[:])
}

// chainStart is the time in a chain's id, if it is one.
func chainStart(id string) (time.Time, bool) {
	text, random, _ := strings.Cut(id, "-")
	t, err := time.Parse(chainIDTime, text)
	_, notHex := hex.DecodeString(random)
	return t, err == nil && notHex == nil && len(id) == chainIDLen
}

func segmentName(chain string, number int) string {
	return fmt.Sprintf("%s-%0*d%s", chain, segmentDigit, number, segmentEnd)
}

// A header is the first line of a segment.
type header struct {
	Segment int       `json:"segment"` // counts the segments of the chain, from 1
	Format  int       `json:"format"`
	Time    time.Time `json:"ts"`
	Chain   string    `json:"chain"`
	After   uint64    `json:"after"` // the last record before this segment
	Key     string    `json:"key"`   // which key sealed it
	Version string    `json:"version,omitempty"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
	Boot    time.Time `json:"boot,omitzero"` // when the host started: with the pid, which process it was
}

func (l *Log) header(now time.Time) header {
	host, _ := os.Hostname()
	return header{
		Segment: l.w.number, Format: format, Time: now, Chain: l.w.id, After: l.w.seq, Key: l.key.id(),
		Version: l.opts.Version, PID: os.Getpid(), Host: host, Boot: bootTime(),
	}
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

// createSegment makes the file of a segment and locks it, which tells other
// processes that somebody writes to it.
func createSegment(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if taken, err := tryLock(f); err != nil || !taken {
		return nil, errors.Join(fmt.Errorf("locking it (free: %t): %w", taken, err), f.Close())
	}
	return f, nil
}

// A segment is a file of a chain as it was found.
type segment struct {
	path    string
	chain   string
	number  int
	from    int64 // where to begin reading
	size    int64
	touched time.Time
}

func parseSegmentName(name string) (chain string, number int, ok bool) {
	stem, found := strings.CutSuffix(name, segmentEnd)
	if !found || len(stem) < chainIDLen+1+segmentDigit || stem[chainIDLen] != '-' {
		return "", 0, false
	}
	chain = stem[:chainIDLen]
	number, err := strconv.Atoi(stem[chainIDLen+1:])
	_, timed := chainStart(chain)
	return chain, number, err == nil && timed && number > 0 && segmentName(chain, number) == name
}

// listSegments lists the segments in dir by chain and number, and the names of
// files that do not belong there.
func listSegments(dir string) (segments []segment, strangers []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the audit log: %w", err)
	}
	for _, e := range entries {
		chain, number, ok := parseSegmentName(e.Name())
		if !ok {
			if !slices.Contains([]string{lockName, headsName}, e.Name()) {
				strangers = append(strangers, e.Name())
			}
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // retention was faster
		}
		if err != nil {
			return nil, nil, fmt.Errorf("listing the audit log: %w", err)
		}
		if !info.Mode().IsRegular() {
			strangers = append(strangers, e.Name())
			continue
		}
		segments = append(segments, segment{
			path: filepath.Join(dir, e.Name()), chain: chain, number: number, size: info.Size(), touched: info.ModTime(),
		})
	}
	slices.SortFunc(segments, func(a, b segment) int {
		return cmp.Or(strings.Compare(a.chain, b.chain), a.number-b.number)
	})
	return segments, strangers, nil
}

// chains groups segments that are sorted.
func chains(segments []segment) [][]segment {
	var groups [][]segment
	for start := 0; start < len(segments); {
		end := start + 1
		for end < len(segments) && segments[end].chain == segments[start].chain {
			end++
		}
		groups = append(groups, segments[start:end])
		start = end
	}
	return groups
}
