package wire

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// Repeat calls once again and again until ctx ends, and waits after errors of the service: as
// long as it asks for, else longer after each error. It returns errors of kind Denied, and
// errors that are not a [*chat.Error]. wait may be nil.
func Repeat(ctx context.Context, wait func(ctx context.Context, d time.Duration) error,
	once func(ctx context.Context) error) error {
	if wait == nil {
		wait = clock.Sleep
	}
	for backoff := firstWait; ; {
		start := time.Now()
		err := once(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || time.Since(start) > longestWait { // it had worked
			backoff = firstWait
		}
		if err == nil {
			continue
		}
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind == chat.Denied {
			return err
		}
		if err := wait(ctx, max(e.After, api.Jittered(backoff))); err != nil {
			return err
		}
		backoff = min(backoff*2, longestWait)
	}
}
