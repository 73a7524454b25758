package markup

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A span is a part of a line with markup: its bytes, and those of what is within it. An
// atomic one is never cut.
type span struct {
	from, inner, innerEnd, to int
	atomic                    bool
}

// A token is a part of a line: a node, or a run of the characters that begin and end
// emphasis.
type token struct {
	node             Node
	run              byte // 0: it is the node
	from, to         int  // of what is left of the run
	canOpen, canEnd  bool
	length           int // of the whole run
	ends, opens      []Kind
	previous, follow int // neighbours in the list of runs; -1: none
}

// inline reads a line, or the lines of a paragraph.
func inline(text string) ([]Node, []span) { return inlineWithin(text, true) }

func inlineWithin(text string, links bool) ([]Node, []span) {
	p := &inliner{text: text, links: links, brackets: brackets(text), ticks: map[int]bool{}}
	for p.at < len(text) {
		p.next()
	}
	p.flush(len(text))
	p.emphasis()
	return p.build(), p.spans
}

type inliner struct {
	text     string
	at, done int // done: the beginning of the text that is in no token yet
	links    bool
	brackets map[int]int  // opening brackets to closing ones
	ticks    map[int]bool // lengths of backtick runs that no later run has
	plain    strings.Builder
	tokens   []token
	spans    []span
}

// flush makes a token of the text up to at.
func (p *inliner) flush(at int) {
	p.plain.WriteString(p.text[p.done:at])
	p.done = at
	if p.plain.Len() > 0 {
		p.tokens = append(p.tokens, token{node: Node{Kind: Text, Text: p.plain.String()}})
		p.plain.Reset()
	}
}

// replace puts other text in the place of n bytes.
func (p *inliner) replace(n int, with string) {
	p.plain.WriteString(p.text[p.done:p.at] + with)
	p.at += n
	p.done = p.at
}

// add makes a token of n bytes, which a cut does not separate.
func (p *inliner) add(n int, node Node) {
	p.flush(p.at)
	p.tokens = append(p.tokens, token{node: node})
	p.spans = append(p.spans, span{from: p.at, to: p.at + n, atomic: true})
	p.at += n
	p.done = p.at
}

func (p *inliner) next() {
	rest := p.text[p.at:]
	switch c := rest[0]; c {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_{}[]()<>#+-.!|~>\"'&:/=^$%@?,;", rest[1]) >= 0 {
			p.replace(2, rest[1:2])
			return
		}
	case '`':
		if p.code(rest) {
			return
		}
	case '*', '_', '~':
		n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
		p.flush(p.at)
		p.tokens = append(p.tokens, p.run(c, n))
		p.at += n
		p.done = p.at
		return
	case '!':
		if len(rest) > 1 && rest[1] == '[' && p.link(p.at+1) {
			return
		}
	case '[':
		if p.link(p.at) {
			return
		}
	case '<':
		if p.angle(rest) {
			return
		}
	case '&':
		if end := strings.IndexByte(rest[:min(len(rest), 12)], ';'); end > 1 {
			if sign := html.UnescapeString(rest[:end+1]); sign != rest[:end+1] {
				p.replace(end+1, sign)
				return
			}
		}
	case 'h':
		if p.bare(rest) {
			return
		}
	}
	p.at++
}

// code reads a span of code, or skips backticks that no later ones close.
func (p *inliner) code(rest string) bool {
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	if !p.ticks[n] {
		for i := n; i < len(rest); {
			j := strings.IndexByte(rest[i:], '`')
			if j < 0 {
				break
			}
			i += j
			m := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
			if m == n {
				text := strings.ReplaceAll(rest[n:i], "\n", " ")
				if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.TrimSpace(text) != "" {
					text = text[1 : len(text)-1]
				}
				p.add(i+n, Node{Kind: Code, Text: text})
				return true
			}
			i += m
		}
		p.ticks[n] = true
	}
	p.at += n
	return true
}

// brackets returns the pairs of brackets.
func brackets(text string) map[int]int {
	pairs := map[int]int{}
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			open = append(open, i)
		case ']':
			if n := len(open); n > 0 {
				pairs[open[n-1]] = i
				open = open[:n-1]
			}
		}
	}
	return pairs
}

