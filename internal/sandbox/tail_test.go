package sandbox

import (
	"strings"
	"testing"
)

func TestTailIsBounded(t *testing.T) {
	var w Tail
	for range 1000 {
		if n, err := w.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := w.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	if text := w.String(); len(text) > tailSize || !strings.HasSuffix(text, "the end") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-10:])
	}
}
