package meaning

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/memory"
	api "github.com/mcp-tools/mcp-tools/tools/memory"
)

const (
	lease     = 10 * time.Second // that one who died keeps others from working
	gather    = 250 * time.Millisecond
	firstRest = 5 * time.Second // after a failure
	mostRest  = 5 * time.Minute

	textsAtOnce = 256 // texts that are encoded together
	keysAtOnce  = 200
)

func newHolder() string {
	var b [12]byte
	rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Work makes vectors of whatever is remembered and has none, until ctx ends. Of
// all servers on a store one at a time does so: it holds the space, and loses it
// to another one when it dies.
func (m *Meaning) Work(ctx context.Context) {
	w := &worker{Meaning: m}
	rest := firstRest
	for ctx.Err() == nil {
		changed := m.o.Feed.Wait(memory.Topic)
		wait, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.o.Log.Warn("memories are not made ready to be found by meaning at present", "err", err, "again_in", rest)
			sleep(ctx, rest)
			rest = min(2*rest, mostRest)
		case wait > 0: // somebody else is at it
			sleep(ctx, wait)
		default:
			rest = firstRest
			select {
			case <-changed:
				sleep(ctx, gather)
			case <-ctx.Done():
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A worker makes vectors. It is for one goroutine.
type worker struct {
	*Meaning
	seen string // how far the feed has nothing that is not done
}

// look looks for what is to be done, and does it. Wait says how long to leave
// that to somebody else.
func (w *worker) look(ctx context.Context) (wait time.Duration, err error) {
	if w.seen == "" {
		if w.seen, err = w.o.Rows.Place(ctx); err != nil {
			return 0, err
		}
	}
	if w.seen != "" {
		if idle, err := w.idle(ctx); idle || err != nil {
			return 0, err
		}
	}
	place, wait, err := w.o.Rows.Hold(ctx, w.holder, lease)
	if err != nil || wait > 0 {
		return wait, err
	}
	return 0, w.hold(ctx, place)
}

// idle reports whether nothing was remembered since it was looked last.
func (w *worker) idle(ctx context.Context) (bool, error) {
	for {
		some := false
		place, lost, more, err := w.o.Feed.Follow(ctx, w.seen, mostChanges, []string{memory.Topic}, func(string, string) { some = true })
		if err != nil || lost || some {
			return false, err
		}
		stuck := place == w.seen
		w.seen = place
		if !more || stuck {
			return true, nil
		}
	}
}

// hold works as long as the space is held.
func (w *worker) hold(ctx context.Context, place string) error {
	ctx, stop := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for sleep(ctx, lease/3); ctx.Err() == nil; sleep(ctx, lease/3) {
			if err := w.o.Rows.Keep(ctx, w.holder, lease); err != nil {
				stop(err)
			}
		}
	}()
	err := w.follow(ctx, place)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	stop(nil)
	<-renewed
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if failed := w.o.Rows.Release(last, w.holder); failed != nil {
		w.o.Log.Debug("others wait until the lease is over", "err", failed)
	}
	return err
}

// follow does what the feed tells of since a place, or where that is lost, what
// is not done of everything.
func (w *worker) follow(ctx context.Context, place string) error {
	for {
		var keys []string
		next, lost, more, err := w.o.Feed.Follow(ctx, place, keysAtOnce, []string{memory.Topic}, func(_, key string) { keys = append(keys, key) })
		if err != nil {
			return err
		}
		switch {
		case lost:
			err = w.all(ctx)
		case len(keys) > 0:
			err = w.some(ctx, keys)
		}
		if err != nil {
			return err
		}
		if lost || len(keys) > 0 {
			if err := w.o.Rows.Reach(ctx, w.holder, next); err != nil {
				return err
			}
		}
		stuck := next == place
		place, w.seen = next, next
		if !more || stuck {
			return nil
		}
	}
}

// all does what is not done.
func (w *worker) all(ctx context.Context) error {
	after, began, count := "", time.Now(), 0
	for {
		ids, err := w.o.Rows.Missing(ctx, nil, after, keysAtOnce)
		if err != nil {
			return err
		}
		if err := w.make(ctx, ids); err != nil {
			return err
		}
		count += len(ids)
		if len(ids) < keysAtOnce {
			w.o.Log.Debug("all memories can be found by meaning", "made", count, "took", time.Since(began).Round(time.Millisecond))
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// some does what of some keys is not done.
func (w *worker) some(ctx context.Context, keys []string) error {
	ids, err := w.o.Rows.Missing(ctx, keys, "", len(keys))
	if err != nil {
		return err
	}
	return w.make(ctx, ids)
}

// A draft is a version of a document whose vectors are being made.
type draft struct {
	id      string
	version int64
	digests []string
}

// make makes the vectors of documents, of several together.
func (w *worker) make(ctx context.Context, ids []string) error {
	var drafts []draft
	texts := map[string]string{} // by digest
	for i, id := range ids {
		owner, version, pieces, err := w.o.Shelf.Texts(ctx, id)
		if err != nil {
			return err
		}
		d := draft{id: id, version: version}
		for _, text := range pieces {
			digest := ""
			if text = w.o.Scrub(text); strings.TrimSpace(text) != "" {
				digest = digestOf(owner, w.o.Space, text)
				texts[digest] = text
			}
			d.digests = append(d.digests, digest)
		}
		if len(pieces) > 0 {
			drafts = append(drafts, d)
		}
		if len(texts) < textsAtOnce && i < len(ids)-1 {
			continue
		}
		if err := w.finish(ctx, drafts, texts); err != nil {
			return err
		}
		drafts = nil
		clear(texts)
	}
	return nil
}

// finish has the texts encoded that are new, and writes down what the drafts
// have.
func (w *worker) finish(ctx context.Context, drafts []draft, texts map[string]string) error {
	all := make([]string, 0, len(texts))
	for digest := range texts {
		all = append(all, digest)
	}
	known := map[string]bool{}
	if len(all) > 0 {
		var err error
		if known, err = w.o.Rows.Known(ctx, all); err != nil {
			return err
		}
	}
	var fresh []string
	for _, digest := range all {
		if !known[digest] {
			fresh = append(fresh, digest)
		}
	}
	for len(fresh) > 0 {
		some := fresh[:min(len(fresh), textsAtOnce)]
		fresh = fresh[len(some):]
		if err := w.encode(ctx, some, texts, known); err != nil {
			return err
		}
	}
	for _, d := range drafts {
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

// encode has texts encoded and keeps their vectors, so that whoever goes on
// after a crash finds them.
func (w *worker) encode(ctx context.Context, digests []string, texts map[string]string, known map[string]bool) error {
	ask := make([]string, len(digests))
	for i, digest := range digests {
		ask[i] = texts[digest]
	}
	vectors, failed := w.o.Encoder.Texts(ctx, ask)
	var list []api.Vector
	for i, v := range vectors {
		if len(v) > 0 {
			list = append(list, api.Vector{Digest: digests[i], Data: pack(v)})
			known[digests[i]] = true
		}
	}
	if len(list) == 0 {
		return failed
	}
	return errors.Join(failed, w.o.Rows.Add(context.WithoutCancel(ctx), list)) // they were paid for
}

// digestOf is by which a text is known of which there is a vector. It is not the
// same for two owners: who has the text of another could tell by how soon it is
// found.
func digestOf(o api.Owner, space, text string) string {
	h := sha256.New()
	for _, part := range []string{o.Agent, o.User, space} {
		h.Write([]byte(part + "\x00"))
	}
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:20])
}
