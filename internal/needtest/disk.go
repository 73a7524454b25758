package needtest

import (
	"os/exec"
	"testing"
)

// Disk returns a directory on a disk of the given size, such as 4m, which is mounted for one test. A test that may not
// mount is skipped.
func Disk(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command(Program(t, "mount"), "-t", "tmpfs", "-o", "size="+size+",mode=0700", "tmpfs", dir).CombinedOutput()
	if err != nil {
		Lacking(t, "mount", "cannot mount a small disk here: "+string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}
