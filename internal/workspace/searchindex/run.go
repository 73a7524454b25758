package searchindex

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

const (
	extension = ".index"
	oldIndex  = 30 * 24 * time.Hour // not opened since: of a root that is gone
	oldTemp   = 24 * time.Hour      // of a process that is gone, where that cannot be told
	forever   = 24 * time.Hour
)

// A intervals says how often the background does what costs something.
type intervals struct {
	idle     time.Duration // without a question all is given back
	verify   time.Duration // between looks at all stamps, for what no event shows
	retry    time.Duration // after a failure
	build    time.Duration // between two segments, and more for large ones
	maxStale int           // changed files, and one in a hundred, that a segment may have
}

func defaultIntervals() intervals {
	return intervals{idle: 30 * time.Minute, verify: 5 * time.Minute, retry: 30 * time.Second, build: 5 * time.Second, maxStale: 64}
}

// A background is what goes on in the background of an index, in one goroutine.
type background struct {
	*Index
	retry        time.Time // not before
	build        time.Time // not before
	verified     time.Time
	storeCleaned bool
	disabled     bool // this root cannot be indexed
}

func (x *Index) run(ctx context.Context) {
	defer close(x.done)
	b := background{Index: x}
	for ctx.Err() == nil {
		requests := x.requested()
		timer := time.NewTimer(max(b.step(ctx), time.Millisecond))
		x.markServed(requests)
		select {
		case <-ctx.Done():
		case <-x.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step does what is to do, and returns when there is more.
func (b *background) step(ctx context.Context) time.Duration {
	now := time.Now()
	switch used := time.Unix(0, b.used.Load()); {
	case b.disabled:
		return forever
	case now.Sub(used) > b.intervals.idle:
		b.releaseAll()
		return forever
	case now.Before(b.retry):
		return b.retry.Sub(now)
	}
	err := b.ensureView(ctx)
	if err == nil && now.Sub(b.verified) > b.intervals.verify {
		err = b.verify(ctx)
	}
	if err == nil && b.needsRebuild() {
		if now.Before(b.build) {
			return b.build.Sub(now)
		}
		err = b.rebuild(ctx)
		b.build = time.Now().Add(max(b.intervals.build, min(20*time.Since(now), 100*b.intervals.build)))
	}
	b.handleError(ctx, err)
	return min(b.intervals.verify, b.intervals.idle)
}

// classify decides what an error means for the time to come.
func (b *background) handleError(ctx context.Context, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
		return
	case errors.Is(err, errNoTrust) || errors.Is(err, errTooBig):
		b.disabled = true
		b.releaseAll()
		b.log.Info("this workspace is searched without an index", "cause", err)
		return
	case errors.Is(err, segment.ErrDamaged):
		b.log.Warn("the index of files is damaged and is made again", "cause", err)
		b.releaseAll()
		_ = os.Remove(b.path)
		b.request()
		return
	case errors.Is(err, errLost):
		b.request()
		return
	}
	b.retry = time.Now().Add(b.intervals.retry)
	b.log.Warn("the index of files is not available", "cause", err)
}

// releaseAll gives everything back.
func (b *background) releaseAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = errors.Join(b.closeView(), b.closeSegment())
}

// ensureView makes a view if there is none.
func (b *background) ensureView(ctx context.Context) error {
	b.mu.RLock()
	there, seg := b.view != nil || b.statAll, b.seg
	b.mu.RUnlock()
	if seg == nil {
		if err := b.openSegment(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if there {
		return nil
	}
	w, err := newWatcher()
	if err == nil {
		err = b.watch(ctx, w)
	}
	if !errors.Is(err, errNoEvents) {
		return err
	}
	b.log.Info("the index of files looks at every file for each search", "cause", err)
	v, err := b.load(ctx, nil)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.statAll = true
	b.stale.Store(int64(v.freshCount))
	return nil
}

// watch makes a view that events keep up to date.
func (b *background) watch(ctx context.Context, w *watcher) error {
	v, err := b.load(ctx, w)
	if err != nil {
		return errors.Join(err, w.close())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return v.close()
	}
	b.view = v
	b.stale.Store(int64(v.freshCount))
	b.verified = time.Now()
	b.readers.Go(func() { b.readEvents(ctx, w) })
	return nil
}

// load looks at the whole tree. Nobody else gives up the segment meanwhile.
func (x *Index) load(ctx context.Context, w *watcher) (*view, error) {
	m, err := readMounts(x.o.Root)
	if err != nil {
		return nil, err
	}
	v := newView(&x.o, x.seg)
	v.watcher, v.mounts, v.inRepo = w, m, beneathRepo(x.o.Root.Path())
	if err := v.scanTree(ctx, ".", false); err != nil {
		return nil, errors.Join(err, m.close())
	}
	trust := m.trust(v)
	if w == nil {
		v.mounts, err = nil, m.close()
	}
	switch {
	case trust == trustNothing:
		err = errNoTrust
	case w != nil && trust < trustEvents:
		err = errNoEvents
	case v.size() > x.o.Memory:
		err = errTooBig
	default:
		return v, err
	}
	if w != nil {
		err = errors.Join(err, m.close())
	}
	return nil, err
}

// readEvents reads events now and then, so that the queue of the kernel does not
// overflow between two questions.
func (x *Index) readEvents(ctx context.Context, w *watcher) {
	const pause = 20 * time.Millisecond // for more events to come
	for w.wait() && x.drainEvents(w) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// drainEvents reads the events that wait, and returns false when w is no longer
// ours.
func (x *Index) drainEvents(w *watcher) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.view
	if v == nil || v.watcher != w {
		return false
	}
	err := v.drain()
	if err == nil && !v.lost {
		return true
	}
	x.log.Debug("the index of files is not up to date", "cause", cmp.Or(err, errLost))
	_ = x.closeView()
	x.request()
	return false
}

// cleanStore removes what other roots and dead processes left in the store.
func cleanStore(store string) {
	removeFiles(store, "*"+extension, func(_ string, age time.Duration) bool { return age > oldIndex })
	removeFiles(store, segment.TempPattern, func(name string, age time.Duration) bool {
		return age > oldTemp || age > racyAge && segment.Abandoned(name)
	})
}

// removeFiles removes the files of a kind that are of no use any more.
func removeFiles(store, pattern string, useless func(name string, age time.Duration) bool) {
	names, _ := filepath.Glob(filepath.Join(store, pattern))
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && useless(name, time.Since(info.ModTime())) {
			_ = os.Remove(name)
		}
	}
}
