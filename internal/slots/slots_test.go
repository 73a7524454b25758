package slots

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

var roomy = Limits{Total: 8, Running: 8, Queued: 100, Idle: 100}

// fill starts work of one account until none of it gets a slot, and returns what has one.
// What waits gives up when stop is called.
func fill(t *testing.T, q *Queue, account string) (got []*Slot, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	slots := make(chan *Slot, 100)
	for i := range 30 {
		go func() {
			if s, err := q.Acquire(ctx, For{account, fmt.Sprint(account, i)}); err == nil {
				slots <- s
			}
		}()
	}
	synctest.Wait()
	for len(slots) > 0 {
		got = append(got, <-slots)
	}
	return got, cancel
}

// TestSharesOfAccounts has accounts that each want all slots, with 30 sessions.
func TestSharesOfAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(roomy)
		var all []*Slot
		for _, account := range []struct {
			name string
			gets int
		}{{"ann", 4}, {"bob", 2}, {"cy", 1}, {"dan", 1}, {"eve", 0}} {
			got, stop := fill(t, q, account.name)
			defer stop()
			if len(got) != account.gets {
				t.Errorf("%s has %d slots, want %d", account.name, len(got), account.gets)
			}
			all = append(all, got...)
		}
		all[0].Release() // one of ann's
		synctest.Wait()
		if got := q.accounts["eve"].running; got != 1 {
			t.Errorf("the account without slots has %d after one became free", got)
		}
	})
}

// TestIdleWorkHoldsNoSlot has as much waiting work as an account may have, and more.
func TestIdleWorkHoldsNoSlot(t *testing.T) {
	limits := roomy
	limits.Idle = 20
	q := New(limits)
	for i := range 20 + 4 {
		s, err := q.Acquire(t.Context(), For{"ann", fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		s.Idle()
		if want := max(0, i+1-20); q.running != want {
			t.Errorf("%d slots are taken by %d pieces of work that wait, want %d", q.running, i+1, want)
		}
	}
}

// TestNothingStaysBehind ends work in every state, some of it twice.
func TestNothingStaysBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(roomy)
		got, stop := fill(t, q, "ann")
		more, stopMore := fill(t, q, "bob")
		for i, s := range append(got, more...) {
			if i%2 == 0 {
				s.Idle()
				s.Idle()
			}
			s.Release()
			s.Release()
			s.Idle()
		}
		stop()
		stopMore()
		synctest.Wait()
		// What was admitted meanwhile ends too.
		for len(q.lines) > 0 {
			for _, l := range q.lines {
				if len(l.waiting) > 0 {
					t.Fatalf("work of %v still waits", l.of)
				}
				q.mu.Lock()
				q.release(l)
				q.mu.Unlock()
				break
			}
		}
		if q.running != 0 || q.waiting != 0 || len(q.accounts) != 0 || len(q.turn) != 0 {
			t.Errorf("left: %+v", q)
		}
	})
}

func TestTooMuchWaitsOfOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Limits{Total: 4, Running: 1, Queued: 1, Idle: 1})
		ctx, stop := context.WithCancelCause(t.Context())
		line := For{"ann", "s"}
		if _, err := q.Acquire(ctx, line); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := q.Acquire(ctx, line)
			ended <- err
		}()
		synctest.Wait()
		if _, err := q.Acquire(ctx, line); tool.AsError(err).Kind != tool.Busy {
			t.Errorf("got %v, want busy", err)
		}
		gone := errors.New("the client left")
		stop(gone)
		if err := <-ended; !errors.Is(err, gone) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}
