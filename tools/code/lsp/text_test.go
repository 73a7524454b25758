package lsp

import (
	"testing"
	"unicode/utf8"
)

func TestPositions(t *testing.T) {
	x := NewText("a😀b\r\nñ\n\nend")
	for _, tt := range []struct {
		line, character, want int
		ok                    bool
	}{
		{0, 0, 0, true}, {0, 1, 1, true}, {0, 3, 5, true}, {0, 4, 6, true}, {0, 2, 5, false}, {0, 99, 6, true}, {1, 1, 10, true},
		{2, 0, 11, true}, {3, 3, 15, true}, {4, 0, 15, true}, {4, 1, 0, false}, {-1, 0, 0, false}, {0, -1, 0, false},
		{1 << 40, 0, 0, false}, {0, 1 << 40, 6, false},
	} {
		got, ok := x.Offset(Position{tt.line, tt.character})
		if got != tt.want || ok != tt.ok {
			t.Errorf("%d:%d is %d, %v", tt.line, tt.character, got, ok)
		}
	}
	if got := x.Position(5); got != (Position{0, 3}) {
		t.Errorf("got %v", got)
	}
}

func TestPaths(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b%20c": "/a/b c", "file://localhost/a": "/a", "file://host/a": "", "http://x/a": "", "file:a": "", "%zz": "",
		"file:///a%00b": "", URI("/tmp/ü #?.go"): "/tmp/ü #?.go",
	} {
		if got := Path(uri); got != want {
			t.Errorf("%q: %q", uri, got)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add("a😀b\r\nc", 0, 1, 0, 3, "x")
	f.Fuzz(func(t *testing.T, text string, l1, c1, l2, c2 int, with string) {
		x := NewText(text)
		r := Range{Position{l1, c1}, Position{l2, c2}}
		got, err := x.Apply([]TextEdit{{Range: r, New: with}})
		if err == nil && utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q with %v becomes %q", text, r, got)
		}
	})
}
