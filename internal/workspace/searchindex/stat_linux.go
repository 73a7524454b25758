package searchindex

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// fileStat is what is known of a file without reading it; ok says that it is a
// regular file.
type fileStat struct {
	segment.Stamp
	links uint32
	ok    bool
}

// statDir tells of files of one directory. far asks the server that keeps them,
// if one does, instead of what was heard from it lately.
func statDir(r *root.Root, dir string, bases []string, far bool) []fileStat {
	out := make([]fileStat, len(bases))
	if len(bases) == 0 {
		return out
	}
	fd, err := openDir(r, dir)
	if err != nil {
		return out
	}
	defer unix.Close(fd)
	flags := unix.AT_SYMLINK_NOFOLLOW
	if far {
		flags |= unix.AT_STATX_FORCE_SYNC
	}
	const wanted = unix.STATX_TYPE | unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_CTIME | unix.STATX_INO | unix.STATX_NLINK
	for i, base := range bases {
		var st unix.Statx_t
		if unix.Statx(fd, base, flags, wanted, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mask&wanted != wanted {
			continue
		}
		out[i] = fileStat{segment.Stamp{Size: int64(st.Size), Modified: nano(st.Mtime), Changed: nano(st.Ctime), Ino: st.Ino}, st.Nlink, true}
	}
	return out
}

func nano(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
