package page

import (
	"strings"

	"golang.org/x/net/html"
)

// keptTags are the elements of cleaned HTML with their attributes. The tags of other
// elements are dropped, and their content stays.
var keptTags = func() map[string]string {
	all := map[string]string{
		"a": "href", "img": "src alt", "td": "colspan rowspan", "th": "colspan rowspan scope", "ol": "start",
		"time": "datetime", "abbr": "title", "code": "class", "pre": "class", "math": "display", "li": "id value",
		"h1": "id", "h2": "id", "h3": "id", "h4": "id", "h5": "id", "h6": "id",
	}
	for name := range setOf("blockquote p ul dl dt dd table thead tbody tfoot tr caption b strong i em s del ins " +
		"sub sup kbd samp var q cite br hr figure figcaption details summary section article main label select " +
		"option ruby rt mark small u dfn address mi mn mo mrow msup msub msubsup mfrac msqrt mtext mtable mtr mtd " +
		"semantics") {
		all[name] = ""
	}
	return all
}()

// cleanHTML returns elements as HTML without anything that is not content.
func (r *copier) cleanHTML(roots []*html.Node) (string, error) {
	var b strings.Builder
	for _, root := range roots {
		wrapper := &html.Node{Type: html.DocumentNode}
		if root.Parent != nil {
			root.Parent.RemoveChild(root)
		}
		wrapper.AppendChild(root)
		r.clean(wrapper, false)
		if err := html.Render(&b, wrapper); err != nil {
			return "", err
		}
		b.WriteByte('\n')
	}
	text := b.String()
	if r.full = len(text) > r.limit; r.full {
		text = strings.ToValidUTF8(text[:r.limit], "")
	}
	return strings.TrimSpace(text), r.err
}

// clean removes clutter from the descendants of a node, and puts each block on its own lines.
func (r *copier) clean(n *html.Node, inPre bool) {
	if r.nodes++; r.nodes%512 == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	for c := n.FirstChild; c != nil && r.err == nil; {
		next := c.NextSibling
		_, kept := keptTags[c.Data]
		isBlock := c.Type == html.ElementNode && !inlineTags[c.Data] && !inPre
		switch {
		case c.Type == html.TextNode && !inPre:
			c.Data = collapseBlanks(c.Data, c.PrevSibling == nil || strings.HasSuffix(c.PrevSibling.Data, "\n"))
		case c.Type == html.TextNode:
		case r.skip[c] || fieldTags[c.Data] || c.Data == "annotation" || c.Data == "annotation-xml":
			n.RemoveChild(c)
			c, isBlock = nil, false
		default:
			r.clean(c, inPre || c.Data == "pre")
			r.cleanAttributes(c)
		}
		if isBlock {
			lineBreak := &html.Node{Type: html.TextNode, Data: "\n"}
			n.InsertBefore(lineBreak, next)
		}
		for c != nil && c.Type == html.ElementNode && !kept && c.FirstChild != nil {
			inner := c.FirstChild
			c.RemoveChild(inner)
			n.InsertBefore(inner, c)
		}
		if c != nil && c.Type == html.ElementNode && !kept {
			n.RemoveChild(c)
		}
		c = next
	}
}

// cleanAttributes keeps the attributes that are content, made safe.
func (r *copier) cleanAttributes(n *html.Node) {
	var attrs []html.Attribute
	for key := range strings.FieldsSeq(keptTags[n.Data]) {
		value := first(300, attr(n, key))
		switch key {
		case "href", "src":
			if strings.HasPrefix(value, "#") {
				break
			}
			value = address(r.base, attr(n, key))
		case "class":
			language := codeLanguage(n)
			if value = ""; language != "" && (n.Data == "code" || n.FirstChild == nil || n.FirstChild.Data != "code") {
				value = "language-" + language
			}
		}
		if value != "" {
			attrs = append(attrs, html.Attribute{Key: key, Val: value})
		}
	}
	n.Attr = attrs
}

// collapseBlanks collapses the blanks of a text.
func collapseBlanks(text string, atLineStart bool) string {
	collapsed := strings.Join(strings.Fields(text), " ")
	if text != "" && isBlank(text[0]) && !atLineStart {
		collapsed = " " + collapsed
	}
	if collapsed != "" && collapsed != " " && isBlank(text[len(text)-1]) {
		collapsed += " "
	}
	return collapsed
}
