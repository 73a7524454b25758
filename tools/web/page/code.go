package page

import (
	"strings"

	"golang.org/x/net/html"
)

// code writes a block of code with exactly its blanks.
func (r *renderer) code(n *html.Node) {
	if r.w.cell {
		r.w.raw(codeSpan(rawTextOf(n), true))
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
	r.w.block(2)
	if r.w.plain {
		r.w.verbatim(text)
	} else {
		fence := strings.Repeat("`", longestRun(text, '`', 2)+1)
		r.w.verbatim(fence + codeLanguage(n))
		r.w.verbatim(text)
		r.w.verbatim(fence)
	}
	r.w.block(2)
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
	for c := n.FirstChild; c != nil; c = followingIn(c, n) {
		if c.Data == "pre" && c.Type == html.ElementNode && !lineNumbers(c) && !lineNumbers(c.Parent) {
			if length := len(textOf(c, 2000)); length > size {
				best, size = c, length
			}
		}
	}
	return best
}

// followingIn is the next node within a root, in the order of the page.
func followingIn(n, root *html.Node) *html.Node {
	if n.FirstChild != nil {
		return n.FirstChild
	}
	for n != root && n.NextSibling == nil {
		n = n.Parent
	}
	if n == root {
		return nil
	}
	return n.NextSibling
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
