package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	headsName   = "heads.jsonl"
	headsEnough = 1 << 20 // bytes from which on heads is rewritten when that helps
)

// A headKind says what a line of heads reports.
type headKind string

const (
	headBegun     headKind = "begun"     // the first line of all
	headReached   headKind = "reached"   // the chain had come as far as Seq
	headPruned    headKind = "pruned"    // retention removed the chain up to Segment, which ended with Seq
	headRewritten headKind = "rewritten" // what follows is what was still of use of the lines before
)

// A head is a line of heads.
type head struct {
	Head    uint64    `json:"head"` // counts the lines, also across a rewriting
	Time    time.Time `json:"ts"`
	Kind    headKind  `json:"kind"`
	Chain   string    `json:"chain,omitempty"`
	Segment int       `json:"segment,omitempty"`
	Seq     uint64    `json:"seq"`
	Mark    string    `json:"mark,omitempty"` // of the line of Seq, or of the last of Segment
}

// beginHeads makes heads, unless there are segments: then somebody removed it,
// and Verify must see that. The caller holds the lock.
func beginHeads(dir string, k key) error {
	if headsExist(dir) {
		return nil
	}
	segments, _, err := listSegments(dir)
	if err != nil || len(segments) > 0 {
		return err
	}
	return appendHeads(dir, newSealer(k), []head{{Kind: headBegun}})
}

func headsExist(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, headsName))
	return err == nil && info.Size() > 0
}

// addHeads writes lines at the end of heads and syncs them.
func (l *Log) addHeads(lines ...head) error {
	unlock, err := lockDir(l.dir)
	if err != nil {
		return err
	}
	defer unlock()
	return appendHeads(l.dir, newSealer(l.key), lines)
}

// appendHeads is addHeads for whoever holds the lock.
func appendHeads(dir string, s *sealer, lines []head) error {
	file, err := os.OpenFile(filepath.Join(dir, headsName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the heads: %w", err)
	}
	defer file.Close()
	number, last, err := headsEnd(file)
	if err != nil {
		return fmt.Errorf("reading the end of the heads: %w", err)
	}
	text, err := sealHeads(s, lines, number, last)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil { // half a line is cut off by the next who comes
		return fmt.Errorf("writing the heads: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("syncing the heads: %w", err)
	}
	return nil
}

// headsEnd cuts half a line off the end and says how to go on. After a line
// that is none of ours the count begins again; Verify will speak of that line.
func headsEnd(file *os.File) (number uint64, last mark, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, mark{}, err
	}
	lines, err := newBackward(file, 0, info.Size())
	if err != nil {
		return 0, mark{}, err
	}
	if lines.end < info.Size() {
		if err := file.Truncate(lines.end); err != nil {
			return 0, mark{}, err
		}
	}
	line, err := lines.next()
	if err != nil && err != io.EOF {
		return 0, mark{}, err
	}
	if f, ok := split(line); ok {
		return f.number, f.hash, nil
	}
	return 0, origin(), nil
}

// sealHeads turns lines into text that goes on after line number.
func sealHeads(s *sealer, lines []head, number uint64, last mark) ([]byte, error) {
	var text []byte
	for _, h := range lines {
		number++
		h.Head = number
		if h.Time.IsZero() {
			h.Time = time.Now().UTC()
		}
		var err error
		if text, last, err = s.sealJSON(text, h, last); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// A headBook is what heads says about the chains.
type headBook struct {
	reached map[string]head
	pruned  map[string]head
	size    int
	number  uint64 // of the last line
	last    mark
	absent  bool // there is no such file
}

// gone says whether retention removed the whole of a chain that heads knows.
func (b headBook) gone(chain string) bool {
	p, ok := b.pruned[chain]
	return ok && p.Seq >= b.reached[chain].Seq
}

// readHeads reads heads and hands what is wrong with it to problem.
func readHeads(dir string, s *sealer, problem func(line int, kind Kind, detail string)) (headBook, error) {
	b := headBook{reached: map[string]head{}, pruned: map[string]head{}, last: origin()}
	text, err := os.ReadFile(filepath.Join(dir, headsName))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return b, fmt.Errorf("reading the heads: %w", err)
	}
	b.size, b.absent = len(text), len(text) == 0
	w := walker{counter: headLine, seal: s, last: origin()}
	for number := 1; len(text) > 0; number++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if text = rest; !whole {
			break // half a line, which the next who writes cuts off
		}
		var h head
		f, ok := split(line)
		ok = ok && json.Unmarshal(line, &h) == nil
		if number == 1 && ok && h.Kind != headBegun {
			if w.adopt = true; h.Kind != headRewritten {
				problem(number, Missing, "what was before the first line is missing")
			}
		}
		if kind, detail := w.step(f, ok); kind != "" {
			problem(number, kind, detail)
			if kind != Missing {
				continue
			}
		}
		b.note(h)
	}
	b.number, b.last = w.number, w.last
	return b, nil
}

func (b headBook) note(h head) {
	switch h.Kind {
	case headReached:
		b.reached[h.Chain] = h
	case headPruned:
		b.pruned[h.Chain] = h
	case headBegun, headRewritten:
	}
}

// rewriteHeads drops what is of no use any more: all but the last lines of each
// chain, and chains that retention removed. The caller holds the lock.
func rewriteHeads(dir string, s *sealer, b headBook) error {
	lines := []head{{Kind: headRewritten}}
	for _, chain := range sortedKeys(b.reached, b.pruned) {
		if b.gone(chain) {
			continue
		}
		if h, ok := b.pruned[chain]; ok {
			lines = append(lines, h)
		}
		if h, ok := b.reached[chain]; ok {
			lines = append(lines, h)
		}
	}
	text, err := sealHeads(s, lines, b.number, b.last)
	if err != nil || len(text) > b.size/2 {
		return err
	}
	if err := writeFile(filepath.Join(dir, headsName), text); err != nil {
		return fmt.Errorf("rewriting the heads: %w", err)
	}
	return nil
}
