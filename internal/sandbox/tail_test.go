package sandbox

import (
	"strings"
	"testing"
)

func TestTailIsBounded(t *testing.T) {
	var w Tail
	if _, err := w.Write([]byte("the reason")); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if n, err := w.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := w.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	if text := w.String(); len(text) > tailSize+headSize || !strings.HasSuffix(text, "the end") ||
		!strings.HasPrefix(text, "the reason") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-10:])
	}
}
