package page

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// document is a parsed page, with the parts that the filter took out of its source.
type document struct {
	root *html.Node
	*filtered
	sheet *sheet
}

// filtered is the result of a filter: source for the parser without anything that
// is not content or that makes parsing cost more than linear time.
type filtered struct {
	html         []byte
	title        string
	styles       []string // style elements for screens
	linksStyle   bool     // the page has external style sheets; they are not read
	base         string   // href of the first base element
	hasBase      bool
	jsonLD       []string
	tags         int // start tags
	noscript     strings.Builder
	styleSize    int
	jsonLDSize   int
	scripts      int
	comments     int
	commentChars int
	cut          bool
}

// Limits of the kept parts of a page besides its content.
const (
	maxStyles   = 1 << 20
	maxJSONLD   = 256 << 10
	maxNoscript = 128 << 10
	maxAttrs    = 32
	maxAttr     = 4096 // bytes of a value
)

// parse builds the tree of a page, with formatting elements under other names (see
// restoreName). The parser refuses deep nesting: of such a page only headings and paragraphs
// are kept, without elements that hide their own content.
func parse(ctx context.Context, source string) (document, error) {
	doc := document{}
	for _, flat := range []bool{false, true} {
		f := filter{ctx: ctx, flat: flat, sheet: doc.sheet}
		f.run(source)
		if err := ctx.Err(); err != nil {
			return doc, err
		}
		doc.filtered = &f.filtered
		if doc.sheet == nil {
			doc.sheet = readSheet(f.styles)
		}
		root, err := html.Parse(bytes.NewReader(f.html))
		if err == nil {
			doc.root = root
			return doc, ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return doc, err
	}
	return doc, tool.Errorf(tool.Invalid, "the elements of the page are nested too deep to parse").
		Try("use http_request with raw to see the source")
}

// filter copies the tokens of a page and leaves out tokens without content.
type filter struct {
	filtered
	ctx   context.Context
	z     *html.Tokenizer
	flat  bool   // keep headings and paragraphs only
	sheet *sheet // decides about hidden tokens if flat is set

	raw       []byte // the current tag
	nodes     int    // about how many nodes the tree will have
	mathDepth int    // open math elements
}

func (f *filter) run(source string) {
	f.z = html.NewTokenizer(strings.NewReader(source))
	f.html = make([]byte, 0, len(source)+64)
	for i := 0; ; i++ {
		if i%1024 == 0 && f.ctx.Err() != nil {
			return
		}
		kind := f.z.Next()
		if kind == html.ErrorToken {
			return
		}
		if f.nodes > maxNodes {
			f.cut = true
			return
		}
		switch kind {
		case html.TextToken:
			f.nodes++
			f.html = append(f.html, f.z.Raw()...)
		case html.CommentToken:
			if text := strings.TrimSpace(string(f.z.Text())); text != "" {
				f.comments++
				f.commentChars += utf8.RuneCountInString(text)
			}
		case html.DoctypeToken:
			f.html = append(f.html, f.z.Raw()[:min(len(f.z.Raw()), 300)]...)
			if f.html[len(f.html)-1] != '>' {
				f.html = append(f.html, '>')
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			f.start(kind)
		case html.EndTagToken:
			f.end(currentTag(f.z))
		}
	}
}

// start handles a start tag. Elements with raw text never reach the parser, so
// tokenizer and parser cannot disagree about where the raw text ends.
func (f *filter) start(kind html.TokenType) {
	raw := f.z.Raw()
	short := len(raw) < 300
	if short {
		f.raw = append(f.raw[:0], raw...)
		raw = f.raw
	}
	tag := currentTag(f.z)
	name := tag.name
	if len(name) > 60 {
		return
	}
	if f.mathDepth > 0 && tag.has(isRaw) {
		f.z.NextIsNotRawText()
		return
	}
	if tag.has(isRaw) {
		f.rawText(name, f.attrs())
		return
	}
	switch name {
	case "svg":
		if kind == html.StartTagToken {
			f.skip(name)
		}
		return
	case "math":
		if kind == html.StartTagToken && !f.flat {
			f.mathDepth++
		}
	}
	var attrs []html.Attribute
	if !short || f.flat || name == "link" || name == "base" {
		attrs = f.attrs()
		f.noteHeader(name, attrs)
	}
	if f.flat && !voidTags[name] {
		switch n := (&html.Node{Type: html.ElementNode, Data: name, Attr: attrs}); {
		case kind == html.StartTagToken && f.sheet.hidesAlone(n):
			f.skip(name)
			return
		case !flatTags[name]:
			f.separate(tag)
			return
		}
	}
	if f.mathDepth > 0 && tag.has(endsForeign) {
		f.html = append(f.html, strings.Repeat("</math>", f.mathDepth)...)
		f.mathDepth = 0
	}
	f.nodes++
	f.tags++
	prefix := ""
	if tag.has(isFormatting) {
		prefix = renamePrefix
	}
	if short {
		f.html = append(append(append(f.html, '<'), prefix...), raw[1:]...)
		return
	}
	f.write(prefix+name, attrs, kind == html.SelfClosingTagToken)
}

// separate begins a paragraph in the place of the tag of a block.
func (f *filter) separate(tag tag) {
	if !tag.has(isInline) && !bytes.HasSuffix(f.html, []byte("<p>")) {
		f.html = append(f.html, "<p>"...)
		f.nodes++
	}
}

// noteHeader notes external style sheets and the base address.
func (f *filter) noteHeader(name string, attrs []html.Attribute) {
	switch name {
	case "link":
		if strings.Contains(strings.ToLower(valueOf(attrs, "rel")), "stylesheet") {
			f.linksStyle = true
		}
	case "base":
		for _, a := range attrs {
			if a.Key == "href" && !f.hasBase {
				f.base, f.hasBase = a.Val, true
			}
		}
	}
}

func (f *filter) end(tag tag) {
	name := tag.name
	if tag.has(isRaw) || name == "svg" || len(name) > 60 {
		return
	}
	if name == "math" && f.mathDepth > 0 {
		f.mathDepth--
	}
	if f.flat && !flatTags[name] {
		f.separate(tag)
		return
	}
	if name == "p" { // without start tag it creates an element
		f.nodes++
	}
	f.html = append(f.html, "</"...)
	if tag.has(isFormatting) {
		f.html = append(f.html, renamePrefix...)
	}
	f.html = append(append(f.html, name...), '>')
}

// attrs reads the attributes of the current tag, within the limits.
func (f *filter) attrs() []html.Attribute {
	attrs := []html.Attribute{}
	for len(attrs) < maxAttrs {
		key, value, _ := f.z.TagAttr()
		if key == nil {
			break
		}
		if len(key) > 60 || len(value) > maxAttr && string(key) != "style" && string(key) != "class" {
			continue
		}
		value = value[:min(len(value), 16*maxAttr)]
		attrs = append(attrs, html.Attribute{Key: string(key), Val: string(value)})
	}
	return attrs
}

func (f *filter) write(name string, attrs []html.Attribute, selfClosing bool) {
	f.html = append(append(f.html, '<'), name...)
	for _, a := range attrs {
		if strings.ContainsAny(a.Key, "\"'<>=` \t\n\f\r/") || a.Key == "" {
			continue
		}
		f.html = append(append(append(f.html, ' '), a.Key...), `="`...)
		f.html = append(append(f.html, html.EscapeString(a.Val)...), '"')
	}
	if selfClosing {
		f.html = append(f.html, '/')
	}
	f.html = append(f.html, '>')
}

// rawText handles an element with raw text after its start tag.
func (f *filter) rawText(name string, attrs []html.Attribute) {
	text := ""
	if f.z.Next() == html.TextToken {
		text = string(f.z.Text())
	}
	switch name {
	case "title":
		f.title = cmp.Or(f.title, cutText(text, 1000))
	case "style":
		f.style(text, valueOf(attrs, "media"))
	case "script":
		f.script(text, strings.ToLower(valueOf(attrs, "type")))
	case "noscript", "noframes":
		if f.noscript.Len()+len(text) <= maxNoscript {
			f.noscript.WriteString(text)
		}
	case "iframe":
		f.nodes++
		f.write("embed", attrs, false)
	case "xmp", "plaintext":
		f.nodes += 2
		f.write("pre", attrs, false)
		f.html = append(append(f.html, html.EscapeString(text)...), "</pre>"...)
	}
}

func (f *filter) style(text, media string) {
	if !forScreen(media) {
		return
	}
	if f.styleSize += len(text) + 16; f.styleSize > maxStyles {
		f.cut = true
		return
	}
	f.styles = append(f.styles, text)
}

// Elements that the filter writes for formulas in script elements.
const (
	texInline  = "our-tex"
	texDisplay = "our-tex-block"
)

// script keeps scripts that are content: metadata and formulas.
func (f *filter) script(text, kind string) {
	switch {
	case kind == "application/ld+json":
		if f.jsonLDSize += len(text) + 16; f.jsonLDSize <= maxJSONLD {
			f.jsonLD = append(f.jsonLD, text)
		}
	case strings.HasPrefix(kind, "math/tex"):
		if isTeX(text) {
			f.nodes += 2
			name := texInline
			if strings.Contains(kind, "display") {
				name = texDisplay
			}
			f.html = append(f.html, "<"+name+">"+html.EscapeString(text)+"</"+name+">"...)
		}
	case kind == "" || strings.Contains(kind, "javascript") || kind == "module":
		f.scripts++
	}
}

// renamePrefix is put before the names of formatting elements until the tree is built.
// The parser reopens formatting elements without end tag in every block that follows,
// and with many of them a small page becomes a huge tree. Under an unknown name an
// element ends with the block that it is in.
const renamePrefix = "our-"

// restoreName gives a formatting element its original name.
func restoreName(n *html.Node) {
	if name, ok := strings.CutPrefix(n.Data, renamePrefix); ok && tagNamed(name).has(isFormatting) {
		n.Data = name
	}
}

// skip skips an element up to its end tag.
func (f *filter) skip(name string) {
	for depth, i := 1, 0; depth > 0; i++ {
		if i%1024 == 0 && f.ctx.Err() != nil {
			return
		}
		switch f.z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			if currentTag(f.z).name == name {
				depth++
			}
		case html.EndTagToken:
			if currentTag(f.z).name == name {
				depth--
			}
		}
	}
}

// traits are facts about an element that the filter needs before there is a tree.
type traits uint8

const (
	isRaw        traits = 1 << iota // its content is raw text
	endsForeign                     // it ends math and svg elements
	isInline                        // it is not a block
	isFormatting                    // the parser reopens it in the blocks that follow
)

func (t traits) has(one traits) bool { return t&one != 0 }

var (
	inlineTags = setOf("a b big code em font i nobr s small strike strong tt u span br wbr img input sub sup abbr " +
		"kbd samp var time mark q cite label del ins")
	voidTags = setOf("area base br col embed frame hr img input link meta param source track wbr keygen " +
		"basefont bgsound")
	flatTags = setOf("html head body p h1 h2 h3 h4 h5 h6")
)

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// A tag is the name of an element with its traits.
type tag struct {
	name string
	traits
}

// knownTags are the tags that have traits. A lookup also returns the name as a
// string without a copy: a page has thousands of tags.
var knownTags = sync.OnceValue(func() map[string]tag {
	all := map[string]tag{}
	for trait, names := range map[traits]map[string]bool{
		isRaw: setOf("iframe noembed noframes noscript plaintext script style textarea title xmp"),
		endsForeign: setOf("b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i " +
			"img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"),
		isInline:     inlineTags,
		isFormatting: setOf("b big code em font i nobr s small strike strong tt u"),
	} {
		for name := range names {
			all[name] = tag{name, all[name].traits | trait}
		}
	}
	return all
})

// currentTag returns the tag that a tokenizer is at, without the copy of its name that
// the tokenizer makes.
func currentTag(z *html.Tokenizer) tag {
	raw := bytes.TrimPrefix(z.Raw()[1:], []byte("/"))
	end := bytes.IndexAny(raw, " \n\r\t\f/>")
	if end < 0 {
		end = len(raw)
	}
	if known, ok := knownTags()[string(raw[:end])]; ok {
		return known
	}
	return tagNamed(strings.ToLower(string(raw[:end])))
}

func tagNamed(name string) tag {
	if known, ok := knownTags()[name]; ok {
		return known
	}
	return tag{name: name}
}

func attr(n *html.Node, key string) string { return valueOf(n.Attr, key) }

func valueOf(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// hasWord reports whether a list of words separated by blanks contains a word.
func hasWord(list, word string) bool {
	for rest := list; word != ""; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || isBlank(rest[i-1])) && (end == len(rest) || isBlank(rest[end])) {
			return true
		}
		rest = rest[i+1:]
	}
	return false
}
