package blob_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestFullDisk needs the right to mount a small disk. The contents and the temporary files are on it.
func TestFullDisk(t *testing.T) {
	dir := needtest.Disk(t, "8m")
	s, place, scratch := storetest.Open(t, t.TempDir()), blob.NewFiles(filepath.Join(dir, "blobs")), filepath.Join(dir, "scratch")
	for name, sealer := range map[string]blob.Sealer{"plain": nil, "sealed": newSealer(t)} {
		blobs := blob.New(blob.Options{Store: s, Place: place, Scratch: scratch, Sealer: sealer})
		shelf := blobs.NewShelf(name, blob.Limits{})
		put(t, shelf, "ann", "large", noise(2<<20))
		put(t, shelf, "ann", "small", "acknowledged")
		for _, size := range []int{16 << 20, 1 << 20} { // in temporary files, and in memory
			ballast := filepath.Join(dir, "ballast")
			if size <= 1<<20 { // no room at all
				if err := os.WriteFile(ballast, make([]byte, 16<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
			}
			err := shelf.Put(t.Context(), "ann", "too much", "", strings.NewReader(noise(size)))
			var known *tool.Error
			if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &known) || !strings.Contains(known.Error(), "is full") {
				t.Errorf("%s, %d bytes: %v", name, size, err)
			}
			if read(t, shelf, "ann", "large") != noise(2<<20) || read(t, shelf, "ann", "small") != "acknowledged" ||
				!missing(t, shelf, "ann", "too much") {
				t.Errorf("%s, %d bytes: other contents have changed", name, size)
			}
			if err := os.Remove(ballast); err != nil && size <= 1<<20 {
				t.Fatal(err)
			}
			put(t, shelf, "ann", "again", "x")
		}
		left, err := filepath.Glob(filepath.Join(scratch, "*"))
		parts, err2 := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", ".*"))
		if len(left)+len(parts) > 0 || errors.Join(err, err2) != nil {
			t.Errorf("%s: %v and %v are left, %v, %v", name, left, parts, err, err2)
		}
	}
}
