// Package slots limits the number of pieces of work that run at once, and divides the slots
// fairly.
//
// A [Queue] has slots for calls, for example. A request names an account, such as a user, and a
// line of that account, such as a session. Work that gets no slot waits in its line, and lines
// take turns.
//
// An account gets another slot only while it has fewer than are free. So one account alone
// has half of them, two have a third each, and an account that has none gets one at once
// unless there are as many busy accounts as slots: long work of one never stops the others.
//
// Work that has a slot and begins to wait for something else gives it back with [Slot.Idle].
// The package does not know the work.
package slots

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits bound a queue.
type Limits struct {
	Total   int // slots
	Running int // of one line
	Queued  int // pieces of work of one line that wait for a slot
	Idle    int // pieces of work of one account that have given their slot back and go on waiting
}

// A For says for whom a slot is.
type For struct{ Account, Line string }

// Free reports whether an account that has own of the taken slots gets another one.
func Free(own, taken, total int) bool { return own < total-taken }

// A Queue hands out slots. Its methods may be called concurrently.
type Queue struct {
	// Running and Waiting are called when these numbers change. They may be nil.
	Running, Waiting func(n int)

	mu       sync.Mutex
	limits   Limits
	running  int
	waiting  int
	accounts map[string]*account
	lines    map[For]*line
	turn     []*line // lines with waiting work, the next one first
}

type account struct {
	running, idle int
	lines         int
}

// A line has the work of one line of an account.
type line struct {
	of      For
	account *account
	running int
	waiting []chan struct{}
}

// New returns a queue.
func New(l Limits) *Queue {
	return &Queue{limits: l, accounts: make(map[string]*account), lines: make(map[For]*line)}
}

// Resize changes the limits. Work that runs is not stopped.
func (q *Queue) Resize(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	q.admit()
}

// Acquire waits for a slot. The error is a *[tool.Error] if too much work of the line waits
// already, or the cause of the end of ctx.
func (q *Queue) Acquire(ctx context.Context, f For) (*Slot, error) {
	q.mu.Lock()
	l := q.line(f)
	if len(l.waiting) == 0 && q.may(l) {
		q.start(l)
		q.mu.Unlock()
		return &Slot{queue: q, line: l}, nil
	}
	if len(l.waiting) >= q.limits.Queued {
		running, waiting := l.running, len(l.waiting)
		q.forget(l)
		q.mu.Unlock()
		return nil, tool.Errorf(tool.Busy, "%d calls are running and %d are waiting", running, waiting).
			Try("wait for some of them to finish, then call again")
	}
	ready := make(chan struct{})
	l.waiting = append(l.waiting, ready)
	if len(l.waiting) == 1 {
		q.turn = append(q.turn, l)
	}
	q.wait(1)
	q.mu.Unlock()
	select {
	case <-ready:
		return &Slot{queue: q, line: l}, nil
	case <-ctx.Done():
		q.abandon(l, ready)
		return nil, context.Cause(ctx)
	}
}

// line returns the line of f. q.mu is held.
func (q *Queue) line(f For) *line {
	l, ok := q.lines[f]
	if ok {
		return l
	}
	of, ok := q.accounts[f.Account]
	if !ok {
		of = &account{}
		q.accounts[f.Account] = of
	}
	of.lines++
	l = &line{of: f, account: of}
	q.lines[f] = l
	return l
}

// may reports whether a line gets another slot now. q.mu is held.
func (q *Queue) may(l *line) bool {
	return l.running < q.limits.Running && Free(l.account.running, q.running, q.limits.Total)
}

func (q *Queue) start(l *line) { q.count(l, 1) }

// count adds n to the running work of a line. q.mu is held.
func (q *Queue) count(l *line, n int) {
	l.running += n
	l.account.running += n
	q.running += n
	if q.Running != nil {
		q.Running(q.running)
	}
}

// wait adds n to the waiting work. q.mu is held.
func (q *Queue) wait(n int) {
	q.waiting += n
	if q.Waiting != nil {
		q.Waiting(q.waiting)
	}
}

// abandon removes waiting work from its line, or returns its slot if it was admitted at
// the same moment.
func (q *Queue) abandon(l *line, ready chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(l.waiting, ready)
	if i < 0 {
		q.release(l)
		return
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	q.wait(-1)
	if len(l.waiting) == 0 {
		q.turn = slices.DeleteFunc(q.turn, func(other *line) bool { return other == l })
	}
	q.forget(l)
}

// release returns a slot of a line. q.mu is held.
func (q *Queue) release(l *line) {
	q.count(l, -1)
	q.forget(l)
	q.admit()
}

// admit starts as much waiting work as the limits allow, one piece of each line in turn.
// q.mu is held.
func (q *Queue) admit() {
	for skipped := 0; q.running < q.limits.Total && skipped < len(q.turn); {
		l := q.turn[0]
		q.turn = q.turn[1:]
		if !q.may(l) {
			q.turn = append(q.turn, l)
			skipped++
			continue
		}
		skipped = 0
		ready := l.waiting[0]
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			q.turn = append(q.turn, l)
		}
		q.wait(-1)
		q.start(l)
		close(ready)
	}
}

// forget drops a line without work, and its account, so that they leave nothing behind.
// q.mu is held.
func (q *Queue) forget(l *line) {
	if l.running > 0 || len(l.waiting) > 0 || q.lines[l.of] != l {
		return
	}
	delete(q.lines, l.of)
	l.account.lines--
	q.forgetAccount(l)
}

func (q *Queue) forgetAccount(l *line) {
	if l.account.lines == 0 && l.account.idle == 0 && q.accounts[l.of.Account] == l.account {
		delete(q.accounts, l.of.Account)
	}
}

// A Slot is the permission to run. Its methods may be called concurrently and more than once.
type Slot struct {
	queue *Queue
	line  *line
	state state // guarded by queue.mu
}

type state int

const (
	held state = iota
	idle
	over
)

// Idle gives the slot back for work that only waits from now on, until Release. The work
// keeps its slot if its account has too much such work.
func (s *Slot) Idle() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.state != held || s.line.account.idle >= q.limits.Idle {
		return
	}
	s.state = idle
	s.line.account.idle++
	q.release(s.line)
}

// Release ends the work of the slot.
func (s *Slot) Release() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch s.state {
	case held:
		q.release(s.line)
	case idle:
		s.line.account.idle--
		q.forgetAccount(s.line)
	}
	s.state = over
}
