//go:build !windows

package approvals

import (
	"fmt"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// renameTries is how often a file is put into its place before that counts as
// failed. Here nothing can be in the way.
const renameTries = 1

// checkDir refuses a directory in which others can put an answer.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the directory of approvals: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may use %s; run chmod 700 on it after a look at what is in it", dir)
	}
	return private.CheckDir(dir) // which has to be ours, too
}
