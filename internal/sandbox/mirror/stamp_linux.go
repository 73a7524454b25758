package mirror

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func stampOf(info fs.FileInfo) stamp {
	s := stamp{mode: info.Mode(), size: info.Size(), time: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.change, s.inode = st.Ctim.Nano(), st.Ino
	}
	return s
}

// withStamps adds the stamps of the files and directories in dir.
func withStamps(dir *os.File, list []fs.DirEntry) {
	raw, err := dir.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // without stamps names are looked at one by one
		for i, one := range list {
			var st unix.Stat_t
			if unix.Fstatat(int(fd), one.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			mode := fs.FileMode(st.Mode & 0o777)
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFREG:
			case unix.S_IFDIR:
				mode |= fs.ModeDir
			default:
				continue
			}
			if st.Mode&(unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX) != 0 {
				continue // it is looked at by itself
			}
			list[i] = stamped{one, stamp{mode: mode, size: st.Size, time: st.Mtim.Nano(), change: st.Ctim.Nano(), inode: st.Ino}}
		}
	})
}

func ownerOf(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}
