//go:build !windows

package commands

import (
	"os"
	"syscall"
)

// giveTo gives a directory to the owner of another, as whom commands may run. Only
// root can, and only root's commands run as another user.
func giveTo(dir, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(dir, int(st.Uid), int(st.Gid))
	}
	return nil
}
