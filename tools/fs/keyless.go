package fs

import (
	"errors"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// longBody is how long a line is that may be looked up: the last of a key is
// shorter, and hidden with the one above it or below the others.
const longBody = 40

// withoutKeys hides what is of a private key in a piece of source that is shown
// line by line with marks, such as a diff, and seldom with the line that says
// where the key begins. Of a part of a file that cannot be told: there
// everything goes that may be of a key.
func withoutKeys(shown, source string, part bool) string {
	lines := strings.SplitAfter(shown, "\n")
	inside, hidden := false, false
	for i, line := range lines {
		body := scrub.KeyBody(line)
		last := i+1 < len(lines) && strings.Contains(lines[i+1], "-----END ")
		inside = body != "" && (inside || (len(body) >= longBody || last) && (part || openAt(source, body)))
		if inside {
			lines[i] = strings.Replace(line, body, scrub.Mask, 1)
			hidden = true
		}
	}
	if !hidden {
		return shown
	}
	return strings.Join(lines, "")
}

// openAt reports whether body stands in a private key in source.
func openAt(source, body string) bool {
	at := strings.Index(source, body)
	return at >= 0 && scrub.OpenKey([]byte(source[max(0, at-scrub.LongestKey):at]))
}

// keyless is an error that shows lines of source, without those of keys.
func keyless(err error, source string) error {
	var known *tool.Error
	if errors.As(err, &known) {
		known.What, known.Next = withoutKeys(known.What, source, false), withoutKeys(known.Next, source, false)
	}
	return err
}
