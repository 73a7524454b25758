package searchindex

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

const (
	extension = ".index"
	oldIndex  = 30 * 24 * time.Hour // an index that was not used for this long is removed
	oldTemp   = 24 * time.Hour      // age of an abandoned temporary file, if locks are not supported
	forever   = 24 * time.Hour
)

// intervals are the times between actions of the background goroutine.
type intervals struct {
	idle     time.Duration // after the last query, everything is released
	verify   time.Duration // between checks of all stamps
	retry    time.Duration // after a failure
	build    time.Duration // between two builds of a segment; longer for large ones
	maxStale int           // number of changed files, plus 1 %, that a segment may have
}

func defaultIntervals() intervals {
	return intervals{
		idle: 30 * time.Minute, verify: 5 * time.Minute, retry: 30 * time.Second, build: 5 * time.Second, maxStale: 64,
	}
}

// A background is the state of an index's background goroutine.
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
		timer := time.NewTimer(max(b.step(ctx), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-x.wake:
		case <-timer.C:
		case settled := <-x.settle:
			x.request()
			for ctx.Err() == nil && len(x.wake) > 0 {
				<-x.wake
				b.step(ctx)
			}
			close(settled)
		}
		timer.Stop()
	}
}

// step does the due work, and returns the time of the next call.
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

// handleError chooses the reaction to an error.
func (b *background) handleError(ctx context.Context, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
		return
	case errors.Is(err, errNoEvents) || errors.Is(err, errTooBig):
		b.disabled = true
		b.releaseAll()
		b.log.Info("this workspace is searched without an index", "cause", err)
		return
	case errors.Is(err, segment.ErrDamaged):
		b.log.Warn("the search index is damaged and will be rebuilt", "cause", err)
		b.releaseAll()
		_ = os.Remove(b.path)
		b.request()
		return
	case errors.Is(err, errLost):
		b.request()
		return
	}
	b.retry = time.Now().Add(b.intervals.retry)
	b.log.Warn("the search index is not available", "cause", err)
}

// releaseAll releases the view and the segment.
func (b *background) releaseAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = errors.Join(b.closeView(), b.closeSegment())
}

// ensureView creates a view if there is none.
func (b *background) ensureView(ctx context.Context) error {
	b.mu.RLock()
	there, seg := b.view != nil, b.seg
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
	if err != nil {
		return err
	}
	return b.watch(ctx, w)
}

// watch creates a view that events keep up to date.
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
	b.verified = time.Now()
	b.readers.Go(func() { b.readEvents(ctx, w) })
	return nil
}

// load reads the whole tree. No other goroutine may close the segment during the call.
func (x *Index) load(ctx context.Context, w *watcher) (*view, error) {
	m, err := readMounts(x.o.Root)
	if err != nil {
		return nil, err
	}
	v := newView(&x.o, x.seg)
	v.watcher, v.mounts = w, m
	if err := v.scanTree(ctx, ".", false); err != nil {
		return nil, errors.Join(err, m.close())
	}
	switch {
	case !m.trusted(v):
		return nil, errors.Join(errNoEvents, m.close())
	case v.size() > x.o.Memory:
		return nil, errors.Join(errTooBig, m.close())
	case w == nil:
		v.mounts, err = nil, m.close()
	}
	return v, err
}

// readEvents reads events regularly, so that the kernel's queue does not overflow
// between queries.
func (x *Index) readEvents(ctx context.Context, w *watcher) {
	const pause = 20 * time.Millisecond // to read several events at once
	for w.wait() && x.drainEvents(w) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// drainEvents reads the waiting events. It returns false if w is no longer in use.
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
	x.log.Debug("the search index is not up to date", "cause", cmp.Or(err, errLost))
	_ = x.closeView()
	x.request()
	return false
}

// cleanStore removes unused indexes and the temporary files of killed processes.
func cleanStore(store string) {
	removeFiles(store, "*"+extension, func(_ string, age time.Duration) bool { return age > oldIndex })
	removeFiles(store, segment.TempPattern, func(name string, age time.Duration) bool {
		return age > oldTemp || age > racyAge && segment.Abandoned(name)
	})
}

// removeFiles removes the files that match a pattern, if useless returns true for them.
func removeFiles(store, pattern string, useless func(name string, age time.Duration) bool) {
	names, _ := filepath.Glob(filepath.Join(store, pattern))
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && info.Mode().IsRegular() && useless(name, time.Since(info.ModTime())) {
			_ = os.Remove(name)
		}
	}
}

