package contextfiles

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzPrefix(f *testing.F) {
	for _, text := range []string{"", "a", "one\ntwo\nthree", "\n\n", "é\u0301ß", "\xff\xfe", " \t "} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(most, 0)
		short := prefix(text, most)
		if !strings.HasPrefix(text, short) || utf8.RuneCountInString(short) > most || utf8.ValidString(text) &&
			!utf8.ValidString(short) {
			t.Errorf("%d of %q are %q", most, text, short)
		}
		if utf8.RuneCountInString(text) <= most && short != text {
			t.Errorf("%q fits and is cut to %q", text, short)
		}
	})
}
