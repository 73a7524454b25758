package page

import (
	"fmt"
	"strings"
	"testing"
)

// prose returns paragraphs that contain a word each.
func prose(word string, paragraphs int) string {
	return many(paragraphs, "<p>"+word+" %d is what this paragraph is about, and it has commas, as prose has, and "+
		"some more words, so that it is as long as a paragraph in a newspaper usually is.</p>")
}

// TestArticles has pages that declare that they are articles, in the forms of news sites.
func TestArticles(t *testing.T) {
	const declared = `<meta property="og:type" content="article"><h1>The bridge opens</h1>`
	teasers := `<div class="more">` + many(6, `<div class="card"><h3><a href="/t%d">Teaser heading</a></h3>`+
		`<p>TEASER with a summary of another article, which is long enough, as on news sites, to look like prose.</p></div>`) +
		`</div>`
	comment := `<section class="comments">` + prose("COMMENT", 12) + "</section>"
	for name, source := range map[string]string{
		"teasers after the text": `<div class=page><div class=text>` + prose("STORY", 8) + `</div>` + teasers +
			`</div>`,
		"teasers beside the text": `<article><div class=text>` + prose("STORY", 8) + `</div><div>` + teasers +
			`</div></article>`,
		"comments after the text": `<article>` + prose("STORY", 8) + `</article>` + comment,
		"comments in the article": `<article><div>` + prose("STORY", 5) + `</div>` + comment + `</article>`,
		"the next article in full": `<article>` + prose("STORY", 9) + `</article><article>` + prose("NEXT", 6) +
			`</article>`,
		"equal sections": `<div class=story>` + many(5, `<section><div class=s>`+prose("STORY", 2)+
			`<!-- %d --></div></section>`) +
			`</div><div>` + teasers + `</div>`,
		"two halves with an advertisement between": `<div><div class=half>` + prose("STORY", 4) +
			`</div><div class=x>` +
			`<a href=/buy>buy this</a></div><div class=half>` + prose("STORY", 4) + `</div></div>` + teasers,
		"lead and picture": `<article><header><p class=lead>STORY lead, short.</p></header><figure><img src=a.png alt="STORY">` +
			`</figure><div class=text>` + prose("STORY", 8) + `</div>` + teasers + `</article>`,
		"a small section": `<div class=story><section>` + prose("STORY", 9) + `</section><section><h2>More</h2>` +
			prose("STORY", 1) +
			`</section></div>` + teasers,
		"equal sections five levels down": `<div class=story>` + many(4, `<div class=s><div class=a><div class=b><div class=c>`+
			`<div class=text>`+prose("STORY", 3)+`<!-- %d --></div></div></div></div></div>`) + `</div>` + teasers,
		"lines without paragraphs": `<div class=story><div class=note>` + prose("STORY", 3) + `</div><div class=chapter>` +
			many(80, `<div>STORY line %d of a chapter, of the usual length of a line in it.</div>`) + `</div></div>`,
		"no elements around paragraphs": prose("STORY", 9) + "<ul><li>STORY one, and<li>STORY two</ul>" + teasers,
	} {
		text := read(t, declared+source, Options{}).Text
		for _, word := range []string{"TEASER", "COMMENT", "NEXT"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %s is in the text", name, word)
			}
		}
		if got, want := strings.Count(text, "STORY"), strings.Count(source, "STORY"); got != want {
			t.Errorf("%s: %d of %d parts of the article: %.300s", name, got, want, text)
		}
	}
}

// TestPagesThatAreNoArticles has pages that are not articles: nothing of them is judged by paragraphs.
func TestPagesThatAreNoArticles(t *testing.T) {
	page := `<main><h1>Reference</h1>` +
		many(20, "<section><h2>Function %d</h2><pre>call()</pre><p>Short.</p></section>") +
		prose("LONG", 8) + "</main>"
	text := read(t, page, Options{}).Text
	if strings.Count(text, "call()") != 20 || strings.Count(text, "LONG") != 8 {
		t.Errorf("%.500s", text)
	}
	page = `<meta property="og:type" content="article">` + page
	if text = read(t, page, Options{}).Text; strings.Count(text, "call()") != 20 || strings.Count(text, "LONG") != 8 {
		t.Errorf("declared as an article: %.500s", text)
	}
}

