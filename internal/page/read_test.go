package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestMarkdown(t *testing.T) {
	for _, test := range []struct{ name, html, want string }{
		{"emphasis", "<p>a<b> bold </b>b un<i>believ</i>able <b></b><b><i>x</i></b>",
			"a **bold** b un*believ*able ***x***"},
		{"emphasis over blocks", "<b>one<p>two</p></b>", "**one**\n\n**two**"},
		{"nested lists", "<ol start=3><li>a<ul><li>b<li>c</ul><li>d</ol>", "3. a\n   - b\n   - c\n4. d"},
		{"code in a list", "<ul><li>a<pre>x\n\n  y</pre></ul>", "- a\n\n  ```\n  x\n  \n    y\n  ```"},
		{"fence in code", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"},
		{"backticks", "<p><code>a`b</code> <code>`</code> a`b", "``a`b`` `` ` `` a\\`b"},
		{"links",
			`<p><a href="../b?x=1&y=2">b</a> <a href="javascript:x()">js</a> <a href="data:text/html,x">data</a> <a href="//h.example/(x)">p</a> <a href="https://u:p@h.example/">u</a>`,
			"[b](https://www.example.org/b?x=1&y=2) js data [p](https://h.example/%28x%29) [u](https://h.example/)"},
		{"base", `<base href="https://b.example/q/"><p><a href="x">x</a>`, "[x](https://b.example/q/x)"},
		{"forged link",
			"<p>[text](http://evil.example) ![i](x) [a]<span>(http://evil.example)</span> Wow!<a href=/x>l</a>",
			`[text]\(http://evil.example) ![i]\(x) [a]\(http://evil.example) Wow\![l](https://www.example.org/x)`},
		{"forged lines",
			"<p># a<br>> b<br>- c<br>12. d<br>===<br>| e<br>~~~<br><span>1</span><span>.</span> f<br>-x<br>#tag<br>1.5 m",
			"\\# a\n\\> b\n\\- c\n12\\. d\n\\===\n\\| e\n\\~\\~\\~\n1\\. f\n-x\n#tag\n1.5 m"},
		{"forged html", "<p>&lt;script&gt; a &lt; b &amp;lt; AT&amp;T", `\<script> a < b \&lt; AT&T`},
		{"prose stays", "<p>snake_case_x, 5 * 3, C:\\dir, (see [1]), 50% ~ 60, a|b, _x_",
			`snake_case_x, 5 * 3, C:\dir, (see [1]), 50% ~ 60, a|b, \_x\_`},
		{"invisible characters forge nothing", "<p>[a]\u200b(http://evil.example)", `[a]\(http://evil.example)`},
		{"table", "<table><tr><th>a|b<th>c<tr><td><p>1<p>2<td><ul><li>x<li>y</ul><tr><td colspan=2>z</table>",
			"| a\\|b | c |\n|---|---|\n| 1 2 | x; y |\n| z |  |"},
		{"table in a list", "<ul><li>t<table><tr><th>a<th>b<tr><td>1<td>2</table></ul>",
			"- t\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |"},
		{"quote", "<blockquote>a<blockquote>b</blockquote></blockquote>c", "> a\n>\n> > b\n\nc"},
		{"two breaks", "a<br><br>b<br>c", "a\n\nb\nc"},
		{"figure",
			`<figure><img src=a.png><figcaption>Cap</figcaption></figure><img src=b.png alt=""><img src=c.png alt="C [x]">`,
			"![](https://www.example.org/dir/a.png)\n\n*Cap*\n\n![C \\[x\\]](https://www.example.org/dir/c.png)"},
		{"film",
			`<iframe src="https://www.youtube.com/embed/x" title="T"></iframe><iframe src="https://ads.example/x"></iframe>`, "[Video: T](https://www.youtube.com/embed/x)"},
		{"ruby", "<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"},
		{"xmp", "<xmp><b>x</b></xmp>after", "```\n<b>x</b>\n```\n\nafter"},
		{"time", `<p>on <time datetime="2026-01-02">Friday</time>`, "on Friday (2026-01-02)"},
		{"quotes", "<p><q>so</q> he said", "“so” he said"},
		{"ends in the middle", "<p>text <b>bold <a href=x>li", "text **bold [li](https://www.example.org/dir/x)**"},
	} {
		if diff := cmp.Diff(test.want, read(t, test.html, Options{Whole: true}).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestTextAndHTML(t *testing.T) {
	const source = `<h1 onclick=x()>A <b>b</b></h1><p style="color:red" class=y>c &lt;d&gt; <a href="/e" onmouseover=x>e</a> <span hidden>no</span><script>x</script></p><ul><li>f</ul><table><tr><th>g<th>h<tr><td>1<td>2</table><pre>x
  y</pre><img src=i.png alt=I onerror=x>`
	if diff := cmp.Diff("A b\n\nc <d> e\n\n- f\n\ng | h\n1 | 2\n\nx\n  y\n\n[image: I]",
		read(t, source, Options{Whole: true, Format: Text}).Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	want := "<h1>A <b>b</b></h1>\n<p>c &lt;d&gt; <a href=\"https://www.example.org/e\">e</a> </p>\n<ul><li>f</li>\n</ul>\n<table><tbody><tr><th>g</th>\n<th>h</th>\n</tr>\n<tr><td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n<pre>x\n  y</pre>\n<img src=\"https://www.example.org/dir/i.png\" alt=\"I\"/>"
	if diff := cmp.Diff(want, read(t, source, Options{Whole: true, Format: HTML}).Text); diff != "" {
		t.Errorf("html (-want +got):\n%s", diff)
	}
}

func TestSelector(t *testing.T) {
	const source = `<nav><a href=/n>n</a></nav><div id=a class="x y"><p>1</p><p class=z>2</p><section><p title="a > b">3</p></section></div><p>4</p>`
	for selector, want := range map[string]string{
		"#a > p": "1\n\n2", ".x.y p": "1\n\n2\n\n3", "p.z": "2", "p + p": "2", "p ~ section p": "3",
		"[title='a > b']": "3", "nav, .z": "[n](https://www.example.org/n)\n\n2",
		"div p:first-child": "1\n\n3", "body > p": "4", "p:not(.z)": "1\n\n3\n\n4", "DIV .z": "2",
	} {
		if got := read(t, source, Options{Selector: selector}).Text; got != want {
			t.Errorf("%s: %q, not %q", selector, got, want)
		}
	}
	for selector, kind := range map[string]tool.Kind{"p[": tool.Invalid, "a >": "", ":has(p)": tool.Invalid,
		".none": tool.NotFound, "p:nth-child(2)": tool.Invalid, ",": tool.Invalid} {
		_, err := Read(t.Context(), []byte(source), Options{Selector: selector})
		if kind != "" && (err == nil || !strings.HasPrefix(err.Error(), string(kind))) {
			t.Errorf("%s: %v", selector, err)
		}
	}
}

func TestLinksAreListedOnce(t *testing.T) {
	p := read(t,
		`<p><a href=/a>A</a> <a href=/a>again</a> <a href="#x">here</a> <a href=mailto:x@y.example>m</a> <a href=/c><h2>C</h2></a>`, Options{Links: true, Whole: true})
	want := []Link{{"A", "https://www.example.org/a"}, {"m", "mailto:x@y.example"}, {"C", "https://www.example.org/c"}}
	if diff := cmp.Diff(want, p.Links); diff != "" {
		t.Error(diff)
	}
}

func TestCharsets(t *testing.T) {
	texts := map[string]string{
		"shift_jis": "六月の京都は雨が多いです。しかし静かで、とても美しい。", "euc-jp": "六月の京都は雨が多いです。しかし静かで、とても美しい。",
		"iso-2022-jp": "六月の京都は雨が多い。",
		"euc-kr":      "오늘 도서관이 다시 문을 열었습니다. 많은 사람들이 왔습니다.", "gbk": "我们城市的新图书馆今天向读者开放，还有一个大厅。",
		"gb18030": "我们城市的新图书馆今天向读者开放，还有一个大厅。",
		"big5":    "我們城市的新圖書館今天向讀者開放，還有一個大廳，請大家來看。", "koi8-r": "В среду утром движение по мосту было открыто.",
		"windows-1251": "В среду утром движение по мосту было открыто.",
		"windows-1252": "L’été à la crème brûlée, déjà goûté à Noël.", "utf-16le": "Grüße aus Köln",
		"utf-16be": "Grüße aus Köln", "utf-8": "Grüße 六月 мост",
		"iso-8859-2": "Zażółć gęślą jaźń", "windows-1253": "Η βιβλιοθήκη άνοιξε", "iso-8859-15": "5 €, œuvre",
		"windows-1255": "הספרייה נפתחה",
	}
	guessed := map[string]bool{"iso-8859-2": false, "windows-1253": false, "iso-8859-15": false, "windows-1255": false}
	for name, text := range texts {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaredBy := range []string{"server", "page", "none", "wrong"} {
			if _, notGuessed := guessed[name]; notGuessed && (declaredBy == "none" || declaredBy == "wrong") ||
				strings.HasPrefix(name, "utf-16") && declaredBy != "server" {
				continue
			}
			source, contentType := "<p>"+text, ""
			switch declaredBy {
			case "server":
				contentType = "text/html; charset=" + name
			case "page":
				source = "<meta charset=" + name + ">" + source
			case "wrong":
				source = "<meta charset=utf-8>" + source
			}
			body, err := e.NewEncoder().Bytes([]byte(source))
			if err != nil {
				t.Fatal(err)
			}
			if name == "iso-2022-jp" && declaredBy == "wrong" { // the bytes are valid UTF-8
				continue
			}
			p, err := Read(t.Context(), body, Options{ContentType: contentType, Whole: true})
			if err != nil || p.Text != text {
				t.Errorf("%s, declared by %s: %q %v", name, declaredBy, p.Text, err)
			}
		}
	}
}

// TestInvalidBytesInUTF8 has pages declared as UTF-8 with invalid bytes.
func TestInvalidBytesInUTF8(t *testing.T) {
	for body, want := range map[string]string{
		"bad \xff\xfe utf8 \xc3( end": "bad \ufffd utf8 \ufffd( end",
		"Café é à ü\xe9":              "Café é à ü\ufffd",
		"é\xe9\xe9 à":                 "é\ufffd à",
		"Grüße, cut off \xe2\x82":     "Grüße, cut off \ufffd",
		"L\x92\xe9t\xe9 \xe0 la cr\xe8me br\xfbl\xe9e, d\xe9j\xe0 go\xfbt\xe9": "L’été à la crème brûlée, déjà goûté",
	} {
		for _, declaredBy := range []string{"server", "page"} {
			source, contentType := "<p>"+body, "text/html; charset=UTF-8"
			if declaredBy == "page" {
				source, contentType = "<meta charset=utf-8>"+source, "text/html"
			}
			if p := read(t, source, Options{ContentType: contentType, Whole: true}); p.Text != want {
				t.Errorf("%q, declared by the %s: %q, not %q", body, declaredBy, p.Text, want)
			}
		}
	}
}

func TestPagesThatNeedScripts(t *testing.T) {
	p := read(t, `<div id=app></div><script src=x.js></script>`, Options{})
	if !p.Script || p.Text != "" {
		t.Errorf("%+v", p)
	}
	if p := read(t, "<p>"+strings.Repeat("words and words ", 30)+"<script>x</script>", Options{}); p.Script {
		t.Error("Script is set for a page with text")
	}
	p = read(t, `<script>x</script><noscript><p>Words for those without.</p><p hidden>CANARY</p></noscript>`, Options{})
	if p.Text != "Words for those without." {
		t.Errorf("%q", p.Text)
	}
	p = read(t, `<p>`+strings.Repeat("Words that are here. ", 5)+`</p><noscript>CANARY</noscript>`, Options{})
	if strings.Contains(p.Text, "CANARY") {
		t.Errorf("%q", p.Text)
	}
}

func TestFallsBackToTheBody(t *testing.T) {
	p := read(t,
		`<div class="sidebar"><p>All there is on this page is in what is called a sidebar, which is not wise, but it happens more often than one would think, and nobody notices.</p></div><footer>x</footer>`, Options{})
	if !strings.Contains(p.Text, "All there is") {
		t.Errorf("%q", p.Text)
	}
}

func TestLargePages(t *testing.T) {
	source := large(t, 5<<20)
	p := read(t, source, Options{})
	if len(p.Text) < 1<<20 || p.Cut {
		t.Errorf("%d bytes of text, cut: %v", len(p.Text), p.Cut)
	}
	if p := read(t, source+source+source, Options{}); !p.Cut || len(p.Text) < 1<<20 {
		t.Errorf("%d bytes of text, cut: %v", len(p.Text), p.Cut)
	}
}

func TestBlocksWithinLines(t *testing.T) {
	for source, want := range map[string]string{
		"<a href=/x><div>a <b>b</b></div><p>c</a> d":                                     "[a **b**](https://www.example.org/x)\n\nc d",
		"<a href=/x>a<ul><li>b<li>c</ul></a>d":                                           "[a](https://www.example.org/x)\n\n- b\n- c\n\nd",
		"<b>a<h2>b</h2>c</b>":                                                            "a\n\n## b\n\nc",
		"<table role=grid><tr><th>a<th>b<tr><td><a href=/x><h3>c</h3>d</a><td>e</table>": "| a | b |\n|---|---|\n| [**c** d](https://www.example.org/x) | e |",
		"<table><tr><th>a<th>b<tr><td><li>x<li>y<td>z</table>":                           "| a | b |\n|---|---|\n| x; y | z |",
		"<a href=/x><h3>a</h3><div>b</div></a>c":                                         "### [a](https://www.example.org/x)\n\nb\nc",
	} {
		if diff := cmp.Diff(want, read(t, source, Options{Whole: true}).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}
