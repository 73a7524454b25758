package markup

import (
	"strconv"
	"strings"
)

// A block is a part of a document in its lines.
type block struct {
	kind     Kind
	from, to int
	tight    bool // no blank line is before it
	// Of an Item:
	first  bool   // of its list
	marker string // as it is shown
	indent int    // of the marker
	width  int    // of the marker with the white space around it
}

func linesOf(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(text)
	lines := strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\n")
	open := "" // the fence of the code that a line is in, whose tabs stay, as in a Makefile
	for i, line := range lines {
		switch {
		case open != "":
			if closes(line, open) {
				open = ""
			}
			continue
		case indentOf(line) == 0:
			open = fence(line)
		}
		lines[i] = strings.ReplaceAll(line, "\t", "    ")
	}
	return lines
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// scan returns the blocks in lines. An item of a list is a block, a list is not.
func scan(lines []string, depth int) (blocks []block) {
	number := 0
	for i := 0; i < len(lines); {
		if isBlank(lines[i]) {
			i++
			continue
		}
		b := block{from: i, kind: Paragraph, tight: i > 0 && !isBlank(lines[i-1])}
		if depth < maxDepth {
			b.kind = starts(lines, i)
		}
		switch b.kind {
		case Block:
			b.to = fenceEnd(lines, i)
		case Heading, Rule:
			b.to = i + 1
		case Quote:
			for b.to = i; b.to < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[b.to]), ">"); {
				b.to++
			}
		case Table:
			for b.to = i + 2; b.to < len(lines) && strings.Contains(lines[b.to], "|"); {
				b.to++
			}
		case Item:
			at, _ := itemAt(lines[i])
			b.indent, b.width = at.indent, at.width
			b.to = itemEnd(lines, i, at)
			ordered := at.marker != "-"
			last := len(blocks) - 1
			b.first = last < 0 || blocks[last].kind != Item || (blocks[last].marker != "-") != ordered
			if number++; b.first {
				number = at.number
			}
			if b.marker = "-"; ordered {
				b.marker = markerOf(number)
			}
		default:
			for b.to = i + 1; b.to < len(lines) && !isBlank(lines[b.to]); b.to++ {
				if depth < maxDepth && interrupts(lines, b.to) {
					break
				}
			}
		}
		blocks = append(blocks, b)
		i = b.to
	}
	return blocks
}

// starts returns the kind of the block that begins with a line, which is not blank.
func starts(lines []string, i int) Kind {
	line := strings.TrimSpace(lines[i])
	level := len(line) - len(strings.TrimLeft(line, "#"))
	switch {
	case fence(line) != "":
		return Block
	case level > 0 && level <= 6 && (level == len(line) || line[level] == ' '):
		return Heading
	case isRule(line):
		return Rule
	case line[0] == '>':
		return Quote
	case i+1 < len(lines) && isTableRule(lines[i+1]) && strings.Contains(line, "|"):
		return Table
	}
	if _, ok := itemAt(lines[i]); ok {
		return Item
	}
	return Paragraph
}

// interrupts reports whether a line ends the paragraph before it.
func interrupts(lines []string, i int) bool {
	kind := starts(lines, i)
	if kind == Item {
		at, _ := itemAt(lines[i])
		return (at.marker == "-" || at.number == 1) && at.width < len(lines[i])
	}
	return kind != Paragraph
}

// fence returns the fence that a line begins with, or "".
func fence(line string) string {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	if rest == line {
		rest = strings.TrimLeft(line, "~")
	}
	mark := line[:len(line)-len(rest)]
	if len(mark) < 3 || mark[0] == '`' && strings.Contains(rest, "`") {
		return ""
	}
	return mark
}

// fenceEnd returns the line after the fence that begins with line i.
func fenceEnd(lines []string, i int) int {
	open := fence(lines[i])
	for i++; i < len(lines); i++ {
		if closes(lines[i], open) {
			return i + 1
		}
	}
	return i
}

func closes(line, open string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(open) && strings.Trim(line, open[:1]) == ""
}

// fenced returns the language and the code in a fence.
func fenced(lines []string) (language string, code []string) {
	open, indent := fence(lines[0]), indentOf(lines[0])
	if words := strings.Fields(strings.TrimSpace(lines[0])[len(open):]); len(words) > 0 {
		language = words[0]
	}
	body := lines[1:]
	if n := len(body); n > 0 && closes(body[n-1], open) {
		body = body[:n-1]
	}
	return language, dedent(body, indent)
}

func isRule(line string) bool {
	line = strings.ReplaceAll(line, " ", "")
	return len(line) >= 3 && strings.ContainsRune("-*_", rune(line[0])) && strings.Trim(line, line[:1]) == ""
}

func isTableRule(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|:- ") == ""
}

// cells returns the cells of a row of a table.
func cells(line string) (list []string) {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var cell strings.Builder
	code := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
			continue
		case c == '`':
			code = !code
		case c == '|' && !code:
			list = append(list, strings.TrimSpace(cell.String()))
			cell.Reset()
			continue
		}
		cell.WriteByte(line[i])
	}
	return append(list, strings.TrimSpace(cell.String()))
}

// An itemStart is the beginning of an item of a list.
type itemStart struct {
	indent, width int
	marker        string // - or .
	number        int
}

func itemAt(line string) (at itemStart, ok bool) {
	at.indent = indentOf(line)
	rest := line[at.indent:]
	digits := 0
	for digits < len(rest) && digits < 9 && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	length := 1
	switch {
	case digits > 0 && digits < len(rest) && (rest[digits] == '.' || rest[digits] == ')'):
		at.marker, length = ".", digits+1
		at.number, _ = strconv.Atoi(rest[:digits]) // at most 9 digits
	case rest != "" && strings.ContainsRune("-*+", rune(rest[0])):
		at.marker = "-"
	default:
		return at, false
	}
	at.width = at.indent + length
	if at.width < len(line) {
		if line[at.width] != ' ' {
			return at, false
		}
		at.width++
	}
	return at, true
}

// itemEnd returns the line after the item that begins with line i.
func itemEnd(lines []string, i int, at itemStart) int {
	end := i + 1
	if fence(lines[i][at.width:]) != "" {
		end = i
	}
	for j := end; j < len(lines); j++ {
		switch {
		case j > i && isBlank(lines[j]):
			continue
		case j > i && indentOf(lines[j]) < at.indent+2 && (j > end || starts(lines, j) != Paragraph):
			return end
		}
		inner := lines[j]
		if j == i {
			inner = inner[at.width:]
		}
		if open := fence(inner); open != "" {
			for j++; j < len(lines) && !closes(lines[j], open); {
				j++
			}
			j = min(j, len(lines)-1)
		}
		end = j + 1
	}
	return end
}

// content returns the lines in an item.
func (b block) content(lines []string) []string {
	inner := append([]string{lines[0][min(b.width, len(lines[0])):]}, dedent(lines[1:], b.width)...)
	for mark, sign := range map[string]string{"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "} {
		if rest, found := strings.CutPrefix(inner[0], mark); found {
			inner[0] = sign + rest
		}
	}
	return inner
}

// dedent removes at most n spaces from the beginning of each line.
func dedent(lines []string, n int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(indentOf(line), n):]
	}
	return out
}

func unquote(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), ">"), " ")
	}
	return out
}

// paragraph returns the text of a paragraph.
func paragraph(lines []string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSpace(line)
	}
	return strings.Join(out, "\n")
}
