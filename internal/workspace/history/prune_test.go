package history

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func copiesOf(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.path(copiesDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestOldHistoryIsRemoved(t *testing.T) {
	b := newBench(t, Limits{Age: time.Hour})
	now := time.Now()
	b.write("a", "0")
	for i, at := range []time.Duration{-3 * time.Hour, -2 * time.Hour, -30 * time.Minute, 0} {
		b.change("a", fmt.Sprint(i+1), now.Add(at))
	}
	if err := b.s.prune(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	all := b.past("")
	if len(all) != 2 || len(copiesOf(t, b.s)) != 2 {
		t.Fatalf("%d records, %d copies", len(all), len(copiesOf(t, b.s)))
	}
	for _, p := range all {
		if !b.s.Kept(p.Files[0].Before) {
			t.Errorf("the old content of %s was removed", p.ID)
		}
	}
	b.has(map[string]string{"a": "4"})
}

func TestBytesAreBounded(t *testing.T) {
	b := newBench(t, Limits{Bytes: 1000})
	b.write("a", strings.Repeat("x", 200))
	for i := range 10 {
		b.change("a", strings.Repeat(fmt.Sprint(i), 200), time.Now())
	}
	if err := b.s.prune(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := len(copiesOf(t, b.s)); n != 5 {
		t.Errorf("%d copies of 200 bytes are kept, want 5", n)
	}
	var kept []bool
	for _, p := range b.past("") {
		kept = append(kept, b.s.Kept(p.Files[0].Before))
	}
	if !slices.Equal(kept, []bool{true, true, true, true, true, false, false, false, false, false}) {
		t.Errorf("kept: %v", kept)
	}
}

func TestLargeFilesAreNotKept(t *testing.T) {
	b := newBench(t, Limits{Bytes: 1000})
	b.write("a", strings.Repeat("x", 300))
	r := b.change("a", "new", time.Now())
	if before := r.Files[0].Before; before.Kept || before.Size != 300 || len(copiesOf(t, b.s)) > 0 {
		t.Errorf("%+v, copies %v", before, copiesOf(t, b.s))
	}
	b.has(map[string]string{"a": "new"})
	b.tidy()
}

func TestRecordsAreBounded(t *testing.T) {
	b := newBench(t, Limits{Records: 20})
	b.write("a", "0")
	for i := range 30 {
		b.change("a", fmt.Sprint(i), time.Now())
	}
	if err := b.s.prune(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := len(b.past("")); got != 20 {
		t.Errorf("%d records", got)
	}
}

// TestOrphanedCopiesAreRemoved has copies of changes that are neither recorded nor
// pending.
func TestOrphanedCopiesAreRemoved(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "0")
	b.write("b", "0b")
	b.change("a", "1", time.Now())
	stray := strings.Repeat("ab", 32)
	for _, name := range []string{stray, copyName("deadbeef", 0)} {
		if err := os.WriteFile(b.s.path(copiesDir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.s.swaps[b.target("b").Info.Dev] = false
	c, l := b.begin("b")
	b.stage(c, []string{"b"}, map[string]string{"b": "1b"})
	if err := b.s.prune(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if left := copiesOf(t, b.s); len(left) != 2 || slices.Contains(left, stray) {
		t.Errorf("left: %v", left)
	}
	r, err := c.Commit(t.Context(), Record{Time: time.Now()})
	l.Unlock()
	if err != nil || !b.s.Kept(r.Files[0].Before) {
		t.Errorf("%+v, %v", r, err)
	}
}
