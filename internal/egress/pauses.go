package egress

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxPauses     = 1024            // that are remembered
	maxRetryAfter = time.Hour       // longer Retry-After values are reduced to this
	maxWait       = 5 * time.Second // the time that a polite request waits for the end of a pause
)

// pauses are the ends of the pauses that hosts have asked for. Each caller has its own, so that
// no caller can block a host for others.
type pauses struct {
	mu    sync.Mutex
	until map[pauseKey]time.Time
}

type pauseKey struct {
	caller string
	target Target
}

func pauseKeyFor(ctx context.Context, at link) pauseKey {
	return pauseKey{tool.CallerFrom(ctx).Principal(), at.target}
}

// wait waits until a host may be requested, or returns an error if that takes long.
func (p *pauses) wait(ctx context.Context, at link) error {
	p.mu.Lock()
	left := time.Until(p.until[pauseKeyFor(ctx, at)])
	p.mu.Unlock()
	if left > maxWait {
		return tool.Errorf(tool.Busy, "%q requests a pause of %s", at.site(), left.Round(time.Second)).
			Try("wait, or use another host")
	}
	if left <= 0 {
		return nil
	}
	return clock.Sleep(ctx, left)
}

// note records the Retry-After of a response with status 429 or 503.
func (p *pauses) note(ctx context.Context, at link, res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	wait, _ := outbound.RetryAfter(res.Header.Get("Retry-After"), now)
	if wait == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil || len(p.until) >= maxPauses { // forgetting a pause costs one refused request
		p.until = map[pauseKey]time.Time{}
	}
	key := pauseKeyFor(ctx, at)
	if until := now.Add(min(wait, maxRetryAfter)); until.After(p.until[key]) {
		p.until[key] = until
	}
}
