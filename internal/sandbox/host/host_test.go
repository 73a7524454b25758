package host

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func TestHostTier(t *testing.T) {
	l := Launcher{}
	if f := l.Probe(t.Context()); !f.Works || len(f.Guarantees) > 0 || f.Text == "" {
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
