package page

import (
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// math copies a formula as TeX, if the page contains its source, and else its
// characters one after the other.
func (r *copier) math(n *html.Node) {
	if n.Data != "math" {
		r.formula(rawTextOf(n), n.Data == texDisplay)
		return
	}
	shown, tex := readMath(n)
	if tex == "" {
		tex = attr(n, "alttext")
	}
	if !isTeXOf(tex, shown) {
		r.text(shown)
		return
	}
	r.formula(tex, strings.EqualFold(attr(n, "display"), "block"))
}

// readMath returns the characters that a formula shows, and the TeX in its annotation.
func readMath(root *html.Node) (shown, tex string) {
	var b strings.Builder
	for n := root; n != nil; {
		child := n.FirstChild
		switch {
		case n.Type == html.TextNode:
			b.WriteString(strings.TrimSpace(n.Data))
		case n.Data == "annotation" || n.Data == "annotation-xml":
			if strings.Contains(attr(n, "encoding"), "tex") && tex == "" {
				tex = strings.TrimSpace(rawTextOf(n))
			}
			child = nil
		case n.Data == "mtr" || n.Data == "mspace":
			b.WriteByte(' ')
		}
		if child != nil {
			n = child
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

// isTeXOf reports whether text is TeX and can be the source of the characters that
// are shown: annotations are invisible, so they could contain anything. All digits
// and single letters of the TeX must be shown.
func isTeXOf(tex, shown string) bool {
	if !isTeX(tex) {
		return false
	}
	isMathLetter := func(r rune) bool { return r >= 0x1d400 && r <= 0x1d7ff }
	if strings.ContainsFunc(shown, isMathLetter) { // letters have other code points then
		return true
	}
	var isShown [utf8.RuneSelf]bool
	for _, c := range []byte(shown) {
		if c < utf8.RuneSelf {
			isShown[c] = true
		}
	}
	for _, c := range []byte(texCommand().ReplaceAllString(tex, " ")) {
		if (c >= '0' && c <= '9' || isLetter(c)) && !isShown[c] {
			return false
		}
	}
	return true
}

var (
	texWords   = text.Pattern(`\\(?:text|mathrm|operatorname|mbox|textrm|textbf|mathbf|label|tag)\*?\s*\{[^{}]{0,60}\}`)
	texCommand = text.Pattern(`\\(?:begin|end)\s*\{[a-zA-Z*]{1,20}\}|\\[a-zA-Z]+`)
	longWord   = text.Pattern(`\pL{4,}`)
)

// isTeX distinguishes TeX from hidden prose: TeX has no long words outside of
// commands, and few within \text and the like.
func isTeX(text string) bool {
	if len(text) > 4000 || strings.TrimSpace(text) == "" {
		return false
	}
	words := strings.Join(texWords().FindAllString(text, -1), " ")
	rest := texCommand().ReplaceAllString(texWords().ReplaceAllString(text, " "), " ")
	return !longWord().MatchString(rest) &&
		len(longWord().FindAllString(texCommand().ReplaceAllString(words, " "), 5)) < 5
}

// span copies a span, or the formula that a library has drawn in it. The content of
// a formula without TeX is not searched again, because spans may nest deep.
func (r *copier) span(n *html.Node) {
	class := attr(n, "class")
	isFormula := !r.inFormula &&
		(hasWord(class, "katex") || hasWord(class, "katex-display") || hasWord(class, "mwe-math-element"))
	if isFormula && r.drawnFormula(n) {
		return
	}
	outer := r.inFormula
	r.inFormula = outer || isFormula
	r.children(n)
	r.inFormula = outer
}

var mathElement = goquery.Single("math")

// drawnFormula copies a formula from the MathML beside its drawing; false if there
// is no TeX.
func (r *copier) drawnFormula(n *html.Node) bool {
	found := goquery.NewDocumentFromNode(n).FindMatcher(mathElement)
	if found.Length() == 0 {
		return false
	}
	shown, tex := readMath(found.Nodes[0])
	if !isTeXOf(tex, shown) {
		return false
	}
	isBlock := strings.EqualFold(found.AttrOr("display", ""), "block")
	r.formula(tex, isBlock || hasWord(attr(n, "class"), "katex-display"))
	return true
}

// formula adds TeX between dollar signs.
func (r *copier) formula(tex string, display bool) {
	tex = oneLine(tex)
	if inner, ok := strings.CutPrefix(tex, `{\displaystyle `); ok {
		tex = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	if !isTeX(tex) {
		return
	}
	if r.line {
		tex = strings.ReplaceAll(tex, "|", `\vert `)
	}
	if display && !r.line {
		r.within("p", func() { r.raw("$$" + tex + "$$") })
		return
	}
	r.raw("$" + tex + "$")
}

// typeset copies text. TeX in it that a script would typeset is written as a formula.
func (r *copier) typeset(text string) {
	from := 0
	for at := 0; ; {
		next := strings.IndexAny(text[at:], `\$`)
		if next < 0 {
			break
		}
		at += next
		formula, length := typesetFormula(text[at:])
		if formula == "" {
			at += max(length, 1)
			continue
		}
		r.text(text[from:at])
		r.raw(formula)
		at += length
		from = at
	}
	r.text(text[from:])
}

// texDelimiters enclose TeX in a text; sign is the text between them.
var texDelimiters = []struct{ open, close, sign string }{
	{`\(`, `\)`, "$"}, {`\[`, `\]`, "$$"}, {"$$", "$$", "$$"},
}

// maxTypeset is the maximum length of TeX in a text in bytes.
const maxTypeset = 2000

// typesetFormula returns the formula that text begins with, and the length to skip.
func typesetFormula(text string) (formula string, length int) {
	for _, d := range texDelimiters {
		inside, ok := strings.CutPrefix(text, d.open)
		if !ok {
			continue
		}
		end := strings.Index(inside[:min(len(inside), maxTypeset+len(d.close))], d.close)
		if end < 0 {
			return "", len(d.open)
		}
		tex := inside[:end]
		if strings.TrimSpace(tex) == "" || strings.Contains(tex, "](") || strings.ContainsAny(tex, "`|") {
			return "", len(d.open)
		}
		return d.sign + strings.ReplaceAll(oneLine(tex), "<", "< ") + d.sign, len(d.open) + end + len(d.close)
	}
	return "", 1
}
