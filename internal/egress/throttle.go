package egress

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHosts      = 1024            // for which state is kept
	maxRetryAfter = time.Hour       // longer Retry-After values are reduced to this
	maxWait       = 5 * time.Second // for which a request waits until a Retry-After has passed
)

// throttle limits the polite requests to each host: a few at once, and none until the
// time of a Retry-After. Each caller has its own limits, so that no caller can block a
// host for others.
type throttle struct {
	max int

	mu    sync.Mutex
	hosts map[hostKey]*hostState
}

// A hostKey identifies a caller and a host.
type hostKey struct {
	caller string
	target Target
}

func hostKeyFor(ctx context.Context, at link) hostKey {
	return hostKey{tool.CallerFrom(ctx).Principal(), at.target}
}

// A hostState is the state of one hostKey.
type hostState struct {
	slots   chan struct{}
	users   int       // requests that run or wait
	retryAt time.Time // from a Retry-After
}

func newThrottle(max int) *throttle {
	return &throttle{max: max, hosts: map[hostKey]*hostState{}}
}

// acquire waits until a request to a host may be sent. leave ends the request.
func (t *throttle) acquire(ctx context.Context, at link) (leave func(), err error) {
	t.mu.Lock()
	h := t.state(hostKeyFor(ctx, at))
	h.users++
	t.mu.Unlock()
	done := func() {
		t.mu.Lock()
		h.users--
		t.mu.Unlock()
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		done()
		var late *timeoutError
		if errors.As(context.Cause(ctx), &late) {
			return nil, tool.Errorf(tool.Busy, "%d requests to %q are running already", t.max,
				at.site()).Try("wait for them to end").Because(context.Cause(ctx))
		}
		return nil, ctx.Err()
	}
	leave = sync.OnceFunc(func() {
		<-h.slots
		done()
	})
	if err := t.waitRetryAfter(ctx, at, h); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// waitRetryAfter waits for the time that a host has requested, or returns an error if it
// is long.
func (t *throttle) waitRetryAfter(ctx context.Context, at link, h *hostState) error {
	for {
		t.mu.Lock()
		wait := time.Until(h.retryAt)
		t.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		if wait > maxWait {
			return tool.Errorf(tool.Busy, "%q requests a pause of %s", at.site(),
				wait.Round(time.Second)).Try("wait, or use another host")
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// noteRetryAfter records the Retry-After of a response with status 429 or 503.
func (t *throttle) noteRetryAfter(ctx context.Context, at link, res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	wait, _ := outbound.RetryAfter(res.Header.Get("Retry-After"), now)
	if wait = min(wait, maxRetryAfter); wait == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.state(hostKeyFor(ctx, at))
	if until := now.Add(wait); until.After(h.retryAt) {
		h.retryAt = until
	}
}

// state returns the state for a key. If there are too many, it evicts an unused one, the
// one that may be requested soonest.
func (t *throttle) state(host hostKey) *hostState {
	if h := t.hosts[host]; h != nil {
		return h
	}
	if len(t.hosts) >= maxHosts {
		t.evict(time.Now())
	}
	h := &hostState{slots: make(chan struct{}, t.max)}
	t.hosts[host] = h
	return h
}

func (t *throttle) evict(now time.Time) {
	var soonest hostKey
	var found *hostState
	for host, h := range t.hosts {
		switch {
		case h.users > 0:
		case !h.retryAt.After(now):
			delete(t.hosts, host)
		case found == nil || h.retryAt.Before(found.retryAt):
			soonest, found = host, h
		}
	}
	if found != nil && len(t.hosts) >= maxHosts {
		delete(t.hosts, soonest)
	}
}
