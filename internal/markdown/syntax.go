package markdown

import (
	"strings"
)

// shallow returns the line without its indentation, if that is one that a block may
// have: four columns or more are code, or belong to a list.
func shallow(line string) (string, bool) {
	columns, bytes := indent(line)
	return line[bytes:], columns < 4
}

// A fence is the beginning of a fenced code block; the zero fence means that there is none.
type fence struct {
	mark byte // ` or ~
	size int
	lang string
}

// openFence looks for a fence in a line without indentation.
func openFence(line string) (fence, bool) {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return fence{}, false
	}
	info := strings.TrimLeft(line, line[:1])
	f := fence{mark: line[0], size: len(line) - len(info)}
	if f.size < 3 || f.mark == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false
	}
	f.lang = language(info)
	return f, true
}

// closes reports whether a line without indentation ends the fence's block.
func (f fence) closes(line string) bool {
	if len(line) < f.size || line[0] != f.mark {
		return false
	}
	rest := strings.TrimLeft(line, line[:1])
	return len(line)-len(rest) >= f.size && blank(rest)
}

// language returns the name in what follows a fence: go, {.python}, rust,ignore.
func language(info string) string {
	const longest = 40
	info = strings.TrimLeft(info, " \t{.")
	end := 0
	for end < len(info) && end < longest && (word(info[end]) || strings.IndexByte("+-#._", info[end]) >= 0) {
		end++
	}
	return info[:end]
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func word(c byte) bool   { return letter(c) || digit(c) }

// hashHeading takes a heading like "## Title ##" apart.
func hashHeading(line string) (level int, title string, ok bool) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	rest := line[level:]
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, "", false
	}
	rest = strings.TrimSpace(rest)
	open := strings.TrimRight(rest, "#")
	if open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		rest = strings.TrimSpace(open)
	}
	return level, rest, true
}

// underline returns the level of the heading above a line of = or -; 0 is none.
func underline(line string) int {
	line, ok := shallow(line)
	line = strings.TrimRight(line, " \t")
	switch {
	case !ok || line == "":
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

// isRule reports whether a line without indentation is a thematic break.
func isRule(line string) bool {
	if line == "" || line[0] != '-' && line[0] != '*' && line[0] != '_' {
		return false
	}
	marks := 0
	for i := range len(line) {
		switch line[i] {
		case line[0]:
			marks++
		case ' ', '\t':
		default:
			return false
		}
	}
	return marks >= 3
}

// marker returns how a list item begins: how many bytes its marker has, and how
// many columns its content is in. A line that is no item has none.
func marker(line string) (bytes, columns int) {
	switch {
	case line == "":
		return 0, 0
	case line[0] == '-' || line[0] == '*' || line[0] == '+':
		bytes = 1
	default:
		for bytes < len(line) && bytes < 9 && digit(line[bytes]) {
			bytes++
		}
		if bytes == 0 || bytes == len(line) || line[bytes] != '.' && line[bytes] != ')' {
			return 0, 0
		}
		bytes++
	}
	gap, _ := indent(line[bytes:])
	switch {
	case bytes == len(line) || gap > 4 || gap > 0 && blank(line[bytes:]):
		return bytes, bytes + 1
	case gap == 0:
		return 0, 0
	}
	return bytes, bytes + gap
}

// isItem reports whether a line without indentation begins a list item.
func isItem(line string) bool {
	bytes, _ := marker(line)
	return bytes > 0 && !isRule(line)
}

// interrupts reports whether a line begins a new block, though there is
// a paragraph above it.
func interrupts(line string) bool {
	line, ok := shallow(line)
	if !ok || line == "" {
		return false
	}
	switch line[0] {
	case '#':
		_, _, heading := hashHeading(line)
		return heading
	case '`', '~':
		_, fenced := openFence(line)
		return fenced
	case '>':
		return true
	case '<':
		h := openHTML(line)
		return h != nil && h.interrupts
	case '_':
		return isRule(line)
	case '-', '*', '+':
		return isRule(line) || isItem(line) && !blank(line[1:])
	case '1':
		bytes, _ := marker(line)
		return bytes == 2 && !blank(line[bytes:])
	}
	return false
}

// isDelimiter reports whether a line stands between the head and the rows of a
// table: | --- | :-: |
func isDelimiter(line string) bool {
	line, ok := shallow(line)
	if !ok || strings.IndexByte(line, '-') < 0 || strings.IndexByte(line, '|') < 0 {
		return false
	}
	return strings.Trim(line, "|-: \t") == ""
}

// inner returns the line without what list items and block quotes put before it.
func inner(line string) string {
	for {
		_, bytes := indent(line)
		line = line[bytes:]
		if strings.HasPrefix(line, ">") {
			line = line[1:]
		} else if bytes, _ := marker(line); bytes > 0 && !isRule(line) {
			line = line[bytes:]
		} else {
			return line
		}
	}
}
