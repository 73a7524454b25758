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
		"time": "datetime", "abbr": "title", "code": "class", "pre": "class", "input": "type value placeholder",
		"option": "selected", "math": "display", "li": "id value", "video": "src", "audio": "src", "source": "src",
		"h1": "id", "h2": "id", "h3": "id", "h4": "id", "h5": "id", "h6": "id",
	}
	for name := range setOf("blockquote p ul dl dt dd table thead tbody tfoot tr caption b strong i em s del ins " +
		"sub sup kbd samp var q cite br hr figure figcaption details summary section article main form fieldset " +
		"legend label select button ruby rt mark small u dfn address mi mn mo mrow msup msub msubsup mfrac msqrt " +
		"mtext mtable mtr mtd semantics") {
		all[name] = ""
	}
	return all
}()

// cleanHTML returns elements as HTML without anything that is not content.
func (r *renderer) cleanHTML(roots []*html.Node) (string, error) {
	w := &htmlWriter{renderer: r}
	for _, root := range roots {
		w.node(root, false)
		w.endLine()
	}
	r.full = w.full
	return strings.TrimSpace(w.b.String()), r.err
}

type htmlWriter struct {
	*renderer
	b    strings.Builder
	last byte
}

func (w *htmlWriter) node(n *html.Node, inPre bool) {
	if w.nodes++; w.nodes%512 == 0 && w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.full = w.full || w.b.Len() > w.limit; w.err != nil || w.full || w.skip[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		text := n.Data
		if !inPre {
			text = collapseBlanks(text, w.last)
		}
		w.write(html.EscapeString(text))
	case html.ElementNode:
		switch n.Data {
		case "head", "meta", "annotation", "annotation-xml":
		default:
			w.element(n, inPre || n.Data == "pre")
		}
	case html.DocumentNode:
		w.content(n, inPre)
	}
}

func (w *htmlWriter) content(n *html.Node, inPre bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c, inPre)
	}
}

func (w *htmlWriter) element(n *html.Node, inPre bool) {
	isBlock := !inlineTags[n.Data] && !inPre
	if isBlock {
		w.endLine()
	}
	keys, kept := keptTags[n.Data]
	if kept {
		w.write("<" + n.Data)
		for key := range strings.FieldsSeq(keys) {
			if value, ok := w.attribute(n, key); ok {
				w.write(" " + key + `="` + html.EscapeString(value) + `"`)
			}
		}
		w.write(">")
	}
	w.content(n, inPre)
	if kept && !voidTags[n.Data] {
		w.write("</" + n.Data + ">")
	}
	if isBlock || kept && n.Data == "pre" {
		w.endLine()
	}
}

// attribute returns the value of an attribute, made safe; false to leave it out.
func (w *htmlWriter) attribute(n *html.Node, key string) (value string, ok bool) {
	if !hasAttr(n, key) {
		return "", false
	}
	value = first(300, attr(n, key))
	switch key {
	case "href", "src":
		value = address(w.base, attr(n, key))
		if strings.HasPrefix(attr(n, key), "#") {
			value = cutText(oneLine(attr(n, key)), 300)
		}
	case "class":
		language := codeLanguage(n)
		if value = ""; language != "" && (n.Data == "code" || n.FirstChild == nil || n.FirstChild.Data != "code") {
			value = "language-" + language
		}
	case "value":
		if strings.EqualFold(attr(n, "type"), "password") {
			value = ""
		}
	case "selected":
		return "", true
	}
	return value, value != ""
}

func (w *htmlWriter) write(text string) {
	if text != "" {
		w.b.WriteString(text)
		w.last = text[len(text)-1]
	}
}

// endLine ends the line, if there is something on it.
func (w *htmlWriter) endLine() {
	if w.last != '\n' && w.last != 0 {
		w.write("\n")
	}
}

// collapseBlanks collapses the blanks of a text that follows the character last.
func collapseBlanks(text string, last byte) string {
	if text == "" {
		return ""
	}
	collapsed := strings.Join(strings.Fields(text), " ")
	if isBlank(text[0]) && last != ' ' && last != '\n' && last != 0 {
		collapsed = " " + collapsed
	}
	if collapsed != "" && collapsed != " " && isBlank(text[len(text)-1]) {
		collapsed += " "
	}
	return collapsed
}
