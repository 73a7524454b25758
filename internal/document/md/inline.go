package md

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
)

// A Style is the formatting of text.
type Style uint8

// The styles; they can be combined.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Super
	Sub
	Mono
)

// Inline is the text of one block. Adjacent texts with the same style are one, and blanks
// at the ends of formatted text are outside of its marks.
type Inline struct {
	runs []run
}

type run struct {
	text  string
	style Style
	raw   bool   // Markdown already
	href  string // of the link that the text belongs to
}

// Text adds text in a style. Line breaks in it stay line breaks.
func (l *Inline) Text(text string, style Style) { l.add(run{text: text, style: style}) }

// Link adds text that leads to an address. An address that is unsafe or empty is dropped.
func (l *Inline) Link(text string, style Style, href string) {
	l.add(run{text: text, style: style, href: Address(href)})
}

// Raw adds Markdown.
func (l *Inline) Raw(text string) { l.add(run{text: text, raw: true}) }

// RawLink adds Markdown, such as a picture, that leads to an address.
func (l *Inline) RawLink(text, href string) {
	l.add(run{text: text, raw: true, href: Address(href)})
}

// Empty reports whether there is nothing to see.
func (l *Inline) Empty() bool {
	return !slices.ContainsFunc(l.runs, func(r run) bool { return strings.TrimSpace(r.text) != "" })
}

func (l *Inline) add(r run) {
	r.text = clean(r.text)
	if r.text == "" {
		return
	}
	if n := len(l.runs); n > 0 && !r.raw {
		last := &l.runs[n-1]
		blank := strings.TrimSpace(r.text) == "" && last.href == r.href && !last.raw
		if !last.raw && last.href == r.href && (last.style == r.style || blank) {
			last.text += r.text
			return
		}
	}
	l.runs = append(l.runs, r)
}

// clean removes characters that cannot be seen and that hide text, or that no text has.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r == '\u00a0':
			return ' '
		case r == '\u2028' || r == '\u2029' || r == '\v':
			return '\n'
		case r == '\u00ad' || r == '\u200b' || r == '\ufeff' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2060' && r <= '\u206f' || r >= 0xe0000 && r <= 0xe007f || unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// Plain returns the text without formatting.
func (l *Inline) Plain() string {
	var b strings.Builder
	for _, r := range l.runs {
		b.WriteString(r.text)
	}
	return b.String()
}

// Without removes a style, for text that has it anyway, such as bold in headings.
func (l *Inline) Without(style Style) *Inline {
	out := &Inline{}
	for _, r := range l.runs {
		r.style &^= style
		if r.raw {
			out.runs = append(out.runs, r)
		} else {
			out.add(r)
		}
	}
	return out
}

// Markdown returns the text as Markdown.
func (l *Inline) Markdown() string {
	var b strings.Builder
	for i := 0; i < len(l.runs); {
		href := l.runs[i].href
		end := i + 1
		for end < len(l.runs) && l.runs[end].href == href {
			end++
		}
		var inner strings.Builder
		for _, r := range l.runs[i:end] {
			r.write(&inner)
		}
		if text := inner.String(); href == "" || strings.TrimSpace(text) == "" {
			b.WriteString(text)
		} else {
			start := len(text) - len(strings.TrimLeft(text, " \n"))
			stop := len(strings.TrimRight(text, " \n"))
			b.WriteString(text[:start] + "[" + strings.ReplaceAll(text[start:stop], "\n", " ") + "](" + href + ")" +
				text[stop:])
		}
		i = end
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = markdown.EscapeLine(strings.TrimSpace(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func (r run) write(b *strings.Builder) {
	if r.raw {
		b.WriteString(r.text)
		return
	}
	text := strings.ReplaceAll(r.text, "\t", " ")
	start := len(text) - len(strings.TrimLeft(text, " \n"))
	stop := len(strings.TrimRight(text, " \n"))
	if r.style == 0 || start >= stop {
		b.WriteString(markdown.Escape(text))
		return
	}
	b.WriteString(text[:start])
	for i, line := range strings.Split(text[start:stop], "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(r.style.around(line))
		}
	}
	b.WriteString(text[stop:])
}

func (s Style) around(text string) string {
	if s&Mono != 0 {
		if strings.Contains(text, "`") {
			text = "`` " + text + " ``"
		} else {
			text = "`" + text + "`"
		}
	} else {
		text = markdown.Escape(text)
	}
	for _, one := range []struct {
		style      Style
		open, shut string
	}{
		{Super, "<sup>", "</sup>"}, {Sub, "<sub>", "</sub>"}, {Italic, "*", "*"}, {Bold, "**", "**"},
		{Strike, "~~", "~~"},
	} {
		if s&one.style != 0 {
			text = one.open + text + one.shut
		}
	}
	return text
}

// Address returns an address as it stands in a Markdown link, "" for one that leads to
// nothing outside of the document or that contains data or a script.
func Address(href string) string {
	href = strings.TrimSpace(href)
	lower := strings.ToLower(href)
	for _, scheme := range []string{"http://", "https://", "mailto:", "ftp://", "tel:"} {
		if strings.HasPrefix(lower, scheme) {
			return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\r", "", "<", "%3C", ">", "%3E").
				Replace(href)
		}
	}
	return ""
}

// Image returns a picture with its description.
func Image(alt, name string) string {
	alt = strings.NewReplacer("[", "(", "]", ")", "`", "'").Replace(OneLine(clean(alt)))
	return "![" + alt + "](" + strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29").Replace(name) + ")"
}

// Sentence returns plain text with its markup escaped, in one line.
func Sentence(text string) string {
	l := &Inline{}
	l.Text(OneLine(text), 0)
	return l.Markdown()
}
