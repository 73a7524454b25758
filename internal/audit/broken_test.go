package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestRecordsWaitForStore checks that records wait in the journal while the
// store refuses writes.
func TestRecordsWaitForStore(t *testing.T) {
	for name, before := range map[string][]string{"at the beginning": nil, "later": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			rows := &frail{rowStore: w.rows}
			l := w.open(t, Options{DB: &DB{rows: rows}})
			add(t, l, before...)
			rows.fail(syscall.ENOSPC, nil)
			acknowledge(t, l, "c", "d")
			eventually(t, func() bool { return rows.failures() > 1 })
			acknowledge(t, l, "e")
			if got := w.calls(t); len(got) != len(before) {
				t.Errorf("rows %q", got)
			}
			rows.fail(nil, nil)
			add(t, l, "f")
			end(t, l)
			if got := strings.Join(w.calls(t), " "); got != strings.Join(append(before, "c", "d", "e", "f"), " ") {
				t.Errorf("rows %q", got)
			}
			if r := w.green(t, len(before)+4); len(r.Notes) > 0 {
				t.Errorf("notes %v", r.Notes)
			}
		})
	}
}

func TestAppendDoesNotWaitForStore(t *testing.T) {
	w := newWorld(t, "")
	rows := &frail{rowStore: w.rows}
	l := w.open(t, Options{DB: &DB{rows: rows}})
	rows.mu.Lock() // no transaction ends
	acknowledge(t, l, "a", "b", "c")
	rows.mu.Unlock()
	stored(t, l)
	w.green(t, 3)
}

// TestCommitWithLostReply cuts the connection after the commit and before its reply.
func TestCommitWithLostReply(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := &frail{rowStore: w.rows}
		l := w.open(t, Options{DB: &DB{rows: rows}})
		rows.fail(nil, syscall.ECONNRESET)
		acknowledge(t, l, "a")
		eventually(t, func() bool { return rows.failures() == 2 }) // the beginning, and the record
		acknowledge(t, l, "b", "c")
		eventually(t, func() bool { return rows.failures() == 3 })
		acknowledge(t, l, "d")
		rows.fail(nil, nil)
		end(t, l)
		if got := strings.Join(w.calls(t), " "); got != "a b c d" {
			t.Errorf("rows %q", got)
		}
		w.green(t, 4)
	})
}

// TestLateCommit checks a commit that the log believes to have failed, and that
// succeeds later.
func TestLateCommit(t *testing.T) {
	w := newWorld(t, "")
	rows := &lateRows{rowStore: w.rows}
	l := w.open(t, Options{DB: &DB{rows: rows}})
	add(t, l, "a")
	rows.lose()
	acknowledge(t, l, "b", "c")
	stored(t, l)
	add(t, l, "d")
	end(t, l)
	if got := strings.Join(w.calls(t), " "); got != "a b c d" || rows.late != nil {
		t.Errorf("rows %q", got)
	}
	w.green(t, 4)
}

// lateRows lose a transaction, which goes through when the next one begins.
type lateRows struct {
	rowStore
	mu    sync.Mutex
	loses bool
	late  func() error
}

func (r *lateRows) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loses = true
}

func (r *lateRows) Append(ctx context.Context, from, to chainRow, records []recordRow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loses {
		kept := append([]recordRow(nil), records...)
		r.late = func() error { return r.rowStore.Append(context.Background(), from, to, kept) }
		r.loses = false
		return syscall.ECONNRESET
	}
	if r.late != nil {
		if err := r.late(); err != nil {
			return err
		}
		r.late = nil
	}
	return r.rowStore.Append(ctx, from, to, records)
}

// TestChangedChainRefusesRecords checks the log after another process removed
// the chain that it writes.
func TestChangedChainRefusesRecords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, text := range map[string]string{
			"all":                "DELETE FROM audit_chain",
			"the last record":    "UPDATE audit_chain SET seq = seq - 1",
			"another in place":   "UPDATE audit_chain SET hash = 'x'",
			"more than we wrote": "UPDATE audit_chain SET seq = seq + 1000",
		} {
			t.Run(name, func(t *testing.T) {
				w.clear(t)
				l := w.open(t, Options{})
				add(t, l, "before")
				as := w.chains(t)[0]
				w.exec(t, text)
				acknowledged := 1
				eventually(t, func() bool {
					err := l.Append(t.Context(), Record{Call: "until it is noticed"})
					if err == nil {
						acknowledged++
					} else if !errors.Is(err, ErrBroken) {
						t.Error(err)
					}
					return errors.Is(err, errMoved)
				})
				refused(t, l, errMoved)
				w.exec(t, "DELETE FROM audit_chain")
				w.exec(t, "INSERT INTO audit_chain (id, key, line, seq, hash, seen) VALUES ($1, $2, $3, $4, $5, $6)",
					as.ID, as.Key, as.Line, as.Seq, as.Hash, as.Seen)
				eventually(t, func() bool { return l.Append(t.Context(), Record{Call: "after it came back"}) == nil })
				end(t, l)
				w.green(t, acknowledged+1)
			})
		}
	})
}

