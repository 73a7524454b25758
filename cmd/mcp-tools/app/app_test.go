package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataDirectoryForEverybodyIsRefused(t *testing.T) {
	if !UnixModes() {
		t.Skip("this system has no such modes")
	}
	dir := t.TempDir()
	for mode, refused := range map[os.FileMode]bool{
		0o700: false, 0o755: false, 0o777: true, 0o777 | os.ModeSticky: true,
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		err := checkPrivate(dir)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if err := checkPrivate(filepath.Join(dir, "to be made")); err != nil {
		t.Errorf("a missing one: %v", err)
	}
}
