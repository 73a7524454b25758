package briefing

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// forNote is how many characters are left for saying what was left out.
const forNote = 300

// Together is all that the caller's agent is told, for the beginning of a
// conversation: the documents that count, in their order, as far as they fit. It
// is "" when there are none.
func (b *Briefing) Together(ctx context.Context) (string, error) {
	r, err := b.reader(ctx)
	if err != nil {
		return "", err
	}
	found, err := b.look(ctx, r, Names()...)
	if err != nil {
		return "", err
	}
	var parts, cut []string
	left := MostTogether - forNote
	for _, name := range Names() {
		text, _ := tool.Clean(found[name].Text)
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		head := "# " + name + "\n\n"
		left -= len(head) + len("\n\n")
		short := first(text, max(left, 0))
		left -= utf8.RuneCountInString(short)
		if short != text {
			cut = append(cut, name)
		}
		if short != "" {
			parts = append(parts, head+short)
		}
	}
	if len(cut) > 0 {
		parts = append(parts, fmt.Sprintf("[there is more in %s: read_file shows it]", strings.Join(cut, ", ")))
	}
	return strings.Join(parts, "\n\n"), nil
}

// first is the beginning of a text of at most so many characters, up to the end
// of a line where there is one near.
func first(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end := 0
	for i := range text {
		if most == 0 {
			end = i
			break
		}
		most--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > end/2 {
		end = line
	}
	return strings.TrimRight(text[:end], " \t\n")
}
