package pauses

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// firstRead limits how long the first call waits for a store that does not answer.
	firstRead  = time.Second
	retryAfter = time.Second
)

// A Watch has the pauses for a process, and the calls that they may end.
type Watch struct {
	store *store.Store
	end   func(covered func(agent, session string) bool, why string)
	log   *slog.Logger
	ctx   context.Context
	stop  context.CancelFunc
	start sync.Once
	done  sync.WaitGroup
	known chan struct{} // closed when the pauses were read, or cannot be

	mu      sync.Mutex
	list    []Pause
	running map[*running]bool
}

// A running is a call that was let in.
type running struct {
	session string
	agents  []string
	end     context.CancelCauseFunc
}

// NewWatch returns a Watch. It reads the store from the first call on. At each new pause it
// calls end, for commands and jobs that calls have left running.
func NewWatch(s *store.Store, log *slog.Logger, end func(covered func(agent, session string) bool, why string)) *Watch {
	w := &Watch{store: s, end: end, log: log, known: make(chan struct{}), running: map[*running]bool{}}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Close stops reading. Afterwards no call is refused.
func (w *Watch) Close() error {
	w.stop()
	w.done.Wait()
	return nil
}

// Enter lets a call in, of a session that works for the agents. It returns the error for
// the caller if a pause covers it. Otherwise it calls end with that error when one does, until
// leave is called.
func (w *Watch) Enter(ctx context.Context, end context.CancelCauseFunc, session string, agents ...string) (leave func(),
	err error) {
	w.start.Do(func() { w.done.Go(w.watch) })
	select {
	case <-w.known:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.list {
		if p.covers(session, agents...) {
			return nil, p.refusal()
		}
	}
	r := &running{session, agents, end}
	w.running[r] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, r)
	}, nil
}

// refusal is the error for covered callers.
func (p Pause) refusal() *tool.Error {
	what := "all calls"
	switch {
	case p.Session != "":
		what = "the calls of this session"
	case p.Agent != "":
		what = "the calls of this agent"
	}
	return tool.Errorf(tool.Refused, "the operator has paused %s: %s", what, p.Reason).
		Try("stop here and tell the user; calls work again when the operator has run mcp-tools resume")
}

// watch reads the pauses at each change. If the store does not exist yet there are none,
// and it is not opened.
func (w *Watch) watch() {
	known := sync.OnceFunc(func() { close(w.known) })
	defer known()
	if w.store.Unused() {
		known()
		select {
		case <-w.store.Opened():
		case <-w.ctx.Done():
			return
		}
	}
	timer := time.AfterFunc(firstRead, known)
	defer timer.Stop()
	changed, end := w.store.Watch(Topic)
	defer end()
	for w.ctx.Err() == nil {
		list, err := List(w.ctx, w.store)
		if err != nil {
			known()
			if w.ctx.Err() == nil {
				w.log.Warn("it is not known whether calls are paused; trying again", "err", err)
			}
			_ = clock.Sleep(w.ctx, retryAfter)
			continue
		}
		w.apply(list)
		known()
		select {
		case <-changed:
		case <-w.ctx.Done():
		}
	}
}

// apply replaces the pauses, and ends calls and commands that the new ones cover.
func (w *Watch) apply(list []Pause) {
	w.mu.Lock()
	before := map[Pause]bool{}
	for _, p := range w.list {
		before[p] = true
	}
	w.list = list
	var added []Pause
	for _, p := range list {
		if before[p] {
			continue
		}
		added = append(added, p)
		for r := range w.running {
			if p.covers(r.session, r.agents...) {
				r.end(p.refusal())
			}
		}
	}
	w.mu.Unlock()
	for _, p := range added {
		w.log.Warn("calls are paused", "agent", p.Agent, "session", p.Session, "reason", p.Reason, "by", p.By)
		w.done.Go(func() {
			w.end(func(agent, session string) bool { return p.covers(session, agent) }, "paused: "+p.Reason)
		})
	}
}
