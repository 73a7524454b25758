package doctor

import "golang.org/x/sys/unix"

// networkOf names a file system that is not on this machine.
func networkOf(s *unix.Statfs_t) string {
	if s.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(s.Fstypename[:])
}
