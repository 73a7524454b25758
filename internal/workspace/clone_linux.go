package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// minCloned is the smallest file size for sharing blocks.
	minCloned = 16 << 10
	// cloneAlign is a multiple of the block size of common file systems.
	cloneAlign = 4 << 10
)

// clone adds a file to the contents by sharing its blocks. This costs neither time nor space,
// but only some file systems can do it, such as Btrfs and XFS. It returns the size of the file.
func (t *tracker) clone(file *os.File, size int64) (n int64, ok bool) {
	if t.noClones || size < minCloned {
		return 0, false
	}
	at := (t.size + cloneAlign - 1) / cloneAlign * cloneAlign
	err := unix.IoctlFileCloneRange(int(t.contents.Fd()), &unix.FileCloneRange{
		Src_fd: int64(file.Fd()), Dest_offset: uint64(at),
	})
	var info os.FileInfo
	if err == nil {
		info, err = t.contents.Stat()
	}
	if err != nil {
		t.noClones = true
		return 0, false
	}
	n = max(0, info.Size()-at) // the file may have grown since
	t.size = at + n
	return n, true
}
