package root

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOldKernels compares opening files with and without openat2.
func TestOldKernels(t *testing.T) {
	dir, r := testRoot(t)
	for link, target := range map[string]string{"leaf": "a/b/c.txt", "a/dir": "b", "out": "/etc"} {
		if err := unix.Symlink(target, dir+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".", "a", "a/b/c.txt", "a/none", "a/b/c.txt/x", "leaf", "a/dir", "a/dir/c.txt", "out/passwd"} {
		for _, flag := range []int{
			unix.O_RDONLY, unix.O_PATH | unix.O_NOFOLLOW, unix.O_PATH | unix.O_DIRECTORY,
			unix.O_RDONLY | unix.O_DIRECTORY,
		} {
			fast, fastErr := openBeneath(r.FD(), name, flag, 0)
			slow, slowErr := openBySteps(r.FD(), name, flag, 0)
			if !errors.Is(fastErr, slowErr) && !errors.Is(slowErr, fastErr) {
				t.Errorf("%s with %#x: %v, by steps %v", name, flag, fastErr, slowErr)
			}
			for _, fd := range []int{fast, slow} {
				if fd >= 0 {
					_ = unix.Close(fd)
				}
			}
		}
	}
}
