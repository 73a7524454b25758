package fs

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/text"
)

// Secrets are taken out of all results by their looks. Here is hidden what does
// not look like one any more in the way that it would be shown.

const (
	keyLines = 256 // of one private key, at the most
	keyWidth = 100
	keyLine  = 20 // the least that hints at one
)

// ofKey tells which lines are of a private key that begins before all of them.
func (r *reading) ofKey(ctx context.Context, lines []text.Line) (map[int]bool, error) {
	hints := func(l text.Line) bool { return len(scrub.KeyBody(l.Text)) >= keyLine }
	if len(lines) == 0 || lines[0].Number == 1 || !slices.ContainsFunc(lines, hints) {
		return nil, nil
	}
	first := lines[0].Number
	q := text.Query{Encoding: r.encoding, From: first - keyLines, Lines: keyLines, Line: keyWidth, Bytes: keyLines * (keyWidth + 2)}
	if first > 0 {
		q.From = max(q.From, 1)
	}
	w, err := text.Read(ctx, r.content, r.file.Size, q)
	if err != nil {
		return nil, err
	}
	var before strings.Builder
	for _, l := range w.Lines {
		if l.Number >= first {
			break
		}
		before.WriteString(l.Text + "\n")
	}
	if !scrub.OpenKey([]byte(before.String())) {
		return nil, nil
	}
	of := map[int]bool{}
	for _, l := range lines {
		if strings.Contains(l.Text, "-----END ") {
			break
		}
		of[l.Number] = scrub.KeyBody(l.Text) != ""
	}
	return of, nil
}

// secretless refuses to show bytes in a form in which a secret in them, or the
// part of one, would not be known for what it is.
func (r *reading) secretless(from int64, data []byte) error {
	start := max(from-scrub.LongestKey, 0)
	around, err := readUpTo(r.content, start, min(from+int64(len(data))+scrub.LongestKey, r.file.Size)-start)
	if err != nil {
		return err
	}
	var usual *scrub.Scrubber
	plain := string(around)
	_, n := usual.Count(plain)
	if n == 0 && strings.ContainsRune(plain, 0) { // UTF-16, perhaps
		_, n = usual.Count(strings.ReplaceAll(plain, "\x00", ""))
	}
	if n == 0 {
		return nil
	}
	return tool.Errorf(tool.Refused, "in or near bytes %d to %d of %s is what looks like a secret, which base64 would show", from, from+int64(len(data)), r.file.Name).
		Try("read it as text, where secrets are masked, or ask for bytes further away")
}
