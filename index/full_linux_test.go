package index

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestFullDisk writes until the disk is full. Documents are still found, and when there is room
// again the index goes on, without a Reset. A batch that was refused can be found, and is written then. It needs the right to mount a small disk.
func TestFullDisk(t *testing.T) {
	dir := needtest.Disk(t, "4m")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	put := func(n int) error {
		var b Batch
		for i := range 20 {
			b.Put = append(b.Put, Document{
				ID: fmt.Sprint(n, "-", i), Scope: "s",
				Body: fmt.Sprintf("heron %d %s", n, strings.Repeat(fmt.Sprint("w", n, "x", i, " "), 50)),
			})
		}
		b.Cursor = fmt.Sprint(n)
		return x.Apply(t.Context(), b)
	}
	documents := func(want int) {
		t.Helper()
		if n, err := x.Count("s"); err != nil || n != want {
			t.Errorf("%d documents of %d, %v", n, want, err)
		}
		r, err := x.Search(t.Context(), Query{Text: "heron", Scopes: []string{"s"}, Limit: 5})
		if err != nil || len(r.Hits) != 5 {
			t.Errorf("%d hits, %v", len(r.Hits), err)
		}
	}
	written := 0
	for refused := 0; refused < 30; {
		if err := put(written); err == nil {
			written++
			continue
		} else if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			t.Fatalf("on a full disk: %v", err)
		}
		refused++
	}
	documents(20 * (written + 1))
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := put(written); err != nil {
		t.Fatal(err)
	}
	documents(20 * (written + 1))
	if cursor, err := x.Cursor(); err != nil || cursor != fmt.Sprint(written) {
		t.Errorf("the cursor is %q, %v", cursor, err)
	}
}
