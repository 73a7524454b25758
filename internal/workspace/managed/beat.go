package managed

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// beat keeps the leases of this replica while it has any.
func (t *Trees) beat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.beating || t.closed {
		return
	}
	t.beating = true
	t.working.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-t.ctx.Done():
				return
			}
			if !t.round() {
				return
			}
		}
	})
}

// round does the due work, and reports whether this replica has workspaces.
func (t *Trees) round() bool {
	t.mu.Lock()
	var list []*workspace
	for _, w := range t.all {
		w.mu.Lock()
		if w.held || w.behind {
			list = append(list, w)
		}
		w.mu.Unlock()
	}
	if len(list) == 0 {
		t.beating = false
	}
	t.mu.Unlock()
	if len(list) == 0 {
		return false
	}
	if err := t.renew(list); err != nil && t.ctx.Err() == nil {
		t.o.Log.Debug("the leases of workspaces were not renewed", "err", err)
	}
	for _, w := range list {
		busy := t.busy(w.dir)
		w.mu.Lock()
		due := busy && time.Since(w.scanned) > max(scanEvery, scanShare*w.took)
		w.scan = w.scan || due && w.held
		idle := !busy && w.uses == 0 && time.Since(w.used) > hold
		pending, behind := w.pending() && w.held, w.behind && w.uses == 0
		w.mu.Unlock()
		switch {
		case behind:
			w.inBackground(w.settle)
		case pending:
			w.storeSoon()
		case idle:
			w.inBackground(w.rest)
		}
	}
	return true
}

// renew renews the leases. A workspace whose row names another holder is lost.
func (t *Trees) renew(list []*workspace) error {
	ctx, cancel := context.WithTimeout(t.ctx, rowTimeout)
	defer cancel()
	begun := time.Now()
	var names []string
	had := make(map[string]int64)
	for _, w := range list {
		w.mu.Lock()
		if w.held {
			names, had[w.name] = append(names, w.name), w.fence
		}
		w.mu.Unlock()
	}
	if len(names) == 0 {
		return nil
	}
	mine := make(map[string]int64)
	if err := t.o.Store.Update(ctx, func(tx *store.Tx) error {
		clear(mine)
		args := []any{t.o.ID, lease.Milliseconds()}
		in := store.In(&args, names)
		_, err := store.List(tx, `UPDATE workspace SET until = {{now}} + $2 WHERE holder = $1 AND name IN (`+in+`)
			RETURNING name, fence`, args, func(scan store.Scan) (name string, err error) {
			var fence int64
			err = scan(&name, &fence)
			mine[name] = fence
			return name, err
		})
		return err
	}); err != nil {
		return err
	}
	for _, w := range list {
		fence, ok := mine[w.name]
		w.mu.Lock()
		if w.held && ok && fence == w.fence {
			w.until = begun.Add(lease)
		}
		lost := w.held && !ok && w.fence == had[w.name] // it was not got again meanwhile
		w.mu.Unlock()
		if lost {
			w.lost()
		}
	}
	return nil
}

// lost notes that another replica has the lease.
func (w *workspace) lost() {
	w.mu.Lock()
	was := w.held
	w.held, w.ready = false, false
	w.behind = w.behind || w.pending()
	w.dirty, w.scan = nil, false
	w.mu.Unlock()
	if was {
		w.t.o.Log.Warn("another server has taken over a workspace", "dir", w.dir)
	}
}

// inBackground does something, once at a time.
func (w *workspace) inBackground(do func(context.Context) error) {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.storing || w.t.closed {
		return
	}
	w.storing = true
	w.t.working.Go(func() {
		err := do(w.t.ctx)
		if err != nil && w.t.ctx.Err() == nil {
			w.t.o.Log.Warn("a workspace is behind; trying again", "dir", w.dir, "err", errors.Join(err, errors.Unwrap(err)))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.storing = false
	})
}

func (w *workspace) storeSoon() { w.inBackground(w.store) }

// settle puts aside the changes that only this machine has, when the workspace is free, so that all
// replicas have them.
func (w *workspace) settle(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	tree, other, err := w.acquire(ctx)
	if err == nil && other.ID == "" {
		err = w.pull(ctx, tree)
	}
	w.unlock()
	if err != nil || other.ID != "" {
		return err
	}
	return w.store(ctx)
}

// rest gives an unused workspace back.
func (w *workspace) rest(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	if _, err := w.release(ctx); err != nil {
		return err
	}
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.t.all) > maxIdle && w.uses == 0 && !w.held && !w.behind {
		delete(w.t.all, w.name)
		return w.forget()
	}
	return nil
}
