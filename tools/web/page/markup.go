package page

import (
	"strings"

	"golang.org/x/net/html"
)

// kept are the elements that cleaned HTML has, with the attributes that say
// something. Others give what is in them.
var kept = map[string]string{
	"a": "href", "img": "src alt", "td": "colspan rowspan", "th": "colspan rowspan scope", "ol": "start", "time": "datetime",
	"abbr": "title", "code": "class", "pre": "class", "input": "type value placeholder", "option": "selected", "blockquote": "", "math": "display",
	"h1": "id", "h2": "id", "h3": "id", "h4": "id", "h5": "id", "h6": "id", "li": "id value", "video": "src", "audio": "src", "source": "src",
	"p": "", "ul": "", "dl": "", "dt": "", "dd": "", "table": "", "thead": "", "tbody": "", "tfoot": "", "tr": "", "caption": "",
	"b": "", "strong": "", "i": "", "em": "", "s": "", "del": "", "ins": "", "sub": "", "sup": "", "kbd": "", "samp": "", "var": "", "q": "", "cite": "",
	"br": "", "hr": "", "figure": "", "figcaption": "", "details": "", "summary": "", "section": "", "article": "", "main": "", "form": "", "fieldset": "",
	"legend": "", "label": "", "select": "", "button": "", "ruby": "", "rt": "", "mark": "", "small": "", "u": "", "dfn": "", "address": "",
	"mi": "", "mn": "", "mo": "", "mrow": "", "msup": "", "msub": "", "msubsup": "", "mfrac": "", "msqrt": "", "mtext": "", "mtable": "", "mtr": "", "mtd": "", "semantics": "",
}

// markup writes some elements as HTML without anything that is not content.
func (r *renderer) markup(roots []*html.Node) (string, error) {
	m := &cleaner{renderer: r}
	for _, root := range roots {
		m.node(root, false)
		m.line()
	}
	r.full = m.full
	return strings.TrimSpace(m.b.String()), r.err
}

type cleaner struct {
	*renderer
	b    strings.Builder
	last byte
}

func (m *cleaner) node(n *html.Node, inPre bool) {
	if m.nodes++; m.nodes%512 == 0 && m.err == nil {
		m.err = m.ctx.Err()
	}
	if m.full = m.full || m.b.Len() > m.limit; m.err != nil || m.full || m.skip[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		text := n.Data
		if !inPre {
			text = collapsed(text, m.last)
		}
		m.write(html.EscapeString(text))
	case html.ElementNode:
		if n.Data != "head" && n.Data != "meta" && n.Data != "annotation" && n.Data != "annotation-xml" {
			m.element(n, inPre)
		}
	case html.DocumentNode:
		m.inner(n, inPre)
	}
}

func (m *cleaner) inner(n *html.Node, inPre bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.node(c, inPre)
	}
}

func (m *cleaner) element(n *html.Node, inPre bool) {
	keys, ok := kept[n.Data]
	inPre = inPre || n.Data == "pre"
	block := !inlineTags[n.Data] && !inPre
	if block {
		m.line()
	}
	if !ok {
		m.inner(n, inPre)
		if block {
			m.line()
		}
		return
	}
	m.write("<" + n.Data)
	for key := range strings.FieldsSeq(keys) {
		if value, has := m.value(n, key); has {
			m.write(" " + key + `="` + html.EscapeString(value) + `"`)
		}
	}
	m.write(">")
	m.inner(n, inPre)
	if !void[n.Data] {
		m.write("</" + n.Data + ">")
	}
	if block || n.Data == "pre" {
		m.line()
	}
}

// value is what an attribute says, made safe; has is false if it says nothing.
func (m *cleaner) value(n *html.Node, key string) (value string, has bool) {
	if !hasAttr(n, key) {
		return "", false
	}
	value = first(300, attr(n, key))
	switch key {
	case "href", "src":
		value = address(m.base, attr(n, key))
		if strings.HasPrefix(attr(n, key), "#") {
			value = cutText(oneLine(attr(n, key)), 300)
		}
	case "class":
		language := codeLanguage(n)
		if value = ""; language != "" && (n.Data == "code" || n.FirstChild == nil || n.FirstChild.Data != "code") {
			value = "language-" + language
		}
	case "value":
		if kind := strings.ToLower(attr(n, "type")); kind == "password" {
			value = ""
		}
	case "selected":
		return "", true
	}
	return value, value != ""
}

func (m *cleaner) write(text string) {
	if text != "" {
		m.b.WriteString(text)
		m.last = text[len(text)-1]
	}
}

// line ends the line, if there is something on it.
func (m *cleaner) line() {
	if m.last != '\n' && m.last != 0 {
		m.write("\n")
	}
}

// collapsed is a text with each run of blanks as one, and none behind another.
func collapsed(text string, last byte) string {
	fields := strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	if blankByte(text[0]) && last != ' ' && last != '\n' && last != 0 {
		fields = " " + fields
	}
	if fields != "" && fields != " " && blankByte(text[len(text)-1]) {
		fields += " "
	}
	return fields
}
