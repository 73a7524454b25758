package embeddings

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/indexer"
)

const (
	lease      = 10 * time.Second // how long a worker that died keeps others from working
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	lastCall   = 2 * time.Second // for releasing the lease when ctx has ended

	maxTexts = 256 // that are encoded together
	maxIDs   = 200
)

func newName() string {
	var b [12]byte
	rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Work makes vectors of all documents that have none, until ctx ends. Of all servers on a store one at a time
// does so: it holds a lease, which another server gets when it dies.
func (e *Embeddings) Work(ctx context.Context) {
	w := &worker{Embeddings: e, wake: make(chan struct{}, 1)}
	sub := e.o.Follower.Subscribe("the worker for embeddings", w)
	defer sub.Close()
	retry := firstRetry
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			wait, err := w.hold(ctx)
			if err == nil && wait == 0 {
				retry = firstRetry
				break
			}
			if err != nil && ctx.Err() == nil {
				e.o.Log.Warn("embeddings of documents are not made at present", "err", err, "retry", retry)
				wait, retry = retry, min(2*retry, lastRetry)
			}
			_ = clock.Sleep(ctx, wait) // the loop sees that ctx has ended
		}
	}
}

// A worker makes vectors. As a subscriber it learns only that there is something to do.
type worker struct {
	*Embeddings
	seen string // how far it has looked at the feed
	wake chan struct{}
}

// Topics returns that of documents.
func (w *worker) Topics() []string { return w.topics[:1] }

// Cursor returns how far the worker has looked at the feed, and begins where documents have vectors.
func (w *worker) Cursor(ctx context.Context) (_ string, err error) {
	if w.seen == "" {
		w.seen, err = w.o.Rows.Cursor(ctx)
	}
	return w.seen, err
}

// Apply wakes the worker.
func (w *worker) Apply(_ context.Context, c indexer.Changes) (more bool, err error) {
	w.seen = c.Next
	if c.Lost || len(c.Keys) > 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return false, nil
}

// hold takes the lease, makes the vectors that are missing, and releases it.
// Wait is the time until the lease of another worker expires.
func (w *worker) hold(ctx context.Context) (wait time.Duration, err error) {
	cursor, wait, err := w.o.Rows.Hold(ctx, w.name, lease)
	if err != nil || wait > 0 {
		return wait, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for clock.Sleep(ctx, lease/3) == nil {
			if err := w.o.Rows.Keep(ctx, w.name, lease); err != nil {
				stop(err)
			}
		}
	}()
	err = w.follow(ctx, cursor)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	stop(nil)
	<-renewed
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	if failed := w.o.Rows.Release(last, w.name); failed != nil {
		w.o.Log.Debug("other workers wait until the lease expires", "err", failed)
	}
	return 0, err
}

// follow encodes the documents that have changed since a cursor, or all if changes are lost.
func (w *worker) follow(ctx context.Context, cursor string) error {
	for {
		var ids []string
		next, lost, more, err := w.o.Follower.Feed().Follow(ctx, cursor, maxIDs, w.topics[:1], func(_, key string) {
			ids = append(ids, key)
		})
		if err != nil {
			return err
		}
		if lost {
			err = w.all(ctx)
		} else if len(ids) > 0 {
			if ids, err = w.o.Rows.Missing(ctx, ids, "", len(ids)); err == nil {
				err = w.encode(ctx, ids)
			}
		}
		if err == nil && next != cursor {
			err = w.reach(ctx, next)
		}
		if err != nil || !more || next == cursor {
			return err
		}
		cursor = next
	}
}

// reach stores the cursor, also when ctx has just ended: the work before it is done.
func (w *worker) reach(ctx context.Context, cursor string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	return w.o.Rows.Reach(ctx, w.name, cursor)
}

// all encodes all documents that have no vectors.
func (w *worker) all(ctx context.Context) error {
	after, began, count := "", time.Now(), 0
	for {
		ids, err := w.o.Rows.Missing(ctx, nil, after, maxIDs)
		if err != nil {
			return err
		}
		if err := w.encode(ctx, ids); err != nil {
			return err
		}
		count += len(ids)
		if len(ids) < maxIDs {
			w.o.Log.Debug("all documents have embeddings", "made", count, "took",
				time.Since(began).Round(time.Millisecond))
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// A pending document is one that is being encoded.
type pending struct {
	id      string
	version int64
	digests []string // of its parts; "" for one without a vector
}

// encode makes the vectors of documents, several together.
func (w *worker) encode(ctx context.Context, ids []string) error {
	var docs []pending
	texts := map[string]string{} // by digest
	for i, id := range ids {
		t, err := w.o.Rows.Texts(ctx, id)
		if err != nil {
			return err
		}
		d := pending{id: id, version: t.Version}
		for _, text := range t.Parts {
			digest := ""
			if text = w.o.Scrub(text); strings.TrimSpace(text) != "" {
				digest = digestOf(t.Scope, w.o.Space, text)
				texts[digest] = text
			}
			d.digests = append(d.digests, digest)
		}
		if len(t.Parts) > 0 {
			docs = append(docs, d)
		}
		if len(texts) < maxTexts && i < len(ids)-1 {
			continue
		}
		if err := w.store(ctx, docs, texts); err != nil {
			return err
		}
		docs = nil
		clear(texts)
	}
	return nil
}

// store encodes the texts that have no vectors yet, and stores the vectors of documents.
func (w *worker) store(ctx context.Context, docs []pending, texts map[string]string) error {
	all := slices.Collect(maps.Keys(texts))
	known := map[string]bool{}
	if len(all) > 0 {
		var err error
		if known, err = w.o.Rows.Known(ctx, all); err != nil {
			return err
		}
	}
	fresh := slices.DeleteFunc(all, func(digest string) bool { return known[digest] })
	for some := range slices.Chunk(fresh, maxTexts) {
		if err := w.add(ctx, some, texts, known); err != nil {
			return err
		}
	}
	for _, d := range docs {
		for i, digest := range d.digests {
			if !known[digest] {
				d.digests[i] = "" // the encoder does not take it
			}
		}
		if err := w.o.Rows.Set(ctx, d.id, d.version, d.digests); err != nil {
			return err
		}
	}
	return nil
}

// add encodes texts and stores their vectors at once, so that they are not encoded again after a crash.
func (w *worker) add(ctx context.Context, digests []string, texts map[string]string, known map[string]bool) error {
	ask := make([]string, len(digests))
	for i, digest := range digests {
		ask[i] = texts[digest]
	}
	encoded, failed := w.o.Encoder.Texts(ctx, ask)
	var list []Vector
	for i, v := range encoded {
		if len(v) > 0 {
			list = append(list, Vector{Digest: digests[i], Data: pack(v)})
			known[digests[i]] = true
		}
	}
	if len(list) == 0 {
		return failed
	}
	return errors.Join(failed, w.o.Rows.Add(context.WithoutCancel(ctx), list)) // they were paid for
}

// digestOf returns the digest of a text in a scope. It differs between scopes, or a caller could learn from how
// soon a text is found that another has stored the same.
func digestOf(scope, space, text string) string {
	h := sha256.New()
	h.Write([]byte(scope + "\x00" + space + "\x00" + text))
	return hex.EncodeToString(h.Sum(nil)[:20])
}
