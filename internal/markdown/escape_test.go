package markdown

import (
	entities "html"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
)

// TestEscape renders escaped texts: they are paragraphs with the text as it was.
func TestEscape(t *testing.T) {
	for _, text := range []string{
		"__init__", "a_b_c and _d_", "2 * 3 * 4", "*bold*", "* item", "- item", "1. item", "1.5 m", "# heading", "#tag",
		"> quote", "a `code`", "[link](x)", "a [1] b", "<b>", "1 <2 < 3", "&amp; & b", `C:\.x \n`, "--- | ---", "===", "+",
		"|a|b|",
	} {
		escaped := EscapeLine(Escape(text))
		var b strings.Builder
		if err := goldmark.Convert([]byte(escaped), &b); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != "<p>"+entities.EscapeString(text)+"</p>" {
			t.Errorf("%q became %q, which is %s", text, escaped, got)
		}
	}
}
