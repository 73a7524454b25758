package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestNoLargeFiles keeps built and downloaded files out of the repository.
func TestNoLargeFiles(t *testing.T) {
	const largest = 256 << 10
	// They draw diagrams and read PDFs, and cannot be built here.
	bundled := []string{"tools/media/mermaid/mermaid.min.js.gz", "internal/document/pdf/wasm/pdfium.wasm.gz"}
	git := exec.Command(needtest.Program(t, "git"), "ls-files", "-z")
	git.Dir = filepath.Join("..", "..")
	names, err := git.Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(git.Dir, name))
		if err == nil && info.Size() > largest && !slices.Contains(bundled, name) { // a deleted file has no size
			t.Errorf("%s has %d bytes: built and downloaded files do not belong in the repository", name, info.Size())
		}
	}
}
