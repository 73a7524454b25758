package today

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Limits of differences.
const (
	maxDiffed = 1 << 20 // bytes of a file
	keptDiffs = 4096    // differences that are counted once
)

// Diffs finds how files differ before and after changes. It reads the history; the content after a change is kept when
// the next change replaces it, and until then it is the content of the file.
type Diffs struct {
	History *history.Store      // nil: nothing is known
	Scrub   func(string) string // of contents that are shown

	once    sync.Once
	counted *lru.Cache[[2]string, [2]int]
}

// Count sets the lines that changes have added and removed.
func (d *Diffs) Count(ctx context.Context, changes []Change) {
	for i := range changes {
		c := &changes[i]
		c.Added, c.Removed, c.Counted = d.count(ctx, *c)
	}
}

func (d *Diffs) count(ctx context.Context, c Change) (added, removed int, ok bool) {
	d.once.Do(func() { d.counted = lru.New[[2]string](keptDiffs, func([2]int) int64 { return 1 }) })
	key := [2]string{digestOf(c.first.Before), digestOf(c.last.After)}
	if n, known := d.counted.Get(key); known {
		return n[0], n[1], true
	}
	before, after, ok := d.contents(ctx, c)
	if !ok {
		return 0, 0, false
	}
	added, removed = countLines(diff.Diff("", before, "", after))
	d.counted.Put(key, [2]int{added, removed})
	return added, removed, true
}

func digestOf(c *history.Content) string {
	if c == nil {
		return ""
	}
	return c.Digest
}

// countLines counts the lines of a unified difference.
func countLines(unified []byte) (added, removed int) {
	_, rest, _ := bytes.Cut(unified, []byte("\n@@"))
	for line := range bytes.Lines(rest) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// Text returns the difference as lines that begin with a space, "-", "+" or "@@", without secrets. ok is false if it is
// not known or not text.
func (d *Diffs) Text(ctx context.Context, c Change) (lines []string, ok bool) {
	before, after, ok := d.contents(ctx, c)
	if !ok {
		return nil, false
	}
	unified := string(diff.Diff("", []byte(d.Scrub(string(before))), "", []byte(d.Scrub(string(after)))))
	_, rest, some := strings.Cut(unified, "\n@@")
	if !some {
		return nil, true
	}
	return strings.Split(strings.TrimSuffix("@@"+rest, "\n"), "\n"), true
}

// contents returns the texts of a file before and after a change.
func (d *Diffs) contents(ctx context.Context, c Change) (before, after []byte, ok bool) {
	before, ok = d.content(ctx, c.first, c.first.Before)
	if !ok || !isText(before) {
		return nil, nil, false
	}
	after, ok = d.content(ctx, c.last, c.last.After)
	return before, after, ok && isText(after)
}

func isText(content []byte) bool { return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 }

// content returns the content of a file, empty for a file that did not exist.
func (d *Diffs) content(ctx context.Context, f history.FileRecord, c *history.Content) ([]byte, bool) {
	switch {
	case c == nil:
		return nil, true
	case d.History == nil || c.Digest == "" || c.Size > maxDiffed:
		return nil, false
	}
	if kept, err := d.History.Open(ctx, c); err == nil {
		defer kept.Close()
		content, err := io.ReadAll(kept)
		return content, err == nil
	}
	return d.current(ctx, f, c)
}

// current returns the content of a file if it is still c.
func (d *Diffs) current(ctx context.Context, f history.FileRecord, c *history.Content) ([]byte, bool) {
	if f.External || !fs.ValidPath(string(f.Name)) {
		return nil, false
	}
	dir, err := root.Open(string(f.Root))
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	file, info, err := dir.OpenRegular(string(f.Name))
	if err != nil {
		return nil, false
	}
	defer file.Close()
	if info.Size != c.Size {
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(file, maxDiffed+1))
	if err != nil {
		return nil, false
	}
	digest, err := d.History.Digest(ctx, bytes.NewReader(content), int64(len(content)))
	return content, err == nil && digest == c.Digest
}
