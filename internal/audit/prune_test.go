package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// past writes a chain that was begun some time ago, a record each second.
func (w *world) past(t testing.TB, ago time.Duration, n int) *Log {
	t.Helper()
	l := w.open(t, Options{})
	now := time.Now().Add(-ago)
	l.now = func() time.Time { now = now.Add(time.Second); return now }
	for i := range n {
		acknowledge(t, l, fmt.Sprint(ago, " ", i))
	}
	stored(t, l)
	return l
}

// prune applies limits, as a process that has none of them noted yet.
func (w *world) prune(t testing.TB, o Options) {
	t.Helper()
	var said strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&said, nil))
	l := w.open(t, o)
	k, err := ensureKey(t.Context(), w.dir, noShared)
	if err == nil {
		err = l.prune(t.Context(), k, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if said.Len() > 0 {
		t.Log(said.String())
	}
}

func TestRetentionByAge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		end(t, w.past(t, 48*time.Hour, 1200)) // more than two pages
		across := w.past(t, 24*time.Hour+10*time.Second, 1)
		across.now = time.Now
		add(t, across, "just now")
		end(t, across)
		end(t, w.past(t, time.Hour, 5))
		w.prune(t, Options{MaxAge: 24 * time.Hour})
		r := w.green(t, 6)
		if r.Chains != 2 {
			t.Errorf("%d chains", r.Chains)
		}
		w.prune(t, Options{MaxAge: time.Minute})
		if got := strings.Join(w.calls(t), " "); got != "just now" {
			t.Errorf("rows %q", got)
		}
		w.green(t, 1)
		// What retention has not removed is missed, also beside what it has.
		w.exec(t, "DELETE FROM audit_record")
		w.red(t, Missing)
		w.exec(t, "DELETE FROM audit_chain")
		w.red(t, Missing)
	})
}

func TestRetentionByNumber(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		end(t, w.past(t, time.Hour, 20))
		w.prune(t, Options{MaxAge: 24 * time.Hour, MaxRecords: 30})
		w.green(t, 20)
		w.prune(t, Options{MaxRecords: 7})
		w.green(t, 20)
		w.prune(t, Options{MaxAge: 24 * time.Hour, MaxRecords: 7})
		left := map[string]int{"sqlite": 7, "postgres": 20}
		w.green(t, left[w.rows.base().Engine()])
	})
}

func TestRetentionOfAChainInUse(t *testing.T) {
	w := newWorld(t, "")
	l := w.past(t, 48*time.Hour, 10)
	w.prune(t, Options{MaxAge: time.Hour})
	if n := len(w.chains(t)); n != 1 {
		t.Fatalf("%d chains", n)
	}
	w.green(t, 0)
	add(t, l, "still there")
	w.green(t, 1)
	w.prune(t, Options{MaxAge: time.Hour})
	w.green(t, 0)
	end(t, l)
	w.green(t, 0)
	w.prune(t, Options{MaxAge: time.Hour})
	if n := len(w.chains(t)); n > 0 {
		t.Errorf("%d chains are left", n)
	}
	w.green(t, 0)
}

func TestRetentionKeepsEvidence(t *testing.T) {
	for name, harm := range map[string]string{
		"changed":   "UPDATE audit_record SET line = replace(line, 'ok', 'no') WHERE seq = 3",
		"removed":   "DELETE FROM audit_record WHERE seq = 3",
		"backdated": "UPDATE audit_record SET at = 5 WHERE seq = 3",
		"beginning": "UPDATE audit_chain SET line = replace(line, 'format', 'tamrof')",
		"heads":     "DELETE FROM audit_head WHERE number = 2",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			end(t, w.past(t, 48*time.Hour, 9))
			w.exec(t, harm)
			before := w.verify(t)
			w.prune(t, Options{MaxAge: time.Hour})
			if after := w.verify(t); after.OK() || name != "heads" && len(after.Problems) != len(before.Problems) {
				t.Errorf("problems %v, and before %v", after.Problems, before.Problems)
			}
		})
	}
	t.Run("of what is not old", func(t *testing.T) {
		w := newWorld(t, "")
		w.chain(t, "a", "b", "c")
		w.exec(t, "UPDATE audit_record SET at = 5")
		w.prune(t, Options{MaxAge: time.Hour})
		if got := len(w.calls(t)); got != 3 {
			t.Errorf("%d records are left", got)
		}
	})
}