// link reads a link or an image whose label begins at a bracket.
func (p *inliner) link(at int) bool {
	end, ok := p.brackets[at]
	if !ok || !p.links || end+1 >= len(p.text) || p.text[end+1] != '(' {
		return false
	}
	target, n := destination(p.text[end+2:])
	if n < 0 {
		return false
	}
	label, _ := inlineWithin(strings.ReplaceAll(p.text[at+1:end], "\n", " "), false)
	node := Node{Kind: Link, URL: target, Children: label}
	switch {
	case !isURL(target): // a file, an anchor, or a scheme that nothing may follow
		node = Node{Kind: Text, Text: textOf(label)}
		if target != "" {
			node.Text = strings.TrimSpace(node.Text + " (" + target + ")")
		}
	case strings.TrimSpace(textOf(label)) == "":
		node.Children = []Node{{Kind: Text, Text: target}}
	}
	p.add(end+2+n-p.at, node)
	return true
}

// destination reads a URL and a title up to the closing parenthesis. n is -1 if there is none.
func destination(text string) (target string, n int) {
	const maxURL = 4096
	depth := 0
	for i := 0; i < min(len(text), maxURL); i++ {
		switch text[i] {
		case '\n':
			return "", -1
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				target, _, _ = strings.Cut(strings.TrimSpace(text[:i]), " ")
				return strings.Trim(target, "<>"), i + 1
			}
		}
	}
	return "", -1
}

func isURL(text string) bool {
	scheme, rest, found := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		rest, found = strings.CutPrefix(rest, "//")
	case "mailto":
	default:
		return false
	}
	return found && rest != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"`", r)
	})
}

// angle reads an address between angle brackets, or a line break in HTML.
func (p *inliner) angle(rest string) bool {
	const maxAngle = 2048
	end := strings.IndexByte(rest[:min(len(rest), maxAngle)], '>')
	if end < 0 {
		return false
	}
	inner := rest[1:end]
	if strings.EqualFold(strings.TrimSpace(strings.TrimSuffix(inner, "/")), "br") {
		p.replace(end+1, "\n")
		return true
	}
	if !p.links || !isURL(inner) {
		return false
	}
	p.add(end+1, Node{Kind: Link, URL: inner, Children: []Node{{Kind: Text,
		Text: strings.TrimPrefix(inner, "mailto:")}}})
	return true
}

// bare reads a URL that has no markup around it.
func (p *inliner) bare(rest string) bool {
	if !p.links || !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
		return false
	}
	if before, _ := utf8.DecodeLastRuneInString(p.text[:p.at]); p.at > 0 && (unicode.IsLetter(before) ||
		unicode.IsDigit(before)) {
		return false
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || r < ' ' || strings.ContainsRune("<>\"`|[]{}\\^*", r)
	})
	if end < 0 {
		end = len(rest)
	}
	url := rest[:end]
	for {
		trimmed := strings.TrimRight(url, "?!.,:;_~'")
		if strings.HasSuffix(trimmed, ")") && strings.Count(trimmed, ")") > strings.Count(trimmed, "(") {
			trimmed = trimmed[:len(trimmed)-1]
		}
		if trimmed == url {
			break
		}
		url = trimmed
	}
	if !isURL(url) {
		return false
	}
	p.add(len(url), Node{Kind: Link, URL: url, Children: []Node{{Kind: Text, Text: url}}})
	return true
}

// run returns the token of n equal characters at p.at that may begin or end emphasis, by
// the rules of CommonMark.
func (p *inliner) run(c byte, n int) token {
	before, after := ' ', ' '
	if p.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(p.text[:p.at])
	}
	if p.at+n < len(p.text) {
		after, _ = utf8.DecodeRuneInString(p.text[p.at+n:])
	}
	punct := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	left := !unicode.IsSpace(after) && (!punct(after) || unicode.IsSpace(before) || punct(before))
	right := !unicode.IsSpace(before) && (!punct(before) || unicode.IsSpace(after) || punct(after))
	t := token{run: c, from: p.at, to: p.at + n, length: n, canOpen: left, canEnd: right}
	switch {
	case c == '*' && isWord(before) && isWord(after): // a product: many services have no emphasis within words
		t.canOpen, t.canEnd = false, false
	case c == '_':
		t.canOpen, t.canEnd = left && (!right || punct(before)), right && (!left || punct(after))
	case c == '~' && n != 2:
		t.canOpen, t.canEnd = false, false
	}
	return t
}

