package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Report is what Verify found.
type Report struct {
	Chains   int       `json:"chains"`
	Segments int       `json:"segments"`
	Records  int       `json:"records"` // that are authentic and in their place
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"` // the first 1,000
	More     int       `json:"more"`     // problems beyond those
	Notes    []Problem `json:"notes"`    // what is explained by a crash or a process that runs
}

// OK says that nothing was tampered with, as far as can be seen.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// A Problem is something wrong, and where.
type Problem struct {
	File   string `json:"file"`           // its name in the directory of the log
	Line   int    `json:"line,omitempty"` // from 1; 0 for the file as a whole
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", p.File, p.Kind, p.Detail)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Kind, p.Detail)
}

const maxProblems = 1000

// Verify reads the whole log in the data directory dir and reports what is not
// as it was written; the package comment says what that can be. An error means
// that it could not be read. Processes may write meanwhile.
func Verify(ctx context.Context, dir string) (Report, error) {
	own := filepath.Join(dir, "audit")
	if _, err := os.Stat(own); errors.Is(err, os.ErrNotExist) {
		return Report{}, nil
	}
	k, err := loadKey(dir)
	if err != nil {
		return Report{}, err
	}
	c := &check{dir: own, key: k, seal: newSealer(k)}
	// What the heads say the chains have reached is read before the chains, and
	// what was pruned after them: both may go on while we read.
	c.book, err = readHeads(own, c.seal, func(line int, kind Kind, detail string) { c.problem(headsName, line, kind, detail) })
	if err != nil {
		return c.report, err
	}
	segments, strangers, err := listSegments(own)
	if err != nil {
		return c.report, err
	}
	for _, name := range strangers {
		c.note(name, Foreign, "this is no file of the audit log")
	}
	var ends []chainEnd
	for _, chain := range chains(segments) {
		end, err := c.chain(ctx, chain)
		if err != nil {
			return c.report, err
		}
		ends = append(ends, end)
	}
	later, err := readHeads(own, c.seal, func(int, Kind, string) {})
	if err != nil {
		return c.report, err
	}
	c.book.pruned = later.pruned
	c.compare(ends)
	return c.report, nil
}

// A check is a Verify at work.
type check struct {
	dir    string
	key    key
	seal   *sealer
	book   headBook
	report Report
}

func (c *check) problem(file string, line int, kind Kind, detail string) {
	if len(c.report.Problems) == maxProblems {
		c.report.More++
		return
	}
	c.report.Problems = append(c.report.Problems, Problem{file, line, kind, detail})
}

func (c *check) note(file string, kind Kind, detail string) {
	if len(c.report.Notes) < maxProblems {
		c.report.Notes = append(c.report.Notes, Problem{File: file, Kind: kind, Detail: detail})
	}
}

// A chainEnd is what the heads have to agree with.
type chainEnd struct {
	chain       string
	first       int    // segment that is there
	seq         uint64 // of the last record
	strangerKey bool
}

// chain walks through the segments of one chain.
func (c *check) chain(ctx context.Context, segments []segment) (chainEnd, error) {
	w := &walker{counter: rowLine, seal: c.seal, last: origin()}
	end := chainEnd{chain: segments[0].chain}
	c.report.Chains++
	number := 0
	for i, seg := range segments {
		file, err := os.Open(seg.path)
		if errors.Is(err, os.ErrNotExist) {
			number = 0 // retention was faster: the chain begins after it
			continue
		}
		if err != nil {
			return end, fmt.Errorf("reading the audit log: %w", err)
		}
		if number == 0 {
			end.first, w.adopt = seg.number, true
		} else if seg.number != number+1 {
			c.problem(segmentName(seg.chain, number+1), 0, NoSegment, fmt.Sprintf("segments %d to %d are missing", number+1, seg.number-1))
			w.adopt = true
		}
		number = seg.number
		err = c.segment(ctx, &segmentWalk{walker: w, seg: seg, end: &end, final: i == len(segments)-1}, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return end, fmt.Errorf("reading %s: %w", filepath.Base(seg.path), err)
		}
		if end.strangerKey {
			return end, nil
		}
	}
	end.seq = w.number + w.bad // what is bad has been said to be
	return end, nil
}

// A segmentWalk is a walker on its way through one file.
type segmentWalk struct {
	*walker
	seg   segment
	end   *chainEnd
	final bool // of the chain
}

func (c *check) segment(ctx context.Context, w *segmentWalk, file io.Reader) error {
	c.report.Segments++
	name := filepath.Base(w.seg.path)
	lines := newForward(file)
	for number := 1; ; number++ {
		line, err := lines.next()
		if err == io.EOF {
			c.rest(name, number, w, lines)
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f, ok := split(line)
		if number == 1 && c.header(name, w, f, ok, line) {
			if w.end.strangerKey {
				return nil
			}
			continue
		}
		if kind, detail := w.step(f, ok); kind != "" {
			c.problem(name, number, kind, detail)
			continue
		}
		c.report.Records++
		if h := c.book.reached[w.seg.chain]; h.Seq == f.number && h.Mark != f.hash.String() {
			c.problem(name, number, Changed, "heads has another hash of this line")
		}
	}
}

// rest judges what stands after the last whole line of a segment.
func (c *check) rest(name string, number int, w *segmentWalk, lines *forward) {
	c.report.Bytes += lines.offset
	switch {
	case lines.rest == 0 && number > 1:
	case w.final:
		c.note(name, Torn, tornText(lines.rest))
	default:
		c.problem(name, number, Truncated, "the segment ends in the middle of a line, but the chain goes on")
	}
}

func tornText(rest int64) string {
	if rest == 0 {
		return "a segment was begun and nothing written to it: a crash or a full disk came first"
	}
	return fmt.Sprintf("a crash left half a line of %d bytes at the end", rest)
}

// header judges the first line of a segment. False means that it is no header,
// so that it may be a record.
func (c *check) header(name string, w *segmentWalk, f frame, ok bool, line []byte) bool {
	if !ok || f.counter != headerLine {
		c.problem(name, 1, BadHeader, "the first line is not the header of a segment")
		w.adopt = true
		return ok && f.counter != rowLine
	}
	var h header
	err := json.Unmarshal(line, &h)
	if err == nil && h.Key != c.key.id() {
		c.problem(name, 1, OtherKey, fmt.Sprintf("this chain was written with the key %q, and audit.key is %q", h.Key, c.key.id()))
		w.end.strangerKey = true
		return true
	}
	if err != nil || !c.seal.authentic(f) {
		c.problem(name, 1, Changed, "the header was changed, or not written with this key")
		w.adopt = true
		return true
	}
	c.fit(name, w, f, h)
	w.accept(frame{number: h.After, hash: f.hash})
	return true
}

// fit compares an authentic header with the file it is in and with what was
// before it.
func (c *check) fit(name string, w *segmentWalk, f frame, h header) {
	if h.Chain != w.seg.chain || h.Segment != w.seg.number {
		c.problem(name, 1, BadHeader, fmt.Sprintf("this is segment %d of the chain %s", h.Segment, h.Chain))
		return
	}
	switch {
	case w.adopt:
	case h.After > w.number+w.bad:
		kind, detail := w.missing(h.After + 1)
		c.problem(name, 1, kind, detail+" before this segment")
	case w.bad == 0 && f.prev != w.last:
		c.problem(name, 1, BadHeader, "the header does not follow the last line of the segment before")
	}
}
