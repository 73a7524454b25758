package page

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

const (
	deepestMath = 100  // elements in each other
	longestMath = 4000 // bytes of TeX
)

// A mathWriter writes MathML as TeX, in one pass.
type mathWriter struct {
	b      strings.Builder
	built  bool // something in it stands elsewhere than in the line
	tooBig bool
}

// builtMath is the TeX for a formula whose signs do not stand in one line, or ""
// for one whose signs do, and for one that is more than a formula.
func builtMath(root *html.Node) string {
	w := &mathWriter{}
	w.children(root, 0)
	tex := strings.ReplaceAll(strings.TrimSpace(w.b.String()), "<", "< ")
	if !w.built || w.tooBig || strings.Contains(tex, "](") || strings.Contains(tex, "`") || !formula(tex) {
		return ""
	}
	return tex
}

func (w *mathWriter) children(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil && !w.tooBig; c = c.NextSibling {
		w.node(c, depth+1)
	}
}

func (w *mathWriter) node(n *html.Node, depth int) {
	if depth > deepestMath || w.b.Len() > longestMath {
		w.tooBig = true
	}
	if n == nil || w.tooBig {
		return
	}
	if n.Type == html.TextNode {
		w.signs(strings.TrimSpace(n.Data))
		return
	}
	kids := elementsOf(n)
	switch n.Data {
	case "annotation", "annotation-xml", "mphantom", "none", "mprescripts":
	case "mi", "mtext":
		w.name(n)
	case "mspace":
		w.b.WriteByte(' ')
	case "semantics", "maction":
		w.node(at(kids, 0), depth+1)
	case "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts":
		w.scripts(n.Data, kids, depth)
	case "mfrac":
		command := `\frac`
		if strings.HasPrefix(strings.TrimSpace(attr(n, "linethickness")), "0") {
			command = `\binom`
		}
		w.command(command, depth, at(kids, 0), at(kids, 1))
	case "msqrt":
		w.built = true
		w.b.WriteString(`\sqrt{`)
		w.children(n, depth)
		w.b.WriteByte('}')
	case "mroot":
		w.b.WriteString(`\sqrt[`)
		w.node(at(kids, 1), depth+1)
		w.command("]", depth, at(kids, 0))
	case "mtable":
		w.table(kids, depth)
	default:
		w.children(n, depth)
	}
}

// command writes a command with what it is of.
func (w *mathWriter) command(name string, depth int, of ...*html.Node) {
	w.built = true
	w.b.WriteString(name)
	for _, n := range of {
		w.b.WriteByte('{')
		w.node(n, depth+1)
		w.b.WriteByte('}')
	}
}

// accents are what stands above a letter and has a command of its own.
var accents = map[string]string{"¯": `\bar`, "‾": `\bar`, "^": `\hat`, "ˆ": `\hat`, "~": `\tilde`, "˜": `\tilde`, "→": `\vec`, "⃗": `\vec`, "˙": `\dot`, "¨": `\ddot`}

// scripts writes what stands below and above something, and before it.
func (w *mathWriter) scripts(kind string, kids []*html.Node, depth int) {
	w.built = true
	base, below, above := at(kids, 0), at(kids, 1), at(kids, 2)
	switch kind {
	case "msup", "mover":
		below, above = nil, below
	case "mmultiscripts":
		w.manyScripts(kids, depth)
		return
	}
	if command, ok := accents[signsOf(above)]; ok && kind == "mover" {
		w.command(command, depth, base)
		return
	}
	w.base(base, depth)
	w.script('_', below, depth)
	w.script('^', above, depth)
}

func (w *mathWriter) manyScripts(kids []*html.Node, depth int) {
	behind, before := kids, []*html.Node(nil)
	for i, k := range kids {
		if k.Data == "mprescripts" {
			behind, before = kids[:i], kids[i+1:]
			break
		}
	}
	if len(before) > 0 {
		w.b.WriteString("{}")
	}
	for i, k := range before {
		w.script("_^"[i%2], k, depth)
	}
	w.base(at(behind, 0), depth)
	for i, k := range behind[min(1, len(behind)):] {
		w.script("_^"[i%2], k, depth)
	}
}

