package searchindex

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

func (w *world) segments() []string {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.store, "*"+extension))
	w.do(err)
	return names
}

// known returns the number of unchanged files in the segment.
func (w *world) known() int {
	w.x.mu.RLock()
	defer w.x.mu.RUnlock()
	return w.x.view.liveCount
}

func TestFromDisk(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 40)
	w.age()
	w.start()
	w.do(w.x.Close())
	w.write("d0/e0/f0.txt", "changed meanwhile: needle")
	w.write("new.txt", "needle")
	w.do(os.Remove(w.path("d1/e1/f1.txt")))
	if len(w.segments()) != 1 {
		t.Fatalf("segments: %q", w.segments())
	}
	info, err := os.Stat(w.segments()[0])
	w.do(err)
	w.start()
	after, err := os.Stat(w.segments()[0])
	w.do(err)
	if !os.SameFile(info, after) {
		t.Error("it was built again for a few changes")
	}
	w.check("from disk")
	if w.known() == 0 { // age changed the inodes just before they were read
		t.Log("all stamps were too young")
	}
	w.fewer("changed meanwhile", 41)
}

// TestSettledStamps has stamps that are older than racyAge, and therefore reliable.
func TestSettledStamps(t *testing.T) {
	dir := filepath.Join(needtest.GoRoot(t), "src", "regexp")
	w := newWorld(t, dir)
	w.start()
	w.do(w.x.Close())
	w.start()
	files, ok := w.x.Files(t.Context(), ".")
	if !ok || len(files) < 10 || w.known() < len(files)*9/10 {
		t.Errorf("%d of %d files are known from disk", w.known(), len(files))
	}
	w.fewer("func TestOnePassCompile", 3)
	w.fewer("no file holds this text", 3)
}

func TestDamagedStore(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 30)
	w.start()
	for what, data := range map[string]string{"empty": "", "short": "mcpwarm1", "noise": strings.Repeat("noise", 1000)} {
		w.do(w.x.Close())
		w.do(os.WriteFile(w.segments()[0], []byte(data), 0o600))
		w.start()
		if !w.check(what) {
			t.Errorf("%s: no answer", what)
		}
		w.fewer("needle", 1)
	}
}

// TestTruncatedStore truncates the mapped file.
func TestTruncatedStore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a segment is read as a whole")
	}
	w := newWorld(t, t.TempDir())
	plain(w, 300)
	w.start()
	w.do(os.Truncate(w.segments()[0], 10))
	re, err := syntax.Parse("needle", syntax.Perl)
	w.do(err)
	if names, ok := w.x.Candidates(t.Context(), ".", re, nil); ok && len(names) == 0 {
		t.Error("an answer from a file that was cut short")
	}
}

func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 100)
	other := *w
	other.start(hasty)
	w.start(hasty)
	answers := 0
	for i := range 30 {
		w.write("d0/e0/f0.txt", strings.Repeat("needle ", i))
		w.write("d7/"+strings.Repeat("n", i+1), "needle")
		if w.check("one") && other.check("the other") {
			answers++
		}
	}
	if answers < 10 {
		t.Errorf("%d rounds of 30 were answered", answers)
	}
	if left, err := filepath.Glob(filepath.Join(w.store, "*")); err != nil || len(left) > 3 {
		t.Errorf("in the store: %q", left)
	}
}

func TestCleanStore(t *testing.T) {
	store := t.TempDir()
	b := segment.NewBuilder(store, 1)
	if err := b.Add(0, []trigram.T{1}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	unfinished, _ := filepath.Glob(filepath.Join(store, segment.TempPattern))
	if len(unfinished) != 1 {
		t.Fatalf("unfinished: %q", unfinished)
	}
	busy := filepath.Base(unfinished[0])
	for name, age := range map[string]time.Duration{
		"a.index": oldIndex + time.Hour, "b.index": time.Hour, busy: time.Hour, "c.tmp": oldTemp + time.Hour,
		"d.tmp": time.Hour, "e.txt": oldIndex * 2, "now.tmp": 0,
	} {
		path := filepath.Join(store, name)
		when := time.Now().Add(-age)
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = errors.Join(file.Close(), os.Chtimes(path, when, when))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cleanStore(store)
	left, _ := filepath.Glob(filepath.Join(store, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	want := []string{"b.index", "e.txt", "now.tmp", busy}
	if runtime.GOOS == "windows" { // where there is no lock that shows that d.tmp is abandoned
		want = append(want, "d.tmp")
	}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

func TestTooBig(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 100)
	var log strings.Builder
	x := New(Options{Root: w.root, Store: w.store, Memory: 5000, Log: slog.New(slog.NewTextHandler(&log, nil))})
	x.Start()
	if x.Settle(t.Context()) {
		t.Error("it fits")
	}
	w.do(x.Close())
	if !strings.Contains(log.String(), "too big") {
		t.Errorf("the log: %s", log.String())
	}
}

func TestIdle(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 10)
	w.start()
	w.x.used.Store(0)
	b := background{Index: w.x}
	b.step(t.Context())
	w.x.mu.RLock()
	if w.x.view != nil || w.x.seg != nil {
		t.Error("nothing was given back")
	}
	w.x.mu.RUnlock()
	if _, ok := w.x.Files(t.Context(), "."); ok {
		t.Error("an answer, and everything was given back")
	}
	if !w.x.Settle(t.Context()) || !w.check("awake") {
		t.Error("not back")
	}
}

func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 100)
	w.start(hasty)
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	re, err := syntax.Parse("needle", syntax.Perl)
	w.do(err)
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if names, ok := w.x.Candidates(t.Context(), ".", re, nil); ok && !slices.Contains(names, "d1/needle.txt") {
					t.Errorf("the needle is missing: %q", names)
				}
				w.x.Files(t.Context(), "d0")
				w.x.Unread(".")
			}
		})
	}
	for i := range 300 {
		w.write("d0/e0/f0.txt", strings.Repeat("x", i))
		w.do(os.Rename(w.path("d0/e0"), w.path("d0/moved")))
		w.do(os.Rename(w.path("d0/moved"), w.path("d0/e0")))
	}
	cancel()
	all.Wait()
	w.check("at last")
}
