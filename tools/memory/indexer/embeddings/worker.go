package embeddings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

const (
	lease      = 10 * time.Second // how long a worker that died keeps others from working
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	lastCall   = 2 * time.Second        // for releasing the lease when ctx has ended
	gather     = 250 * time.Millisecond // that changes wait for others

	maxTexts = 256 // that are encoded together
	maxIDs   = 200
)

// Work makes the missing vectors of all documents, until ctx ends. Of all servers on a store one at a time
// works: it holds a lease, and another server gets the lease when it dies.
func (e *Embeddings) Work(ctx context.Context) {
	retry := firstRetry
	changed, end := e.o.Feed.Watch(e.documents())
	defer end()
	for seen := ""; ctx.Err() == nil; {
		wait, err := e.workOnce(ctx, &seen)
		if err != nil && ctx.Err() == nil {
			e.o.Log.Warn("embeddings of documents are not made at present", "err", err, "retry", retry)
			wait, retry, seen = retry, min(2*retry, lastRetry), ""
		} else {
			retry = firstRetry
		}
		if wait == 0 {
			select {
			case <-changed:
				wait = gather
			case <-ctx.Done():
			}
		}
		_ = clock.Sleep(ctx, wait) // the loop sees that ctx has ended
	}
}

// documents returns the topic of documents in the feed.
func (e *Embeddings) documents() string {
	topic, _ := e.o.Rows.Topics()
	return topic
}

// workOnce makes vectors if documents have changed since a cursor that it moves; "" is where documents have
// vectors. Wait is the time until the lease of another worker expires.
func (e *Embeddings) workOnce(ctx context.Context, seen *string) (wait time.Duration, err error) {
	if *seen == "" {
		if *seen, err = e.o.Rows.Cursor(ctx); err != nil {
			return 0, err
		}
	}
	found := false
	next, lost, _, err := e.o.Feed.Follow(ctx, *seen, 1, []string{e.documents()}, func(string, string) { found = true })
	if err != nil {
		return 0, err
	}
	if lost || found {
		*seen = ""
		return e.hold(ctx)
	}
	*seen = next
	return 0, nil
}

// hold takes the lease, makes the vectors that are missing, and releases it.
// Wait is the time until the lease of another worker expires.
func (e *Embeddings) hold(ctx context.Context) (wait time.Duration, err error) {
	cursor, wait, err := e.o.Rows.Hold(ctx, e.name, lease)
	if err != nil || wait > 0 {
		return wait, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for clock.Sleep(ctx, lease/3) == nil {
			if err := e.o.Rows.Keep(ctx, e.name, lease); err != nil {
				stop(err)
			}
		}
	}()
	err = e.follow(ctx, cursor)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	stop(nil)
	<-renewed
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	if failed := e.o.Rows.Release(last, e.name); failed != nil {
		e.o.Log.Debug("other workers wait until the lease expires", "err", failed)
	}
	return 0, err
}

// follow encodes the documents that have changed since a cursor, or all if changes are lost.
func (e *Embeddings) follow(ctx context.Context, cursor string) error {
	for {
		var ids []string
		next, lost, more, err := e.o.Feed.Follow(ctx, cursor, maxIDs, []string{e.documents()}, func(_, key string) {
			ids = append(ids, key)
		})
		if err != nil {
			return err
		}
		if lost {
			err = e.all(ctx)
		} else if len(ids) > 0 {
			if ids, err = e.o.Rows.Missing(ctx, ids, "", len(ids)); err == nil {
				err = e.encode(ctx, ids)
			}
		}
		if err == nil && next != cursor {
			err = e.reach(ctx, next)
		}
		if err != nil || !more || next == cursor {
			return err
		}
		cursor = next
	}
}

// reach stores the cursor, also when ctx has just ended: the work before it is done.
func (e *Embeddings) reach(ctx context.Context, cursor string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	return e.o.Rows.Reach(ctx, e.name, cursor)
}

// all encodes all documents that have no vectors.
func (e *Embeddings) all(ctx context.Context) error {
	after, began, count := "", time.Now(), 0
	for {
		ids, err := e.o.Rows.Missing(ctx, nil, after, maxIDs)
		if err != nil {
			return err
		}
		if err := e.encode(ctx, ids); err != nil {
			return err
		}
		count += len(ids)
		if len(ids) < maxIDs {
			e.o.Log.Debug("all documents have embeddings", "made", count, "took",
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
func (e *Embeddings) encode(ctx context.Context, ids []string) error {
	var docs []pending
	texts := map[string]string{} // by digest
	for i, id := range ids {
		t, err := e.o.Rows.Texts(ctx, id)
		if err != nil {
			return err
		}
		d := pending{id: id, version: t.Version}
		for _, text := range t.Parts {
			digest := ""
			if text = e.o.Scrub(text); strings.TrimSpace(text) != "" {
				digest = digestOf(t.Scope, e.o.Space, text)
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
		if err := e.store(ctx, docs, texts); err != nil {
			return err
		}
		docs = nil
		clear(texts)
	}
	return nil
}

// store encodes the texts that have no vectors yet, and stores the vectors of documents.
func (e *Embeddings) store(ctx context.Context, docs []pending, texts map[string]string) error {
	all := slices.Collect(maps.Keys(texts))
	known := map[string]bool{}
	if len(all) > 0 {
		var err error
		if known, err = e.o.Rows.Known(ctx, all); err != nil {
			return err
		}
	}
	fresh := slices.DeleteFunc(all, func(digest string) bool { return known[digest] })
	for some := range slices.Chunk(fresh, maxTexts) {
		if err := e.add(ctx, some, texts, known); err != nil {
			return err
		}
	}
	for _, d := range docs {
		for i, digest := range d.digests {
			if !known[digest] {
				d.digests[i] = "" // the encoder does not take it
			}
		}
		if err := e.o.Rows.Set(ctx, d.id, d.version, d.digests); err != nil {
			return err
		}
	}
	return nil
}

// add encodes texts and stores their vectors at once, so that they are not encoded again after a crash.
func (e *Embeddings) add(ctx context.Context, digests []string, texts map[string]string, known map[string]bool) error {
	ask := make([]string, len(digests))
	for i, digest := range digests {
		ask[i] = texts[digest]
	}
	encoded, failed := e.o.Encoder.Texts(ctx, ask)
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
	return errors.Join(failed, e.o.Rows.Add(context.WithoutCancel(ctx), list)) // they were paid for
}

// digestOf returns the digest of a text in a scope. It differs between scopes, or a caller could learn from how
// soon a text is found that another has stored the same.
func digestOf(scope, space, text string) string {
	h := sha256.New()
	h.Write([]byte(scope + "\x00" + space + "\x00" + text))
	return hex.EncodeToString(h.Sum(nil)[:20])
}
