package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestDeepNestingTakesLittleStack ends the tests, as it would the server, when
// some text makes the parser go too deep.
func TestDeepNestingTakesLittleStack(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	parts := []string{"(", "{ ", "$(", `"$(`, "$((", "$[", "`", "${a:-", "<(", "if ", "! ", "a[", "{a,", "((", "[[ (",
		"[[ ! ", "a && ", "a &&\n", "x; ", "f()",
		"time ", "coproc ", "while ", "then ", "case a in ", "function f ", "for a in ", "select x in ", "a=", "<<E\n",
		">", "<<<", "\\\n"}
	for _, part := range parts {
		for _, before := range []string{"", "gh ", "$((", `gh 'x' "`, `gh \' "'" `} {
			text := before + strings.Repeat(part, (maxText-len(before))/len(part))
			if argv, err := Parse(text); err == nil && len(argv) > 4 {
				t.Errorf("%s%s...: %d words", before, part, len(argv))
			}
		}
	}
}
