package history

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxAttributeNames = 64 << 10 // bytes of all names
	maxAttribute      = 64 << 10 // bytes of one value
)

// copyAttributes copies the extended attributes of a file, such as labels and access lists, to
// the new file that replaces it. It leaves out attributes that the system does not allow, and
// capabilities: the system removes them from a written file.
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
