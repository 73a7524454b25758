package searchindex

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

func TestRead(t *testing.T) {
	w := newWorld(t, t.TempDir())
	in := reader{root: w.root, buf: make([]byte, 16)}
	for _, c := range []struct {
		what, text string
		flags      segment.Flags
		have       string // one trigram
	}{
		{"text", "some Text here", 0, "tex"},
		{"empty", "", 0, ""},
		{"a NUL", "some\x00text", segment.Binary, ""},
		{"a late NUL", strings.Repeat("x", headSize) + "\x00text", 0, "tex"},
		{"UTF-16", "\xff\xfeT\x00e\x00x\x00t\x00", 0, "tex"},
		{"UTF-16, the other end first", "\xfe\xff\x00T\x00e\x00x\x00t", 0, "tex"},
		{"a mark alone", "\xff\xfe", 0, ""},
		{"half of a unit", "\xff\xfeT\x00e\x00x\x00t", 0, "tex"[:0]},
		{"odd", "te\u017ft", segment.Always, ""},
		{"large", strings.Repeat("large ", maxFile/6+1), segment.Always, ""},
	} {
		w.write("f", c.text)
		var f segment.File
		found := in.read("f", &f)
		if c.what == "large" {
			f.Flags |= segment.Racy
		}
		if f.Flags != c.flags|segment.Racy || f.Size != int64(len(c.text)) { // it was just written
			t.Errorf("%s: flags %d, want %d; size %d", c.what, f.Flags, c.flags|segment.Racy, f.Size)
		}
		if h := c.have; h != "" && !slices.Contains(found, trigram.T(h[0])<<16|trigram.T(h[1])<<8|trigram.T(h[2])) {
			t.Errorf("%s: no %q", c.what, c.have)
		}
		if f.Flags&(segment.Always|segment.Binary) != 0 && len(found) > 0 {
			t.Errorf("%s: trigrams", c.what)
		}
	}
	var f segment.File
	if in.read("none", &f); f.Flags != segment.Always|segment.Racy {
		t.Errorf("a file that is not there: %d", f.Flags)
	}
	w.do(os.Symlink("f", w.path("link")))
	if in.read("link", &f); f.Flags != segment.Always|segment.Racy {
		t.Errorf("a link: %d", f.Flags)
	}
	w.write("g", "text")
	w.do(os.Link(w.path("g"), w.path("h")))
	if in.read("g", &f); f.Flags&segment.Linked == 0 {
		t.Errorf("a file with two names: %d", f.Flags)
	}
}

func FuzzDecoded(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00\x3d\xd8\x00\xde\x00\xd8"))
	f.Add([]byte("\xfe\xff\xd8\x3d\xde\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		text, _ := decoded(content)
		var units []uint16
		for rest := content; len(rest) >= 2; rest = rest[2:] {
			units = append(units, uint16(rest[0])|uint16(rest[1])<<8)
		}
		if len(units) > 0 && units[0] == 0xfeff && string(text) != string(utf16.Decode(units[1:])) {
			t.Errorf("%q: %q", content, text)
		}
	})
}
