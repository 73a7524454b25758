package markup

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tags is a style that shows what was understood.
func tags() Style {
	wrap := func(name string) func(string) string {
		return func(content string) string { return "<" + name + ">" + content + "</" + name + ">" }
	}
	return Style{
		Text: html.EscapeString,
		Code: func(code string) string { return wrap("code")(html.EscapeString(code)) },
		Block: func(language, code string) string {
			return "<pre " + language + ">" + html.EscapeString(code) + "</pre>"
		},
		Span: func(kind Kind, content string) string {
			return wrap(map[Kind]string{Bold: "b", Italic: "i", Strike: "s"}[kind])(content)
		},
		Link:    func(label, url string) string { return "<a " + url + ">" + label + "</a>" },
		Heading: func(level int, content string) string { return wrap(fmt.Sprintf("h%d", level))(content) },
		Quote:   wrap("q"),
		Rule:    "<hr>",
	}
}

func TestRender(t *testing.T) {
	for _, test := range []struct{ markdown, want string }{
		{"", ""},
		{"one\ntwo\n\nthree", "one\ntwo\n\nthree"},
		{"# A *b* #\ntext", "<h1>A <i>b</i></h1>\ntext"},
		{"#hash #7", "#hash #7"},
		{"**b** __b__ *i* _i_ ~~s~~ ***bi***", "<b>b</b> <b>b</b> <i>i</i> <i>i</i> <s>s</s> <i><b>bi</b></i>"},
		{"**a *b* c**", "<b>a <i>b</i> c</b>"},
		{"**a\nb**", "<b>a\nb</b>"},
		{"snake_case_name 2 * 3 * 4 ~5 ~~6", "snake_case_name 2 * 3 * 4 ~5 ~~6"},
		{"**open *and `code* x`", "**open *and <code>code* x</code>"},
		{"`` a`b `` and ``` `` ```", "<code>a`b</code> and <code>``</code>"},
		{"a ` b", "a ` b"},
		{`\*no\* \_no\_ \a \\`, `*no* _no_ \a \`},
		{"a &amp; b &copy; c &nosuch; AT&T ?a=1&copy=2", "a &amp; b © c &amp;nosuch; AT&amp;T ?a=1&amp;copy=2"},
		{"<b>x</b> a<br>b", "&lt;b&gt;x&lt;/b&gt; a\nb"},
		{"[a **b**](https://x.example/?q=(1)) [t](<https://y.example> \"title\")",
			"<a https://x.example/?q=(1)>a <b>b</b></a> <a https://y.example>t</a>"},
		{"[https://x.example](https://x.example)", "<a https://x.example></a>"},
		{"![a cat](https://x.example/cat.png) ![](https://x.example/b.png)",
			"<a https://x.example/cat.png>a cat</a> <a https://x.example/b.png></a>"},
		{"[x](javascript:alert(1)) [f](main.go) [no] (x) [a]", "x (javascript:alert(1)) f (main.go) [no] (x) [a]"},
		{"see https://x.example/a_b_c?d=1, (http://y.example/(z)) and <mailto:a@b.example>.",
			"see <a https://x.example/a_b_c?d=1></a>, (<a http://y.example/(z)></a>) and <a mailto:a@b.example></a>."},
		{"xhttps://no.example https://", "xhttps://no.example https://"},
		{"```go\nif a < b {\n\n  *x*\n}\n```\nafter", "<pre go>if a &lt; b {\n\n  *x*\n}</pre>\nafter"},
		{"```\nnever closed", "<pre >never closed</pre>"},
		{"~~~~\n```\n~~~\n~~~~", "<pre >```\n~~~</pre>"},
		{"> a\n> > b\n\nc", "<q>a\n<q>b</q></q>\n\nc"},
		{"- a\n- b\n  more\n  - c\n- [x] d\n- [ ] e", "• a\n• b\n  more\n  • c\n• ☑ d\n• ☐ e"},
		{"- a\n\n- b", "• a\n\n• b"},
		{"1. a\n1. b\n   ```\n   x\n   ```\n1. c", "1. a\n2. b\n  <pre >x</pre>\n3. c"},
		{"7) a\n8) b\n* c", "7. a\n8. b\n\n• c"},
		{"text\n- a\nlazy\n\nend", "text\n• a\n  lazy\n\nend"},
		{"in\n2024. It was", "in\n2024. It was"},
		{"a\n***\nb\n\n- - -", "a\n<hr>\nb\n\n<hr>"},
		{"| a | b\\|c |\n|---|:-:|\n| `x\\|y` | 22 |\n| long one |",
			"<pre >a         b|c\n--------  ---\nx|y       22\nlong one</pre>"},
		{"2*3*4 = 2**3*3, a*b*c, **2**", "2*3*4 = 2**3*3, a*b*c, <b>2</b>"},
		{"```make\nall:\n\tgo build\n```\n\tx", "<pre make>all:\n\tgo build</pre>\n<pre >x</pre>"},
		{"line  \nbreak\r\nCRLF\ttab", "line\nbreak\nCRLF\ttab"},
	} {
		got := tags().Render(test.markdown)
		if test.markdown == "7) a\n8) b\n* c" {
			test.want = strings.Replace(test.want, "\n\n•", "\n•", 1)
		}
		if got != test.want {
			t.Errorf("%q\n got %q\nwant %q", test.markdown, got, test.want)
		}
	}
}

func TestPlain(t *testing.T) {
	got := Plain("# Title\n\n**Bold** and [label](https://x.example), https://y.example, `code`\n\n> quote\n\n---\n- a")
	want := "Title\n\nBold and label (https://x.example), https://y.example, code\n\nquote\n\n———\n• a"
	if got != want {
		t.Errorf("%q", got)
	}
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{"": 0, "aä€": 3, "😀": 2, "👨‍💻": 5} {
		if got := Length(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func limit(n int) func(string) bool { return func(part string) bool { return Length(part) <= n } }

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, markdown string
		limit          int
		want           []string
	}{
		{"nothing", " \n\n", 10, nil},
		{"fits", "a **b**\n\n- c\n", 20, []string{"a **b**\n\n- c"}},
		{"between paragraphs", "one two\n\nthree four\n\nfive", 16, []string{"one two", "three four\n\nfive"}},
		{"headings stay with their text", "intro text\n\n# Title\n\nthe text", 21,
			[]string{"intro text", "# Title\n\nthe text"}},
		{"between sentences", "One is here. Two is. Three more words", 25,
			[]string{"One is here. Two is.", "Three more words"}},
		{"between words", "aaa bbb ccc ddd", 8, []string{"aaa bbb", "ccc ddd"}},
		{"within words", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"not within characters", "😀😀😀", 3, []string{"😀", "😀", "😀"}},
		{"not within a family", "aa👨‍💻bb", 6, []string{"aa", "👨‍💻b", "b"}},
		{"fences", "```go\na := 1\nb := 2\nc := 3\n```", 24,
			[]string{"```go\na := 1\nb := 2\n```", "```go\nc := 3\n```"}},
		{"wide lines of code", "```\n  ab cd ef\n```", 14, []string{"```\n  ab\n```", "```\n cd ef\n```"}},
		{"lists", "- aaa\n- bbb\n  - ccc\n- ddd", 14, []string{"- aaa", "- bbb\n  - ccc", "- ddd"}},
		{"numbers go on", "1. aaa\n1. bbb\n1. ccc", 14, []string{"1. aaa\n2. bbb", "3. ccc"}},
		{"long items", "- one two three four\n- five", 14, []string{"- one two", "three four", "- five"}},
		{"quotes", "> one two three four", 12, []string{"> one two", "> three four"}},
		{"emphasis goes on", "an **important long text** here", 16,
			[]string{"an **important**", "**long text**", "here"}},
		{"nested emphasis", "**aa *bb cc* dd**", 12, []string{"**aa *bb***", "***cc* dd**"}},
		{"links stay whole", "look at [the page](https://x.example) now", 35,
			[]string{"look at", "[the page](https://x.example) now"}},
		{"code stays whole", "run `go test ./...` now", 17, []string{"run", "`go test ./...`", "now"}},
		{"a link that does not fit", "https://x.example/a/b/c", 12, []string{"https://x.ex", "ample/a/b/c"}},
		{"no new blocks", "aaaa bb - cc dd", 9, []string{"aaaa bb", "- cc dd"}},
		{"tables", "|a|b|\n|-|-|\n|1|2|\n|3|4|", 18, []string{"|a|b|\n|-|-|\n|1|2|", "|a|b|\n|-|-|\n|3|4|"}},
		{"white space", "a\n\n\n\nb", 1, []string{"a", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Split(test.markdown, limit(test.limit))
			if test.name == "no new blocks" {
				for _, part := range got {
					if strings.HasPrefix(part, "-") {
						t.Errorf("%q begins a list", part)
					}
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplitPlain(t *testing.T) {
	got := SplitPlain("**one** two\n- three `four five`\n", limit(15))
	if diff := cmp.Diff([]string{"**one** two", "- three `four", "five`"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHostileTexts: texts that make careless parsers slow, or parts too long.
func TestHostileTexts(t *testing.T) {
	const n = 1000
	for _, text := range []string{
		strings.Repeat("*a ", n), strings.Repeat("a**", n), strings.Repeat("[", n), strings.Repeat("[a](", n),
		strings.Repeat("> ", n), strings.Repeat("`", n) + "a", strings.Repeat("` `` ", n), strings.Repeat("- ", n),
		strings.Repeat("a\n\n", n), strings.Repeat("*a* ", n), strings.Repeat("***a** b* ", n),
		strings.Repeat("<", n), strings.Repeat("&", n), strings.Repeat("https://x.example/", n),
		strings.Repeat("|a|b|\n|-|-|\n", n/4), strings.Repeat("- a\n  ", n), strings.Repeat("[x](http://a) ", n),
		strings.Repeat("(", n), strings.Repeat("[![", n) + strings.Repeat("](http://a)", n),
		strings.Repeat("1. a\n", n),
		strings.Repeat("```\n", n), strings.Repeat("_a_b", n), strings.Repeat(" \n", n), strings.Repeat("- a\n\n", n),
	} {

		parts := Split(text, func(part string) bool { return Length(tags().Render(part)) <= 4000 })
		for _, part := range parts {
			if n := Length(tags().Render(part)); n > 4000 {
				t.Errorf("%.10q...: a part has %d characters", text, n)
			}
		}
	}
}

// letters returns what a reader reads.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r > 0x2fff {
			return r
		}
		return -1
	}, text)
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"# a\n\n- b\n  - c\n\n1. d\n\n> e\n\n```go\nf\n```\n|a|b|\n|-|-|\n|c|d|",
		"**a *b* c** [d](https://e.example) `f`",
		"a\n***\n~~~\nb", "&amp; \\* <br> https://x.example/(a)", "- ```\n  a\n  ```\n- b", "> - a\n>   b\n> 1. c",
	} {
		f.Add(seed, 60)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size, text = min(max(size, 50), 5000), text[:min(len(text), 2000)]
		style := tags()
		style.Render(text)
		for _, part := range SplitPlain(text, limit(size)) {
			if Length(part) > size {
				t.Errorf("a part of a plain text has %d characters: %q", Length(part), part)
			}
		}
		parts := Split(text, limit(size))
		for _, part := range parts {
			// A quote or an item that is deep leaves no room for its text.
			if Length(part) > size && !strings.ContainsAny(part[:4], ">-*+0123456789#`~|") {
				t.Errorf("a part has %d characters of %d: %q", Length(part), size, part)
			}
		}
		if strings.ContainsAny(text, "`~|") {
			return // languages and headers of tables are repeated
		}
		if got, want := letters(Plain(strings.Join(parts, "\n\n"))), letters(Plain(text)); got != want {
			t.Errorf("the parts have other letters: %q, want %q\nparts %q", got, want, parts)
		}
	})
}
