package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// openSpool makes one whose directory is there.
func openSpool(t testing.TB, parent string, most int64) *spool {
	t.Helper()
	s := &spool{parent: parent, most: most}
	if _, err := s.place(); err != nil {
		t.Fatal(err)
	}
	return s
}

func testSpool(t testing.TB, most int64) *spool {
	t.Helper()
	s := openSpool(t, filepath.Join(t.TempDir(), "spool"), most)
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// compare checks a log against all that was written to it.
func compare(t *testing.T, l *log, all []byte) {
	t.Helper()
	if l.Size() != int64(len(all)) {
		t.Fatalf("the log says %d bytes, %d were written", l.Size(), len(all))
	}
	from, to := l.Gap()
	if from > to || to > int64(len(all)) {
		t.Fatalf("the gap is %d to %d of %d bytes", from, to, len(all))
	}
	if from < to && (from < memoryLog/2 || int64(len(all))-to < memoryLog) {
		t.Fatalf("of %d bytes all from %d to %d are gone: that leaves less than memory holds", len(all), from, to)
	}
	buf := make([]byte, 10_000)
	for offset := int64(0); offset <= int64(len(all)); offset += 1 + rand.Int64N(20_000) {
		n, err := l.ReadAt(buf, offset)
		if !bytes.Equal(buf[:n], all[offset:offset+int64(n)]) {
			t.Fatalf("%d bytes at %d are not what was written", n, offset)
		}
		end := offset + int64(n)
		switch {
		case n == len(buf) && err == nil:
		case errors.Is(err, io.EOF) && end == int64(len(all)):
		case errors.Is(err, io.ErrNoProgress) && end >= from && end < to:
		default:
			t.Fatalf("reading at %d of %d with a gap from %d to %d gives %d bytes and %v", offset, len(all), from, to,
				n, err)
		}
		if offset < from && end < min(from, offset+int64(len(buf))) || offset >= to &&
			end < min(int64(len(all)), offset+int64(len(buf))) {
			t.Fatalf("reading at %d gives %d bytes only", offset, n)
		}
	}
}

// writeRandom writes random pieces and returns all of them.
func writeRandom(l *log, seed uint64, total, piece int) []byte {
	source := rand.New(rand.NewPCG(seed, 1))
	all := make([]byte, total)
	for i := range all {
		all[i] = byte(source.UintN(256))
	}
	for rest := all; len(rest) > 0; {
		n := min(len(rest), 1+source.IntN(piece))
		l.write(rest[:n])
		rest = rest[n:]
	}
	return all
}

func TestLogKeepsHeadAndTail(t *testing.T) {
	const budget = 256 << 10
	for _, total := range []int{0, 1, memoryLog - 1, memoryLog, memoryLog + 1, 128 << 10, 200 << 10, 256 << 10,
		256<<10 + 1, 300 << 10, 1 << 20, 3<<20 + 17} {
		for _, piece := range []int{100, 32 << 10, 200 << 10} {
			l := newLog(testSpool(t, 1<<30), budget, budget)
			all := writeRandom(l, uint64(total+piece), total, piece)
			compare(t, l, all)
			if from, to := l.Gap(); int64(total)-(to-from) != int64(min(total, budget)) {
				t.Errorf("of %d bytes %d are gone: the budget is %d", total, to-from, budget)
			}
			if l.short() {
				t.Error("the log says that the disk was full")
			}
		}
	}
}

// TestLogSkips checks that skipped bytes count, and lie between the head and the tail.
func TestLogSkips(t *testing.T) {
	const budget, tail = 512 << 10, 128 << 10
	for _, disk := range []int64{0, 200 << 10, 1 << 30} {
		for _, before := range []int{0, 100, memoryLog, budget - tail, budget - tail + 1, 1 << 20} {
			l := newLog(testSpool(t, disk), budget, tail)
			all := writeRandom(l, uint64(before), before, 32<<10)
			l.skip(1 << 20)
			all = append(all, make([]byte, 1<<20)...)
			end := writeRandom(l, 7, 30_000, 9000)
			all = append(all, end...)
			from, to := l.Gap()
			if l.Size() != int64(len(all)) || to != int64(len(all)-len(end)) || from > int64(before) ||
				disk == 1<<30 && from != min(int64(before), budget-tail) {
				t.Fatalf("%d and a skip: %d bytes, of %d the gap is %d to %d", before, l.Size(), len(all), from, to)
			}
			head, last := make([]byte, from), make([]byte, len(end))
			_, err := l.ReadAt(head, 0)
			_, lastErr := l.ReadAt(last, to)
			if err := errors.Join(err, lastErr); err != nil || !bytes.Equal(head, all[:from]) ||
				!bytes.Equal(last, end) {
				t.Errorf("with %d bytes of disk and %d before: other bytes, %v", disk, before, err)
			}
		}
	}
}

// TestLogOnFullDisk checks that on a full disk the head stays, and the tail is kept in memory.
func TestLogOnFullDisk(t *testing.T) {
	for _, disk := range []int64{0, 1, memoryLog, memoryLog + 100, 100 << 10, 128 << 10, 200 << 10} {
		for _, total := range []int{10, memoryLog, memoryLog + 1, 150 << 10, 190 << 10, 2 << 20} {
			l := newLog(testSpool(t, disk), 256<<10, 256<<10)
			all := writeRandom(l, uint64(disk)+uint64(total), total, 20_000)
			compare(t, l, all)
			from, to := l.Gap()
			if l.short() != (from < to) {
				t.Errorf("with %d bytes of disk and %d of output the log says %t", disk, total, l.short())
			}
		}
	}
}

func TestLogGivesBack(t *testing.T) {
	s := testSpool(t, 512<<10)
	for range 10 {
		l := newLog(s, 512<<10, 512<<10)
		compare(t, l, writeRandom(l, 1, 400<<10, 32<<10))
		if from, to := l.Gap(); from != to {
			t.Fatal("the room of the logs before was not given back")
		}
		l.forget()
		l.forget()
		l.write([]byte("late"))
		if _, err := l.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("a forgotten log gives %v", err)
		}
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 1 {
		t.Errorf("the spool holds %v (%v), want its lock only", entries, err)
	}
}

func TestSpoolSweepsWhatTheDeadLeft(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "spool")
	alive := openSpool(t, parent, 1)
	dead := filepath.Join(parent, runPrefix+"dead")
	secret := filepath.Join(dead, "apart-1", "files", "TOKEN")
	if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, filepath.Join(dead, lockName)} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := openSpool(t, parent, 1)
	if _, err := os.Lstat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a dead process left is still there: %v", err)
	}
	for _, s := range []*spool{alive, next} {
		if _, err := os.Lstat(s.dir); err != nil {
			t.Errorf("the directory of a living process is gone: %v", err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 0 {
		t.Errorf("after the end there are %v (%v)", entries, err)
	}
}

func FuzzLog(f *testing.F) {
	f.Add(uint64(1), uint32(1<<20), uint32(30_000), int64(200<<10))
	f.Add(uint64(2), uint32(100_000), uint32(1), int64(0))
	f.Add(uint64(3), uint32(400<<10), uint32(300_000), int64(1<<30))
	f.Fuzz(func(t *testing.T, seed uint64, total, piece uint32, disk int64) {
		l := newLog(testSpool(t, max(disk, 0)), 192<<10, 192<<10)
		compare(t, l, writeRandom(l, seed, int(total%(1<<20)), int(piece%(256<<10))+1))
	})
}

// TestWatcher checks that a watcher gets each stream in order, and that a slow watcher gets bounded output.
func TestWatcher(t *testing.T) {
	var told []string
	begun, goOn, end := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	w := newWatcher(func(s sandbox.Stream, data []byte) {
		select {
		case begun <- struct{}{}:
			<-goOn
		default:
		}
		told = append(told, fmt.Sprintf("%d:%.12s", s, data))
	}, func(run func()) { go run() })
	w.add(sandbox.Stdout, []byte("first"))
	<-begun
	for i := range 3 {
		w.add(sandbox.Stdout, fmt.Appendf(nil, "a%d", i))
	}
	w.add(sandbox.Stderr, []byte("b"))
	w.add(sandbox.Stdout, bytes.Repeat([]byte("c"), maxPending)) // too much
	w.add(sandbox.Stdout, []byte("d"))
	w.finish(func() { close(end) })
	w.add(sandbox.Stdout, []byte("after the end"))
	close(goOn)
	<-end
	if got := strings.Join(told, " "); got != "1:first 1:a0a1a2 2:b 1:d" {
		t.Errorf("told %s", got)
	}
}

// TestWatcherWithoutOutput checks that the watcher of a silent command learns of its end at once, and gets
// nothing afterwards.
func TestWatcherWithoutOutput(t *testing.T) {
	ended := false
	w := newWatcher(func(sandbox.Stream, []byte) { t.Error("told") }, func(func()) { t.Error("a goroutine was begun") })
	w.finish(func() { ended = true })
	w.add(sandbox.Stdout, []byte("after the end"))
	if !ended {
		t.Error("nobody heard of the end")
	}
}