// openSegment opens the segment from the store.
func (b *background) openSegment() error {
	store := filepath.Dir(b.path)
	if err := os.MkdirAll(store, 0o700); err != nil {
		return err
	}
	if !b.storeCleaned {
		cleanStore(store)
		b.storeCleaned = true
	}
	seg, err := segment.Open(b.path, b.key)
	if err != nil {
		return err
	}
	now := time.Now()
	_ = os.Chtimes(b.path, now, now) // so that cleanStore does not remove it as unused
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seg = seg
	return nil
}

// needsRebuild reports whether a new segment is worth its cost.
func (b *background) needsRebuild() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.view != nil && b.tooStale(b.view.freshCount)
}

// tooStale reports whether so many files have changed that a new segment is worth its
// cost. Some files count as changed even in a new segment.
func (x *Index) tooStale(count int) bool {
	return x.seg == nil || count > x.staleFloor+x.intervals.maxStale+x.seg.Len()/100
}

// rebuild builds a new segment, unless another process has done so.
func (b *background) rebuild(ctx context.Context) error {
	if newer, err := b.adoptNewer(ctx); newer || err != nil {
		return err
	}
	begun := time.Now()
	p, err := b.plan(ctx)
	if err != nil {
		return err
	}
	var seg *segment.Segment
	atLowPriority(func() {
		if fault := segment.Guard(func() { seg, err = p.write(ctx, b.o.Root, b.path, b.key) }); fault != nil {
			err = fault
		}
	})
	if err != nil {
		return err
	}
	b.log.Debug("built the search index", "files", seg.Len(), "bytes", seg.Size(), "took", time.Since(begun))
	return b.replace(seg, p)
}

// adoptNewer opens the segment of another process, if there is one. It reports whether
// that segment is good enough.
func (b *background) adoptNewer(ctx context.Context) (bool, error) {
	info, err := os.Stat(b.path)
	if err != nil || b.seg != nil && b.seg.Same(info) {
		return false, nil
	}
	b.mu.Lock()
	err = errors.Join(b.closeView(), b.closeSegment())
	b.mu.Unlock()
	if err != nil {
		return false, err
	}
	err = b.ensureView(ctx)
	if errors.Is(err, segment.ErrDamaged) { // a new segment replaces it
		_ = os.Remove(b.path)
		err = b.ensureView(ctx)
	}
	return err == nil && !b.needsRebuild(), err
}

// plan returns the plan of the new segment.
func (b *background) plan(ctx context.Context) (p plan, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.view
	if v == nil {
		return plan{}, errLost
	}
	if err = v.refresh(ctx); err != nil {
		return plan{}, errors.Join(err, b.closeView())
	}
	fault := segment.Guard(func() { p = v.plan() })
	return p, fault
}

// replace replaces the segment by a new one.
func (b *background) replace(seg *segment.Segment, p plan) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.seg
	b.seg = seg
	if b.view != nil {
		err := b.view.drain()
		if err == nil {
			err = segment.Guard(func() { b.view = b.view.withSegment(seg, p) })
		}
		if err != nil {
			_ = b.closeView()
			b.request()
		} else {
			b.staleFloor = b.view.freshCount
		}
	}
	if old != nil {
		return old.Close()
	}
	return nil
}

// verify checks all stamps, for changes that cause no event.
func (b *background) verify(ctx context.Context) error {
	b.mu.RLock()
	v := b.view
	b.mu.RUnlock()
	if v == nil {
		return nil
	}
	now, err := b.load(ctx, nil)
	if err != nil {
		return err
	}
	b.verified = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.view != v {
		return nil
	}
	if err := v.refresh(ctx); err != nil {
		return errors.Join(err, b.closeView())
	}
	return segment.Guard(func() { v.catchUp(now) })
}

// catchUp applies the changes that v missed. now is a newer view of the same segment.
func (v *view) catchUp(now *view) {
	if v.seg != nil {
		for n := range uint32(v.seg.Len()) {
			if v.alive(n) && !now.alive(n) && v.seg.Flags(n)&segment.Racy == 0 {
				v.markFileChanged(n)
			}
		}
	}
	if !slices.Equal(v.names("."), now.names(".")) {
		v.relistDir(".")
	}
}
