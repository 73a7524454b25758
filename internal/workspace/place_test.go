package workspace

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

func TestDisplayEscapesInvisibleCharacters(t *testing.T) {
	for name, want := range map[string]string{
		"a\nb": `a\x0ab`, "a\u202eb": `a\xe2\x80\xaeb`, "a\u2800b": `a\xe2\xa0\x80b`, "a\u3164b": `a\xe3\x85\xa4b`, "a\U000e0141b": `a\xf3\xa0\x85\x81b`,
		"é 漢 ❤\ufe0f": "é 漢 ❤\ufe0f",
	} {
		if got := display(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
		if back, _ := unescaped(want); back != name {
			t.Errorf("%q does not lead back to %q, but to %q", want, name, back)
		}
	}
}

// TestPathChangesBeforeRead checks the error if a directory is replaced by a link or a
// file after its path was resolved.
func TestPathChangesBeforeRead(t *testing.T) {
	a := &subtree{location: location{shown: "d"}}
	for _, cause := range []error{root.ErrLink, syscall.ENOTDIR} {
		if err := a.listError(&fs.PathError{Op: "open", Path: "d", Err: cause}); kindOf(err) != tool.Conflict {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
