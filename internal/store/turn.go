package store

import (
	"context"
	"errors"
	"hash/fnv"
	"hash/maphash"
	"slices"
	"sync"
)

// maxShared limits how many functions share a transaction of [Store.UpdateInTurn].
const maxShared = 32

// A turn lets one transaction run at a time. Callers that come during it share the next one.
type turn struct {
	mu      sync.Mutex
	running bool // a goroutine runs the entries
	waiting []*entry
}

// An entry is one call of UpdateInTurn.
type entry struct {
	ctx  context.Context
	key  string
	f    func(*Tx) error
	done chan result // has room
}

type result struct {
	err      error
	panicked any
}

// call calls the function of the entry.
func (e *entry) call(t *Tx) (r result) {
	defer func() { r.panicked = recover() }()
	return result{err: e.f(t)}
}

// errAlone is the error of a transaction with a function that needs one for itself.
var errAlone = errors.New("a function in the transaction has failed")

// UpdateInTurn is Update for transactions that change the same row. The key names the row. Of
// this process one at a time runs for a key. If they waited for each other in the database,
// each would have a transaction id already, and the change feed could not move on. With
// PostgreSQL the functions of several callers share a transaction; one that fails does not
// affect the others. A function that has begun in a shared one is finished when its caller's
// context ends.
func (s *Store) UpdateInTurn(ctx context.Context, key string, f func(*Tx) error) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	t := s.turns[maphash.String(s.seed, key)%uint64(len(s.turns))]
	e := &entry{ctx: ctx, key: key, f: f, done: make(chan result, 1)}
	t.mu.Lock()
	t.waiting = append(t.waiting, e)
	if !t.running {
		t.running = true
		go s.run(t)
	}
	t.mu.Unlock()
	select {
	case r := <-e.done:
		return r.end()
	case <-ctx.Done():
		if t.leave(e) {
			return context.Cause(ctx)
		}
		return (<-e.done).end() // it has begun
	}
}

// end returns the error, or panics as the function did.
func (r result) end() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// leave removes an entry that has not begun.
func (t *turn) leave(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.waiting)
	t.waiting = slices.DeleteFunc(t.waiting, func(other *entry) bool { return other == e })
	return len(t.waiting) < before
}

// next removes and returns the first entries, of one key. It returns none at the end.
func (t *turn) next(most int) (batch []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rest []*entry
	for _, e := range t.waiting {
		if len(batch) < most && e.key == t.waiting[0].key {
			batch = append(batch, e)
		} else {
			rest = append(rest, e)
		}
	}
	t.waiting, t.running = rest, len(batch) > 0
	return batch
}

// run runs the entries that wait.
func (s *Store) run(t *turn) {
	most := maxShared
	if s.dialect.name == "sqlite" { // a transaction costs little there, and callers would wait for the slowest
		most = 1
	}
	for batch := t.next(most); len(batch) > 0; batch = t.next(most) {
		for len(batch) > 1 {
			failed, err := s.share(batch)
			if failed < 0 {
				for _, e := range batch {
					e.done <- result{err: err}
				}
				batch = nil
				break
			}
			s.alone(batch[failed])
			batch = slices.Delete(batch, failed, failed+1)
		}
		for _, e := range batch {
			s.alone(e)
		}
	}
}

// alone runs an entry in its own transaction.
func (s *Store) alone(e *entry) {
	var r result
	err := s.Update(e.ctx, func(t *Tx) error {
		r = e.call(t)
		if r.panicked != nil {
			return errAlone
		}
		return r.err
	})
	e.done <- result{err, r.panicked}
}

// share runs entries in one transaction. If one fails nothing is written, and failed is
// its position, else it is -1.
func (s *Store) share(batch []*entry) (failed int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), retryFor)
	defer cancel()
	err = s.Update(ctx, func(t *Tx) error {
		failed = -1
		name := fnv.New64a()
		_, _ = name.Write([]byte(batch[0].key)) // it never fails
		// A waiter for this lock has no transaction id yet.
		if _, err := t.Exec("SELECT pg_advisory_xact_lock($1)", int64(name.Sum64())); err != nil {
			return err
		}
		for i, e := range batch {
			r := e.call(t)
			if r.err == nil && r.panicked == nil {
				continue
			}
			if r.panicked == nil && s.blocked(r.err) {
				return r.err
			}
			failed = i
			return errAlone
		}
		return nil
	})
	return failed, err
}
