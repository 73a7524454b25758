package docker

import (
	"io/fs"
	"syscall"
)

// A stamp tells a file from any other, and from itself after it was renamed:
// that changes ctime, which nobody can set.
type stamp struct {
	dev, ino   uint64
	sec, nanos int64
}

func stampOf(st fs.FileInfo) stamp {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(s.Dev), s.Ino, int64(s.Ctim.Sec), int64(s.Ctim.Nsec)}
}

// ownerOf says whose a file is.
func ownerOf(st fs.FileInfo) (uid, gid int) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return int(s.Uid), int(s.Gid)
}
