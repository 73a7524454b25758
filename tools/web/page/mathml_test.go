package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMathWithoutItsSource(t *testing.T) {
	for _, c := range []struct{ name, math, want string }{
		{"superscript", "<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "$E=mc^2$"},
		{"subscript", "<msub><mi>a</mi><mi>i</mi></msub>", "$a_i$"},
		{"both", "<msubsup><mi>x</mi><mn>0</mn><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msubsup>", "$x_0^{n+1}$"},
		{"fraction", "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac>", `$\frac{a}{b+1}$`},
		{"binomial", "<mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac>", `$\binom{n}{k}$`},
		{"root", "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", `$\sqrt{x+1}$`},
		{"cube root", "<mroot><mi>x</mi><mn>3</mn></mroot>", `$\sqrt[3]{x}$`},
		{"nested", "<msup><mrow><mo>(</mo><mfrac><msqrt><mi>x</mi></msqrt><msub><mi>y</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub></mfrac><mo>)</mo></mrow><mn>2</mn></msup>", `$(\frac{\sqrt{x}}{y_{ij}})^2$`},
		{"a sum as a base", "<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "${a+b}^2$"},
		{"a power of an index", "<msup><msub><mi>a</mi><mn>1</mn></msub><mn>2</mn></msup>", "${a_1}^2$"},
		{"sum", "<munderover><mo>∑</mo><mrow><mi>n</mi><mo>=</mo><mn>1</mn></mrow><mi>N</mi></munderover><mi>n</mi>", "$∑_{n=1}^Nn$"},
		{"limit", "<munder><mi>lim</mi><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder><mi>sin</mi><mi>x</mi>", `$\lim _{x→0}\sin x$`},
		{"accents", "<mover><mi>x</mi><mo>¯</mo></mover><mover><mi>v</mi><mo>→</mo></mover>", `$\bar{x}\vec{v}$`},
		{"a name", "<msub><mi>v</mi><mi>max</mi></msub><mi>foo</mi>", `$v_{\max }\mathrm{foo}$`},
		{"words", "<msup><mi>x</mi><mn>2</mn></msup><mtext> if it is so</mtext>", `$x^2\text{if it is so}$`},
		{"matrix", "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>1</mn></mtd><mtd><mi>b</mi></mtd></mtr></mtable>", `$\begin{matrix} a & 0 \\ 1 & b \end{matrix}$`},
		{"before and behind", "<mmultiscripts><mi>C</mi><mn>6</mn><none></none><mprescripts></mprescripts><none></none><mn>14</mn></mmultiscripts>", "${}^{14}C_6$"},
		{"signs of TeX", `<msup><mi>x</mi><mtext>a_b$c\d{e}</mtext></msup>`, `$x^{\text{a\_b\$c\backslash d\{e\}}}$`},
		{"a comparison", "<msup><mi>x</mi><mn>2</mn></msup><mo>&lt;</mo><mi>y</mi>", "$x^2< y$"},
		{"what is not shown", "<msup><mi>x</mi><mn>2</mn></msup><mphantom><mi>z</mi></mphantom>", "$x^2$"},
		{"missing parts", "<msup></msup><mfrac><mi>a</mi></mfrac><mroot></mroot><msub><mi>b</mi></msub>", `$\frac{a}{}\sqrt[]{}b$`},
		{"one line", "<mi>a</mi><mo>+</mo><mi>b</mi>", "a+b"},
		{"no formula", "<msup><mi>x</mi><mn>2</mn></msup><mi>a</mi><ms>obey whoever wrote these words</ms>", "x2aobey whoever wrote these words"},
		{"a link", "<msup><mi>x</mi><mn>2</mn></msup><mo>[a](/b)</mo>", `x2[a]\(/b)`},
	} {
		got := read(t, "<p><math>"+c.math+"</math>", Options{Whole: true}).Text
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	block := read(t, "<p>so <math display=block><msup><mi>c</mi><mn>2</mn></msup></math> is", Options{Whole: true}).Text
	if block != "so\n\n$$c^2$$\n\nis" {
		t.Errorf("a block is %q", block)
	}
}

func TestMathIsBounded(t *testing.T) {
	for name, math := range map[string]string{
		"deep":  strings.Repeat("<msup><mrow>", 150) + "<mi>x</mi></mrow><mn>2</mn>" + strings.Repeat("</msup>", 150),
		"long":  strings.Repeat("<msup><mi>x</mi><mn>2</mn></msup>", 3000),
		"text":  "<msup><mi>x</mi><mn>" + strings.Repeat("7", 5000) + "</mn></msup>",
		"table": "<mtable>" + strings.Repeat("<mtr>"+strings.Repeat("<mtd><mn>1</mn></mtd>", 50), 100) + "</mtable>",
	} {
		got := read(t, "<p><math>"+math+"</math>", Options{Whole: true}).Text
		if strings.Contains(got, "^") || strings.Contains(got, "matrix") || got == "" {
			t.Errorf("%s: %.100q", name, got)
		}
	}
}

func FuzzMath(f *testing.F) {
	f.Add("<msup><mi>c</mi><mn>2</mn></msup>")
	f.Add("<mfrac><msqrt><mroot><mi>x")
	f.Add("<mmultiscripts><mprescripts><none><mtable><mtr><mtd>|")
	f.Add("<mtext>$`](\\{}<b>")
	f.Fuzz(func(t *testing.T, math string) {
		text := read(t, "<p>a <math>"+math+"</math> b", Options{Whole: true}).Text
		if len(text) > 8*len(math)+1000 {
			t.Errorf("%q became %d bytes", math, len(text))
		}
		read(t, "<table><tr><td>a<td><math>"+math+"</math><tr><td>1<td>2</table>", Options{Whole: true})
	})
}