func TestConcurrentPrune(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 3 {
			end(t, w.past(t, 48*time.Hour, 1100))
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { w.prune(t, Options{MaxAge: time.Hour}) })
		}
		wg.Wait()
		w.green(t, 0)
		w.prune(t, Options{MaxAge: time.Hour})
		if n := len(w.chains(t)); n > 0 {
			t.Errorf("%d chains are left", n)
		}
		w.green(t, 0)
	})
}

func TestPruneAbandonedForeignChains(t *testing.T) {
	w := newWorld(t, "")
	there := w.elsewhere(t)
	end(t, there.past(t, 48*time.Hour, 10))
	w.prune(t, Options{MaxAge: time.Hour})
	w.green(t, 10)
	w.exec(t, "UPDATE audit_chain SET seen = seen - $1", foreignAbandonedAfter.Milliseconds())
	w.prune(t, Options{MaxAge: time.Hour})
	w.green(t, 0)
	// Its machine comes back: no key that it can check says that this was right.
	there.red(t, Missing)
}

func TestHeadsAreRewritten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.open(t, Options{})
		add(t, l, "a")
		end(t, w.past(t, 48*time.Hour, 10))
		heads := slices.Repeat([]head{{Kind: headReached, Chains: []point{reached(l)}}}, rewriteHeadsAt)
		err := headWriter{l.rows, l.key, w.dir}.add(t.Context(), func(seal headsFunc) error {
			return l.rows.Note(t.Context(), l.key.id(), 0, seal)
		}, heads...)
		if err != nil {
			t.Fatal(err)
		}
		w.prune(t, Options{MaxAge: time.Hour})
		if n := len(w.heads(t)); n > 10 {
			t.Errorf("%d heads", n)
		}
		end(t, l)
		w.green(t, 1)
		w.chain(t, "b")
		w.green(t, 2)
		// What was known before the rewriting is still known.
		w.exec(t, "DELETE FROM audit_chain WHERE id = $1", l.current.chain.ID)
		w.exec(t, "DELETE FROM audit_record WHERE chain = $1", l.current.chain.ID)
		w.red(t, Missing)
	})
}

func TestConcurrentHeadsPreventRewrite(t *testing.T) {
	w := newWorld(t, "")
	l := w.open(t, Options{})
	add(t, l, "a")
	p := &pruner{rows: w.rows, key: l.key, dir: w.dir, seal: newSealer(l.key), now: time.Now(), report: l.report}
	if err := p.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, l, "b")
	err := l.note(t.Context(), l.key, []point{reached(l)})
	p.heads.count = 1000
	if err = errors.Join(err, p.rewrite(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n := len(w.heads(t)); n != 3 {
		t.Errorf("%d heads", n)
	}
}

func TestDamagedHeadsAreNotRewritten(t *testing.T) {
	w := newWorld(t, "")
	w.chain(t, "a")
	id := newChainID(time.Now())
	if err := w.rows.Note(t.Context(), "x", id, func(headRow, bool) (list []headRow, err error) {
		k, err := loadKey(w.dir)
		for i := range rewriteHeadsAt {
			list = append(list, headRow{Key: k.id(), Number: int64(100 + i), Line: "rubbish"})
		}
		return list, err
	}); err != nil {
		t.Fatal(err)
	}
	w.exec(t, "UPDATE audit_head SET key = (SELECT key FROM audit_chain)")
	w.prune(t, Options{})
	if n := len(w.heads(t)); n < rewriteHeadsAt {
		t.Errorf("the evidence was removed, except for %d heads", n)
	}
	w.red(t, Foreign)
}
