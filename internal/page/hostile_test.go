package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// many repeats a text with its number.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostilePages returns pages that are made to cost much time or memory.
func hostilePages() map[string]string {
	rep := strings.Repeat
	const million = 10_000 // enough to show quadratic time
	all := map[string]string{
		"attributes of one tag":    "<p " + many(60_000, "a%d=1 ") + ">text",
		"attributes, all the same": "<p " + rep("class=x ", million) + ">text",
		"attributes of many tags":  rep("<p "+many(60, "a%d=1 ")+">x", 3_000),
		"long attribute":           `<a href="` + rep("x", 1<<20) + `">text</a>`,
		"entities":                 rep("&amp;&lt;&NotEqualTilde;&#x1d400;", 10_000),
		"entity without end":       "&" + rep("a", 1<<20),
		"angles":                   rep("<", 3*million),
		"end tags":                 rep("</", 2*million),
		"end tags of nothing":      rep("</b></p>", 160_000),
		"open comment":             "text<!--" + rep("-->x<!--", 30_000),
		"comment without end":      "text<!-- " + rep("x", 1<<20),
		"open quote":               `text<a href="` + rep("<p>x", million),
		"plaintext":                "text<plaintext>" + rep("<b>", million),
		"doctypes":                 rep("<!doctype html>", 30_000),
		"formats in blocks":        "<div><p>" + many(2000, "<b id=f%d>") + "</p>" + rep("<p>x</p>", 30_000),
		"formats past cells":       many(3000, "<b id=f%d><table><td></b></td></table>") + rep("<p>x</p>", 60_000),
		"links in each other":      many(10_000, "<a href=x%d>y"),
		"bold across paragraphs":   rep("<b><p>x</b>", 10_000),
		"text in tables":           "<table>" + rep("<tr>x", 60_000),
		"wide cells":               "<table><tr><th>a<th>b" + rep("<tr><td colspan=1000000000>x", 30_000),
		"high cells":               "<table><tr>" + rep("<td rowspan=65534>some text", 200) + rep("<tr>", 10_000),
		"both":                     "<table>" + rep("<tr>"+rep("<td colspan=1000 rowspan=1000>word", 20), 3000),
		"nested tables":            rep("<table><tr><td>a<td>b<tr><td>c<td>", 100) + rep("x ", million),
		"options":                  "<select>" + rep("<option>x", 80_000),
		"rules":                    "<style>" + many(20_000, ".c%d,.c{color:red}") + "</style>" + rep("<p class=c>x", 30_000),
		"rules with parents":       "<style>" + many(5_000, "i b u .c%d .c{display:none}") + "</style>" + rep("<i>", 300) + rep("<p class=c>x", 30_000),
		"universal rules":          "<style>" + many(20_000, "*{width:%dpx}") + "</style>" + rep("<p>x", 60_000),
		"names of its own":         "<style>:root{" + many(60_000, "--v%d:1;") + "}" + many(20_000, ".c%d{--v%[1]d:var(--v)}") + "</style><p style='color:var(--v1)'>text",
		"names in scopes":          rep("<div style='--a:1'>", 400) + rep("<p style='color:var(--b);width:var(--b)'>x</p>", 20_000),
		"names without end":        rep("<p style='color:"+rep("var(", 90)+"'>x", 5000),
		"shapes":                   rep("<p style='clip-path:polygon("+rep("1px 1px,", 45)+"1px 1px)'>x", 3000),
		"style without end":        "<style>" + rep("{", million) + "</style><p>text",
		"style comments":           "<style>" + rep("/*", 60_000) + "</style><p>text",
		"styles":                   rep("<style>p{display:none}</style>", 30_000) + "<p>text",
		"inline styles":            rep(`<p style="`+rep("color:red;", 300)+`">x`, 1500),
		"long base":                `<base href="https://h.example/` + rep("d/", 900) + `">` + rep("<a href=x>y</a> ", 15_000),
		"pictures in a link":       "<a href=x>" + rep("<img src=a alt=b>", 10_000) + "</a>",
		"notes":                    many(10_000, `<sup><a href="#n%d">1</a></sup>`) + many(10_000, `<p id=n%[1]d><a href="#n%[1]d">1</a>`),
		"code":                     "<pre>" + rep("<div>x</div>", 10_000) + "</pre>",
		"backticks":                "<p>" + rep("`", million) + "<code>" + rep("`", million) + "</code>",
		"marks of Markdown":        "<p>" + rep("*_[](<&", 30_000),
		"dashes":                   rep("<p>"+rep("- ", 1000), 1000),
		"brackets":                 rep("[", million) + rep("]:", million),
		"bars":                     "<table><tr><td>" + rep("|", 3*million) + "<td>x<tr><td>y",
		"lists in lists":           rep("<ul><li>x", 400) + rep("<li>y", 30_000),
		"quotes with code":         rep("<blockquote>", 30) + rep("<pre>x\n\ny</pre>", 3000),
		"bold and code":            rep("<b><code>x</code></b><i>y</i>", 10_000),
		"columns of one row":       "<table><tr>" + rep("<td>x", 200) + rep("<tr><td>y", 30_000),
		"one word":                 "<p>" + rep("x", 1<<20),
		"blanks":                   "<p>a" + rep(" \n", million) + "b",
		"breaks":                   rep("<br>", million),
		"custom elements":          rep("<x-a>", 400) + rep("<y-b></y-b>", 10_000) + "text",
		"empty elements":           rep("<ul><li></li></ul>", 30_000) + "text",
		"data":                     `<script type="application/ld+json">` + rep("[", million) + "</script><p>text",
		"data in data":             `<script type="application/ld+json">` + rep(`{"@type":"X","@graph":[`, 5000) + rep("]}", 5000) + "</script><p>text",
		"noscripts":                rep("<noscript><p>x</noscript>", 30_000),
		"drawings":                 rep("<svg><g><title>x</title>", 10_000) + "<p>text",
		"formulas":                 rep("<math><mi>x</mi>", 30_000) + "<p>text",
		"signs of formulas":        "<p>" + rep(`\(`, 1<<20),
		"formulas without end":     "<p>" + rep("$$ a` ", 1<<18) + rep(`\[ `, 1<<18),
		"formula of one sign":      "<math alttext='" + rep("9 ", 1900) + "'><mi>" + rep("2", 4<<20) + "\U0001d400</mi></math>",
		"spans of formulas":        rep("<span class=katex>", 400) + rep("<i>x</i>", 30_000),
		"frames":                   "<frameset>" + rep("<frame src=a>", 10_000),
		"templates":                rep("<template><p>", 10_000) + "text",
		"nulls":                    rep("\x00", 3*million) + "text",
		"classes":                  `<p class="` + many(20_000, "a%d ") + `">text`,
	}
	for _, tag := range []string{"div", "span", "b", "font", "ul><li", "table><tr><td", "blockquote", "dl><dd",
		"section", "object", "x-y", "h1", "form", "details", "select", "button", "ruby", "math", "svg", "p", "nobr",
		"sup"} {
		all["nested "+tag] = rep("<"+tag+">", million) + "text"
	}
	all["nested a"] = many(10_000, "<a href=%d><div>") + "text"
	all["nested b with ids"] = many(60_000, "<b id=i%d>") + "text"
	return all
}