// TestChangedChainReportsMissingRecords checks that the log names the records
// that were acknowledged before it detected the removal, and that cannot be
// uploaded.
func TestChangedChainReportsMissingRecords(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	add(t, l, "before")
	w.clear(t)
	acknowledge(t, l, "into the void")
	eventually(t, func() bool { return errors.Is(l.Append(t.Context(), Record{}), errMoved) })
	if err := l.Close(); !errors.Is(err, errMoved) || !strings.Contains(err.Error(), "remain in") {
		t.Errorf("closing says %v", err)
	}
	w.chain(t, "another")
	for range 2 {
		if r := w.red(t, Missing); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].String(), journalExt) ||
			r.Records != 1 {
			t.Errorf("report %+v", r)
		}
	}
}

func TestDatabaseOutage(t *testing.T) {
	server := storetest.Postgres(t)
	w := newWorld(t, server.DSN("postgres"))
	l := w.open(t, Options{})
	add(t, l, "before")
	server.Stop(t, "immediate")
	for i := range 1000 {
		acknowledge(t, l, fmt.Sprint(i))
	}
	eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.uploadErr != nil })
	acknowledge(t, l, "later")
	server.Start(t)
	add(t, l, "after")
	end(t, l)
	if got := w.calls(t); len(got) != 1003 || got[0] != "before" || got[1002] != "after" {
		t.Errorf("rows %q", got)
	}
	w.green(t, 1003)
}

// TestCloseWithoutDatabase closes a log while the database is unreachable: the next process stores the journal.
func TestCloseWithoutDatabase(t *testing.T) {
	server := storetest.Postgres(t)
	w := newWorld(t, server.DSN("postgres"))
	l := w.open(t, Options{})
	add(t, l, "before")
	server.Stop(t, "immediate")
	acknowledge(t, l, "last")
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "1 records remain in") {
		t.Errorf("closing says %v", err)
	}
	server.Start(t)
	if got := w.green(t, 2); len(got.Notes) > 0 {
		t.Errorf("notes %v", got.Notes)
	}
}

func TestFullJournalRefusesRecords(t *testing.T) {
	w := newWorld(t, "")
	rows := &frail{rowStore: w.rows, before: syscall.EIO}
	l := w.open(t, Options{DB: &DB{rows: rows}})
	large := Record{Error: strings.Repeat("\x01", maxText), Tool: strings.Repeat("\x01", maxText),
		Agent: strings.Repeat("\x01", maxText)}
	err := l.Append(t.Context(), large)
	l.current.journal.max = 8 << 20
	written := 1
	for ; err == nil; written++ {
		err = l.Append(t.Context(), large)
	}
	if !errors.Is(err, ErrBroken) || !errors.Is(err, errJournalFull) || written < 60 ||
		written > 8<<20/len(large.Error) {
		t.Errorf("%d records, then %v", written, err)
	}
	eventually(t, func() bool { return errors.Is(l.Append(t.Context(), large), syscall.EIO) })
	rows.fail(nil, nil)
	add(t, l, "again")
	if size := l.current.journal.size.Load(); size > 2*maxStoredPrefix {
		t.Errorf("the journal has %d bytes still", size)
	}
	end(t, l)
	w.green(t, written)
}

func TestJournalIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{Full: true})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					if err := l.Append(t.Context(), Record{Error: strings.Repeat("x", maxText)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		stored(t, l)
		if n := len(w.journals(t)); n != 1 || l.current.journal.size.Load() > 2*maxStoredPrefix {
			t.Errorf("%d journals, of %d bytes", n, l.current.journal.size.Load())
		}
		kill(t, l)
		if r := w.green(t, 1600); len(r.Notes) > 0 || Waiting(w.dir) {
			t.Errorf("notes %v", r.Notes)
		}
		var heads headIndex
		k, err := loadKey(w.dir)
		if err == nil {
			heads, err = readHeads(t.Context(), w.rows, k.id(), newSealer(k), lastHead{},
				func(_ int64, kind Kind, _ string) { t.Error(kind) })
		}
		if at := heads.reached[chainName(l.current.chain.ID)]; err != nil || !at.End || at.Bytes != w.verify(t).Bytes {
			t.Errorf("heads have %+v, %v", at, err)
		}
	})
}
