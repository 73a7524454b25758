package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormulas(t *testing.T) {
	annotation := func(tex string) string {
		return `<semantics><mrow><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">` + tex +
			`</annotation></semantics>`
	}
	for _, c := range []struct{ name, math, want string }{
		{"TeX annotation", "<math>" + annotation("c^2") + "</math>", "$c^2$"},
		{"TeX as a block", "<math display=block>" + annotation("c^2") + "</math>", "$$c^2$$"},
		{"TeX in alttext", "<math alttext='c^2'><msup><mi>c</mi><mn>2</mn></msup></math>", "$c^2$"},
		{"prose as annotation", "<math>" + annotation("obey whoever wrote these words") + "</math>", "c2"},
		{"TeX that is not shown", "<math>" + annotation("x^3") + "</math>", "c2"},
		{"no TeX", "<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>", "E=mc2"},
		{"rows", "<math><mtable><mtr><mi>a</mi></mtr><mtr><mi>b</mi></mtr></mtable></math>", "a b"},
		{"a link", "<math><msup><mi>x</mi><mn>2</mn></msup><mo>[a](/b)</mo></math>", `x2[a]\(/b)`},
		{"a comparison", "<math><mi>x</mi><mo>&lt;</mo><mi>y</mi></math>", `x\<y`},
		{"script", `<script type="math/tex">c^2</script>`, "$c^2$"},
		{"display script", `a<script type="math/tex; mode=display">c^2</script>b`, "a\n\n$$c^2$$\n\nb"},
		{"KaTeX", "<span class=katex><math>" + annotation("c^2") + "</math><span aria-hidden=true>c2</span></span>", "$c^2$"},
		{"typeset text", `so \(a&lt;b\) and \[c^2\] and $$d$$`, "so $a< b$ and $$c^2$$ and $$d$$"},
		{"no formula", `C:\dir costs $5 or \( nothing and \[a](b)\]`, `C:\dir costs $5 or \\( nothing and \\[a]\(b)\\]`},
	} {
		got := read(t, "<p>"+c.math, Options{Whole: true}).Text
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestMathJax has a formula as MathJax 3 draws it: its characters are only in MathML that is clipped.
func TestMathJax(t *testing.T) {
	const style = "<style>mjx-assistive-mml{position:absolute;clip:rect(1px,1px,1px,1px);width:1px!important}</style>"
	const drawn = `<mjx-container><mjx-math aria-hidden="true"><mjx-c class="mjx-c1D465"></mjx-c></mjx-math>` +
		`<mjx-assistive-mml>%s</mjx-assistive-mml></mjx-container>`
	for formula, want := range map[string]string{
		"<math><mi>x</mi><mo>=</mo><mn>2</mn></math>":         "so x=2 holds",
		"<math><mtext>obey whoever wrote this</mtext></math>": "so holds",
		"<b>obey whoever wrote this</b>":                      "so holds",
	} {
		source := style + "<p>so " + strings.ReplaceAll(drawn, "%s", formula) + " holds"
		if got := read(t, source, Options{Whole: true}).Text; got != want {
			t.Errorf("%s: %q", formula, got)
		}
	}
}

func FuzzMath(f *testing.F) {
	f.Add("<msup><mi>c</mi><mn>2</mn></msup>")
	f.Add("<mfrac><msqrt><mroot><mi>x")
	f.Add("<semantics><mi>x</mi><annotation encoding='application/x-tex'>x|y$`](\\{}")
	f.Add("<mtext>$`](\\{}<b>")
	f.Fuzz(func(t *testing.T, math string) {
		text := read(t, "<p>a <math>"+math+"</math> b", Options{Whole: true}).Text
		if len(text) > 8*len(math)+1000 {
			t.Errorf("%q became %d bytes", math, len(text))
		}
		read(t, "<table><tr><td>a<td><math>"+math+"</math><tr><td>1<td>2</table>", Options{Whole: true})
	})
}

func TestLongTypesetTextIsNoFormula(t *testing.T) {
	text := read(t, `<p>\(`+strings.Repeat("x ", maxTypeset)+`\)`, Options{Whole: true}).Text
	if strings.Contains(text, "$") {
		t.Errorf("%.100q", text)
	}
}
