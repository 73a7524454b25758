package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Update runs f in a transaction that may write. What f returns an error for
// did not happen. f may be run again when transactions stood in each other's
// way, so it must do nothing else.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		topics, err := s.update(ctx, f)
		if err == nil {
			s.notifier.changed(topics)
			if s.checkpoints != nil {
				s.checkpoints.committed()
			}
			return nil
		}
		if !s.shouldRetry(err, attempt, begun) {
			return s.logFailure(err)
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

const (
	// retryFor is how long a transaction is tried again that stood in others' way.
	// One of them always gets on, so that it comes to its turn; each time it
	// gives way counts for nothing.
	retryFor = 30 * time.Second
	// maxReconnects is how often one is tried again that has reached no server.
	maxReconnects = 6
)

func (s *Store) update(ctx context.Context, f func(*Tx) error) (topics map[string]bool, err error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.unavailable(err)
	}
	t := &Tx{store: s, tx: tx, ctx: ctx, topics: map[string]bool{}}
	if err := f(t); err != nil {
		_ = tx.Rollback() // the first error is the one that tells
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, s.unavailable(err)
	}
	return t.topics, nil
}

// backOff waits before another attempt, the longer the more there were. No two
// that stood in each other's way wait equally long.
func backOff(ctx context.Context, attempt int) error {
	return sleep(ctx, rand.N(10*time.Millisecond<<min(attempt, 6)))
}

// shouldRetry reports whether a transaction that failed is tried once more: it stood
// in another's way, or its connection was lost before it could commit.
func (s *Store) shouldRetry(err error, attempt int, begun time.Time) bool {
	if s.blocked(err) || errors.Is(err, ErrConflict) {
		return time.Since(begun) < retryFor
	}
	return s.dialect.name == "postgres" && pgconn.SafeToRetry(err) && attempt < maxReconnects
}

func (s *Store) blocked(err error) bool {
	if s.dialect.name == "sqlite" {
		return sqliteBusy(err)
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01") // serialization, deadlock
}
