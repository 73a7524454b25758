package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

const (
	firstPause   = time.Second
	longestPause = time.Minute // a service that asks for more gets no other attempt
)

// Attempts say how often something is tried. The zero Attempts try it once.
type Attempts struct {
	Max   int           // 0 is one
	First time.Duration // approximate pause after the first attempt; it doubles; 0 is a second
	Wait  func(ctx context.Context, d time.Duration) error
}

// Do calls once until it does not want to be called again, or Max times. Between two attempts it waits as long as the
// error asks for, or longer after each. The error is the last error of once, or the cause of ctx if ctx has ended and
// the last error does not come from a response: the outcome of a response is known.
func (a Attempts) Do(ctx context.Context, once func() (err error, again bool)) error {
	pause := a.First
	if pause <= 0 {
		pause = firstPause
	}
	wait := a.Wait
	if wait == nil {
		wait = clock.Sleep
	}
	for attempt := 1; ; attempt++ {
		err, again := once()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && !answered(err) {
			return context.Cause(ctx)
		}
		after := After(err)
		if !again || ctx.Err() != nil || attempt >= a.Max || after > longestPause {
			return err
		}
		if interrupted := wait(ctx, max(after, Jittered(pause))); interrupted != nil {
			if answered(err) {
				return err
			}
			return interrupted
		}
		pause = min(2*pause, longestPause)
	}
}

// answered reports whether an error came with the status of a response.
func answered(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status != 0
}

// Jittered returns about d, so that clients that were refused together do not come back together.
func Jittered(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2+1) }

// After returns how long the service of an error wants no further request; 0 if it does not say so.
func After(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}
