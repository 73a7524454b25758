package page

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// hiddenRemover removes from a tree the parts that a person at a screen would not see.
type hiddenRemover struct {
	ctx        context.Context
	sheet      *sheet
	onWhite    bool // no external style sheet can set a background: it is white by default
	scripts    bool // the page has scripts; they may fade in transparent parts
	elements   int
	characters int
	invisible  int
	exhausted  bool // a limit was reached, and the rest of the page was removed
	checks     int  // work done in sheet
	visited    int
	err        error
}

// maxChecks limits how many rules are compared with elements, in total.
const maxChecks = 15_000_000

// neverContent are elements that are never content.
var neverContent = setOf("script style noscript template svg canvas object applet track datalist colgroup col map " +
	"area link base noembed param rp dialog-backdrop")

// inherited has the properties that an element passes on to its content.
type inherited struct {
	invisible, tiny, sameColor bool // by visibility, font size and colour
	flat, cutOff               bool // lines have no height, and content beyond the height is cut off
	color, background          string
}

func (s inherited) hidesText() bool { return s.invisible || s.tiny || s.sameColor || s.cutOff }

// run removes hidden parts. Metadata stays.
func (r *hiddenRemover) run(root *html.Node) error {
	start := inherited{}
	if r.onWhite {
		start.background = "#ffffff"
	}
	r.children(root, start)
	return r.err
}

func (r *hiddenRemover) children(n *html.Node, s inherited) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if r.visited++; r.visited%1024 == 0 && r.err == nil {
			r.err = r.ctx.Err()
		}
		if r.checks > maxChecks {
			r.exhausted = true
		}
		switch {
		case r.exhausted || r.err != nil || c.Type == html.CommentNode:
			n.RemoveChild(c)
		case c.Type == html.TextNode:
			r.text(n, c, s)
		case c.Type == html.ElementNode:
			restoreName(c)
			r.element(n, c, s)
		}
		c = next
	}
}

func (r *hiddenRemover) text(parent, n *html.Node, s inherited) {
	if s.hidesText() {
		r.count(utf8.RuneCountInString(strings.TrimSpace(n.Data)))
		parent.RemoveChild(n)
		return
	}
	if isPrintable(n.Data) {
		return
	}
	clean, removed := tool.Clean(n.Data)
	if removed > 0 {
		r.invisible += max(removed-strings.Count(n.Data, "\u00ad"), 0) // soft hyphens hide nothing
		n.Data = clean
	}
}

func (r *hiddenRemover) count(characters int) {
	if characters > 0 {
		r.elements++
		r.characters += characters
	}
}

// isPrintable reports whether a text is printable ASCII, as most texts are.
func isPrintable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

func (r *hiddenRemover) element(parent, n *html.Node, s inherited) {
	switch {
	case neverContent[n.Data]:
		parent.RemoveChild(n)
		return
	case n.Data == "head" || n.Data == "meta":
		return
	case n.Data == "html" || n.Data == "body":
		st := r.sheet.styleOf(n, &r.checks)
		st.inheritColors(&s)
		s.sameColor = false
	case isAssistiveMath(n):
	case r.isHidden(n, &s):
		r.count(textLength(n))
		parent.RemoveChild(n)
		return
	}
	r.children(n, s)
}

// isAssistiveMath reports whether an element is the formula for screen readers that
// MathJax puts behind its drawing, where the formula is nowhere else. Prose is not a formula.
func isAssistiveMath(n *html.Node) bool {
	return n.Data == "mjx-assistive-mml" && n.FirstChild != nil && n.FirstChild == n.LastChild &&
		n.FirstChild.Data == "math" && !longWord().MatchString(strings.ReplaceAll(rawTextOf(n), " ", ""))
}

// isHidden reports whether an element is hidden with its content, and updates the state that
// its content inherits.
func (r *hiddenRemover) isHidden(n *html.Node, s *inherited) bool {
	if hiddenByAttributes(n) {
		return true
	}
	st := r.sheet.styleOf(n, &r.checks)
	if st.animated || r.scripts && st.fadesIn {
		st.transparent = false
	}
	if st.none || st.outOfSight() {
		return true
	}
	st.inherit(s)
	return s.hidesText() && replacedTags[n.Data]
}

// replacedTags are elements that show something although they contain no text.
var replacedTags = setOf("img input select button video audio embed iframe picture math meter progress " +
	texInline + " " + texDisplay)

// hidesAlone reports whether an element hides its content, judged without the
// elements around it.
func (s *sheet) hidesAlone(n *html.Node) bool {
	if hiddenByAttributes(n) {
		return true
	}
	checks := 0
	st := s.styleOf(n, &checks)
	in := inherited{background: "#ffffff"}
	st.inherit(&in)
	return st.none || st.outOfSight() || in.hidesText()
}

// hidingClasses are class names that common frameworks use for elements that are
// hidden or only for screen readers. Their style sheets are usually external.
var hidingClasses = setOf("hidden invisible sr-only d-none visually-hidden is-hidden is-invisible " +
	"is-sr-only hide show-for-sr uk-hidden uk-invisible d-hide d-invisible text-hide text-assistive clip " +
	"dn vis-hidden screen-reader-text cdk-visually-hidden offscreen clip-hide visuallyhidden element-invisible " +
	"sr-only-focusable screenreader-only a11y-hidden u-hidden assistive-text")

// hiddenByAttributes reports whether attributes or class names hide an element.
func hiddenByAttributes(n *html.Node) bool {
	class := ""
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			isFormula := strings.Contains(attr(n, "class"), "mwe-math-fallback-image")
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") && !isFormula {
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
	if n.Data == "dialog" && !hasAttr(n, "open") {
		return true
	}
	return class != "" && hiddenByClass(class)
}

// hiddenByClass reports whether a class hides an element and no other class shows
// it again on a large screen, such as md:block or d-lg-flex.
func hiddenByClass(classes string) bool {
	hides := false
	for class := range strings.FieldsSeq(classes) {
		class = strings.ToLower(class)
		hides = hides || hidingClasses[class]
		_, display, responsive := strings.Cut(class, ":")
		if !responsive && strings.HasPrefix(class, "d-") && strings.Count(class, "-") > 1 {
			display, responsive = strings.TrimLeft(strings.TrimPrefix(class, "d-"), "smdlgx-"), true
		}
		if class == "show" || class == "in" || responsive && isShownDisplay(display) {
			return false
		}
	}
	return hides
}

func isShownDisplay(display string) bool {
	shown := []string{"block", "flex", "inline", "grid", "table", "contents"}
	return slices.ContainsFunc(shown, func(one string) bool { return strings.HasPrefix(display, one) })
}

// textLength returns the number of characters that an element would show.
func textLength(root *html.Node) int {
	count := 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			count += utf8.RuneCountInString(strings.TrimSpace(n.Data))
		}
	}
	return count
}
