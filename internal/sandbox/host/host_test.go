package host

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func TestTheHostAsItIs(t *testing.T) {
	l := Launcher{}
	if f := l.Probe(t.Context()); !f.Works || len(f.Holds) > 0 || f.Text == "" {
		t.Errorf("%+v", f)
	}
	if f := (Launcher{Self: []string{"/nonesuch"}}).Probe(t.Context()); f.Works || f.Text == "" {
		t.Errorf("without a program: %+v", f)
	}
	layout := l.Layout(sandbox.Directories{Dir: "/w", Roots: []sandbox.Root{{Name: "r", Path: "/r"}}})
	for _, b := range layout.Binds {
		if b.Host != b.Inside {
			t.Errorf("%s is seen as %s", b.Host, b.Inside)
		}
	}
	if len(layout.Binds) != 2 || !layout.Binds[0].Write || layout.Binds[1].Write || layout.Home != "" {
		t.Errorf("%+v", layout)
	}
}

func TestLastWordsAreBounded(t *testing.T) {
	var w tail
	for range 1000 {
		if n, err := w.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := w.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	if text := w.text(); len(text) > lastWords || !strings.HasSuffix(text, "the end") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-10:])
	}
}
