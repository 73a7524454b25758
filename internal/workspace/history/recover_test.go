package history

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// die leaves a change as a killed process would: its locks are released, and all files
// stay.
func die(c *Change, l *Lock) {
	_ = c.journal.file.Close()
	c.s.release(c.journal.id)
	l.Unlock()
}

var (
	crashBefore = map[string]string{"edited": "old", "removed": "old too", "same/": "", "same/deep": "deep"}
	crashTexts  = map[string]string{"edited": "new", "removed": removed, "new": "made", "same/deep": "deeper", "far/away/made": "made far"}
	crashAfter  = map[string]string{"edited": "new", "new": "made", "same/": "", "same/deep": "deeper", "far/": "", "far/away/": "", "far/away/made": "made far"}
)

func crashBench(t *testing.T) *bench {
	b := newBench(t, Limits{})
	if err := os.Mkdir(filepath.Join(b.dir, "same"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range crashBefore {
		if !strings.HasSuffix(name, "/") {
			b.write(name, text)
		}
	}
	return b
}

// TestRecoverAtEveryPoint stops a change of five files at every step, and recovers it.
func TestRecoverAtEveryPoint(t *testing.T) {
	names := slices.Sorted(maps.Keys(crashTexts))
	points := map[string]struct {
		stop func(t *testing.T, c *Change)
		want map[string]string
	}{
		"staged":          {func(*testing.T, *Change) {}, crashBefore},
		"half prepared":   {func(t *testing.T, c *Change) { halfPrepared(t, c) }, crashBefore},
		"prepared":        {func(t *testing.T, c *Change) { prepareAndApply(t, c, 0) }, crashBefore},
		"on record":       {func(t *testing.T, c *Change) { prepareAndApply(t, c, 5); record(t, c) }, crashAfter},
		"put away":        {func(t *testing.T, c *Change) { prepareAndApply(t, c, 5); record(t, c); putAway(c) }, crashAfter},
		"taken back":      {func(t *testing.T, c *Change) { prepareAndApply(t, c, 5); takeBack(t, c) }, crashBefore},
		"half taken back": {func(t *testing.T, c *Change) { prepareAndApply(t, c, 5); undo(t, c, 2) }, crashBefore},
	}
	for n := range 5 {
		points[fmt.Sprintf("%d applied", n+1)] = points["prepared"]
		p := points[fmt.Sprintf("%d applied", n+1)]
		p.stop = func(t *testing.T, c *Change) { prepareAndApply(t, c, n+1) }
		points[fmt.Sprintf("%d applied", n+1)] = p
	}
	for name, p := range points {
		t.Run(name, func(t *testing.T) {
			b := crashBench(t)
			c, l := b.begin(names...)
			b.stage(c, names, crashTexts)
			p.stop(t, c)
			id := c.journal.id
			die(c, l)
			for range 2 { // recovering twice must have no further effect
				if err := b.s.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.has(p.want)
				b.tidy()
			}
			known := slices.ContainsFunc(b.past(""), func(p LoggedChange) bool { return p.ID == id })
			if want := p.want["new"] != ""; known != want || len(b.past("")) > 1 {
				t.Errorf("on record: %v, want %v", b.past(""), want)
			}
			for _, p := range b.past("") {
				for _, f := range p.Files {
					if f.Before != nil && !b.s.Kept(f.Before) {
						t.Errorf("%s: what it was is not kept", f.Name)
					}
				}
			}
		})
	}
}

func prepareAndApply(t *testing.T, c *Change, n int) {
	t.Helper()
	if err := c.journal.write(entry{Prepared: c.steps}); err != nil {
		t.Fatal(err)
	}
	c.prepared = true
	for _, s := range c.steps[:n] {
		if err := s.apply(); err != nil {
			t.Fatal(err)
		}
	}
}

func halfPrepared(t *testing.T, c *Change) {
	t.Helper()
	if _, err := c.journal.file.WriteString(`{"prepared":[{"root":"/`); err != nil {
		t.Fatal(err)
	}
}

func record(t *testing.T, c *Change) {
	t.Helper()
	book, err := c.s.appendRecord(Record{ID: c.journal.id, Time: time.Now(), Files: c.files})
	if err != nil {
		t.Fatal(err)
	}
	_ = book.Close()
}

func putAway(c *Change) { c.s.finish(c.journal.id, c.steps, c.files, c.copies) }

func takeBack(t *testing.T, c *Change) {
	t.Helper()
	if err := c.rollBack(); err != nil {
		t.Fatal(err)
	}
}

// undo reverts the last n steps.
func undo(t *testing.T, c *Change, n int) {
	t.Helper()
	for i := range n {
		if err := c.steps[len(c.steps)-1-i].revert(c.copies, true); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecoverKeepsLaterChanges changes a file by other means between the end of the
// process and the recovery.
func TestRecoverKeepsLaterChanges(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old a")
	b.write("b", "old b")
	c, l := b.begin("a", "b")
	b.stage(c, []string{"a", "b"}, map[string]string{"a": "new a", "b": "new b"})
	prepareAndApply(t, c, 1)
	die(c, l)
	b.write("b", "someone's work")
	if err := b.s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.has(map[string]string{"a": "old a", "b": "someone's work"})
	b.tidy()
}

// TestLockRecovers checks that the next change finds complete files.
func TestLockRecovers(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old")
	c, l := b.begin("a", "b")
	b.stage(c, []string{"a", "b"}, map[string]string{"a": "new", "b": "made"})
	prepareAndApply(t, c, 1)
	die(c, l)
	other := New(b.s.dir, Limits{}, b.s.log)
	lock, err := other.Lock(t.Context(), []string{"b"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	b.has(map[string]string{"a": "old"})
	b.tidy()
}

// TestRecoverSkipsRunningChanges checks that changes of a running process are not
// recovered.
func TestRecoverSkipsRunningChanges(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old")
	c, l := b.begin("a")
	defer l.Unlock()
	b.stage(c, []string{"a"}, map[string]string{"a": "new"})
	other := New(b.s.dir, Limits{}, b.s.log)
	if err := other.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	lock, err := other.Lock(t.Context(), []string{"something else"})
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
	if _, err := c.Commit(t.Context(), Record{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	b.has(map[string]string{"a": "new"})
	b.tidy()
}

// TestRecoverInReplacedDirectory checks that files of another directory with the same
// path are not changed.
func TestRecoverInReplacedDirectory(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old")
	c, l := b.begin("a")
	b.stage(c, []string{"a"}, map[string]string{"a": "new"})
	temp := c.steps[0].temp()
	prepareAndApply(t, c, 0)
	die(c, l)
	if err := os.Rename(b.dir, b.dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.write("a", "another file")
	b.write(temp, "no temporary file of ours")
	if err := b.s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.has(map[string]string{"a": "another file", temp: "no temporary file of ours"})
	b.tidy()
}