// base writes what scripts belong to, in braces unless it is clear what it is.
func (w *mathWriter) base(n *html.Node, depth int) {
	if n == nil || single(n) || n.Data == "mi" || n.Data == "mo" || n.Data == "mn" || bracketed(n) {
		w.node(n, depth+1)
		return
	}
	w.command("", depth, n)
}

func (w *mathWriter) script(sign byte, n *html.Node, depth int) {
	if n == nil || n.Data == "none" || n.Data == "mrow" && n.FirstChild == nil {
		return
	}
	w.b.WriteByte(sign)
	if single(n) {
		w.node(n, depth+1)
		return
	}
	w.command("", depth, n)
}

func (w *mathWriter) table(rows []*html.Node, depth int) {
	w.built = true
	w.b.WriteString(`\begin{matrix}`)
	for i, row := range rows {
		if i > 0 {
			w.b.WriteString(` \\`)
		}
		for j, cell := range elementsOf(row) {
			if j > 0 {
				w.b.WriteString(" &")
			}
			w.b.WriteByte(' ')
			w.node(cell, depth+2)
		}
	}
	w.b.WriteString(` \end{matrix}`)
}

// functions have commands of their own.
var functions = setOf("sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp lim limsup liminf max min sup inf det dim ker gcd arg deg Pr")

// name writes a letter, a name of several, or words.
func (w *mathWriter) name(n *html.Node) {
	said := oneLine(rawTextOf(n))
	switch {
	case functions[said]:
		w.b.WriteString(`\` + said + " ")
	case n.Data == "mtext" && said != "":
		w.b.WriteString(`\text{`)
		w.signs(said)
		w.b.WriteByte('}')
	case utf8.RuneCountInString(said) > 1:
		w.b.WriteString(`\mathrm{`)
		w.signs(said)
		w.b.WriteByte('}')
	default:
		w.signs(said)
	}
}

var texSigns = strings.NewReplacer(`\`, `\backslash `, "{", `\{`, "}", `\}`, "$", `\$`, "%", `\%`, "#", `\#`, "&", `\&`, "_", `\_`, "^", `\hat{}`, "~", `\sim `)

// signs writes signs as they are.
func (w *mathWriter) signs(text string) {
	if w.b.Len()+len(text) > longestMath {
		w.tooBig = true
		return
	}
	w.b.WriteString(texSigns.Replace(text))
}

// single reports whether an element is one sign, which needs no braces.
func single(n *html.Node) bool {
	for n.Data == "mrow" || n.Data == "mstyle" {
		kids := elementsOf(n)
		if len(kids) != 1 {
			return false
		}
		n = kids[0]
	}
	if n.Data != "mi" && n.Data != "mn" && n.Data != "mo" {
		return false
	}
	sign := signsOf(n)
	return utf8.RuneCountInString(sign) == 1 && texSigns.Replace(sign) == sign
}

// bracketed reports whether a row stands between brackets.
func bracketed(n *html.Node) bool {
	kids := elementsOf(n)
	if n.Data != "mrow" || len(kids) < 2 {
		return false
	}
	open, shut := signsOf(kids[0]), signsOf(kids[len(kids)-1])
	return open == "(" && shut == ")" || open == "[" && shut == "]" || open == "|" && shut == "|"
}

// signsOf is what an element with one text says; "" for all others.
func signsOf(n *html.Node) string {
	if n == nil || n.FirstChild == nil || n.FirstChild != n.LastChild || n.FirstChild.Type != html.TextNode {
		return ""
	}
	return strings.TrimSpace(n.FirstChild.Data)
}

func elementsOf(n *html.Node) (all []*html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			all = append(all, c)
		}
	}
	return all
}

// at is one of some elements, nil where there are fewer.
func at(all []*html.Node, i int) *html.Node {
	if i < len(all) {
		return all[i]
	}
	return nil
}
