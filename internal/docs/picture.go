package docs

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The size of a character of the font, and the space around the text.
const (
	charWidth, lineHeight, margin = 8, 18, 16
	columns                       = 90
)

// Terminal draws a text as a window with a terminal, as SVG. Lines that begin with
// "$ " are commands.
func Terminal(title, text string) []byte {
	var b strings.Builder
	lines := wrapped(text)
	begin(&b, title, len(lines), "#1b1f24", "#d6dbe1")
	for i, line := range lines {
		colour := "#d6dbe1"
		if strings.HasPrefix(line, "$ ") {
			colour = "#7ee787"
		}
		write(&b, line, 44+margin+i*lineHeight, colour)
	}
	return []byte(b.String() + "</svg>\n")
}

// Form draws a question as a client shows it, with choices, as SVG. The first choice is
// marked.
func Form(title, text string, choices []string) []byte {
	var b strings.Builder
	lines := wrapped(text)
	begin(&b, title, len(lines)+len(choices)+3, "#ffffff", "#1f2328")
	for i, line := range lines {
		write(&b, line, 44+margin+i*lineHeight, "#1f2328")
	}
	at := 44 + margin + (len(lines)+1)*lineHeight
	for i, choice := range choices {
		fill := "none"
		if i == 0 {
			fill = "#0969da"
		}
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="5" fill="%s" stroke="#0969da"/>`+"\n", margin+6, at-4, fill)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#1f2328">%s</text>`+"\n", margin+20, at, html.EscapeString(choice))
		at += lineHeight
	}
	for i, name := range []string{"Submit", "Decline"} {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="76" height="24" rx="5" fill="#eaeef2"/>`+"\n", margin+i*88, at-8)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#1f2328">%s</text>`+"\n", margin+14+i*88, at+8, name)
	}
	return []byte(b.String() + "</svg>\n")
}

// begin writes the window.
func begin(b *strings.Builder, title string, lines int, background, colour string) {
	width, height := columns*charWidth+2*margin, 44+lines*lineHeight+2*margin
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" `+
		`font-family="ui-monospace, Consolas, monospace" font-size="13">`+"\n", width, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" rx="8" fill="%s" stroke="#8884"/>`+"\n", width, height, background)
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(b, `<circle cx="%d" cy="20" r="6" fill="%s"/>`+"\n", 22+i*20, c)
	}
	fmt.Fprintf(b, `<text x="90" y="25" fill="%s">%s</text>`+"\n", colour, html.EscapeString(title))
}

func write(b *strings.Builder, line string, y int, colour string) {
	if line != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", margin, y, colour,
			html.EscapeString(line))
	}
}

// wrapped returns the lines of a text, none of them too long.
func wrapped(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		for utf8.RuneCountInString(line) > columns {
			head := string([]rune(line)[:columns])
			if at := strings.LastIndexByte(head, ' '); at > columns/2 {
				head = head[:at]
			}
			lines = append(lines, head)
			line = "  " + strings.TrimSpace(line[len(head):])
		}
		lines = append(lines, line)
	}
	return lines
}
