package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func clean(t testing.TB, pieces ...string) string {
	t.Helper()
	var b bytes.Buffer
	c := NewCleaner(&b)
	for _, piece := range pieces {
		if n, err := c.Write([]byte(piece)); err != nil || n != len(piece) {
			t.Fatal(n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestScreen(t *testing.T) {
	for name, test := range map[string]struct{ raw, want string }{
		"plain":                {"a\tb\nc", "a\tb\nc"},
		"colours":              {"\x1b[1;31mred\x1b[0m\x1b[39;49m plain\n", "red plain\n"},
		"a title":              {"\x1b]0;title\x07text", "text"},
		"a link":               {"\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"},
		"a title without end":  {"\x1b]0;title\nnext line", "\nnext line"},
		"Windows":              {"a\r\nb\r\n", "a\nb\n"},
		"progress":             {" 1%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		"a carriage at end":    {"100%\r", "100%"},
		"erased":               {"\rworking\x1b[2K\rdone", "done"},
		"column one":           {"working\x1b[1Gdone", "done"},
		"overstrike":           {"a\ba_\bb", "ab"},
		"bell and others":      {"a\ab\x01\x0ec", "abc"},
		"NUL":                  {"A=1\x00B=2\x00", "A=1\nB=2\n"},
		"forward":              {"a\x1b[3Cb", "a   b"},
		"drawn elsewhere":      {"a\x1b[5;1Hb", "a\nb"},
		"charset":              {"\x1b(Bx", "x"},
		"not UTF-8":            {"caf\xe9 x", "caf\uFFFD x"},
		"half a character":     {"a\xe2\x82", "a\uFFFD\uFFFD"},
		"UTF-8":                {"naïve ✔ 漢字 👍", "naïve ✔ 漢字 👍"},
		"emoji that is shaped": {"✔\uFE0F 👩\u200D💻", "✔ 👩💻"},
		"hidden":               {"a\u202Eb\U000E0041c\u200B", "a<U+202E>b<U+E0041>c<U+200B>"},
		"odd spaces":           {"a\u00A0b\u2028c", "a b\nc"},
		"an odd escape":        {"\x1b\xe2\x82\xac\x1b7x\x1b[1\ny", "€x\ny"},
		"escape at the end":    {"x\x1b[3", "x"},
		"forward without end":  {"\x1b[999999999999999999999Cx", " x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clean(t, test.raw); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if got := clean(t, strings.Split(test.raw, "")...); utf8.ValidString(test.raw) && got != test.want {
				t.Errorf("in pieces %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnfinishedSequences(t *testing.T) {
	for _, begin := range []string{"\x1b]", "\x1bP", "\x1b[", "\x1b", "\x1b_"} {
		got := clean(t, begin+strings.Repeat("1", 3*maxSequence)+"the end")
		if !strings.HasSuffix(got, "the end") || len(got) < maxSequence {
			t.Errorf("%q: %d bytes are left", begin, len(got))
		}
	}
}

func TestLongLinesAreSent(t *testing.T) {
	var b bytes.Buffer
	c := NewCleaner(&b)
	piece := bytes.Repeat([]byte("x"), 10_000)
	for range 100 {
		if _, err := c.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if held := 1_000_000 - b.Len(); held > maxLine+len(piece) || cap(c.line) > 3*maxLine {
		t.Errorf("%d bytes are held, in %d", held, cap(c.line))
	}
	if err := c.Close(); err != nil || b.Len() != 1_000_000 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// FuzzClean expects valid text without controls that does not depend on how
// it was cut, and that cleaning it again changes nothing.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\rb\n", "\x1b[2Kx\x1b]0;t\x07", "\xff\xfe\x00", "\u202E\u00a0", "\x1b\x1b[\x1b",
		"é\b\b"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, raw string, at int) {
		whole := clean(t, raw)
		at = min(max(at, 0), len(raw))
		if parts := clean(t, raw[:at], raw[at:]); parts != whole {
			t.Fatalf("%q whole, %q cut at %d", whole, parts, at)
		}
		if !utf8.ValidString(whole) || strings.ContainsAny(whole, "\x00\x1b\r\b\a") {
			t.Fatalf("%q", whole)
		}
		if again := clean(t, whole); again != whole {
			t.Fatalf("%q again %q", whole, again)
		}
	})
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]string{
		"Enter": "\r", "return": "\r", "<CR>": "\r", "Tab": "\t", "S-Tab": "\x1b[Z", "BTab": "\x1b[Z", "Escape": "\x1b",
		"ESC":   "\x1b",
		"Space": " ", "C-Space": "\x00", "Backspace": "\x7f", "BSpace": "\x7f", "Delete": "\x1b[3~", "Up": "\x1b[A",
		"ArrowDown":  "\x1b[B",
		"arrow_left": "\x1b[D", "Right": "\x1b[C", "Home": "\x1b[H", "End": "\x1b[F", "PageUp": "\x1b[5~",
		"Page-Down": "\x1b[6~",
		"F1":        "\x1bOP", "f4": "\x1bOS", "F5": "\x1b[15~", "F12": "\x1b[24~", "C-F5": "\x1b[15;5~",
		"S-F1": "\x1b[1;2P",
		"C-c":  "\x03", "Ctrl+C": "\x03", "ctrl-d": "\x04", "^Z": "\x1a", `C-\`: "\x1c", "C-[": "\x1b", "^?": "\x7f",
		"C-_": "\x1f",
		"M-x": "\x1bx", "Alt-X": "\x1bX", "C-M-a": "\x1b\x01", "M-Enter": "\x1b\r", "C-Left": "\x1b[1;5D",
		"S-Up": "\x1b[1;2A", "C-S-Right": "\x1b[1;6C",
		"M-C-Up": "\x1b[1;7A", "S-a": "A", "a": "a", "é": "é", "-": "-", "+": "+", "C--": "", "0x1b": "\x1b",
		`\x03`: "\x03", "0xFF": "\xff",
		"Hello": "", "": "", "C-é": "", "F13": "", "0x100": "", "C-": "", "Hyper-x": "", "\xff": "\uFFFD",
	} {
		got, err := Keys([]string{name})
		switch {
		case name == "\xff": // a client cannot send it in JSON
		case want == "" && err == nil:
			t.Errorf("%q was taken for %q", name, got)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%q is %q, %v; want %q", name, got, err, want)
		}
	}
	if got, err := Keys([]string{"l", "s", "Enter"}); err != nil || string(got) != "ls\r" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"Enter", "C-M-x", "^", "--", "S-", "0x", "<>", "\xff", "C-S-F5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := Keys([]string{name})
		if err == nil && (len(got) == 0 || len(got) > 12) {
			t.Fatalf("%q is %q", name, got)
		}
	})
}