// TestSectionsWithIDsOfHeadings has parts of documentation whose ids are called like clutter.
func TestSectionsWithIDsOfHeadings(t *testing.T) {
	for _, id := range []string{
		"related-objects", "prefetch-related", "cookie-objects", "tags", "widgets", "file-menu", "menu", "comments",
		"sharing-state-between-processes", "binarySearch(java.util.List)", "SQL-FOR-UPDATE-SHARE", "footer", "search",
	} {
		for name, format := range map[string]string{
			"section":      `<section id=%q><h2>Heading</h2><p>KEPT in a section.</p></section>`,
			"heading":      `<h2 id=%q>KEPT</h2><p>Text.</p>`,
			"div":          `<div id=%q><div class=titlepage><h3>Heading</h3></div><p>KEPT.</p><pre>code()</pre></div>`,
			"term":         `<dl><dt id=%q>term(KEPT)</dt><dd>What it does.</dd></dl>`,
			"row":          `<table><tr><th>a<th>b<tr id=%q><td>KEPT<td>d</table>`,
			"prose":        `<div id=%q>` + prose("KEPT", 1) + `</div>`,
			"empty anchor": `<div id=%q><a name=x></a><h4>Heading</h4><p>KEPT</p></div>`,
		} {
			source := `<main><h1>Reference</h1>` + prose("other", 6) + fmt.Sprintf(format, id) + prose("other", 6) +
				`</main>`
			if text := read(t, source, Options{}).Text; !strings.Contains(text, "KEPT") {
				t.Errorf("%s with the id %s is lost", name, id)
			}
		}
	}
	for name, source := range map[string]string{
		"links":  `<div id=related><h2>Related</h2><ul><li><a href=/a>CLUTTER one two three</a><li><a href=/b>another</a></ul></div>`,
		"banner": `<div id=cookie-banner><p>CLUTTER: we use cookies.</p><button>OK</button></div>`,
		"class":  `<div id=x class=newsletter><h2>CLUTTER</h2><p>Subscribe.</p></div>`,
	} {
		if text := read(t, `<main><h1>Page</h1>`+prose("other", 8)+source+`</main>`,
			Options{}).Text; strings.Contains(text, "CLUTTER") {
			t.Errorf("%s are in the text", name)
		}
	}
}

func TestBylinesAreNoAddresses(t *testing.T) {
	for source, want := range map[string]string{
		`<meta property="article:author" content="https://www.facebook.com/example">`:                                         "",
		`<meta property="article:author" content="https://a.example/ann"><p class=byline>By Ann Example</p>`:                  "Ann Example",
		`<meta name=author content="//a.example/ann"><meta name=dc.creator content="Bob Example">`:                            "Bob Example",
		`<script type="application/ld+json">{"@type":"NewsArticle","author":["https://a.example/x",{"name":"Eve"}]}</script>`: "Eve",
	} {
		if p := read(t, source+"<p>Text", Options{}); p.Author != want {
			t.Errorf("%s: %q, want %q", source, p.Author, want)
		}
	}
}

// TestTextBesideAnArticleIsCounted has an article with another text beside it.
func TestTextBesideAnArticleIsCounted(t *testing.T) {
	source := `<meta property="og:type" content="article"><article>` + prose("STORY", 9) + `</article><article>` +
		prose("NEXT", 6) + `</article>`
	if p := read(t, source, Options{}); p.Beside < 500 || strings.Contains(p.Text, "NEXT") {
		t.Errorf("%d characters beside the article: %.300s", p.Beside, p.Text)
	}
	if p := read(t, `<meta property="og:type" content="article"><article>`+prose("STORY", 9)+`</article>`,
		Options{}); p.Beside != 0 {
		t.Errorf("%d characters beside an article alone", p.Beside)
	}
}
