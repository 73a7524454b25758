package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// A tracer passes the statements of a store to a function.
type tracer struct {
	f atomic.Pointer[func(statement string)]
}

// Trace calls f with each statement that the connections of this store run from now on,
// including the begin and end of transactions; nil ends that. It is for tests and measurements.
func (s *Store) Trace(f func(statement string)) { s.tracer.f.Store(&f) }

func (t *tracer) saw(statement string) {
	if f := t.f.Load(); f != nil && *f != nil {
		(*f)(statement)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	t.saw(q.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
