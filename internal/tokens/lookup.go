package tokens

import (
	"context"
	"sync"
	"time"
)

// lookups are questions to the table that are under way. Under load many
// requests come with one token: those that wait for the table are answered by
// one question, which is put after the last of them came. So none learns how
// things were before it came.
type lookups struct {
	rows Rows

	mu  sync.Mutex
	now map[string]*lookup // by hash
}

// A lookup is one question. What it found is there when done is closed.
type lookup struct {
	done chan struct{}
	next *lookup // that begins when this one is done

	kept  Kept
	at    time.Time
	found bool
	err   error
}

// lookupPatience is how long the table may take to answer.
const lookupPatience = 5 * time.Second

// ask asks for the row with a hash, or waits for somebody who does.
func (l *lookups) ask(ctx context.Context, hash string) (*lookup, error) {
	l.mu.Lock()
	running := l.now[hash]
	switch {
	case running == nil:
		first := &lookup{done: make(chan struct{})}
		l.now[hash] = first
		l.mu.Unlock()
		l.put(ctx, first, hash)
		return first, first.err
	case running.next == nil:
		next := &lookup{done: make(chan struct{})}
		running.next = next
		l.mu.Unlock()
		<-running.done
		l.put(ctx, next, hash)
		return next, next.err
	}
	next := running.next
	l.mu.Unlock()
	select {
	case <-next.done:
		return next, next.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// put puts a question. Others rely on it, so it does not end with whoever put it.
func (l *lookups) put(ctx context.Context, one *lookup, hash string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupPatience)
	defer cancel()
	one.kept, one.at, one.found, one.err = l.rows.ByHash(ctx, hash)
	l.mu.Lock()
	if one.next != nil {
		l.now[hash] = one.next
	} else {
		delete(l.now, hash)
	}
	l.mu.Unlock()
	close(one.done)
}
