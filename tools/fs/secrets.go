package fs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// The server scrubs all results, and recognizes secrets by their form. This file hides parts of secrets that no longer
// have that form in the way they would be shown.

const (
	maxKeyLines  = 256 // of one private key
	maxKeyWidth  = 100 // bytes of a line of a key
	minKeyLine   = 20  // bytes of base64 at which a line may be part of a key
	longKeyLine  = 40  // bytes at which a line is looked up in the source; only the last line of a key is shorter
	endOfKeyMark = "-----END "
)

// keyLinesAmong returns the numbers of the lines that belong to a private key which begins before the first of them.
func (r *reader) keyLinesAmong(ctx context.Context, lines []textfile.Line) (map[int]bool, error) {
	mayBeKey := func(l textfile.Line) bool { return len(scrub.KeyBody(l.Text)) >= minKeyLine }
	if len(lines) == 0 || lines[0].Number == 1 || !slices.ContainsFunc(lines, mayBeKey) {
		return nil, nil
	}
	first := lines[0].Number
	q := textfile.Query{
		Encoding: r.encoding, From: first - maxKeyLines, Lines: maxKeyLines, Line: maxKeyWidth,
		Bytes: maxKeyLines * (maxKeyWidth + 2),
	}
	if first > 0 {
		q.From = max(q.From, 1)
	}
	w, err := textfile.Read(ctx, r.content, r.file.Size, q)
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
	ofKey := map[int]bool{}
	for _, l := range lines {
		if strings.Contains(l.Text, endOfKeyMark) {
			break
		}
		ofKey[l.Number] = scrub.KeyBody(l.Text) != ""
	}
	return ofKey, nil
}

// checkBytes refuses to return bytes in base64 if they contain or touch a secret, which the server could not recognize
// in that form.
func (r *reader) checkBytes(from int64, data []byte) error {
	to := from + int64(len(data))
	start := max(from-scrub.LongestKey, 0)
	around, err := readUpTo(r.content, start, min(to+scrub.LongestKey, r.file.Size)-start)
	if err != nil {
		return err
	}
	plain := string(around)
	_, n := r.secrets.Count(plain)
	if n == 0 && strings.ContainsRune(plain, 0) { // it may be UTF-16
		_, n = r.secrets.Count(strings.ReplaceAll(plain, "\x00", ""))
	}
	if n == 0 {
		return nil
	}
	return tool.Errorf(tool.Refused,
		"bytes %d to %d of %s contain or touch what looks like a secret, which base64 would show",
		from, to, r.file.Name).
		Try("read the file as text, in which secrets are masked, or read bytes further away")
}

// hideKeys masks the parts of private keys in text from source that is shown line by line, such as a diff, without the
// line in which the key begins.
func hideKeys(shown, source string) string {
	lines := strings.SplitAfter(shown, "\n")
	inKey, hidden := false, false
	for i, line := range lines {
		body := scrub.KeyBody(line)
		isLast := i+1 < len(lines) && strings.Contains(lines[i+1], endOfKeyMark)
		inKey = body != "" &&
			(inKey || (len(body) >= longKeyLine || isLast) && isInKey(source, body))
		if inKey {
			lines[i] = strings.Replace(line, body, scrub.Mask, 1)
			hidden = true
		}
	}
	if !hidden {
		return shown
	}
	return strings.Join(lines, "")
}

// isInKey reports whether body is within a private key in source.
func isInKey(source, body string) bool {
	at := strings.Index(source, body)
	return at >= 0 && scrub.OpenKey([]byte(source[max(0, at-scrub.LongestKey):at]))
}

// hideKeysInError masks parts of private keys in an error that shows lines of source.
func hideKeysInError(err error, source string) error {
	var known *tool.Error
	if errors.As(err, &known) {
		known.What, known.Next = hideKeys(known.What, source), hideKeys(known.Next, source)
	}
	return err
}
