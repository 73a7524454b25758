package store

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

const (
	// firstRetry is the pause after the first failure of a function of Work. It doubles up to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// overdueWait is the wait before another look at rows that are overdue.
	overdueWait = 50 * time.Millisecond
	// together is the time during which several changes count as one.
	together = 2 * time.Millisecond
)

// Work is the loop of the work that a process does in the background: it calls do at first, then whenever one of the
// topics may have changed and when the duration returned by do has passed, until ctx ends. Without a duration, 0, it
// waits for a change only. Nothing happens between the calls, so do computes the duration from the rows that become
// due, and does not look from time to time. After an error it logs the problem and tries again.
//
// Work does not open the store: it begins when the store is open.
func (s *Store) Work(ctx context.Context, problem string, do func(context.Context) (next time.Duration, err error),
	topics ...string) {
	select {
	case <-s.Opened():
	case <-ctx.Done():
		return
	}
	changed, end := s.Watch(topics...)
	defer end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for retry := firstRetry; ctx.Err() == nil; {
		next, err := do(ctx)
		if err == nil {
			retry = firstRetry
		} else {
			next = retry/2 + rand.N(retry)
			if ctx.Err() == nil {
				s.log.Warn(problem, "err", err, "retry", next.Round(time.Millisecond))
			}
			retry = min(2*retry, lastRetry)
		}
		timer.Stop()
		if next > 0 {
			timer.Reset(next)
		}
		select {
		case <-changed:
			_ = clock.Sleep(ctx, together) // the loop ends with ctx
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// Due returns how many milliseconds are left until the first of some rows is due, from a query for that number, as the
// duration for [Store.Work]. If the first is due already, because another process works on it, the duration is
// short; it is 0 if the query finds no row.
func (s *Store) Due(ctx context.Context, query string, args ...any) (time.Duration, error) {
	var left int64
	switch err := s.Row(ctx, query, args, &left); err {
	case nil:
		return max(time.Duration(left)*time.Millisecond, overdueWait), nil
	case ErrNotFound:
		return 0, nil
	default:
		return 0, err
	}
}
