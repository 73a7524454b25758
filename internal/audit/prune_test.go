package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fill writes a chain of its own with n records in small segments.
func fill(t *testing.T, dir string, n int, o Options) {
	t.Helper()
	o.SegmentBytes = 1000
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		add(t, l, fmt.Sprint(i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRetentionByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 10, Options{})
		time.Sleep(48 * time.Hour)
		fill(t, dir, 5, Options{})
		time.Sleep(time.Hour)
		fill(t, dir, 1, Options{MaxAge: 24 * time.Hour})
		if got := len(calls(t, dir)); got != 6 {
			t.Errorf("%d records, want those of the last day", got)
		}
		mustBeGreen(t, dir, 6)
	})
}

func TestRetentionByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 30, Options{})
		time.Sleep(time.Second)
		before := len(files(t, dir))
		fill(t, dir, 1, Options{MaxBytes: 5000})
		found := files(t, dir)
		if len(found) >= before || len(found) < 4 {
			t.Errorf("%d segments of %d", len(found), before)
		}
		r := verify(t, dir)
		if !r.OK() || r.Bytes > 5000+1000 {
			t.Errorf("%d bytes, problems %v", r.Bytes, r.Problems)
		}
		// What retention has not removed is missed, also beside what it has.
		if err := os.Remove(found[0]); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); r.OK() || r.Problems[0].File != filepath.Base(found[0]) {
			t.Errorf("problems %v", r.Problems)
		}
	})
}

func TestRetentionAtRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{SegmentBytes: 1000, MaxBytes: 3000})
		for i := range 60 {
			add(t, l, fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := len(files(t, dir)); got > 4 {
			t.Errorf("%d segments", got)
		}
		if got := calls(t, dir); len(got) == 0 || got[len(got)-1] != "59" {
			t.Errorf("rows %q", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); !r.OK() {
			t.Errorf("problems %v", r.Problems)
		}
	})
}

func TestRetentionSparesSegmentsInUse(t *testing.T) {
	dir := t.TempDir()
	live := open(t, dir, Options{})
	add(t, live, "live")
	fill(t, dir, 1, Options{MaxBytes: 1})
	if got := strings.Join(calls(t, dir), " "); got != "live 0" {
		t.Errorf("rows %q", got)
	}
	add(t, live, "still")
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGreen(t, dir, 3)
	fill(t, dir, 1, Options{MaxBytes: 1})
	mustBeGreen(t, dir, 1)
}

func TestRetentionLeavesEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, 2, Options{})
		path := files(t, dir)[0]
		write(t, path, append(read(t, path), "rubbish\n"...))
		old := time.Now().Add(-1000 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		fill(t, dir, 1, Options{MaxAge: time.Hour})
		if _, err := os.Stat(path); err != nil {
			t.Errorf("what was tampered with was removed: %v", err)
		}
		if r := verify(t, dir); r.OK() {
			t.Error("green")
		}
	})
}

func TestHeadsAreRewrittenWhenTheyHaveGrown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		add(t, l, "a")
		time.Sleep(time.Second)
		for range 30 {
			lines := make([]head, 200)
			for i := range lines {
				lines[i] = head{Kind: headReached, Chain: l.w.id, Segment: 1, Seq: l.w.seq, Mark: l.w.last.String()}
			}
			if err := l.addHeads(lines...); err != nil {
				t.Fatal(err)
			}
		}
		heads := filepath.Join(dir, "audit", headsName)
		before, _ := os.Stat(heads)
		fill(t, dir, 3, Options{})
		after, _ := os.Stat(heads)
		if before.Size() < headsEnough || after.Size() > 5000 {
			t.Errorf("heads had %d bytes and has %d", before.Size(), after.Size())
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		mustBeGreen(t, dir, 4)
		// What was known before the rewriting is still known.
		path := files(t, dir)[0]
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); r.OK() {
			t.Error("a chain is missing, and nobody misses it")
		}
	})
}

func TestDamagedHeadsAreNotRewritten(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 3, Options{})
	heads := filepath.Join(dir, "audit", headsName)
	write(t, heads, append(read(t, heads), strings.Repeat("rubbish\n", headsEnough/8)...))
	fill(t, dir, 3, Options{})
	info, err := os.Stat(heads)
	if err = errors.Join(err); err != nil || info.Size() < headsEnough {
		t.Errorf("the evidence is gone: %v", err)
	}
	if r := verify(t, dir); r.OK() || r.More == 0 || len(r.Problems) != maxProblems {
		t.Errorf("%d problems and %d more", len(r.Problems), r.More)
	}
}
