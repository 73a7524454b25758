package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestNoLargeFiles keeps built and downloaded files out of the repository.
func TestNoLargeFiles(t *testing.T) {
	const largest = 256 << 10
	git := exec.Command(needtest.Program(t, "git"), "ls-files", "-z")
	git.Dir = filepath.Join("..", "..")
	names, err := git.Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(git.Dir, name))
		if name == "tools/media/mermaid/mermaid.min.js.gz" { // it draws diagrams, and cannot be built here
			continue
		}
		if err == nil && info.Size() > largest { // a deleted file has no size
			t.Errorf("%s has %d bytes: built and downloaded files do not belong in the repository", name, info.Size())
		}
	}
}
