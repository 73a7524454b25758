package markdown

import (
	"encoding/json"
	"strings"
)

// plainStart refuses what a plain scalar cannot begin with.
func (y *yaml) plainStart(text string) error {
	switch text[0] {
	case '&', '*':
		return y.fail("anchors and aliases are not allowed; put text that begins with %c in quotes", text[0])
	case '!':
		return y.fail("tags are not allowed; put text that begins with ! in quotes")
	case '%', '@', '`', ',', ']', '}', '[', '{', '|', '>', '"', '\'', '#':
		return y.fail("text that begins with %c has to be in quotes", text[0])
	case '?', '-', ':':
		if spaceAt(text, 1) {
			return y.fail("text that begins with %c and a space has to be in quotes", text[0])
		}
	}
	return nil
}

// plain reads a scalar without quotes, which goes on in the lines below that
// are indented deeper than n.
func (y *yaml) plain(n int, text string) (any, error) {
	if err := y.plainStart(text); err != nil {
		return nil, err
	}
	text, commented := cutComment(text)
	y.at++
	if commented {
		return resolve(text), nil
	}
	var folded strings.Builder
	folded.WriteString(text)
	gaps := 0
	more := false
	for ; !y.over(); y.at++ {
		line := strings.Trim(y.lines[y.at], " \t")
		if line == "" {
			gaps++
			continue
		}
		columns := len(y.lines[y.at]) - len(strings.TrimLeft(y.lines[y.at], " "))
		if columns <= n || line[0] == '#' {
			break
		}
		if _, isKey := keyEnd(line); isKey || line[0] == ':' && spaceAt(line, 1) {
			return nil, y.fail("this looks like a key beneath a value; indent it less, or put the value in quotes")
		}
		line, commented = cutComment(line)
		fold(&folded, gaps)
		folded.WriteString(line)
		gaps, more = 0, true
		if commented {
			y.at++
			break
		}
	}
	if more {
		return folded.String(), nil
	}
	return resolve(text), nil
}

// fold joins two lines with so many empty ones between.
func fold(b *strings.Builder, gaps int) {
	if gaps == 0 {
		b.WriteByte(' ')
	}
	for range gaps {
		b.WriteByte('\n')
	}
}

// cutComment cuts the comment off a line, and the space before it.
func cutComment(line string) (string, bool) {
	for at := 1; at < len(line); at++ {
		if line[at] == '#' && spaceAt(line, at-1) {
			return strings.TrimRight(line[:at], " \t"), true
		}
	}
	return strings.TrimRight(line, " \t"), false
}

// resolve is what a plain scalar means.
func resolve(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if isNumber(text) {
		return json.Number(text)
	}
	return text
}

// isNumber reports whether JSON would call a text a number.
func isNumber(text string) bool {
	digits := func() bool {
		rest := strings.TrimLeft(text, "0123456789")
		found := len(rest) < len(text)
		text = rest
		return found
	}
	text = strings.TrimPrefix(text, "-")
	if strings.HasPrefix(text, "0") {
		text = text[1:]
	} else if !digits() {
		return false
	}
	if fraction, ok := strings.CutPrefix(text, "."); ok {
		if text = fraction; !digits() {
			return false
		}
	}
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return text == ""
	}
	if text = text[1:]; text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return digits() && text == ""
}

// literal reads a block scalar: | keeps its lines, > folds them.
func (y *yaml) literal(n int, header string) (any, error) {
	header, _ = cutComment(header)
	style, chomp, columns := header[0], byte(0), 0
	for _, c := range []byte(header[1:]) {
		switch {
		case (c == '-' || c == '+') && chomp == 0:
			chomp = c
		case '1' <= c && c <= '9' && columns == 0:
			columns = n + int(c-'0')
		default:
			return nil, y.fail("after %c only - or + and one digit may stand", style)
		}
	}
	y.at++
	lines := y.block(n, columns)
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	text := strings.Join(lines[:end], "\n")
	if style == '>' {
		text = foldLines(lines[:end])
	}
	switch {
	case chomp == '+' && end > 0:
		return text + strings.Repeat("\n", len(lines)-end+1), nil
	case chomp == '+':
		return strings.Repeat("\n", len(lines)), nil
	case chomp == '-' || end == 0:
		return text, nil
	}
	return text + "\n", nil
}

// block takes the lines of a block scalar, without their indentation: columns,
// or if that is 0 that of the first line.
func (y *yaml) block(n, columns int) []string {
	var lines []string
	for ; !y.over(); y.at++ {
		line := y.lines[y.at]
		rest := strings.TrimLeft(line, " ")
		deep := len(line) - len(rest)
		switch {
		case rest == "" && columns == 0:
			lines = append(lines, "")
			continue
		case rest == "":
			lines = append(lines, line[min(len(line), columns):])
			continue
		case deep <= n || deep < columns:
			return lines
		case columns == 0:
			columns = deep
		}
		lines = append(lines, line[columns:])
	}
	return lines
}

// foldLines joins lines by spaces, but not those that are indented.
func foldLines(lines []string) string {
	var b strings.Builder
	gaps, wasDeep, begun := 0, false, false
	for _, line := range lines {
		if line == "" {
			gaps++
			continue
		}
		deep := line[0] == ' ' || line[0] == '\t'
		switch {
		case !begun:
			b.WriteString(strings.Repeat("\n", gaps))
		case deep || wasDeep:
			b.WriteString(strings.Repeat("\n", gaps+1))
		default:
			fold(&b, gaps)
		}
		b.WriteString(line)
		gaps, wasDeep, begun = 0, deep, true
	}
	return b.String()
}
