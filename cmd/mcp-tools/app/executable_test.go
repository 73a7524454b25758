package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSameFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no links here:", err)
	}
	if !sameFile(link, real) || sameFile(real, dir) || sameFile(real, filepath.Join(dir, "gone")) {
		t.Error("links are not followed")
	}
}
