package edit

import (
	"strings"
	"unicode/utf8"
)

// A form says which differences between texts to ignore. In every form a line ends in \n.
type form struct {
	left, right bool // ignore blanks at the beginning and at the end of lines
	fold        bool // ignore the style of quotes, dashes and spaces
}

// of returns a text in the form.
func (f form) of(text string) string {
	if f == (form{}) {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		end := endOfLine(text, 0)
		line := text[:end]
		from, to := f.core(body(line))
		if f.fold {
			writeFolded(&b, line[from:to])
		} else {
			b.WriteString(line[from:to])
		}
		if ending(line) != "" {
			b.WriteByte('\n')
		}
		text = text[end:]
	}
	return b.String()
}

// core returns the part of a line's body that the form keeps.
func (f form) core(body string) (from, to int) {
	to = len(body)
	if f.right {
		to = len(strings.TrimRightFunc(body, f.blank))
	}
	if f.left {
		from = to - len(strings.TrimLeftFunc(body[:to], f.blank))
	}
	return from, to
}

func (f form) blank(r rune) bool {
	return r == ' ' || r == '\t' || f.fold && r >= utf8.RuneSelf && plain(r) == ' '
}

// back returns the positions in text for positions in its form. These are in order, and alternate between beginnings
// and ends. At the end of a line, the position is after its trailing blanks if it is a beginning or if wide is set.
func (f form) back(text string, positions []int, wide bool) []int {
	places := make([]int, 0, len(positions))
	line, before := 0, 0 // where the line begins in text and in the form
	for len(places) < len(positions) {
		end := endOfLine(text, line)
		content := body(text[line:end])
		from, to := f.core(content)
		size := f.size(content[from:to])
		whole := size + min(1, end-line-len(content))
		for len(places) < len(positions) {
			at := positions[len(places)] - before
			if at >= whole && end < len(text) || at > whole {
				break
			}
			behind := wide || len(places)%2 == 0
			switch {
			case at == 0:
				places = append(places, line)
			case at > size:
				places = append(places, end)
			case at == size && behind:
				places = append(places, line+len(content))
			case at == size:
				places = append(places, line+to)
			default:
				places = append(places, line+from+f.inside(content[from:to], at))
			}
		}
		if end == len(text) {
			break
		}
		line, before = end, before+whole
	}
	return places
}

// size returns the length of a text without line endings in the form.
func (f form) size(text string) int {
	if !f.fold {
		return len(text)
	}
	n := 0
	for i, r := range text {
		n += foldedSize(text[i:], r)
	}
	return n
}

// inside returns the position in text for a position in its form.
func (f form) inside(text string, at int) int {
	if !f.fold {
		return at
	}
	n := 0
	for i, r := range text {
		if n >= at {
			return i
		}
		n += foldedSize(text[i:], r)
	}
	return len(text)
}

func foldedSize(text string, r rune) int {
	if r < utf8.RuneSelf || plain(r) != r {
		return 1
	}
	_, n := utf8.DecodeRuneInString(text)
	return n
}

func writeFolded(b *strings.Builder, text string) {
	for i, r := range text {
		switch p := plain(r); {
		case p != r:
			b.WriteByte(byte(p))
		case r == utf8.RuneError:
			_, n := utf8.DecodeRuneInString(text[i:])
			b.WriteString(text[i : i+n])
		default:
			b.WriteRune(r)
		}
	}
}

// plain returns the ASCII character for a typographic quote, dash or space, or r itself.
func plain(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', 'ʼ':
		return '\''
	case '“', '”', '„', '‟', '″':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−', '－':
		return '-'
	case '\u00A0', '\u202F', '\u205F', '\u3000':
		return ' '
	}
	if r >= '\u2000' && r <= '\u200A' {
		return ' '
	}
	return r
}

// mayFold reports whether text may contain a character that plain changes, by the first bytes of these.
func mayFold(text string) bool {
	for _, first := range []byte("\xC2\xCA\xE2\xE3\xEF") {
		if strings.IndexByte(text, first) >= 0 {
			return true
		}
	}
	return false
}
