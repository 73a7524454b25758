package searchindex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// openSegment takes the segment from the store.
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
	_ = os.Chtimes(b.path, now, now) // or tidy takes it for old
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seg = seg
	return nil
}

// needsRebuild reports whether a new segment pays.
func (b *background) needsRebuild() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	count := int(b.stale.Load())
	if b.view != nil {
		count = b.view.freshCount
	}
	return b.tooStale(count)
}

// maxStale reports whether so many files changed that a new segment pays. Some
// count as changed even in a new one.
func (x *Index) tooStale(count int) bool {
	return x.seg == nil || count > x.staleFloor+x.intervals.maxStale+x.seg.Len()/100
}

// rebuild makes a new segment, unless another process already did.
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
	b.log.Debug("the index of files was made", "files", seg.Len(), "bytes", seg.Size(), "took", time.Since(begun))
	return b.replace(ctx, seg, p)
}

// adoptNewer takes over the segment of another process, and reports whether that is
// good enough.
func (b *background) adoptNewer(ctx context.Context) (bool, error) {
	info, err := os.Stat(b.path)
	if err != nil || b.seg != nil && b.seg.Same(info) {
		return false, nil
	}
	b.mu.Lock()
	err = errors.Join(b.closeView(), b.closeSegment())
	b.statAll = false
	b.mu.Unlock()
	if err != nil {
		return false, err
	}
	err = b.ensureView(ctx)
	if errors.Is(err, segment.ErrDamaged) { // then ours replaces it
		_ = os.Remove(b.path)
		err = b.ensureView(ctx)
	}
	return err == nil && !b.needsRebuild(), err
}

// plan says what the new segment is to hold.
func (b *background) plan(ctx context.Context) (p plan, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.view
	switch {
	case v != nil:
		err = v.refresh(ctx)
	case b.statAll:
		v, err = b.load(ctx, nil)
	default:
		err = errLost
	}
	if err != nil {
		return plan{}, errors.Join(err, b.closeView())
	}
	fault := segment.Guard(func() { p = v.plan() })
	return p, fault
}

// replace puts the new segment in place of the old one.
func (b *background) replace(ctx context.Context, seg *segment.Segment, p plan) error {
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
	if b.statAll {
		v, err := b.load(ctx, nil)
		if err != nil {
			return err
		}
		b.staleFloor = v.freshCount
		b.stale.Store(int64(v.freshCount))
	}
	if old != nil {
		return old.Close()
	}
	return nil
}

// verify looks at everything, for what no event shows.
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

// catchUp makes up for what v missed and now, which is another view of the same
// segment, knows.
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
