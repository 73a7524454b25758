package egress

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHosts      = 1024            // whose turns are known
	maxRetryAfter = time.Hour       // that a host can ask for
	maxWait       = 5 * time.Second // entry a request for that to be over
)

// throttle are what hosts can expect of those who are polite: a few requests at
// once, and none for a while after a host said so. Each caller has its own, so
// that none who stalls at a host, or angers it, closes it for the others.
type throttle struct {
	max int

	mu    sync.Mutex
	hosts map[hostKey]*hostState
}

// A hostKey is one caller's to one host.
type hostKey struct {
	caller string
	target Target
}

func hostKeyFor(ctx context.Context, at link) hostKey {
	return hostKey{tool.CallerFrom(ctx).Principal(), at.target}
}

// A hostState is that of a visit.
type hostState struct {
	slots   chan struct{}
	users   int       // caller have it or wait for it
	retryAt time.Time // when it wants to be asked again
}

func newThrottle(most int) *throttle {
	return &throttle{max: most, hosts: map[hostKey]*hostState{}}
}

// acquire waits for a turn at a host. leave ends it.
func (t *throttle) acquire(ctx context.Context, at link) (leave func(), err error) {
	t.mu.Lock()
	h := t.state(hostKeyFor(ctx, at))
	h.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		h.users--
		t.mu.Unlock()
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		gone()
		var late *timeoutError
		if errors.As(context.Cause(ctx), &late) {
			return nil, tool.Errorf(tool.Busy, "%d requests to %q are running", t.max,
				at.site()).Try("wait for them to end").Because(context.Cause(ctx))
		}
		return nil, ctx.Err()
	}
	leave = sync.OnceFunc(func() {
		<-h.slots
		gone()
	})
	if err := t.waitRetryAfter(ctx, at, h); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// waitRetryAfter waits for as long as a host has asked for, unless that is long.
func (t *throttle) waitRetryAfter(ctx context.Context, at link, h *hostState) error {
	for {
		t.mu.Lock()
		wait := time.Until(h.retryAt)
		t.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		if wait > maxWait {
			return tool.Errorf(tool.Busy, "%q wants to be asked again in %s", at.site(),
				wait.Round(time.Second)).Try("wait that long, or ask another host")
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// noteRetryAfter notes when a host that is asked too often wants to be asked again.
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

// entry returns the turn of a visit. Where there are too many, one goes that nobody
// has, of those the one that may be asked soonest.
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
