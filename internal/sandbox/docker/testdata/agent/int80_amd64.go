package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// int80 makes a chmod the way 32-bit programs do, from a page below 4 GB.
func int80(path string) error {
	const size = 4096
	addr, _, e := unix.Syscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_32BIT, ^uintptr(0), 0)
	if e != 0 {
		return e
	}
	page := *(*[]byte)(unsafe.Pointer(&struct {
		p    uintptr
		l, c int
	}{addr, size, size}))
	name := uint32(addr) + 256
	copy(page[256:], path+"\x00")
	code := []byte{0x53, // push rbx
		0xb8, 15, 0, 0, 0, // mov eax, chmod
		0xbb, byte(name), byte(name >> 8), byte(name >> 16), byte(name >> 24), // mov ebx, name
		0xb9, 0xed, 0x09, 0, 0, // mov ecx, 04755
		0xcd, 0x80, // int 0x80
		0x5b, 0xc3} // pop rbx; ret
	copy(page, code)
	f := &addr
	call := *(*func() int64)(unsafe.Pointer(&f))
	_ = call()
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st.Mode()&os.ModeSetuid == 0 {
		return syscall.EPERM
	}
	return nil
}
