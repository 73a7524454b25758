package page

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// TestTextIsNotMarkup has text that looks like Markdown, in all places where lines
// begin differently.
func TestTextIsNotMarkup(t *testing.T) {
	for _, test := range []struct{ name, html, want string }{
		{"in a quote", "<blockquote># a<br>> b<br>- c<p>1. d</blockquote>", "> \\# a\n> \\> b\n> \\- c\n>\n> 1\\. d"},
		{"in a quote in a list", "<ul><li>x<blockquote># a</blockquote></ul>", "- x\n\n  > \\# a"},
		{"in an item", "<ol><li># a<li>- b</ol><ul><li>1. c<li>> d</ul>", "1. \\# a\n2. \\- b\n\n- 1\\. c\n- \\> d"},
		{"in a meaning", "<dl><dt># t<dd># a</dl>", "**# t**\n: \\# a"},
		{"code in a quote", "<blockquote><pre>a\n\n# b</pre></blockquote># c", "> ```\n> a\n> \n> # b\n> ```\n\n\\# c"},
		{"line breaks of the converter", "<p>a\uf002# b\uf002```<p><code>c\uf002d</code><pre>e\uf002f</pre>", "a# b\\`\\`\\`\n\n`cd`\n\n```\nef\n```"},
		{"marks of the converter", "<p>a&#7;* b<p title='\a'>\ac", "a\\* b\n\nc"},
		{"table of lines", "<p>a | b<br>--- | ---<br>c | d<p>|e|<br>|:-|", "a | b\n\\--- | ---\nc | d\n\n\\|e|\n\\|:-|"},
		{"heading by underline", "<p>a<br>===<p>b<br>---", "a\n\\===\n\nb\n\\---"},
		{"address of a reference", "<p>[x]: http://evil.example<p>see [1]: two", "[x]\\: http://evil.example\n\nsee [1]: two"},
		{"link behind a note", `<p><sup><a href="#n">1</a></sup>(http://evil.example)<p id=n>Note`, "[1]\\(http://evil.example)\n\nNote"},
		{"picture before a link", "<p>so!<a href=/x>l</a>", "so\\![l](https://www.example.org/x)"},
		{"end of a link", "<p><a href=/x>a](http://evil.example) b</a> <a href=/y>[1]</a>", `[a]\(http://evil.example) b](https://www.example.org/x) [[1]](https://www.example.org/y)`},
		{"alternative text", `<p><img src=i.png alt="](http://evil.example)">`, `![\](http://evil.example)](https://www.example.org/dir/i.png)`},
		{"headings that end in a hash", "<h2>C#</h2><h2>#</h2><h3>F# #</h3>", "## C\\#\n\n## \\#\n\n### F# \\#"},
		{"cells", "<table><tr><th>a<th>b|c<tr><td><code>x|y</code><td>\\| # z</table>", "| a | b\\|c |\n|---|---|\n| `x\\|y` | \\\\\\| # z |"},
		{"prose", "<p>It's 3.5 (see [1], p. 12) - \"so\" = 2 + 2; a < b > c & d! #1", "It's 3.5 (see [1], p. 12) - \"so\" = 2 + 2; a < b > c & d! #1"},
	} {
		if diff := cmp.Diff(test.want, read(t, test.html, Options{Whole: true}).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestLists(t *testing.T) {
	for _, test := range []struct{ name, html, want string }{
		{"numbers", "<ol><li>a<li value=7>b<li>c</ol>", "1. a\n7. b\n8. c"},
		{"from the end", "<ol reversed start=3><li>a<li>b</ol>", "3. a\n2. b"},
		{"more than nine", "<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c"},
		{"tasks", "<ul><li><input type=checkbox checked> a<li><label><input type=checkbox>b</label></ul>", "- [x] a\n- [ ] b"},
		{"not items", "<ul>a<li>b<div>c</div></ul>", "- a\n- b\n  c"},
		{"items without a list", "<li>a<li>b", "- a\n- b"},
		{"one after the other", "<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"},
		{"text behind a list", "<ol><li>a<ul><li>b<ul><li>c</ul></ul>d</ol>", "1. a\n   - b\n     - c\n\n   d"},
		{"terms", "<dl><dt>a<dt>b<dd>c<p>d<dd>e<dt>f<dd>g</dl>", "**a**\n**b**\n: c\n\n  d\n: e\n\n**f**\n: g"},
	} {
		if diff := cmp.Diff(test.want, read(t, test.html, Options{Whole: true}).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPlainTextKeepsIndents(t *testing.T) {
	const source = "<pre>  # a\n    b\n\n  c</pre><blockquote>d<br>e</blockquote><ol start=3><li>f<li>*g*</ol><dl><dt>h<dd>i_j</dl>"
	want := "  # a\n    b\n\n  c\n\n  d\n  e\n\n3. f\n4. *g*\n\nh\n  i_j"
	if diff := cmp.Diff(want, read(t, source, Options{Whole: true, Format: Text}).Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("  d", read(t, "<blockquote>d</blockquote>", Options{Whole: true, Format: Text}).Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConcurrentReads checks that reads can share the converter.
func TestConcurrentReads(t *testing.T) {
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 20 {
				source := fmt.Sprintf("<h1>Page %d</h1><ul><li># item %[1]d<li><b>b</b></ul><pre>code %[1]d</pre><p>"+strings.Repeat("%[1]d ", 50), i)
				p, err := Read(t.Context(), []byte(source), Options{Whole: true, Format: []Format{Markdown, Text}[i%2]})
				if err != nil || strings.Count(p.Text, fmt.Sprint(i)) < 53 {
					t.Errorf("%d: %v %q", i, err, p.Text)
				}
			}
		})
	}
	all.Wait()
}

// TestConverterPanics checks that a panic in the converter fails only one page.
func TestConverterPanics(t *testing.T) {
	doc, heading := &html.Node{Type: html.DocumentNode}, &html.Node{Type: html.ElementNode, Data: "h2"}
	doc.AppendChild(heading)
	heading.AppendChild(&html.Node{Type: html.ElementNode, Data: rawElement,
		Attr: []html.Attribute{{Key: "text", Val: "#"}}}) // the library expects a character before it
	if _, _, err := convert(t.Context(), doc, false, 1000); err == nil {
		t.Error("no error although the converter panics")
	}
}

// TestCredentialsAreNotEscaped has tokens in all places of a page where text is escaped: they
// are masked later, by their form.
func TestCredentialsAreNotEscaped(t *testing.T) {
	for _, token := range []string{"ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6", "sk_live_a1B2c3D4e5F6a1B2c3D4e5F6"} {
		for _, format := range []string{
			"<img src=a.png alt='tok TOKEN'>", "<a href=/x>TOKEN</a>", "<h2>TOKEN</h2>", "<p>is TOKEN, or</p>",
			"<ul><li>TOKEN</ul>", "<table><tr><th>a<th>b<tr><td>TOKEN<td>c</table>", "<label>TOKEN</label><input>",
			"<select><option>TOKEN</select>", "<figure><img src=a.png alt=TOKEN><figcaption>TOKEN</figcaption></figure>",
			"<iframe src='https://youtu.be/x' title='TOKEN'></iframe>", "<p><b>TOKEN</b></p>", "<sup><a href=#x>TOKEN</a></sup>",
		} {
			source := strings.ReplaceAll(format, "TOKEN", token)
			if text := read(t, "<p>x</p>"+source, Options{Whole: true}).Text; !strings.Contains(text, token) {
				t.Errorf("%s: %s", source, text)
			}
		}
	}
}

func TestEachTargetIsWrittenOnce(t *testing.T) {
	got := read(t, `<p><a href=/a>one</a> <a href=/a>again</a> <a href=/b>two</a><p><a href="/a#x">part</a>
		<a href=/a><img src=i.png alt=I></a>`, Options{Whole: true}).Text
	want := "[one](https://www.example.org/a) again [two](https://www.example.org/b)\n\n" +
		"[part](https://www.example.org/a#x) ![I](https://www.example.org/dir/i.png)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
