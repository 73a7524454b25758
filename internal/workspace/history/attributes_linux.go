package history

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	mostAttributes = 64 << 10 // the names of all
	mostAttribute  = 64 << 10 // the value of one
)

// attributes gives a new file the labels and access lists of the one that it
// replaces. What the system does not allow is left out, and so are rights
// that a program would have: the system takes those from a file that is
// written to.
func attributes(from, to *os.File) {
	names := make([]byte, mostAttributes)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if err != nil || n == 0 {
		return
	}
	value := make([]byte, mostAttribute)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name == "security.capability" || name == "security.ima" || name == "security.evm" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}
