package history

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxAttributeNames = 64 << 10 // the names of all
	maxAttribute      = 64 << 10 // the value of one
)

// copyAttributes gives a new file the labels and access lists of the one that it
// replaces. What the system does not allow is left out, and so are rights
// that a program would have: the system takes those from a file that is
// written to.
func copyAttributes(from, to *os.File) {
	names := make([]byte, maxAttributeNames)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if err != nil || n == 0 {
		return
	}
	value := make([]byte, maxAttribute)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name == "security.capability" || name == "security.ima" || name == "security.evm" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}
