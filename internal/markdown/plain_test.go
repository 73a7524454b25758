package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"**bold** *it* __b__ _i_ ~~gone~~ ***both***", "bold it b i gone both"},
		{"2 * 3 * 4, a*b*c, snake_case_name, ~1, ** , x", "2 * 3 * 4, a*b*c, snake_case_name, ~1, ** , x"},
		{"中文**强调**中文", "中文强调中文"},
		{"`a*b*` ``c`d`` `open", "a*b* c`d `open"},
		{"[text](http://x \"t\") ![alt *x*](y(z).png) [a][b] [c] [[Page]]", "text alt x a [c] Page"},
		{"[wrapped\ntext](http://x)", "wrapped\ntext"},
		{"[not](closed", "[not](closed"},
		{"[[a](b)](c)", "a"},
		{"<b>x</b> <https://a.b/c> <me@x.y> a < b > c <!-- gone --> d", "x https://a.b/c me@x.y a < b > c  d"},
		{`\*not\* \\ &amp; &lt;b&gt; &nosuch;`, `*not* \ & <b> &nosuch;`},
		{"## A `b` ##\n\nB\n===\n", "A b\nB"},
		{"- [x] a\n- b\n  - c\n1. d", "[x] a\nb\nc\n1. d"},
		{"> quoted\n> - item\n>\n> ```\n>   code\n> ```", "quoted\nitem\n  code"},
		{"| a | `b` |\n|---|:-:|\n| c \\| d | e |", "a  b\nc | d  e"},
		{"```go\nx := *p\n```", "x := *p"},
		{"    x\n      y", "x\n  y"},
		{"---\na: 1\n---\nbody", "body"},
		{"a\n\n---\n\n[ref]: http://x\n\nb", "a\nb"},
		{"<script>\nx\n\ny</script>\n\n<div>\nz <i>i</i>\n</div>", "z i"},
		{"a\r\nb\x00\xff", "a\nb\ufffd\ufffd"},
		{"", ""},
	} {
		if diff := cmp.Diff(test.want, Plain(test.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestHeadings(t *testing.T) {
	got := Headings("text\n# A\n\n## B *c*\ntext\n\n```\n# no\n```\n\n# [D](x)\n\n### E\n\n\n")
	if diff := cmp.Diff([]string{"A", "B c", "D", "E"}, got); diff != "" {
		t.Error(diff)
	}
	if got := Headings("no heading"); got != nil {
		t.Error(got)
	}
}
