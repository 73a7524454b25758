//go:build !windows

package workspace_test

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
