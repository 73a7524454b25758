package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAppendedRecordsAreRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{Version: "v1"})
		add(t, l, "a", "b", "c")
		if got := w.calls(t); strings.Join(got, " ") != "a b c" {
			t.Errorf("before Close the rows are %q", got)
		}
		if r := w.green(t, 3); len(r.Notes) != 1 || r.Notes[0].Kind != Unended {
			t.Errorf("while it runs the notes are %v", r.Notes)
		}
		end(t, l)
		if r := w.green(t, 3); r.Chains != 1 || len(r.Notes) > 0 || r.Bytes == 0 {
			t.Errorf("report %+v", r)
		}
		if err := l.Append(t.Context(), Record{}); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if c := w.chains(t)[0]; !c.Ended || !strings.Contains(c.Line, `"version":"v1"`) ||
			!strings.Contains(c.Line, chainName(c.ID)) {
			t.Errorf("the chain is %+v", c)
		}
	})
}

func TestLogWithoutRecordsLeavesNoTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for range 3 {
		l, err := Open(Options{DB: &DB{}, Dir: dir}) // without rows: it may not ask them for anything
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("there is a directory")
	}
	newWorld(t, "").green(t, 0)
}

func TestConcurrentAppendsShareTransactions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{})
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
		end(t, l)
		w.green(t, 640)
		got := w.calls(t)
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 640 {
			t.Errorf("%d different calls, want 640", len(got))
		}
	})
}

func TestTwoLogsInOneStore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		one, two := w.open(t, Options{}), w.open(t, Options{})
		for i := range 10 {
			add(t, one, fmt.Sprint("one", i))
			add(t, two, fmt.Sprint("two", i))
		}
		end(t, one)
		end(t, two)
		if r := w.green(t, 20); r.Chains != 2 {
			t.Errorf("%d chains", r.Chains)
		}
		for i, call := range w.calls(t) {
			if want := fmt.Sprint([]string{"one", "two"}[i%2], i/2); call != want {
				t.Errorf("row %d is %q, want %q", i, call, want)
			}
		}
	})
}

func TestAppendWithEndedContext(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	l.mu.Lock() // another goroutine is writing
	go func() { got <- l.Append(ctx, Record{Call: "withdrawn"}) }()
	cancel()
	l.mu.Unlock()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	add(t, l, "a")
	end(t, l)
	if got := strings.Join(w.calls(t), " "); got != "a" {
		t.Errorf("rows %q", got)
	}
}

func TestCloseUploadsRecords(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
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
	eventually(t, func() bool { return len(w.calls(t)) >= 50 })
	end(t, l)
	wg.Wait()
	got := w.calls(t)
	for _, c := range got {
		written.Delete(c)
	}
	written.Range(func(call, _ any) bool {
		t.Errorf("%v was acknowledged and is not there", call)
		return true
	})
	w.green(t, len(got))
	if Waiting(w.dir) {
		t.Error("the journal is still there")
	}
}

func TestHeadsAreWrittenPeriodically(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{HeadEvery: time.Millisecond})
	add(t, l, "a", "b", "c")
	eventually(t, func() bool {
		b, err := readHeads(t.Context(), w.rows, l.key.id(), newSealer(l.key), lastHead{},
			func(int64, Kind, string) { t.Error("a problem in heads") })
		if err != nil {
			t.Fatal(err)
		}
		return b.reached[chainName(l.current.chain.ID)].Seq == 3
	})
	count := len(w.heads(t))
	if end(t, l); len(w.heads(t)) != count+1 {
		t.Errorf("%d heads, and %d before the end: only what is new is noted", len(w.heads(t)), count)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{HeadEvery: -1}, {MaxAge: -1}} {
		if l, err := Open(o); err == nil {
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
			w := newWorld(t, "")
			w.chain(t, "a")
			path := filepath.Join(w.dir, keyName)
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			before := mustRead(t, path)
			err := w.open(t, Options{}).Append(t.Context(), Record{})
			if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), keyName) {
				t.Errorf("error %v", err)
			}
			if mustRead(t, path) != before {
				t.Error("the key was replaced")
			}
		})
	}
	t.Run("made once", func(t *testing.T) {
		w := newWorld(t, "")
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() { add(t, w.open(t, Options{}), fmt.Sprint(i)) })
		}
		wg.Wait()
		w.green(t, 16)
		if info, err := os.Stat(filepath.Join(w.dir, keyName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		w := newWorld(t, "")
		w.chain(t, "a")
		if err := os.Remove(filepath.Join(w.dir, keyName)); err != nil {
			t.Fatal(err)
		}
		w.red(t, NoKey)
		w.chain(t, "b")
		if r := w.green(t, 2); len(r.Notes) != 1 || r.Notes[0].Kind != OtherKey {
			t.Errorf("notes %v", r.Notes)
		}
	})
}