// isWord reports whether r is a letter or a digit of ASCII.
func isWord(r rune) bool { return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// emphasis pairs the runs, by the rules of CommonMark.
func (p *inliner) emphasis() {
	last := -1
	for i := range p.tokens {
		if p.tokens[i].run != 0 {
			p.tokens[i].previous, p.tokens[i].follow = last, -1
			if last >= 0 {
				p.tokens[last].follow = i
			}
			last = i
		}
	}
	first := last
	for first >= 0 && p.tokens[first].previous >= 0 {
		first = p.tokens[first].previous
	}
	bottom := map[[3]int]int{} // what was searched in vain, as far as this token
	for i := first; i >= 0; {
		end := &p.tokens[i]
		if !end.canEnd || end.from == end.to {
			i = end.follow
			continue
		}
		key := [3]int{int(end.run), end.length % 3, 0}
		if end.canOpen {
			key[2] = 1
		}
		stop, known := bottom[key]
		if !known {
			stop = -1
		}
		j := end.previous
		for j > stop && !p.pairs(p.tokens[j], *end) {
			j = p.tokens[j].previous
		}
		if j <= stop {
			bottom[key] = end.previous
			if !end.canOpen {
				p.unlink(i)
			}
			i = end.follow
			continue
		}
		p.pair(&p.tokens[j], end)
		end.previous, p.tokens[j].follow = j, i // what is between them pairs no more
		if p.tokens[j].from == p.tokens[j].to {
			p.unlink(j)
		}
		if end.from == end.to {
			p.unlink(i)
			i = end.follow
		}
	}
}

func (p *inliner) unlink(i int) {
	t := p.tokens[i]
	if t.previous >= 0 {
		p.tokens[t.previous].follow = t.follow
	}
	if t.follow >= 0 {
		p.tokens[t.follow].previous = t.previous
	}
}

// pairs reports whether two runs begin and end emphasis.
func (p *inliner) pairs(open, end token) bool {
	if open.run != end.run || !open.canOpen || open.from == open.to {
		return false
	}
	odd := (open.canEnd || end.canOpen) && (open.length+end.length)%3 == 0 &&
		(open.length%3 != 0 || end.length%3 != 0)
	return !odd
}

// pair takes characters from two runs.
func (p *inliner) pair(open, end *token) {
	kind, n := Italic, 1
	if open.to-open.from >= 2 && end.to-end.from >= 2 {
		kind, n = Bold, 2
	}
	if open.run == '~' {
		kind = Strike
	}
	p.spans = append(p.spans, span{from: open.to - n, inner: open.to, innerEnd: end.from, to: end.from + n})
	open.opens, end.ends = append(open.opens, kind), append(end.ends, kind)
	open.to -= n
	end.from += n
}

// build returns the nodes of all tokens.
func (p *inliner) build() []Node {
	type level struct {
		kind  Kind
		nodes []Node
	}
	stack := []level{{}}
	add := func(n Node) {
		top := &stack[len(stack)-1]
		if last := len(top.nodes) - 1; n.Kind == Text && last >= 0 && top.nodes[last].Kind == Text {
			top.nodes[last].Text += n.Text
			return
		}
		top.nodes = append(top.nodes, n)
	}
	for _, t := range p.tokens {
		if t.run == 0 {
			add(t.node)
			continue
		}
		for range t.ends {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(stack) <= maxDepth {
				add(Node{Kind: top.kind, Children: top.nodes})
				continue
			}
			for _, n := range top.nodes {
				add(n)
			}
		}
		if t.from < t.to {
			add(Node{Kind: Text, Text: p.text[t.from:t.to]})
		}
		for _, kind := range slices.Backward(t.opens) {
			stack = append(stack, level{kind: kind})
		}
	}
	return stack[0].nodes
}
