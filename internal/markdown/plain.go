package markdown

import "strings"

// Plain returns the text without Markdown, for snippets: no front matter, marks,
// addresses, tags and comments; code stays, without its fences. Blocks, items
// and rows are lines. It is meant to be read, and makes nothing safe: what
// looks like HTML afterwards was written as text.
func Plain(text string) string {
	text = normal(text)
	var b strings.Builder
	s := scan(text)
	for block, ok := s.block(); ok; block, ok = s.block() {
		if plain := strings.Trim(block.plain(text), "\n"); !blank(plain) {
			b.WriteString(plain)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b block) plain(text string) string {
	text = text[b.start:b.end]
	switch b.kind {
	case rule, matter:
		return ""
	case heading:
		return inline(b.title)
	case code:
		return plainCode(text)
	case table:
		return plainTable(text)
	case html:
		if name := tagName(trimIndent(text)); name == "script" || name == "style" {
			return ""
		}
		return plainProse(inline(text), false)
	}
	return plainProse(text, b.kind != paragraph)
}

// plainCode returns a code block without its fences, or without its indentation.
func plainCode(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	f, fenced := openFence(trimIndent(first))
	if !fenced {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "    "), "\t"))
		}
		return b.String()
	}
	if end := strings.LastIndexByte(rest, '\n') + 1; f.closes(trimIndent(rest[end:])) {
		rest = rest[:end]
	}
	return rest
}

func plainTable(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if isDelimiter(strings.TrimRight(line, "\n")) {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(strings.ReplaceAll(line, `\|`, dropped)), "|"), "|")
		for i, cell := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(inline(strings.ReplaceAll(strings.TrimSpace(cell), dropped, `\|`)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainProse returns a paragraph, an item or a quote; the latter two are nested,
// with marks before their lines and code in them.
func plainProse(text string, nested bool) string {
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(inline(paragraph.String()))
		paragraph.Reset()
	}
	var open fence
	inFence := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch bare := unquoted(line); {
		case inFence && open.closes(bare):
			inFence = false
		case inFence:
			if quoted, ok := strings.CutPrefix(trimIndent(line), ">"); ok {
				line = strings.TrimPrefix(quoted, " ")
			}
			b.WriteString(line)
			b.WriteByte('\n')
		case nested:
			if open, inFence = openFence(inner(line)); inFence || blank(bare) {
				flush()
				continue
			}
			if isItem(bare) {
				flush()
			}
			paragraph.WriteString(unmarked(bare))
			paragraph.WriteByte('\n')
		case !blank(bare) && !isReference(bare):
			paragraph.WriteString(trimIndent(line))
			paragraph.WriteByte('\n')
		}
	}
	flush()
	return b.String()
}

// unmarked returns a line without the bullets before it; numbers stay.
func unmarked(line string) string {
	for {
		bytes, _ := marker(line)
		if bytes == 0 || digit(line[0]) {
			if level, title, ok := hashHeading(line); ok && level > 0 {
				return title
			}
			return line
		}
		line = unquoted(line[bytes:])
	}
}

// isReference reports whether a line says where links go: [name]: address.
func isReference(line string) bool {
	name, address, ok := strings.Cut(line, "]:")
	return ok && strings.HasPrefix(name, "[") && !strings.HasPrefix(name, "[^") && len(name) < 200 &&
		len(strings.Fields(cutRunes(address, 400))) <= 4 && !blank(address)
}
