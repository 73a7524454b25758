package code

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/code/lsp"
)

// A symbol is something that a file defines, at lines counted from 0.
type symbol struct {
	name  string // with the enclosing symbol, such as Server.Call
	kind  string // "" if it is not known
	first int
	last  int
	at    lsp.Position // of its name
	depth int
}

// matches reports whether name means the symbol: the whole name, or its last parts.
func (s symbol) matches(name string) bool {
	own := plainName(s.name)
	return own == name || strings.HasSuffix(own, "."+name)
}

// plainName writes a name with points between its parts: (*Server).Call, Server::call and Server#call are alike.
func plainName(name string) string {
	name = strings.NewReplacer("::", ".", "#", ".", "->", ".", "(", "", ")", "", "*", "", "&", "", "$.", "").Replace(name)
	return strings.Trim(name, ".")
}

// lastPart returns the last part of a plain name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// keywords look like calls or definitions, and are none.
var keywords = []string{"if", "for", "while", "switch", "catch", "return", "function", "else", "do", "case", "new", "throw", "await",
	"typeof", "super", "with", "defined", "sizeof", "using", "lock", "foreach"}

// outline returns the symbols of a text by patterns. It finds less than a server, and needs none.
func (l *language) outline(t *lsp.Text) []symbol {
	var all []symbol
	var around []symbol
	for n := range t.Lines() {
		line := t.Line(n)
		name, in, column := l.defined(line)
		if name == "" {
			continue
		}
		for len(around) > 0 && around[len(around)-1].last < n {
			around = around[:len(around)-1]
		}
		s := symbol{name: name, first: n, last: blockEnd(t, n), depth: len(around)}
		s.at = t.Position(t.Start(n) + column)
		switch {
		case in != "":
			s.name = in + "." + name
		case len(around) > 0:
			s.name = around[len(around)-1].name + "." + name
		}
		all = append(all, s)
		around = append(around, s)
	}
	return all
}

// maxLine is the maximum length of a line that is searched for definitions.
const maxLine = 500

// defined returns the symbol that a line defines, the symbol around it, and the position of its
// name.
func (l *language) defined(line string) (name, in string, column int) {
	if len(line) > maxLine {
		return "", "", 0
	}
	for _, pattern := range l.defines {
		re := pattern()
		m := re.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		n := 2 * re.SubexpIndex("n")
		name = line[m[n]:m[n+1]]
		if slices.Contains(keywords, name) {
			continue
		}
		if c := 2 * re.SubexpIndex("c"); c >= 0 && m[c] >= 0 {
			in = line[m[c]:m[c+1]]
		}
		return name, in, m[n]
	}
	return "", "", 0
}

// blockEnd returns the last line of the block that begins at a line, by indentation.
func blockEnd(t *lsp.Text, first int) int {
	own, last := indent(t.Line(first)), first
	opened := strings.HasSuffix(strings.TrimSpace(t.Line(first)), "{")
	for n := first + 1; n < t.Lines(); n++ {
		line := t.Line(n)
		rest := strings.TrimSpace(line)
		if rest == "" {
			continue
		}
		if indent(line) > own {
			last = n
			continue
		}
		brace := rest[0] == '{' && !opened // of a function whose parameters may have several lines
		if !strings.ContainsRune(")}]", rune(rest[0])) && !brace && !strings.HasPrefix(rest, "end") {
			break
		}
		last, opened = n, opened || brace
		if !strings.HasSuffix(rest, "{") && !strings.HasSuffix(rest, "(") && !strings.HasSuffix(rest, ":") {
			break
		}
	}
	return last
}

// indent returns the width of the blanks before a line.
func indent(line string) (width int) {
	for _, r := range line {
		switch r {
		case ' ':
			width++
		case '\t':
			width += 8
		default:
			return width
		}
	}
	return width
}

// withComment returns the first line of the comment right above a line.
func withComment(t *lsp.Text, first int) int {
	const most = 30
	for n := first - 1; n >= max(0, first-most); n-- {
		line := strings.TrimSpace(t.Line(n))
		if line == "" || !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "/*") &&
			!strings.HasPrefix(line, "@") && (!strings.HasPrefix(line, "#") || strings.HasPrefix(line, "#include")) {
			break
		}
		first = n
	}
	return first
}

// enclosing returns the innermost symbol around a line, or nil.
func enclosing(all []symbol, line int) *symbol {
	var best *symbol
	for i := range all {
		if s := &all[i]; s.first <= line && line <= s.last && (best == nil || s.first >= best.first) {
			best = s
		}
	}
	return best
}

// wordAt returns where a word stands in a line from a byte on, or -1.
func wordAt(line, word string, from int) int {
	for from <= len(line) {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return -1
		}
		at, end := from+i, from+i+len(word)
		if (at == 0 || !isWord(line[at-1])) && (end == len(line) || !isWord(line[end])) {
			return at
		}
		from = at + 1
	}
	return -1
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
