package audit

import (
	"context"
	"testing"
	"time"
)

// TestVerifyDuringChanges changes the log from other processes during Verify:
// chains begin, also the first one, and end, and retention removes chains and
// their entries in heads.
func TestVerifyDuringChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		before    []string // chains
		meanwhile func(t *testing.T, w *world)
	}{
		"a chain begins":    {[]string{"a"}, func(t *testing.T, w *world) { w.chain(t, "b") }},
		"the first begins":  {nil, func(t *testing.T, w *world) { w.chain(t, "b") }},
		"another machine's": {[]string{"a"}, func(t *testing.T, w *world) { w.elsewhere(t).chain(t, "b") }},
		"all are removed": {[]string{"a", "b"},
			func(t *testing.T, w *world) { w.prune(t, Options{MaxAge: time.Nanosecond}) }},
		"heads go with them": {[]string{"a", "b"},
			func(t *testing.T, w *world) { w.prune(t, Options{MaxAge: time.Nanosecond}); w.rewrite(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, calls := range []string{"Chains", "Heads", "Records"} {
				w := newWorld(t, "")
				for _, call := range tt.before {
					w.chain(t, call)
				}
				rows := &interrupted{rowStore: w.rows, before: calls, others: func() { tt.meanwhile(t, w) }}
				r, err := (&DB{rows: rows}).Verify(t.Context(), w.dir, nil)
				if err != nil || !r.OK() {
					t.Errorf("before %s: problems %v, %v", calls, r.Problems, err)
				}
			}
		})
	}
}

// rewrite rewrites the heads, as retention does when there are many.
func (w *world) rewrite(t testing.TB) {
	t.Helper()
	k, err := loadKey(w.dir)
	p := &pruner{rows: w.rows, key: k, dir: w.dir, seal: newSealer(k)}
	if err == nil {
		err = p.read(t.Context())
	}
	if err == nil {
		err = p.rewrite(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// interrupted rows run others before the first of some reading.
type interrupted struct {
	rowStore
	before string
	others func()
}

func (r *interrupted) Snapshot(ctx context.Context, f func(rowStore) error) error {
	return r.rowStore.Snapshot(ctx, func(rows rowStore) error {
		return f(&interrupted{rowStore: rows, before: r.before, others: r.others})
	})
}

func (r *interrupted) interrupt(call string) {
	if call == r.before {
		r.before = ""
		r.others()
	}
}

func (r *interrupted) Chains(ctx context.Context, after int64, limit int) ([]chainRow, error) {
	r.interrupt("Chains")
	return r.rowStore.Chains(ctx, after, limit)
}

func (r *interrupted) Heads(ctx context.Context, key string, after int64, limit int) ([]headRow, error) {
	r.interrupt("Heads")
	return r.rowStore.Heads(ctx, key, after, limit)
}

func (r *interrupted) Records(ctx context.Context, chain, after int64, limit int) ([]recordRow, error) {
	r.interrupt("Records")
	return r.rowStore.Records(ctx, chain, after, limit)
}
