package audit

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A disk fails on demand.
type disk struct {
	room     int   // bytes that a write gets in before it fails; -1 for all
	sync     error // of the next syncs
	truncate error
}

// frail is a segment on such a disk.
type frail struct {
	*os.File
	*disk
}

func (f frail) Write(p []byte) (int, error) {
	if f.room < 0 {
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:min(f.room, len(p))])
	return n, syscall.ENOSPC
}

func (f frail) Sync() error {
	if f.disk.sync != nil {
		return f.disk.sync
	}
	return f.File.Sync()
}

func (f frail) Truncate(size int64) error {
	if f.disk.truncate != nil {
		return f.disk.truncate
	}
	return f.File.Truncate(size)
}

func openFrail(t *testing.T, dir string, o Options) (*Log, *disk) {
	l := open(t, dir, o)
	d := &disk{room: -1}
	l.w.create = func(path string) (file, error) {
		f, err := createSegment(path)
		if err != nil {
			return nil, err
		}
		return frail{f.(*os.File), d}, nil
	}
	return l, d
}

func refused(t *testing.T, l *Log, cause error) {
	t.Helper()
	if err := l.Append(t.Context(), Record{Call: "refused"}); !errors.Is(err, ErrBroken) || !errors.Is(err, cause) {
		t.Errorf("error %v, want %v because of %v", err, ErrBroken, cause)
	}
}

func TestFullDisk(t *testing.T) {
	for name, before := range map[string][]string{"at the header": nil, "later": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, disk := openFrail(t, dir, Options{})
			add(t, l, before...)
			disk.room = 100
			refused(t, l, syscall.ENOSPC)
			refused(t, l, syscall.ENOSPC)
			if got := calls(t, dir); len(got) != len(before) {
				t.Errorf("rows %q", got)
			}
			disk.room = -1
			add(t, l, "again")
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if r := mustBeGreen(t, dir, len(before)+1); len(r.Notes) > 0 {
				t.Errorf("notes %v", r.Notes)
			}
		})
	}
}

func TestHalfALineThatCannotBeCutOffAtOnce(t *testing.T) {
	dir := t.TempDir()
	l, disk := openFrail(t, dir, Options{})
	add(t, l, "a")
	disk.room, disk.truncate = 100, syscall.EIO
	refused(t, l, syscall.ENOSPC)
	disk.room = -1
	refused(t, l, syscall.EIO)
	if r := mustBeGreen(t, dir, 1); len(r.Notes) == 0 {
		t.Error("the torn tail was not seen")
	}
	disk.truncate = nil
	add(t, l, "b")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGreen(t, dir, 2)
}

func TestSyncThatFails(t *testing.T) {
	t.Run("in full mode", func(t *testing.T) {
		dir := t.TempDir()
		l, disk := openFrail(t, dir, Options{Sync: SyncFull, SyncEvery: 1 << 40})
		add(t, l, "a")
		disk.sync = syscall.EIO
		refused(t, l, syscall.EIO)
		disk.sync = nil
		add(t, l, "b")
		if got := strings.Join(calls(t, dir), " "); got != "a refused b" {
			t.Errorf("rows %q", got)
		}
		mustBeGreen(t, dir, 3)
	})
	t.Run("in the background", func(t *testing.T) {
		dir := t.TempDir()
		l, disk := openFrail(t, dir, Options{SyncEvery: 1 << 40})
		add(t, l, "a")
		disk.sync = syscall.EIO
		l.unsynced.Store(true) // what the keeper does
		refused(t, l, syscall.EIO)
		disk.sync = nil
		add(t, l, "b")
		mustBeGreen(t, dir, 2)
	})
	t.Run("at a rotation", func(t *testing.T) {
		dir := t.TempDir()
		l, disk := openFrail(t, dir, Options{SegmentBytes: 100, SyncEvery: 1 << 40})
		add(t, l, "a")
		disk.sync = syscall.EIO
		refused(t, l, syscall.EIO)
		disk.sync = nil
		add(t, l, "b")
		if got := len(files(t, dir)); got != 2 {
			t.Errorf("%d segments", got)
		}
		mustBeGreen(t, dir, 2)
	})
}

func TestSegmentThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{SegmentBytes: 100})
	add(t, l, "a")
	good := l.w.create
	l.w.create = func(string) (file, error) { return nil, syscall.EMFILE }
	refused(t, l, syscall.EMFILE)
	l.w.create = good
	add(t, l, "b")
	mustBeGreen(t, dir, 2)
}
