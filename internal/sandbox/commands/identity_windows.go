package commands

import (
	"fmt"
	"io/fs"
)

// fileIdentity returns a string that changes if the file is written to or replaced,
// as far as size and modification time show it.
func fileIdentity(_ string, info fs.FileInfo) string {
	return fmt.Sprintf("%d:%d", info.Size(), info.ModTime().UnixNano())
}
