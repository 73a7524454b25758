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
	maxHosts = 1024            // whose turns are known
	maxPause = time.Hour       // that a host can ask for
	maxWait  = 5 * time.Second // of a request for that to be over
)

// turns are what hosts can expect of those who are polite: a few requests at
// once, and none for a while after a host said so. Each caller has its own, so
// that none who stalls at a host, or angers it, closes it for the others.
type turns struct {
	most int

	mu    sync.Mutex
	hosts map[visit]*turn
}

// A visit is one caller's to one host.
type visit struct {
	who string
	to  Target
}

func visitOf(ctx context.Context, at link) visit {
	return visit{tool.CallerFrom(ctx).Principal(), at.target}
}

// A turn is that of a visit.
type turn struct {
	places chan struct{}
	users  int       // who have it or wait for it
	until  time.Time // when it wants to be asked again
}

func newTurns(most int) *turns {
	return &turns{most: most, hosts: map[visit]*turn{}}
}

// take waits for a turn at a host. leave ends it.
func (t *turns) take(ctx context.Context, at link) (leave func(), err error) {
	t.mu.Lock()
	h := t.of(visitOf(ctx, at))
	h.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		h.users--
		t.mu.Unlock()
	}
	select {
	case h.places <- struct{}{}:
	case <-ctx.Done():
		gone()
		var late *lateError
		if errors.As(context.Cause(ctx), &late) {
			return nil, tool.Errorf(tool.Busy, "%d requests to %q are running", t.most, at.site()).Try("wait for them to end").Because(context.Cause(ctx))
		}
		return nil, ctx.Err()
	}
	leave = sync.OnceFunc(func() {
		<-h.places
		gone()
	})
	if err := t.pause(ctx, at, h); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// pause waits for as long as a host has asked for, unless that is long.
func (t *turns) pause(ctx context.Context, at link, h *turn) error {
	for {
		t.mu.Lock()
		wait := time.Until(h.until)
		t.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		if wait > maxWait {
			return tool.Errorf(tool.Busy, "%q wants to be asked again in %s", at.site(), wait.Round(time.Second)).Try("wait that long, or ask another host")
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

// heed notes when a host that is asked too often wants to be asked again.
func (t *turns) heed(ctx context.Context, at link, res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	wait, _ := outbound.RetryAfter(res.Header.Get("Retry-After"), now)
	if wait = min(wait, maxPause); wait == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(visitOf(ctx, at))
	if until := now.Add(wait); until.After(h.until) {
		h.until = until
	}
}

// of returns the turn of a visit. Where there are too many, one goes that nobody
// has, of those the one that may be asked soonest.
func (t *turns) of(host visit) *turn {
	if h := t.hosts[host]; h != nil {
		return h
	}
	if len(t.hosts) >= maxHosts {
		t.forget(time.Now())
	}
	h := &turn{places: make(chan struct{}, t.most)}
	t.hosts[host] = h
	return h
}

func (t *turns) forget(now time.Time) {
	var soonest visit
	var found *turn
	for host, h := range t.hosts {
		switch {
		case h.users > 0:
		case !h.until.After(now):
			delete(t.hosts, host)
		case found == nil || h.until.Before(found.until):
			soonest, found = host, h
		}
	}
	if found != nil && len(t.hosts) >= maxHosts {
		delete(t.hosts, soonest)
	}
}
