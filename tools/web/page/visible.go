package page

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// viewer looks at a page as a person at a screen would and takes away what they
// would not see.
type viewer struct {
	ctx        context.Context
	sheet      *sheet
	plainWhite bool // nothing says what is behind the text: it is white
	elements   int
	characters int
	invisible  int
	tired      bool // the rest of the page was too much to look at, and is gone
	checks     int
	visited    int
	err        error
}

// maxChecks is how many rules are held against elements, in all.
const maxChecks = 15_000_000

// gone are the elements that are no content wherever they are.
var gone = setOf("script style noscript template svg canvas object applet audio-source track datalist colgroup col map area link base noembed param rp dialog-backdrop")

// state is what an element hands down to what is in it.
type state struct {
	invisible, tiny, clear bool // by visibility, size, and colour
	color, back            string
	covered                bool // something opaque is painted over what goes under
	names                  *scope
}

func (s state) hides() bool { return s.invisible || s.tiny || s.clear }

// view removes from a tree what is hidden. Metadata stay, wherever they are.
func (v *viewer) view(root *html.Node) error {
	start := state{}
	if v.plainWhite {
		start.back = "#ffffff"
	}
	v.children(root, start)
	return v.err
}

func (v *viewer) children(n *html.Node, s state) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if v.visited++; v.visited%1024 == 0 && v.err == nil {
			v.err = v.ctx.Err()
		}
		if v.checks > maxChecks {
			v.tired = true
		}
		switch {
		case v.tired || v.err != nil || c.Type == html.CommentNode:
			n.RemoveChild(c)
		case c.Type == html.TextNode:
			v.text(n, c, s)
		case c.Type == html.ElementNode:
			v.element(n, c, s)
		}
		c = next
	}
}

func (v *viewer) text(parent, n *html.Node, s state) {
	if s.hides() {
		if count := utf8.RuneCountInString(strings.TrimSpace(n.Data)); count > 0 {
			v.elements++
			v.characters += count
		}
		parent.RemoveChild(n)
		return
	}
	if printable(n.Data) {
		return
	}
	clean, removed := tool.Clean(n.Data)
	if removed > 0 { // hyphens where words may break are no hiding
		v.invisible += max(removed-strings.Count(n.Data, "\u00ad"), 0)
		n.Data = clean
	}
}

// printable reports whether a text is all ASCII that is seen, as most is.
func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

func (v *viewer) element(parent, n *html.Node, s state) {
	switch {
	case gone[n.Data]:
		parent.RemoveChild(n)
		return
	case n.Data == "head" || n.Data == "meta":
		return
	case n.Data != "html" && n.Data != "body":
		if v.hidden(n, &s) {
			if count := visibleText(n); count > 0 {
				v.elements++
				v.characters += count
			}
			parent.RemoveChild(n)
			return
		}
	default:
		b := v.sheet.box(n, s.names, &v.checks)
		b.colours(&s)
		s.clear, s.names = false, b.names
	}
	v.children(n, s)
}

// hidden decides over an element, and changes what it hands down.
func (v *viewer) hidden(n *html.Node, s *state) bool {
	if concealed(n) {
		return true
	}
	b := v.sheet.box(n, s.names, &v.checks)
	if b.none || b.unseen() || v.plainWhite && b.beneath(s) {
		return true
	}
	b.hand(s)
	return s.hides() && replaced[n.Data]
}

// replaced are elements that show something without having text in them.
var replaced = setOf("img input select button video audio embed iframe picture math our-tex our-tex-block meter progress")

// conceals reports whether an element by itself hides what is in it, also by
// what it would hand down.
func (s *sheet) conceals(n *html.Node) bool {
	if concealed(n) {
		return true
	}
	checks := 0
	b := s.box(n, nil, &checks)
	handed := state{back: "#ffffff"}
	b.hand(&handed)
	return b.none || b.unseen() || handed.hides()
}

// hidingClasses are the names that style sheets, also those we do not see, give
// to what is hidden, or only there for readers of screens.
var hidingClasses = setOf("hidden invisible collapse sr-only d-none visually-hidden is-hidden is-invisible is-sr-only hide show-for-sr " +
	"uk-hidden uk-invisible d-hide d-invisible text-hide text-assistive clip dn vis-hidden screen-reader-text cdk-visually-hidden " +
	"offscreen clip-hide visuallyhidden element-invisible sr-only-focusable screenreader-only a11y-hidden u-hidden assistive-text")

// concealed reports whether attributes and classes say that an element is hidden.
func concealed(n *html.Node) bool {
	class := ""
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") && !strings.Contains(attr(n, "class"), "mwe-math-fallback-image") {
				return true
			}
		case "class":
			class = a.Val
		case "type":
			if n.Data == "input" && strings.EqualFold(a.Val, "hidden") {
				return true
			}
		}
	}
	if n.Data == "dialog" && !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "open" }) {
		return true
	}
	return class != "" && hidingClass(class)
}

func hidingClass(list string) bool {
	hides := false
	for class := range strings.FieldsSeq(list) {
		class = strings.ToLower(class)
		hides = hides || hidingClasses[class]
		_, shown, sized := strings.Cut(class, ":") // md:block, at some width
		if !sized {
			shown = strings.TrimLeft(strings.TrimPrefix(class, "d-"), "smdlgx-")
		}
		switch {
		case class == "show" || class == "in":
			return false
		case (sized || strings.HasPrefix(class, "d-") && strings.Count(class, "-") > 1) &&
			(strings.HasPrefix(shown, "block") || strings.HasPrefix(shown, "flex") || strings.HasPrefix(shown, "inline") || strings.HasPrefix(shown, "grid") || strings.HasPrefix(shown, "table") || strings.HasPrefix(shown, "contents")):
			return false
		}
	}
	return hides
}

// visibleText is how many characters an element has that would be read as text.
func visibleText(root *html.Node) int {
	count := 0
	for n := root; n != nil; {
		if n.Type == html.TextNode {
			count += utf8.RuneCountInString(strings.TrimSpace(n.Data))
		}
		if n.FirstChild != nil && !gone[n.Data] {
			n = n.FirstChild
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
	return count
}
