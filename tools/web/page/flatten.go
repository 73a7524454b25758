package page

import (
	"strings"

	"golang.org/x/net/html"
)

// formats are the formatting elements that are open. The parser opens them again
// in every block that follows an end tag that is missing; too many of them, and
// a small page becomes a huge tree. So beyond some they go by another name until
// the tree is there: rename gives the old ones back.
type formats struct {
	stacks  map[string][]format
	open    int // that the parser may know
	scopes  map[string]int
	scope   int
	renamed bool // one got another name
}

type format struct {
	scope   int
	renamed bool
}

// otherName is put before the names of formatting elements that are too many.
const otherName = "our-"

var formatting = setOf("a b big code em font i nobr s small strike strong tt u")

// scoping elements keep the end tags in them from reaching what is outside.
var scoping = setOf("table td th caption object applet marquee")

// start notes a start tag and returns the name that it shall have.
func (f *formats) start(tag tag) string {
	name := tag.name
	if tag.has(isScope) {
		if f.scopes == nil {
			f.scopes = map[string]int{}
		}
		f.scopes[name]++
		f.scope++
	}
	if !tag.has(isFormat) {
		return name
	}
	if f.stacks == nil {
		f.stacks = map[string][]format{}
	}
	renamed := f.open >= openFormats
	f.stacks[name] = append(f.stacks[name], format{f.scope, renamed})
	if renamed {
		f.renamed = true
		return otherName + name
	}
	f.open++
	return name
}

// end notes an end tag and returns the name that it shall have; "" leaves it out.
func (f *formats) end(tag tag) string {
	name := tag.name
	if tag.has(isScope) && f.scopes[name] > 0 {
		f.scopes[name]--
		f.scope--
		if name == "table" && f.scopes["table"] == 0 { // and with it the cells that were not closed
			f.scope -= f.scopes["td"] + f.scopes["th"] + f.scopes["caption"]
			f.scopes["td"], f.scopes["th"], f.scopes["caption"] = 0, 0, 0
		}
	}
	if !tag.has(isFormat) {
		return name
	}
	stack := f.stacks[name]
	if len(stack) == 0 || stack[len(stack)-1].scope < f.scope {
		return ""
	}
	last := stack[len(stack)-1]
	f.stacks[name] = stack[:len(stack)-1]
	if last.renamed {
		return otherName + name
	}
	f.open--
	return name
}

// rename gives elements the names back that they had on the page.
func rename(root *html.Node) {
	for n := range root.Descendants() {
		if name, ok := strings.CutPrefix(n.Data, otherName); ok && n.Type == html.ElementNode && formatting[name] {
			n.Data = name
		}
	}
}

var (
	void = setOf("area base br col embed frame hr img input link meta param source track wbr keygen basefont bgsound")
	// closes are the elements that end an open one of the same kind.
	closes = map[string]string{
		"li": "li", "p": "p", "td": "td th", "th": "td th", "tr": "tr td th", "dt": "dt dd", "dd": "dt dd", "option": "option",
	}
	flattenable = setOf("html body div span p ul ol li table tbody thead tfoot tr td th blockquote section article main center font b i u em strong a h1 h2 h3 h4 h5 h6 small big s tt code")
)

// nest is the elements that are open while a page is flattened, those that were
// left out among them: else their end tags would close others.
type nest struct {
	names  []string
	counts map[string]int
}

func (n *nest) push(name string) {
	if n.counts == nil {
		n.counts = map[string]int{}
	}
	n.names = append(n.names, name)
	n.counts[name]++
}

// pop closes the last element of a name and says how many are open then.
func (n *nest) pop(name string) int {
	for {
		last := len(n.names) - 1
		got := n.names[last]
		n.names = n.names[:last]
		n.counts[got]--
		if got == name {
			return last
		}
	}
}

// descend notes an element that is opened and reports whether it stays.
func (t *tamer) descend(name string, attrs []html.Attribute) bool {
	if void[name] {
		return true
	}
	for kind := range strings.FieldsSeq(closes[name]) {
		if last := len(t.open.names) - 1; last >= 0 && t.open.names[last] == kind {
			t.open.pop(kind)
		}
	}
	if len(t.open.names) < t.deepest {
		t.open.push(name)
		return true
	}
	n := &html.Node{Type: html.ElementNode, Data: name, Attr: attrs}
	if !flattenable[name] || t.look.conceals(n) {
		t.skip(name)
	} else {
		t.open.push(name)
	}
	return false
}

// ascend notes an end tag and reports whether it stays.
func (t *tamer) ascend(name string) bool {
	if t.open.counts[name] == 0 {
		return name == "p" || name == "br"
	}
	return t.open.pop(name) < t.deepest
}

// skip leaves out an element up to its end tag.
func (t *tamer) skip(name string) {
	for depth := 1; depth > 0; {
		switch t.z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			if got, _ := t.z.TagName(); string(got) == name {
				depth++
			}
		case html.EndTagToken:
			if got, _ := t.z.TagName(); string(got) == name {
				depth--
			}
		}
	}
}
