package page

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// math writes a formula in the TeX it was made from, where the page has that,
// and else as the signs stand.
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
		r.d.text(shown)
		return
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
	rest := texCommand.ReplaceAllString(tex, " ")
	for _, r := range rest {
		if (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') && !strings.ContainsRune(shown, r) && !containsMathLetter(shown) {
			return false
		}
	}
	return true
}

// containsMathLetter reports whether letters are shown in forms of their own.
func containsMathLetter(shown string) bool {
	return strings.ContainsFunc(shown, func(r rune) bool { return r >= 0x1d400 && r <= 0x1d7ff })
}

// mathSpan writes a formula that a library drew, from what it keeps beside it.
func (r *renderer) mathSpan(n *html.Node) bool {
	class := attr(n, "class")
	if !hasWord(class, "katex") && !hasWord(class, "katex-display") && !hasWord(class, "mwe-math-element") {
		return false
	}
	math := find(n, "math")
	if math == nil {
		return false
	}
	_, tex := mathText(math)
	if tex == "" || !formula(tex) {
		return false
	}
	if shown, _ := mathText(math); !sameSigns(shown, tex) {
		return false
	}
	r.formula(tex, hasWord(class, "katex-display") || strings.EqualFold(attr(math, "display"), "block"))
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
	for {
		at := strings.Index(text, `\(`)
		for _, open := range []string{`\[`, "$$"} {
			if i := strings.Index(text, open); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		shut := map[string]string{`\(`: `\)`, `\[`: `\]`, "$$": "$$"}[text[at:at+2]]
		tex, rest, found := strings.Cut(text[at+2:], shut)
		if !found || len(tex) > 2000 || strings.Contains(tex, "](") || strings.ContainsAny(tex, "`|") || strings.TrimSpace(tex) == "" {
			r.d.text(text[:at+2])
			text = text[at+2:]
			continue
		}
		r.d.text(text[:at])
		sign := "$"
		if shut != `\)` {
			sign = "$$"
		}
		r.d.raw(sign + strings.ReplaceAll(oneLine(tex), "<", "< ") + sign)
		text = rest
	}
	r.d.text(text)
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
