package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestNothingBuiltIsKept has the files that git keeps, which everybody who has
// the house carries about for ever.
func TestNothingBuiltIsKept(t *testing.T) {
	const largest = 256 << 10
	git := exec.Command(needtest.Program(t, "git"), "ls-files", "-z")
	git.Dir = filepath.Join("..", "..")
	names, err := git.Output()
	if err != nil {
		t.Skipf("this is no checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(git.Dir, name))
		if err == nil && info.Size() > largest { // one that is missing is about to be taken out
			t.Errorf("%s has %d bytes: what is built or downloaded does not belong here", name, info.Size())
		}
	}
}
