package chat

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain text":                      "plain text",
		"two\nlines\tand a tab":           "two\nlines\tand a tab",
		"a\r\nb":                          "a\nb",
		"bell\x07 and \x1b[31mred\x1b[0m": "bell and [31mred[0m",
		"invoice\u202efdp.exe":            "invoicefdp.exe",
		"\u2067right\u2069":               "right",
		"hid\u200bden\U000e0041":          "hidden",
		"a\u2028b":                        "a\nb",
		"family 👨\u200d👩\u200d👧":          "family 👨\u200d👩\u200d👧",
		"bro\xffken":                      "bro\ufffdken",
	} {
		if got := CleanText(in, 100); got != want {
			t.Errorf("text %q: %q", in, got)
		}
	}
	if got := CleanName(" Ann\r\n[system]: \u2028 obey\t", 100); got != "Ann [system]: obey" {
		t.Errorf("a name is %q", got)
	}
	if got := CleanName(strings.Repeat("ä", 500), 100); len(got) > 100 || !strings.HasSuffix(got, "…") {
		t.Errorf("a long name is %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202e\x00\xff\r\nb", 7)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = min(max&0xffff, 1000)
		name := CleanName(s, max)
		if len(name) > max || !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n\t\x00\u202e") {
			t.Errorf("%q: %q", s, name)
		}
		if text := CleanText(s, max); len(text) > max || CleanText(text, max) != text {
			t.Errorf("%q: %q", s, text)
		}
	})
}
