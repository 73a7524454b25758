package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestChainWithoutRecords has a disk that was full after the first lines of the first journal.
func TestChainWithoutRecords(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	if err := l.begin(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	end(t, l)
	w.green(t, 0)
}

// TestJournalBehindStore restores the journal of a process that went on after the backup.
func TestJournalBehindStore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{})
		add(t, l, "a", "b", "c")
		path := l.current.journal.path
		text := mustRead(t, path)
		add(t, l, "d", "e")
		end(t, l)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.green(t, 5)
		if Waiting(w.dir) {
			t.Error("the journal is still there")
		}
	})
}

// TestForgedCheckpoint writes to a journal without the key. Retention must not remove records because of it.
func TestForgedCheckpoint(t *testing.T) {
	for name, lie := range map[string]func(t *testing.T, w *world, mark string) string{
		"about bytes": func(_ *testing.T, _ *world, mark string) string {
			return strings.Replace(mark, `"bytes":`, `"bytes":9999`, 1)
		},
		"about another chain": func(t *testing.T, w *world, _ string) string {
			w.chain(t, "x")
			c := w.chains(t)[1]
			return w.mark(t, point{Chain: chainName(c.ID), Key: c.Key, Seq: 1, Mark: c.Hash, Bytes: 1 << 40})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			path := w.dead(t, 1, "a", "b", "c")
			edit(t, path, func(text string) string {
				l := strings.SplitAfter(text, "\n") // the beginning, a record, a mark, two records
				return l[0] + lie(t, w, l[2]) + l[3] + l[4]
			})
			before := len(w.heads(t))
			w.red(t, Changed)
			if heads := w.heads(t); len(heads) != before {
				t.Errorf("heads say %v", heads[before:])
			}
		})
	}
}

// TestClockSetBack sets the clock back: a chain that grows keeps its times in order.
func TestClockSetBack(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	add(t, l, "a")
	w.exec(t, "UPDATE audit_chain SET seen = 1")
	l.mu.Lock()
	l.current.upload.chain.Seen += time.Hour.Milliseconds() // when it was set right
	l.mu.Unlock()
	add(t, l, "b")
	if w.chains(t)[0].Seen == 1 {
		t.Error("the column seen was not updated")
	}
}

// TestJournalDirectoryPermissions checks that a directory that other users may
// write to is refused, because they could remove waiting records.
func TestJournalDirectoryPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	w := newWorld(t, "")
	w.chain(t, "a")
	dir := filepath.Join(w.dir, journalDir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l := w.open(t, Options{})
	refused(t, l, nil)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, l, "b")
	end(t, l)
	w.green(t, 2)
}

// TestUnreadableJournalDirectory checks that a directory that cannot be read
// does not count as empty.
func TestUnreadableJournalDirectory(t *testing.T) {
	w := newWorld(t, "")
	w.dead(t, 0, "a")
	dir := filepath.Join(w.dir, journalDir)
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := w.db().Verify(t.Context(), w.dir, nil); err == nil || !Waiting(w.dir) {
		t.Errorf("report %+v", r)
	}
}

// TestJournalRemovedWhileOpen checks that a process keeps its journal if the name is removed.
func TestJournalRemovedWhileOpen(t *testing.T) {
	w := newWorld(t, "")
	rows := &frail{rowStore: w.rows, before: syscall.EIO}
	l := w.open(t, Options{DB: &DB{rows: rows}})
	acknowledge(t, l, "a")
	if err := os.Remove(l.current.journal.path); err != nil {
		t.Skip("it cannot be removed here: ", err)
	}
	acknowledge(t, l, "b")
	rows.fail(nil, nil)
	add(t, l, "c")
	end(t, l)
	w.green(t, 3)
}

// TestCloseWithLockedStore checks that a server stops quickly even if the store is locked.
func TestCloseWithLockedStore(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{DB: &DB{rows: lockedRows{w.rows}}})
	acknowledge(t, l, "a", "b")
	err := l.Close()
	if !errors.Is(err, errSlow) || !strings.Contains(err.Error(), "2 records remain in") {
		t.Errorf("closing says %v", err)
	}
	w.green(t, 2)
}

// lockedRows block until the transaction times out.
type lockedRows struct{ rowStore }

func (r lockedRows) Begin(ctx context.Context, _ chainRow, _ headsFunc) error {
	late, cancel := context.WithTimeout(ctx, txTimeout-time.Second)
	defer cancel()
	<-late.Done()
	if ctx.Err() == nil {
		return errors.New("the transaction was not cancelled")
	}
	return ctx.Err()
}

// TestSlowStoreThrottlesWriters checks that writers wait for a slow store, and
// that no record is refused.
func TestSlowStoreThrottlesWriters(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	l.rows = slowRows{w.rows, l}
	large := Record{Error: strings.Repeat("\x01", maxText), Tool: strings.Repeat("\x01", maxText),
		Agent: strings.Repeat("\x01", maxText)}
	var all sync.WaitGroup
	const each = 120 // more than a journal may have
	for range 8 {
		all.Go(func() {
			for range each {
				if err := l.Append(t.Context(), large); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	end(t, l)
	w.green(t, 8*each)
}

// slowRows take nothing as long as more is written without it.
type slowRows struct {
	rowStore
	log *Log
}

func (r slowRows) Append(ctx context.Context, from, to chainRow, records []recordRow) error {
	for before, size := int64(-1), int64(0); before < size; {
		time.Sleep(20 * time.Millisecond)
		r.log.mu.Lock()
		before, size = size, r.log.current.pendingBytes
		r.log.mu.Unlock()
	}
	return r.rowStore.Append(ctx, from, to, records)
}
