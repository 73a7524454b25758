package web

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// semaphores limit the memory that the calls of all callers use together. A body takes
// many times its size when it is converted to text, so only a few are converted at the
// same time. Few large bodies are in memory at all, and one of them is converted at a
// time: large bodies wait for each other, and small ones do not wait for large ones.
type semaphores struct {
	readers, images chan struct{}
	large           chan struct{} // large bodies in memory
	largeReader     chan struct{} // the large body that is converted
	// patience is the max time that a request that can be repeated waits; 0 is
	// until its context ends. Large bodies wait half of that each time, because
	// the host waits too.
	patience time.Duration
}

const (
	minReaders      = 2 // so that small pages do not wait for a large one
	maxReaders      = 4
	maxImages       = 2
	maxLarge        = 4
	largeBody       = 1 << 20 // bytes
	defaultPatience = 20 * time.Second
)

func newSemaphores() semaphores {
	return semaphores{
		readers: make(chan struct{}, max(minReaders, min(runtime.GOMAXPROCS(0), maxReaders))),
		images:  make(chan struct{}, maxImages), large: make(chan struct{}, maxLarge),
		largeReader: make(chan struct{}, 1), patience: defaultPatience,
	}
}

// An admission has the slots that one call has acquired. It must be released in
// the end.
type admission struct {
	semaphores
	acquired []chan struct{}
	isLarge  bool
}

// patient returns an admission that waits as long as its context: for the response to
// a request that must not be repeated.
func (s semaphores) patient() *admission {
	s.patience = 0
	return &admission{semaphores: s}
}

func (a *admission) release() {
	for _, semaphore := range a.acquired {
		<-semaphore
	}
	a.acquired = nil
}

// acquire waits for a semaphore, at most patience long.
func (a *admission) acquire(ctx context.Context, semaphore chan struct{}, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var expired <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case semaphore <- struct{}{}:
		a.acquired = append(a.acquired, semaphore)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-expired:
		return tool.Errorf(tool.Busy, "too many pages are being read").
			Try("fetch this page again in half a minute, and fetch fewer large pages at the same time")
	}
}

// admitLarge waits until a large body may be in memory.
func (a *admission) admitLarge(ctx context.Context) error {
	if a.isLarge {
		return nil
	}
	if err := a.acquire(ctx, a.large, a.patience/2); err != nil {
		return err
	}
	a.isLarge = true
	return nil
}

// admitReader waits until the body may be converted.
func (a *admission) admitReader(ctx context.Context) error {
	if a.isLarge {
		if err := a.acquire(ctx, a.largeReader, a.patience/2); err != nil {
			return err
		}
	}
	return a.acquire(ctx, a.readers, a.patience)
}

// readBody reads a body to its end. Once it is known to be large, the rest is read
// after it is admitted. The buffer has the announced length from the beginning, since
// growing takes several times that.
func (a *admission) readBody(ctx context.Context, answer *outbound.Answer) ([]byte, error) {
	length := min(max(answer.Length, 0), maxAnswer)
	var b bytes.Buffer
	b.Grow(int(min(length, largeBody)) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(answer.Body, largeBody)); err != nil || b.Len() < largeBody {
		return b.Bytes(), err
	}
	if err := a.admitLarge(ctx); err != nil {
		return nil, err
	}
	b.Grow(int(max(length-largeBody, 0)) + bytes.MinRead)
	_, err := b.ReadFrom(answer.Body)
	return b.Bytes(), err
}
