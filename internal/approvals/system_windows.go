package approvals

import (
	"fmt"
	"os"
)

// renameTries is how often a file is put into its place before that counts as
// failed: for a moment, somebody who reads the old one can be in the way.
const renameTries = 50

// checkDir has no modes to go by: the user's own directories are private here.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the directory of approvals: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", dir)
	}
	return nil
}
