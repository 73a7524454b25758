package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func open(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func add(t testing.TB, l *Log, calls ...string) {
	t.Helper()
	for _, call := range calls {
		if err := l.Append(t.Context(), Record{Phase: Done, Call: call, Tool: "datetime", Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t testing.TB, dir string) Report {
	t.Helper()
	r, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustBeGreen(t testing.TB, dir string, records int) Report {
	t.Helper()
	r := verify(t, dir)
	if !r.OK() || r.Records != records {
		t.Fatalf("%d records, want %d; problems: %v", r.Records, records, r.Problems)
	}
	return r
}

func calls(t testing.TB, dir string) []string {
	t.Helper()
	rows, err := Tail(t.Context(), dir, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, r := range rows {
		names = append(names, r.Call)
	}
	return names
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "audit", "2*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAppendedRecordsAreRead(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Version: "v1"})
	add(t, l, "a", "b", "c")
	if got := calls(t, dir); strings.Join(got, " ") != "a b c" {
		t.Errorf("before Close the rows are %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustBeGreen(t, dir, 3)
	if r.Chains != 1 || r.Segments != 1 || len(r.Notes) > 0 {
		t.Errorf("report %+v", r)
	}
	if err := l.Append(t.Context(), Record{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	add(t, l, "a")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		"audit": 0o700, "audit.key": 0o600, "audit/heads.jsonl": 0o600, "audit/lock": 0o600,
		"audit/" + filepath.Base(files(t, dir)[0]): 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
}

func TestNothingRecordedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		l, err := Open(dir, Options{})
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if found := files(t, dir); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	mustBeGreen(t, dir, 0)
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{SegmentBytes: 1500})
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint("call", i))
	}
	add(t, l, want...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(files(t, dir)); n < 5 {
		t.Errorf("only %d segments", n)
	}
	mustBeGreen(t, dir, len(want))
	if got := calls(t, dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("rows %q", got)
	}
}

func TestManyCallersShareWrites(t *testing.T) {
	for _, mode := range []SyncMode{SyncBatched, SyncFull} {
		t.Run("sync="+string(mode), func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir, Options{Sync: mode, SegmentBytes: 20_000})
			var wg sync.WaitGroup
			for g := range 32 {
				wg.Go(func() {
					for i := range 20 {
						if err := l.Append(t.Context(), Record{Call: fmt.Sprint(g, "-", i)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			mustBeGreen(t, dir, 640)
			seen := map[string]bool{}
			for _, c := range calls(t, dir) {
				seen[c] = true
			}
			if len(seen) != 640 {
				t.Errorf("%d different calls, want 640", len(seen))
			}
		})
	}
}

func TestTwoLogsShareADirectory(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, Options{}), open(t, dir, Options{})
	for i := range 10 {
		add(t, one, fmt.Sprint("one", i))
		add(t, two, fmt.Sprint("two", i))
	}
	if err := errors.Join(one.Close(), two.Close()); err != nil {
		t.Fatal(err)
	}
	if r := mustBeGreen(t, dir, 20); r.Chains != 2 {
		t.Errorf("%d chains", r.Chains)
	}
	for i, call := range calls(t, dir) {
		if want := fmt.Sprint([]string{"one", "two"}[i%2], i/2); call != want {
			t.Errorf("row %d is %q, want %q", i, call, want)
		}
	}
}

// gate is a file whose writes wait to be let through.
type gate struct {
	file
	entered, through chan struct{}
}

func (g gate) Write(p []byte) (int, error) {
	g.entered <- struct{}{}
	<-g.through
	return g.file.Write(p)
}

func TestQueuedRecordsAreWrittenTogetherAndCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		g := gate{entered: make(chan struct{}), through: make(chan struct{})}
		l.w.create = func(path string) (file, error) {
			f, err := createSegment(path)
			g.file = f
			return g, err
		}
		var wg sync.WaitGroup
		appendOne := func(ctx context.Context, call string, want error) {
			wg.Go(func() {
				if err := l.Append(ctx, Record{Call: call}); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", call, err, want)
				}
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		appendOne(ctx, "first", nil)
		<-g.entered
		appendOne(t.Context(), "second", nil)
		appendOne(ctx, "withdrawn", context.Canceled)
		appendOne(t.Context(), "third", nil)
		cancel() // the first is being written, so it is too late for it
		synctest.Wait()
		g.through <- struct{}{}
		<-g.entered
		g.through <- struct{}{}
		wg.Wait()
		if err := l.Append(ctx, Record{Call: "late"}); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(calls(t, dir), " "); got != "first second third" {
			t.Errorf("rows %q", got)
		}
		mustBeGreen(t, dir, 3)
	})
}

func TestCloseWaitsForTheQueue(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	var wg sync.WaitGroup
	var written sync.Map
	for g := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				call := fmt.Sprint(g, "-", i)
				if err := l.Append(t.Context(), Record{Call: call}); errors.Is(err, ErrClosed) {
					return
				} else if err != nil {
					t.Error(err)
				}
				written.Store(call, true)
			}
		})
	}
	for len(calls(t, dir)) < 50 {
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	got := calls(t, dir)
	for _, c := range got {
		written.Delete(c)
	}
	written.Range(func(call, _ any) bool {
		t.Errorf("%v was acknowledged and is not there", call)
		return true
	})
	mustBeGreen(t, dir, len(got))
}

func TestHeadsAreNotedSoonAndEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		reached := func() uint64 {
			b, err := readHeads(l.dir, newSealer(l.key), func(int, Kind, string) { t.Error("a problem in heads") })
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range b.reached {
				return h.Seq
			}
			return 0
		}
		add(t, l, "a")
		time.Sleep(time.Second)
		if got := reached(); got != 1 {
			t.Errorf("a second after the first record heads has %d", got)
		}
		add(t, l, "b", "c")
		time.Sleep(50 * time.Second)
		if got := reached(); got != 1 {
			t.Errorf("after less than a minute heads has %d", got)
		}
		time.Sleep(20 * time.Second)
		if got := reached(); got != 3 {
			t.Errorf("after a minute heads has %d", got)
		}
	})
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{Sync: "sometimes"}, {MaxAge: -1}, {SegmentBytes: -1}} {
		if l, err := Open(t.TempDir(), o); err == nil {
			_ = l.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestKeys(t *testing.T) {
	damage := map[string]func(path string) error{
		"short":    func(path string) error { return os.WriteFile(path, []byte("abcd\n"), 0o600) },
		"no hex":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("zz", 32)), 0o600) },
		"too open": func(path string) error { return os.Chmod(path, 0o644) },
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			add(t, open(t, dir, Options{}), "a")
			if err := harm(filepath.Join(dir, keyName)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(dir, keyName))
			if l, err := Open(dir, Options{}); err == nil {
				_ = l.Close()
				t.Error("opened")
			} else if !strings.Contains(err.Error(), keyName) {
				t.Errorf("error %q does not name the key", err)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, keyName)); string(after) != string(before) {
				t.Error("the key was replaced")
			}
		})
	}
	t.Run("made once", func(t *testing.T) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() { add(t, open(t, dir, Options{}), fmt.Sprint(i)) })
		}
		wg.Wait()
		mustBeGreen(t, dir, 16)
	})
	t.Run("lost", func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		add(t, l, "a")
		if err := errors.Join(l.Close(), os.Remove(filepath.Join(dir, keyName))); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir); err == nil {
			t.Error("verified without a key")
		}
		add(t, open(t, dir, Options{}), "b")
		if r := verify(t, dir); len(r.Problems) == 0 || r.Problems[len(r.Problems)-1].Kind != OtherKey {
			t.Errorf("problems %v", r.Problems)
		}
	})
}
