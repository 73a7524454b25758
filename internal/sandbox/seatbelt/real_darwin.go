package seatbelt

import (
	"bytes"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// real returns the path of a file in the kernel: without links, and in the spelling of the file system ("Users" for
// "users"). A path that does not exist is returned with its directories resolved.
func real(path string) string {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		if dir := filepath.Dir(path); dir != path {
			return filepath.Join(real(dir), filepath.Base(path))
		}
		return path
	}
	defer unix.Close(fd)
	name := make([]byte, unix.PathMax)
	var pinner runtime.Pinner
	pinner.Pin(&name[0])
	defer pinner.Unpin()
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETPATH, int(uintptr(unsafe.Pointer(&name[0])))); err != nil {
		return path
	}
	text, _, _ := bytes.Cut(name, []byte{0})
	return string(text)
}