func TestHostilePagesAreBounded(t *testing.T) {
	for name, source := range hostilePages() {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			start := time.Now()
			formats := []Format{Markdown}
			if strings.HasPrefix(name, "nested") {
				formats = append(formats, HTML)
			}
			for _, format := range formats {
				p, err := Read(ctx, []byte(source), Options{URL: origin(t), Format: format, Links: true})
				if refused := (*tool.Error)(nil); err != nil &&
					!(errors.As(err, &refused) && refused.Kind == tool.Invalid) {
					t.Fatal(err)
				}
				if most := 4*len(source) + 1<<16; len(p.Text) > most {
					t.Errorf("%s of %d bytes for %d", format, len(p.Text), len(source))
				}
			}
			t.Log(len(source)>>10, "KB in", time.Since(start))
		})
	}
}

func TestDeepPagesKeepTheirText(t *testing.T) {
	for _, tag := range []string{"div", "span", "ul><li", "blockquote", "table><tr><td", "p"} {
		source := strings.Repeat("<"+tag+">", 100_000) + "the text at the bottom"
		if p := read(t, source, Options{}); !strings.Contains(p.Text, "the text at the bottom") {
			t.Errorf("%s: %q", tag, cutText(p.Text, 200))
		}
	}
}

func TestHiddenTextInDeepPages(t *testing.T) {
	deep := strings.Repeat("<div>", 5000)
	for _, hidden := range []string{
		"<p hidden>CANARY</p>", `<span style="display:none">CANARY</span>`, "<p class=x>CANARY</p>", "<x-y>CANARY</x-y>", `<b style="color:white">CANARY</b>`,
		"<div style='display:none'>" + strings.Repeat("<div>", 100) + "</div>CANARY" + strings.Repeat("</div>", 100),
	} {
		source := "<style>.x,x-y{display:none}</style><p>seen</p>" + deep + hidden
		p := read(t, source, Options{Whole: true})
		if strings.Contains(p.Text, "CANARY") || !strings.Contains(p.Text, "seen") {
			t.Errorf("%q: %q", hidden, p.Text)
		}
		source = "<p>seen</p><div hidden>" + deep + strings.Repeat("</div>", 5000) + "CANARY"
		if p := read(t, source, Options{Whole: true}); strings.Contains(p.Text, "CANARY") {
			t.Errorf("after flattened elements: %q", p.Text)
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, source := range []string{"<p>text", strings.Repeat("<div>", 1_000_000), strings.Repeat("<p>x", 200_000)} {
		if _, err := Read(ctx, []byte(source), Options{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestSelectorsAreLinear(t *testing.T) {
	source := strings.Repeat("<div>", 400) + strings.Repeat("<p>x</p>", 20_000)
	for _, selector := range []string{".no div div div div div div div div div p", "div div div div div div div div p", "p ~ p ~ p ~ p ~ b", "p + p + p + i"} {
		_, err := Read(t.Context(), []byte(source), Options{Selector: selector})
		if err != nil && !strings.Contains(err.Error(), "not_found") {
			t.Errorf("%q: %v", selector, err)
		}
	}
}

// TestCodeBlockInACell has code of several lines where only one line fits.
func TestCodeBlockInACell(t *testing.T) {
	const code = "<code>a\nb\nc\nd</code>"
	for source, want := range map[string]string{
		"<table><tr><th>x<th>y<tr><td>" + code + "<td>z</table>": "| x | y |\n|---|---|\n| `a b c d` | z |",
		"<h2><span>" + code + "</span></h2>":                     "## `a b c d`",
	} {
		if got := read(t, source, Options{Whole: true}).Text; got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
