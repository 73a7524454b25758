package commands

import (
	"fmt"
	"io/fs"
)

// fileIdentity tells a file from another in its place, and from itself when it
// was written to, as far as its size and time do.
func fileIdentity(_ string, info fs.FileInfo) string {
	return fmt.Sprintf("%d:%d", info.Size(), info.ModTime().UnixNano())
}
