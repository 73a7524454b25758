package root

import (
	"io/fs"
	"syscall"
	"time"
)

func infoOf(info fs.FileInfo) Info {
	out := Info{Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime(), Links: 1, UID: -1, GID: -1}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		out.Links, out.Dev, out.Ino = uint64(st.Nlink), uint64(st.Dev), st.Ino
		out.Changed, out.UID, out.GID = time.Unix(st.Ctimespec.Unix()), int(st.Uid), int(st.Gid)
	}
	return out
}
