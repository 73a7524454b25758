package searchindex

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// statDir returns the state of files in one directory.
func statDir(r *root.Root, dir string, bases []string) []fileStat {
	out := make([]fileStat, len(bases))
	if len(bases) == 0 {
		return out
	}
	fd, err := r.OpenFD(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return out
	}
	defer unix.Close(fd)
	const wanted = unix.STATX_TYPE | unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_CTIME |
		unix.STATX_INO | unix.STATX_NLINK
	for i, base := range bases {
		var st unix.Statx_t
		if unix.Statx(fd, base, unix.AT_SYMLINK_NOFOLLOW, wanted, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG ||
			st.Mask&wanted != wanted {
			continue
		}
		stamp := segment.Stamp{
			Size: int64(st.Size), Modified: nano(st.Mtime), Changed: nano(st.Ctime), Ino: st.Ino,
		}
		out[i] = fileStat{stamp, st.Nlink, true}
	}
	return out
}

func nano(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// atLowPriority calls do with low priority, on a thread that ends with it.
func atLowPriority(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 10) // if refused, do runs with normal priority
		do()
	}()
	<-done
}
