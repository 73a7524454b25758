package exec

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// notices reports the end of commands in the background whose caller does not learn
// of it otherwise.
type notices struct {
	mu    sync.Mutex
	known map[string]*noticed // by the id of a process that is going to be reported
}

// A noticed process is one that runs in the background.
type noticed struct {
	calls int           // calls that are looking at it
	told  bool          // a call has returned that it ended
	free  chan struct{} // closed when calls becomes 0; nil while it is 0
}

// report calls finished when a process has ended, and then ended, unless a call has returned that,
// or its caller has killed it. Both may be nil.
func (n *notices) report(ctx context.Context, p sandbox.Process, finished, ended func(context.Context, sandbox.Status)) {
	if ended == nil && finished == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	id := p.Status().ID
	n.mu.Lock()
	if n.known == nil {
		n.known = map[string]*noticed{}
	}
	n.known[id] = &noticed{}
	n.mu.Unlock()
	go func() { // ends with the process, and that with the server
		st := p.Wait(ctx, sandbox.WaitCondition{})
		if finished != nil && st.State != sandbox.Running {
			finished(ctx, st)
		}
		if told := n.leave(id); ended != nil && !told && st.State != sandbox.Killed && st.State != sandbox.Running {
			ended(ctx, st)
		}
	}()
}

// leave waits until no call looks at a process, and forgets it.
func (n *notices) leave(id string) (told bool) {
	for {
		n.mu.Lock()
		one := n.known[id]
		free := one.free
		if free == nil {
			delete(n.known, id)
			n.mu.Unlock()
			return one.told
		}
		n.mu.Unlock()
		<-free
	}
}

// look notes that a call looks at a process, until done.
func (n *notices) look(id string) (done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.known[id]
	if one == nil {
		return func() {}
	}
	if one.calls++; one.calls == 1 {
		one.free = make(chan struct{})
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if one.calls--; one.calls == 0 {
			close(one.free)
			one.free = nil
		}
	}
}

// told notes that the caller learns that a process has ended.
func (n *notices) told(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one := n.known[id]; one != nil {
		one.told = true
	}
}

// EndOf describes how a command in the background ended, in one line.
func EndOf(st sandbox.Status) string {
	how := "was lost with its sandbox"
	switch st.State {
	case sandbox.Exited:
		how = fmt.Sprintf("ended with status %d", st.Code)
		if st.Signal != "" {
			how = "was ended by " + st.Signal
		}
	case sandbox.TimedOut:
		how = "was stopped when its time was up"
	case sandbox.LimitExceeded:
		how = because("was killed because it used too much", st.Why)
	}
	return fmt.Sprintf("process %s %s after %s: %s", st.ID, how, brief(st.Took), firstLine(st.Text))
}
