package audit

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// withDays returns a world with tables for the last days.
func withDays(t *testing.T) *world {
	w := newWorld(t, storetest.Database(t))
	for ago := 8 * 24 * time.Hour; ago > 0; ago -= daysAhead * 24 * time.Hour {
		if err := w.rows.MakeDays(t.Context(), time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// days returns the days with tables that ended before so long ago.
func (w *world) days(t *testing.T, ago time.Duration) (old []day) {
	t.Helper()
	all, err := w.rows.Days(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.next().Before(time.Now().Add(-ago)) {
			old = append(old, d)
		}
	}
	return old
}

const days = 24 * time.Hour

func TestRetentionDropsDays(t *testing.T) {
	w := withDays(t)
	running := w.past(t, 5*days, 10)
	end(t, w.past(t, 5*days, 1200))
	end(t, w.past(t, 3*days, 20))
	running.now = time.Now
	add(t, running, "still there")
	end(t, w.past(t, 2*days, 5))
	if len(w.days(t, 5*days/2)) < 3 {
		t.Fatalf("days %v", w.days(t, 0))
	}
	w.prune(t, Options{MaxAge: 5 * days / 2})
	w.green(t, 6)
	if old := w.days(t, 5*days/2); len(old) > 0 || len(w.days(t, -5*days)) == 0 {
		t.Errorf("days %v", old)
	}
	if n := len(w.chains(t)); n != 2 {
		t.Errorf("%d chains", n)
	}
	// The journal of a process that died on a day whose table is gone.
	end(t, w.past(t, 5*days, 3))
	w.green(t, 9)
	w.prune(t, Options{MaxAge: 5 * days / 2})
	w.green(t, 6)
	w.exec(t, "DELETE FROM audit_record WHERE chain <> $1", running.current.chain.ID)
	w.red(t, Missing)
}

func TestDaysKeepEvidence(t *testing.T) {
	w := withDays(t)
	end(t, w.past(t, 5*days, 9))
	end(t, w.past(t, 5*days, 9))
	w.exec(t, "UPDATE audit_record SET line = replace(line, 'ok', 'no') WHERE seq = 3 AND chain = $1", w.chains(t)[0].ID)
	before := w.verify(t)
	w.prune(t, Options{MaxAge: days})
	if after := w.verify(t); after.OK() || len(after.Problems) != len(before.Problems) {
		t.Errorf("problems %v, and before %v", after.Problems, before.Problems)
	}
	if got := len(w.calls(t)); got < 6 || got > 9 {
		t.Errorf("%d records are left, want those of one chain from the changed one on", got)
	}
}

// TestLateRecords has a record that comes after the records of its day were verified.
func TestLateRecords(t *testing.T) {
	w := withDays(t)
	l := w.past(t, 3*days, 5)
	for _, d := range w.days(t, days) {
		ends, err := w.rows.Ends(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if len(ends) == 0 {
			continue
		}
		add(t, l, "late")
		if err := w.rows.Drop(t.Context(), l.key.id(), d, ends, sealHeads(l.key)); !errors.Is(err, errMoved) {
			t.Errorf("error %v", err)
		}
	}
	if got := fmt.Sprint(len(w.calls(t))); got != "6" {
		t.Errorf("%s records", got)
	}
}
