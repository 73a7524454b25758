package page

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// code takes a block of code with exactly its blanks.
func (r *renderer) code(n *html.Node) {
	if r.d.cell {
		r.codeInline(n)
		return
	}
	var b strings.Builder
	codeText(&b, n)
	text := strings.TrimRight(b.String(), " \n\t")
	for strings.HasPrefix(text, "\n") || strings.HasPrefix(text, " \n") {
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	if text == "" {
		return
	}
	if pre := r.d.leaf("pre"); pre != nil {
		if language := codeLanguage(n); language != "" {
			pre.Attr = []html.Attribute{{Key: "class", Val: "language-" + language}}
		}
		pre.AppendChild(textNode(text))
		r.d.size += len(text)
	}
}

// codeText is the text of code without the numbers of its lines and what there
// is to click on. Elements that are lines end them.
func codeText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
			continue
		}
		if c.Type != html.ElementNode || c.Data == "button" || lineNumbers(c) {
			continue
		}
		switch c.Data {
		case "br":
			b.WriteByte('\n')
			continue
		case "div", "p", "li", "tr":
			endCodeLine(b)
			codeText(b, c)
			endCodeLine(b)
			continue
		}
		codeText(b, c)
	}
}

func endCodeLine(b *strings.Builder) {
	if text := b.String(); text != "" && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
}

// lineNumbers recognises the numbers of lines beside code.
func lineNumbers(n *html.Node) bool {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		switch strings.ToLower(class) {
		case "lineno", "linenos", "linenumber", "linenumbers", "line-number", "line-numbers", "line-numbers-rows", "gutter", "rouge-gutter", "blob-num", "lnt", "ln", "hljs-ln-numbers", "copy", "copybtn":
			return true
		}
	}
	return false
}

// codeTable reports whether a table is there to put numbers beside code, and
// returns the code.
func codeTable(n *html.Node) *html.Node {
	class := strings.ToLower(attr(n, "class"))
	if !strings.Contains(class, "highlight") && !strings.Contains(class, "rouge") && !strings.Contains(class, "lntable") && !strings.Contains(class, "hljs") && !strings.Contains(class, "code") {
		return nil
	}
	var best *html.Node
	size := 0
	for _, pre := range goquery.NewDocumentFromNode(n).Find("pre").Nodes {
		if length := len(textOf(pre, 2000)); length > size && !lineNumbers(pre) && !lineNumbers(pre.Parent) {
			best, size = pre, length
		}
	}
	return best
}

// codeLanguage is the language that code says it is in, or "".
func codeLanguage(pre *html.Node) string {
	places := []*html.Node{}
	if code := pre.FirstChild; code != nil && code.Type == html.ElementNode {
		places = append(places, code)
	}
	for n, i := pre, 0; n != nil && i < 7; n, i = n.Parent, i+1 {
		if i > 2 && n.Data != "div" && n.Data != "figure" && n.Data != "td" && n.Data != "tr" && n.Data != "tbody" && n.Data != "table" {
			break
		}
		places = append(places, n)
	}
	for _, n := range places {
		for _, key := range []string{"data-lang", "data-language"} {
			if name := languageName(attr(n, key)); name != "" {
				return name
			}
		}
		class := strings.ToLower(attr(n, "class"))
		if _, brush, ok := strings.Cut(class, "brush:"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(brush), ";")
			return languageName(name)
		}
		for one := range strings.FieldsSeq(class) {
			for _, before := range []string{"language-", "lang-", "highlight-source-", "highlight-text-", "sourcecode-", "highlight-"} {
				if name, ok := strings.CutPrefix(one, before); ok {
					if name = languageName(name); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

// languageName is a name if it can be one of a language.
func languageName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) > 20 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+#._-") != "" {
		return ""
	}
	switch name {
	case "none", "plaintext", "plain", "text", "nohighlight", "default", "wrapper", "container", "block", "nofold", "auto", "undefined":
		return ""
	}
	return name
}
