package markdown

import "strings"

// markup is a kind of HTML block: what ends it (nothing: a blank line), and
// whether it may follow a paragraph without a blank line.
type markup struct {
	open       string
	closes     []string
	interrupts bool
}

// declarations are those kinds that are no tags.
var declarations = []markup{
	{"<!--", []string{"-->"}, true},
	{"<![cdata[", []string{"]]>"}, true},
	{"<!", []string{">"}, true},
	{"<?", []string{"?>"}, true},
}

const (
	rawTags   = " pre script style textarea "
	blockTags = " address article aside base basefont blockquote body caption center col colgroup dd details dialog " +
		"dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html " +
		"iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section summary " +
		"table tbody td tfoot th thead title tr track ul "
)

// openHTML returns the HTML block that begins with a line without indentation, or
// nil.
func openHTML(line string) *markup {
	if len(line) < 2 || line[0] != '<' {
		return nil
	}
	for _, m := range declarations {
		if hasPrefixFold(line, m.open) {
			return &m
		}
	}
	name := tagName(line)
	switch {
	case name == "":
		return nil
	case line[1] != '/' && strings.Contains(rawTags, " "+name+" "):
		return &markup{name, []string{"</pre>", "</script>", "</style>", "</textarea>"}, true}
	case strings.Contains(blockTags, " "+name+" "):
		return &markup{name, nil, true}
	}
	// Any other tag begins a block if it stands alone in its line.
	alone := strings.TrimRight(line, " \t")
	if strings.HasSuffix(alone, ">") && strings.IndexByte(alone[1:], '<') < 0 &&
		strings.IndexByte(alone, '>') == len(alone)-1 {
		return &markup{name, nil, false}
	}
	return nil
}

// tagName returns the lower-case name of the tag that a line begins with, or "".
func tagName(line string) string {
	const longest = 40
	line = strings.TrimPrefix(line[1:], "/")
	end := 0
	for end < len(line) && end < longest && (word(line[end]) || end > 0 && line[end] == '-') {
		end++
	}
	if end == 0 || !letter(line[0]) || end < len(line) && strings.IndexByte(" \t/>", line[end]) < 0 {
		return ""
	}
	return strings.ToLower(line[:end])
}

// ends reports whether the block ends with this line.
func (m *markup) ends(line string) bool {
	for _, end := range m.closes {
		if containsFold(line, end) {
			return true
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// containsFold is strings.Contains for a short ASCII text in any case.
func containsFold(s, part string) bool {
	for {
		i := strings.IndexByte(s, part[0])
		if i < 0 {
			return false
		}
		if s = s[i:]; hasPrefixFold(s, part) {
			return true
		}
		s = s[1:]
	}
}
