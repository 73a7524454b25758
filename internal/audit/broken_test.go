package audit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func TestWhatFailsIsNotThereAndTheChainGoesOn(t *testing.T) {
	for name, before := range map[string][]string{"at the beginning": nil, "later": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			rows := &frail{Rows: w.rows}
			l := w.open(t, Options{Rows: rows})
			add(t, l, before...)
			rows.before = syscall.ENOSPC
			for range 2 * mostWanted {
				refused(t, l, syscall.ENOSPC)
			}
			if got := w.calls(t); len(got) != len(before) {
				t.Errorf("rows %q", got)
			}
			rows.before = nil
			add(t, l, "again")
			end(t, l)
			if r := w.green(t, len(before)+1); len(r.Notes) > 0 {
				t.Errorf("notes %v", r.Notes)
			}
		})
	}
}

// The way is lost after the transaction is through, and before its answer.
func TestAnAnswerThatIsLost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := &frail{Rows: w.rows}
		l := w.open(t, Options{Rows: rows})
		rows.after = syscall.ECONNRESET
		for range 3 {
			refused(t, l, syscall.ECONNRESET)
		}
		rows.after = nil
		add(t, l, "after")
		end(t, l)
		if got := strings.Join(w.calls(t), " "); got != "refused refused refused after" {
			t.Errorf("rows %q", got)
		}
		w.green(t, 4)
	})
}

// What was given up comes through after all, behind our back.
func TestATransactionThatIsLate(t *testing.T) {
	w := newWorld(t, "")
	rows := &frail{Rows: w.rows}
	l := w.open(t, Options{Rows: rows})
	add(t, l, "a")
	var late func() error
	lost := &lateRows{frail: rows, late: &late}
	l.opts.Rows = lost
	refused(t, l, syscall.ECONNRESET)
	l.opts.Rows = rows
	rows.within = func(context.Context) {
		if err := late(); err != nil {
			t.Error(err)
		}
	}
	refused(t, l, ledger.ErrMoved) // both wanted to be the second
	rows.within = nil
	add(t, l, "b")
	end(t, l)
	if got := strings.Join(w.calls(t), " "); got != "a refused b" {
		t.Errorf("rows %q", got)
	}
	w.green(t, 3)
}

// lateRows put off what they are to append.
type lateRows struct {
	*frail
	late *func() error
}

func (r *lateRows) Append(_ context.Context, from, to ledger.Chain, records []ledger.Record) error {
	kept := append([]ledger.Record(nil), records...)
	*r.late = func() error { return r.frail.Rows.Append(context.Background(), from, to, kept) }
	return syscall.ECONNRESET
}

func TestAllWhoWaitFailAtOnce(t *testing.T) {
	w := newWorld(t, "")
	entered, through := make(chan struct{}), make(chan struct{})
	rows := &frail{Rows: w.rows, before: syscall.EIO}
	l := w.open(t, Options{Rows: rows})
	rows.before = nil
	add(t, l, "a")
	rows.before = syscall.EIO
	rows.within = func(context.Context) { entered <- struct{}{}; <-through }
	var wg sync.WaitGroup
	for range 2 * maxBatch {
		wg.Go(func() { refused(t, l, syscall.EIO) })
	}
	<-entered
	for queued := 0; queued < maxBatch; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		queued = len(l.queue)
		l.mu.Unlock()
	}
	rows.within = nil
	close(through)
	wg.Wait()
	rows.before = nil
	add(t, l, "b")
	end(t, l)
	w.green(t, 2)
}

// Somebody removes what is being written to.
func TestALogThatIsTakenAwayRefusesRecords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, text := range map[string]string{
			"all":                "DELETE FROM audit_chain",
			"the last record":    "UPDATE audit_chain SET seq = seq - 1",
			"another in place":   "UPDATE audit_chain SET hash = 'x'",
			"more than we wrote": "UPDATE audit_chain SET seq = seq + 1",
		} {
			t.Run(name, func(t *testing.T) {
				w.clear(t)
				l := w.open(t, Options{})
				add(t, l, "before")
				as := w.chains(t)[0]
				w.exec(t, text)
				for range 3 {
					refused(t, l, ledger.ErrMoved)
				}
				w.exec(t, "DELETE FROM audit_chain")
				w.exec(t, "INSERT INTO audit_chain (id, key, line, seq, hash, seen) VALUES ($1, $2, $3, $4, $5, $6)", as.ID, as.Key, as.Line, as.Seq, as.Hash, as.Seen)
				add(t, l, "after it came back")
				end(t, l)
				w.green(t, 2)
			})
		}
	})
}

func TestADatabaseThatIsAway(t *testing.T) {
	server := storetest.Postgres(t)
	w := newWorld(t, server.DSN("postgres"))
	l := w.open(t, Options{})
	add(t, l, "before")
	server.Stop(t, "immediate")
	refused(t, l, nil)
	refused(t, l, nil)
	server.Start(t)
	for deadline := time.Now().Add(time.Minute); ; { // connections that are dead are found out one by one
		err := l.Append(t.Context(), Record{Call: "after"})
		if err == nil {
			break
		}
		if !errors.Is(err, ErrBroken) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	end(t, l)
	if got := w.calls(t); got[0] != "before" || got[len(got)-1] != "after" {
		t.Errorf("rows %q", got)
	}
	w.green(t, len(w.calls(t)))
}
