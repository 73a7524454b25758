package page

import (
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// rawText are the elements whose content is no markup.
var rawText = setOf("iframe noembed noframes noscript plaintext script style textarea title xmp")

// breaksOut are elements that end foreign content such as formulas.
var breaksOut = setOf("b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li " +
	"listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var")

// inlineTags are those at which the parser opens nothing again, or only once.
var inlineTags = setOf("a b big code em font i nobr s small strike strong tt u span br wbr img input sub sup abbr kbd samp var time mark q cite label del ins")

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// rawText takes an element with raw text, of which the tokenizer has given the
// start tag.
func (t *tamer) rawText(name string, attrs []html.Attribute) {
	text := ""
	if t.z.Next() == html.TextToken {
		text = string(t.z.Text())
	}
	switch name {
	case "title":
		if t.title == "" {
			t.title = cutText(text, 1000)
		}
	case "style":
		if media := strings.ToLower(valueOf(attrs, "media")); seen(media) {
			t.style(text)
		}
	case "script":
		t.script(text, strings.ToLower(valueOf(attrs, "type")))
	case "noscript", "noframes":
		if t.noscript.Len()+len(text) <= maxNoscript {
			t.noscript.WriteString(text)
		}
	case "textarea":
		t.nodes++
		attrs = append(attrs, html.Attribute{Key: "type", Val: "textarea"}, html.Attribute{Key: "value", Val: cutText(strings.TrimSpace(text), 200)})
		t.write("input", attrs, false)
	case "iframe":
		t.nodes++
		t.write("embed", attrs, false)
	case "xmp", "plaintext":
		t.nodes += 2
		t.write("pre", attrs, false)
		t.html = append(append(t.html, html.EscapeString(text)...), "</pre>"...)
	}
}

func (t *tamer) style(text string) {
	if t.styleSize += len(text) + 16; t.styleSize > maxStyles {
		t.cut = true
		return
	}
	t.styles = append(t.styles, text)
}

// script keeps of scripts what is content: data about the page, and formulas.
func (t *tamer) script(text, kind string) {
	switch {
	case kind == "application/ld+json":
		if t.dataSize += len(text) + 16; t.dataSize <= maxData {
			t.data = append(t.data, text)
		}
	case strings.HasPrefix(kind, "math/tex"):
		if formula(text) {
			t.nodes += 2
			name := "our-tex"
			if strings.Contains(kind, "display") {
				name = "our-tex-block"
			}
			t.html = append(t.html, "<"+name+">"+html.EscapeString(text)+"</"+name+">"...)
		}
	case kind == "" || strings.Contains(kind, "javascript") || kind == "module":
		t.scripts++
	}
}

// Patterns are compiled when they are first used: a start needs none.
var (
	texText    = pattern(`\\(?:text|mathrm|operatorname|mbox|textrm|textbf|mathbf|label|tag)\*?\s*\{[^{}]{0,60}\}`)
	texCommand = pattern(`\\(?:begin|end)\s*\{[a-zA-Z*]{1,20}\}|\\[a-zA-Z]+`)
	longWord   = pattern(`\pL{4,}`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// formula tells TeX from prose that is put where only TeX should be and nobody
// sees it: TeX has no words but its own, and few in texts.
func formula(tex string) bool {
	if len(tex) > 4000 || strings.TrimSpace(tex) == "" {
		return false
	}
	texts := strings.Join(texText().FindAllString(tex, -1), " ")
	rest := texCommand().ReplaceAllString(texText().ReplaceAllString(tex, " "), " ")
	return !longWord().MatchString(rest) && len(longWord().FindAllString(texCommand().ReplaceAllString(texts, " "), 5)) < 5
}

// skipSVG leaves a drawing out, up to its end or to the tag that breaks out of
// it, as the parser would have it.
func (t *tamer) skipSVG() {
	depth, html5 := 1, 0
	for i := 0; depth > 0; i++ {
		if i%1024 == 0 && t.ctx.Err() != nil {
			return
		}
		kind := t.z.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.StartTagToken && kind != html.EndTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		raw, _ := t.z.TagName()
		name := string(raw)
		within := name == "foreignobject" || name == "desc" || name == "title"
		switch {
		case kind == html.StartTagToken && html5 == 0 && breaksOut[name]:
			t.reopen(name)
			return
		case kind == html.StartTagToken && rawText[name] && (html5 == 0 || within):
			t.z.NextIsNotRawText()
		}
		switch {
		case kind == html.StartTagToken && name == "svg":
			depth++
		case kind == html.EndTagToken && name == "svg":
			depth, html5 = depth-1, 0
		case kind == html.StartTagToken && within:
			html5++
		case kind == html.EndTagToken && within && html5 > 0:
			html5--
		}
	}
}

// reopen takes the start tag that ended a drawing, without its content lost.
func (t *tamer) reopen(name string) {
	attrs := t.attrs()
	t.nodes++
	if t.deepest > 0 && !t.descend(name, attrs) {
		return
	}
	t.write(t.formats.start(tagNamed([]byte(name))), attrs, false)
}

// cutText is the beginning of a text, at most so many bytes of it.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
