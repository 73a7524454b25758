package page

import "strings"

// readSheet reads the style sheets of a page. What it does not understand, and
// what holds only sometimes (at print, on small screens, under the mouse), it
// leaves out.
func readSheet(styles []string) *sheet {
	s := &sheet{byID: map[string][]*rule{}, byClass: map[string][]*rule{}, byTag: map[string][]*rule{}, custom: map[string]string{}, guesses: true}
	for _, text := range styles {
		text = strings.NewReplacer("<!--", "", "-->", "").Replace(withoutComments(text))
		s.read(text, 0)
	}
	return s
}

// read reads rules up to the end of a text.
func (s *sheet) read(text string, depth int) {
	for text != "" {
		open := strings.IndexAny(text, "{;")
		if open < 0 {
			return
		}
		head := strings.TrimSpace(text[:open])
		if text[open] == ';' { // @import, or what was left over
			text = text[open+1:]
			continue
		}
		body, rest := block(text[open+1:])
		text = rest
		switch {
		case !strings.HasPrefix(head, "@"):
			s.rule(head, body)
		case depth < 4 && holdsNow(strings.ToLower(head)):
			s.read(body, depth+1)
		default:
			s.aside(strings.ToLower(head), body)
		}
	}
}

// holdsNow reports whether the rules within an at-rule are those of a screen.
func holdsNow(head string) bool {
	if media, ok := strings.CutPrefix(head, "@media"); ok {
		return seen(strings.TrimSpace(media))
	}
	return strings.HasPrefix(head, "@supports") || strings.HasPrefix(head, "@layer")
}

// aside notes what at-rules say that are not about how things are at first.
func (s *sheet) aside(head, body string) {
	switch name, _, _ := strings.Cut(head, " "); name {
	case "@keyframes", "@-webkit-keyframes":
		s.frame(head, body)
		s.doubt(body)
	case "@property":
		s.doubt(strings.TrimPrefix(head, name) + ":" + differs)
	default:
		if head != "@media print" {
			s.doubt(body)
		}
	}
}

// block is the text up to the brace that closes what was opened before it.
func block(text string) (body, rest string) {
	depth := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}

func (s *sheet) rule(head, body string) {
	if strings.Contains(body, "--") {
		s.define(head, body)
	}
	if len(head) > 8192 {
		return
	}
	says := declarations(body)
	if len(says) == 0 {
		return
	}
	for one := range strings.SplitSeq(head, ",") {
		if chain := readChain(one); chain != nil {
			s.add(chain, says)
		}
	}
}

// readChain reads a selector of compounds within or beneath one another; nil if
// there is more to it.
func readChain(text string) []compound {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 300 || strings.ContainsAny(text, "+~&()") && !strings.Contains(text, "[") {
		return nil
	}
	var chain []compound
	child := false
	for text != "" {
		switch text[0] {
		case ' ', '\n', '\t', '\r', '\f':
			text = text[1:]
			continue
		case '>':
			child, text = true, text[1:]
			continue
		}
		c, rest, ok := readCompound(text)
		if !ok || len(chain) == 6 {
			return nil
		}
		c.child = child && len(chain) > 0
		child = false
		chain, text = append(chain, c), rest
	}
	return chain
}

// readCompound reads what is about one element, and says what follows it.
func readCompound(text string) (c compound, rest string, ok bool) {
	if text[0] == '*' {
		text, ok = text[1:], true
	} else if name, after := cssName(text); name != "" {
		c.tag, text, ok = strings.ToLower(name), after, true
	}
	for text != "" {
		switch text[0] {
		case '#', '.':
			name, after := cssName(text[1:])
			if name == "" {
				return c, text, false
			}
			if text[0] == '#' {
				c.id = name
			} else {
				c.classes = append(c.classes, name)
			}
			text, ok = after, true
		case '[':
			inside, after, found := strings.Cut(text[1:], "]")
			test, good := readAttrTest(inside)
			if !found || !good {
				return c, text, false
			}
			c.attrs = append(c.attrs, test)
			text, ok = after, true
		case ' ', '>', '\n', '\t', '\r', '\f':
			return c, text, ok
		default:
			return c, text, false
		}
	}
	return c, "", ok
}

func readAttrTest(text string) (attrTest, bool) {
	key, value, valued := strings.Cut(text, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	if !valued {
		name, rest := cssName(key)
		return attrTest{key: name}, name != "" && rest == ""
	}
	t := attrTest{op: '='}
	if last := len(key) - 1; last > 0 && strings.IndexByte("~|^$*", key[last]) >= 0 {
		t.op, key = key[last], key[:last]
	}
	name, rest := cssName(strings.TrimSpace(key))
	t.key, t.value = name, strings.Trim(strings.TrimSpace(value), `"'`)
	return t, name != "" && rest == ""
}

// cssName is the name that a text begins with. Escapes stand for what follows
// them: md\:flex is a name that pages have.
func cssName(text string) (name, rest string) {
	var b strings.Builder
	for text != "" {
		c := text[0]
		switch {
		case c == '\\' && len(text) > 1:
			char, rest := cssEscape(text[1:])
			b.WriteString(char)
			text = rest
		case c == '-' || c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z':
			b.WriteByte(c)
			text = text[1:]
		default:
			return b.String(), text
		}
	}
	return b.String(), ""
}
