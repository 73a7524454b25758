package page

import (
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// math writes a formula in the TeX it was made from, where the page has that,
// else in TeX that says how it is built, or, where it is in one line, as the signs
// stand.
func (r *renderer) math(n *html.Node) {
	if n.Data != "math" {
		r.formula(rawTextOf(n), n.Data == "our-tex-block")
		return
	}
	shown, tex := mathText(n)
	if said := attr(n, "alttext"); tex == "" {
		tex = said
	}
	display := strings.EqualFold(attr(n, "display"), "block")
	if tex == "" || !formula(tex) || !sameSigns(shown, tex) {
		if tex = builtMath(n); tex == "" {
			r.d.text(shown)
			return
		}
	}
	r.formula(tex, display)
}

// mathText is what a formula shows, and the TeX that it carries along unseen.
func mathText(root *html.Node) (shown, tex string) {
	var b strings.Builder
	for n := root; n != nil; {
		within := n.FirstChild
		switch {
		case n.Type == html.TextNode:
			b.WriteString(strings.TrimSpace(n.Data))
		case n.Data == "annotation" || n.Data == "annotation-xml":
			if strings.Contains(attr(n, "encoding"), "tex") && tex == "" {
				tex = strings.TrimSpace(rawTextOf(n))
			}
			within = nil
		case n.Data == "mtr" || n.Data == "mspace":
			b.WriteByte(' ')
		}
		if within != nil {
			n = within
			continue
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
		}
		if n == root {
			break
		}
		n = n.NextSibling
	}
	return strings.TrimSpace(b.String()), tex
}

// sameSigns reports whether TeX can be that of what is shown: its digits and
// single letters are there, too. What is only in the TeX nobody would see.
func sameSigns(shown, tex string) bool {
	if containsMathLetter(shown) {
		return true
	}
	var there [utf8.RuneSelf]bool
	for _, c := range []byte(shown) {
		if c < utf8.RuneSelf {
			there[c] = true
		}
	}
	for _, c := range []byte(texCommand().ReplaceAllString(tex, " ")) {
		if (c >= '0' && c <= '9' || isLetter(c)) && !there[c] {
			return false
		}
	}
	return true
}

// containsMathLetter reports whether letters are shown in forms of their own.
func containsMathLetter(shown string) bool {
	return strings.ContainsFunc(shown, func(r rune) bool { return r >= 0x1d400 && r <= 0x1d7ff })
}

// span writes what is in a line, or the formula that it was drawn from. Within
// what was drawn from none nobody looks for one again: it may nest deep.
func (r *renderer) span(n *html.Node) {
	class := attr(n, "class")
	math := !r.drawn && (hasWord(class, "katex") || hasWord(class, "katex-display") || hasWord(class, "mwe-math-element"))
	if math && r.mathSpan(n) {
		return
	}
	was := r.drawn
	r.drawn = was || math
	r.children(n)
	r.drawn = was
}

// mathSpan writes a formula that a library drew, from what it keeps beside it.
func (r *renderer) mathSpan(n *html.Node) bool {
	math := find(n, "math")
	if math == nil {
		return false
	}
	shown, tex := mathText(math)
	if tex == "" || !formula(tex) || !sameSigns(shown, tex) {
		return false
	}
	r.formula(tex, hasWord(attr(n, "class"), "katex-display") || strings.EqualFold(attr(math, "display"), "block"))
	return true
}

// find is the first element of a name within another one, or nil.
func find(n *html.Node, name string) *html.Node {
	if found := goquery.NewDocumentFromNode(n).FindMatcher(goquery.Single(name)); found.Length() > 0 {
		return found.Nodes[0]
	}
	return nil
}

// formula writes TeX between dollars.
func (r *renderer) formula(tex string, display bool) {
	tex = oneLine(tex)
	if inner, ok := strings.CutPrefix(tex, `{\displaystyle `); ok {
		tex = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	if tex == "" || !formula(tex) {
		return
	}
	if r.d.cell {
		tex = strings.ReplaceAll(tex, "|", `\vert `)
	}
	if display && !r.d.cell {
		r.d.end(2)
		r.d.raw("$$" + tex + "$$")
		r.d.end(2)
		return
	}
	r.d.raw("$" + tex + "$")
}

// text writes text. TeX in it that scripts would typeset is a formula.
func (r *renderer) text(text string) {
	if strings.IndexByte(text, '\\') < 0 && !strings.Contains(text, "$$") {
		r.d.text(text)
		return
	}
	in := signsIn(text)
	from := 0
	for {
		at, shuts := in.opens(from)
		if at == len(text) {
			break
		}
		begin := at + len(`\(`)
		end, fits := in.formula(begin, shuts)
		if !fits {
			r.d.text(text[from:begin])
			from = begin
			continue
		}
		r.d.text(text[from:at])
		sign := "$"
		if shuts.sign != `\)` {
			sign = "$$"
		}
		r.d.raw(sign + strings.ReplaceAll(oneLine(text[begin:end]), "<", "< ") + sign)
		from = end + len(shuts.sign)
	}
	r.d.text(text[from:])
}

// signs are what TeX in a text stands between, and what it does not have in it.
type signs struct {
	text        string
	open, shut  [3]sought
	neverWithin [3]sought
}

const longestTeX = 2000 // bytes, in a text

func signsIn(text string) *signs {
	s := &signs{text: text}
	for i, sign := range [3]string{`\(`, `\[`, "$$"} {
		s.open[i] = sought{text, sign, -1}
	}
	for i, sign := range [3]string{`\)`, `\]`, "$$"} {
		s.shut[i] = sought{text, sign, -1}
	}
	for i, sign := range [3]string{"](", "`", "|"} {
		s.neverWithin[i] = sought{text, sign, -1}
	}
	return s
}

// opens is where TeX may begin from a place on, and what ends it.
func (s *signs) opens(from int) (at int, shuts *sought) {
	at = len(s.text)
	for i := range s.open {
		if next := s.open[i].from(from); next < at {
			at, shuts = next, &s.shut[i]
		}
	}
	return at, shuts
}

// formula is where TeX ends that begins at a place, and whether it is any.
func (s *signs) formula(begin int, shuts *sought) (end int, fits bool) {
	end = shuts.from(begin)
	if end == len(s.text) || end-begin > longestTeX || strings.TrimSpace(s.text[begin:end]) == "" {
		return end, false
	}
	for i := range s.neverWithin {
		if s.neverWithin[i].from(begin) < end {
			return end, false
		}
	}
	return end, true
}

// A sought is where a sign comes next in a text. However often it is asked for,
// the text is gone through once: places only grow.
type sought struct {
	text, sign string
	at         int
}

// from is the next place from one on, or the end of the text.
func (s *sought) from(place int) int {
	if s.at < place {
		s.at = len(s.text)
		if next := strings.Index(s.text[place:], s.sign); next >= 0 {
			s.at = place + next
		}
	}
	return s.at
}

// rawTextOf is the text of an element as it stands, with its blanks.
func rawTextOf(root *html.Node) string {
	var b strings.Builder
	appendText(&b, root)
	return b.String()
}

func appendText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Data == "br":
			b.WriteByte('\n')
		case c.Type == html.ElementNode:
			appendText(b, c)
		}
	}
}
