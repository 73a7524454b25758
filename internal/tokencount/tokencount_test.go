package tokencount

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEstimateTokens compares with the tokens of o200k_base for texts of which the
// pieces follow from its pattern: common words, numbers and punctuation.
func TestEstimateTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"hello world", 2},
		{"The quick brown fox jumps over the lazy dog.", 10}, // nine words and a full stop
		{"Hello, how are you doing today?", 8},
		{"2 + 2 = 4", 7}, // the space before a digit stands alone
		{"1234567", 3},   // 123 456 7
		{"antidisestablishmentarianism", 6},
		{"additionalProperties", 2},
		{"read_file", 2}, // read _file
		{`{"type":"object"}`, 5},
		{`{"a":{"b":["c"]}}`, 7},
		{"a\n\nb", 3},
		{"if x:\n    return y", 6}, // if / x/:\n/three spaces/ return/ y
		{"I don't know", 3},
		{"お誕生日おめでとう", 9}, // really 8
		{"привет", 2},
	} {
		if got := Text(c.text); got != c.want {
			t.Errorf("Text(%q) = %d, want %d", c.text, got, c.want)
		}
	}
}

// FuzzEstimateTokens: every text ends, and no token is longer than its text.
func FuzzEstimateTokens(f *testing.F) {
	for _, seed := range []string{"a b", " \n \t", "\xff\xfe", "don't", "日本", "{\"a\":1}", "ǅungla", "x\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := Text(text)
		if n > len(text) || n == 0 && text != "" {
			t.Errorf("%d tokens in %d bytes: %q", n, len(text), text)
		}
		if twice := Text(text + "\n" + text); twice < n && utf8.ValidString(text) && strings.TrimSpace(text) != "" {
			t.Errorf("%q has %d tokens, and twice on two lines %d", text, n, twice)
		}
	})
}
