package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	for _, test := range []struct {
		s    string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"a longer text", 9, "a long…"},
		{"äöü", 6, "äöü"},
		{"äöüß", 6, "ä…"},
		{"abcdef", 3, ""},
		{"", 0, ""},
	} {
		if got := Clip(test.s, test.max); got != test.want {
			t.Errorf("Clip(%q, %d) = %q; want %q", test.s, test.max, got, test.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("äöüß", 6)
	f.Fuzz(func(t *testing.T, s string, max int) {
		got := Clip(s, max)
		if max >= 0 && len(got) > max || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("Clip(%q, %d) = %q", s, max, got)
		}
	})
}

func TestClipCharacters(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{{"été", 3, "été"}, {"l'été", 3, "l'…"}, {"été", 1, "…"}, {"été", 0, ""}, {"", 0, ""}} {
		if got := ClipCharacters(c.text, c.max); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.max, got, c.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for got, want := range map[string]string{
		Plural(0, "file"):             "0 files",
		Plural(1, "file"):             "1 file",
		Plural(2, "entry", "entries"): "2 entries",
	} {
		if got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 12_345: "12 kB",
		999_400: "999 kB", 999_600: "1.0 MB", 5_000_000_000_000_000: "5000 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestClipWords(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1", 18)
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"a few words", 20, "a few words"},
		{"a few words", 10, "a few w…"},
		{"the token " + token, 30, "the token …"},
		{token + " is it", 30, "…"},
		{"the token " + token + " is it, and more", 55, "the token " + token + " i…"},
	} {
		if got := ClipWords(c.text, c.max); got != c.want {
			t.Errorf("ClipWords(%q, %d) = %q; want %q", c.text, c.max, got, c.want)
		}
	}
}
