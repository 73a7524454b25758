package contextfiles

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// noteRoom is the number of characters reserved for the note about omitted text.
const noteRoom = 300

// Combined returns the context files that the caller reads as one text for the beginning of a conversation, in their
// order, as far as they fit. It is "" if there are none.
func (f *Files) Combined(ctx context.Context) (string, error) {
	r, err := f.reader(ctx)
	if err != nil {
		return "", err
	}
	found, err := f.find(ctx, r, Names()...)
	if err != nil {
		return "", err
	}
	var parts, cut []string
	left := MaxCombined - noteRoom
	for _, name := range Names() {
		text, _ := tool.Clean(found[name].Text)
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		head := "# " + name + "\n\n"
		left -= len(head) + len("\n\n")
		short := prefix(text, max(left, 0))
		left -= utf8.RuneCountInString(short)
		if short != text {
			cut = append(cut, name)
		}
		if short != "" {
			parts = append(parts, head+short)
		}
	}
	if len(cut) > 0 {
		parts = append(parts, fmt.Sprintf("[there is more in %s; read it with read_file]", strings.Join(cut, ", ")))
	}
	return strings.Join(parts, "\n\n"), nil
}

// prefix returns at most n characters from the beginning of a text, up to the end of a line if one is near.
func prefix(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end := 0
	for i := range text {
		if n == 0 {
			end = i
			break
		}
		n--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > end/2 {
		end = line
	}
	return strings.TrimRight(text[:end], " \t\n")
}
