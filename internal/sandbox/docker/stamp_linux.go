package docker

import (
	"io/fs"
	"syscall"
)

// A stamp identifies a file and its last change. A rename changes ctime, and no program can set
// ctime.
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

// ownerOf returns the owner of a file.
func ownerOf(st fs.FileInfo) (uid, gid int) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return int(s.Uid), int(s.Gid)
}
