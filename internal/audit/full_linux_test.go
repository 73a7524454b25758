package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestFullDisk needs the right to mount a small disk; without it
// rows that fail have to do.
func TestFullDisk(t *testing.T) {
	dir := needtest.Disk(t, "4m")
	s := storetest.Open(t, dir)
	w := &world{rows: NewDB(s).rows, dir: dir, dsn: dir}
	l := w.open(t, Options{})
	add(t, l, "first")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2_800_000), 0o600); err != nil {
		t.Fatal(err)
	}
	written := 1
	for refusals := 0; refusals < 2; {
		err := l.Append(t.Context(), Record{Call: fmt.Sprint(written), Error: strings.Repeat("x", 3000)})
		if err == nil {
			written++
			continue
		}
		if refusals++; !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v", err)
		}
	}
	if err := l.Ready(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ready on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	stored(t, l)
	w.green(t, written)
	add(t, l, "again")
	end(t, l)
	w.green(t, written+1)
}
