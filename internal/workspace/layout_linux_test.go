package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestLayoutVisitsNoUnchangedDirectories: each command needs the layout, so it must not look at
// each directory of a large workspace. What it allocates shows how many it has looked at.
func TestLayoutVisitsNoUnchangedDirectories(t *testing.T) {
	bytes := func(dirs int) uint64 {
		w, ctx, ws := testWorkspace(t)
		makeDirs(t, ws, dirs)
		plant(t, ws, map[string]string{"sub/.env": ""})
		layout := func() {
			if g, err := w.Layout(ctx); err != nil || len(g.Hidden) != 1 {
				t.Fatal(g.Hidden, err)
			}
		}
		layout()
		time.Sleep(2 * settleTime) // a directory that was just changed is read again
		layout()
		layout()
		const rounds = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			layout()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	if few, many := bytes(1), bytes(20*minWatched); many > few+10_000 {
		t.Errorf("a layout allocates %d bytes with few directories, and %d with many", few, many)
	}
}

// TestLayoutAfterLostEvents: if the kernel drops events, all directories are looked at.
func TestLayoutAfterLostEvents(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	makeDirs(t, ws, 2*minWatched)
	layout := func(want int) {
		t.Helper()
		if g, err := w.Layout(ctx); err != nil || len(g.Hidden) != want {
			t.Fatalf("hidden are %d files, not %d: %v", len(g.Hidden), want, err)
		}
	}
	layout(0)
	time.Sleep(2 * settleTime)
	layout(0)
	if err := os.Rename(filepath.Join(ws, "1"), filepath.Join(ws, "2", "moved")); err != nil {
		t.Fatal(err)
	}
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var queued int
	if _, err := fmt.Sscan(string(limit), &queued); err != nil {
		t.Fatal(err)
	}
	for i := range queued/2 + 10 { // the same event twice in a row is queued once
		name := filepath.Join(ws, fmt.Sprint(100+i%200), "x")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, ws, map[string]string{"2/moved/.env": "", "300/.env": ""})
	layout(2)
	plant(t, ws, map[string]string{"2/moved/new/.env": "", "301/.env": ""})
	layout(4)
}
