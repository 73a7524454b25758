package docker

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMissingLibraries has an agent that the loader of the image cannot start.
func TestMissingLibraries(t *testing.T) {
	for _, c := range []struct {
		words   string
		dynamic bool
		known   bool
	}{
		{"/agent: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /agent)\n", true, true},
		{"/agent: error while loading shared libraries: libresolv.so.2: cannot open shared object file\n", true, true},
		{"Error relocating /agent: __fprintf_chk: symbol not found\n", true, true},
		{"exec /.mcp/agent: no such file or directory\n", true, true},
		{"the kernel is too old\n", true, false},
		{"version `GLIBC_2.38' not found\n", false, false},
	} {
		k := &link{words: &sandbox.Tail{}, dynamic: c.dynamic}
		if _, err := k.words.Write([]byte(c.words)); err != nil {
			t.Fatal(err)
		}
		err := k.end(io.EOF)
		var known *tool.Error
		if got := errors.As(err, &known); got != c.known || got && !strings.Contains(known.Next, "CGO_ENABLED=0") {
			t.Errorf("%q: %v", c.words, err)
		}
	}
}
