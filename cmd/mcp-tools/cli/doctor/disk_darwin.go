package doctor

import "golang.org/x/sys/unix"

// networkOf returns the type of a network file system, "" for a local one.
func networkOf(s *unix.Statfs_t) string {
	if s.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(s.Fstypename[:])
}
