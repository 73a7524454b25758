package agent

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tribe is all processes that the commands have started. The agent is their
// subreaper, or the first process of their namespace: whatever a command leaves
// behind becomes a child of the agent. So the tree of a command is its own
// process and the strays that are its own, each with its descendants; and when
// the agent has no child that is not a command, nothing was left.
type tribe struct {
	stray func() // called when a process ended that was no command

	stirred chan struct{} // a stray has ended

	mu       sync.Mutex
	reaping  bool                   // somebody waits for children
	forking  int                    // starts under way
	early    map[int]ending         // what ended before its start was over
	mains    map[int]*command       // by pid, until they have ended
	marks    map[string]*command    // that are not gone
	sessions map[int]*command       // likewise, by the pid that they were started with
	adopted  map[int]*command       // strays without a mark
	waiting  map[chan struct{}]bool // who wants to know when something ends
	watch    *watch
}

func newTribe(stray func()) (*tribe, error) {
	t := &tribe{
		stray:    stray,
		stirred:  make(chan struct{}, 1),
		early:    map[int]ending{},
		mains:    map[int]*command{},
		marks:    map[string]*command{},
		sessions: map[int]*command{},
		adopted:  map[int]*command{},
		waiting:  map[chan struct{}]bool{},
	}
	t.watch = newWatch(t)
	go func() {
		for range t.stirred {
			t.stray()
		}
	}()
	return t, nil
}

// start starts the process of a command.
func (t *tribe) start(c *command, path string, p *plumbing) (int, error) {
	files := []uintptr{p.theirs[0].Fd(), p.theirs[1].Fd(), p.theirs[2].Fd()}
	attr := &syscall.ProcAttr{
		Dir:   c.spec.Dir,
		Env:   c.environ(),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: p.tty != nil, Pdeathsig: syscall.SIGKILL},
	}
	t.mu.Lock()
	t.forking++
	t.marks[c.mark] = c
	t.mu.Unlock()
	pid, err := syscall.ForkExec(path, c.spec.Argv, attr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forking--
	if err != nil {
		delete(t.marks, c.mark)
		return 0, err
	}
	t.sessions[pid] = c
	e, dead := t.early[pid]
	if dead && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // else the number was another's
		c.ended(e)
	} else {
		t.mains[pid] = c
		limit(pid, c.spec.Limits)
	}
	if t.forking == 0 {
		clear(t.early)
	}
	return pid, nil
}

// nudge leaves a note on a channel that holds one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// attend waits for every child there is, unless another goroutine does. To have
// it done by whoever has just started one is faster than to wake somebody.
func (t *tribe) attend() {
	t.mu.Lock()
	busy := t.reaping
	t.reaping = true
	t.mu.Unlock()
	if !busy {
		t.reap()
	}
}

// reap waits for children until there are none: then nobody can leave any. What
// follows from the end of a command may take its time, so that the rest is left
// to another goroutine then.
func (t *tribe) reap() {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		switch {
		case err == nil:
			if c := t.reaped(pid, endingOf(status, usage)); c != nil {
				if !t.rest() {
					go t.reap()
				}
				c.settle()
				return
			}
		case errors.Is(err, syscall.ECHILD):
			if t.rest() {
				return
			}
		}
	}
}

// rest ends the reaping when there is nothing to reap.
func (t *tribe) rest() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reaping = len(t.mains) > 0 || !childless()
	return !t.reaping
}

func endingOf(status syscall.WaitStatus, usage syscall.Rusage) ending {
	e := ending{
		code:   status.ExitStatus(),
		cpu:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		memory: usage.Maxrss << 10,
	}
	if status.Signaled() {
		e.code, e.signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return e
}

// reaped returns the command that has ended, if it was one.
func (t *tribe) reaped(pid int, e ending) *command {
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.waiting {
		nudge(w)
	}
	if c := t.mains[pid]; c != nil {
		c.ended(e)
		delete(t.mains, pid)
		return c
	}
	if t.forking > 0 {
		t.early[pid] = e
	}
	delete(t.adopted, pid)
	nudge(t.stirred)
	return nil
}

// gone is told that a command has ended with all that it has started.
func (t *tribe) gone(c *command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.marks, c.mark)
	if t.sessions[c.pid] == c {
		delete(t.sessions, c.pid)
	}
	for pid, owner := range t.adopted {
		if owner == c {
			delete(t.adopted, pid)
		}
	}
}

// alone says that the agent has no children at all.
func (t *tribe) alone() bool {
	t.mu.Lock()
	busy := t.forking > 0 || len(t.mains) > 0
	t.mu.Unlock()
	return !busy && childless()
}

func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD)
}

// left counts the processes of a command that still run. Strays without a mark
// are taken for those of the first command that asks.
func (t *tribe) left(c *command) int {
	if t.alone() {
		return 0
	}
	roots, unmarked := t.roots(c)
	t.mu.Lock()
	for _, pid := range unmarked {
		if t.adopted[pid] == nil {
			t.adopted[pid] = c
		}
		if t.adopted[pid] == c {
			roots = append(roots, pid)
		}
	}
	t.mu.Unlock()
	return len(family(roots, 0))
}

// roots are the children of the agent that belong to a command, and those that
// nobody can tell whose they are.
func (t *tribe) roots(c *command) (mine, unmarked []int) {
	kids := children(unix.Getpid())
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range kids {
		owner := t.owner(pid)
		if owner == nil && t.forking > 0 {
			if starting(pid) {
				continue // it has no mark yet
			}
			owner = t.owner(pid) // it may have got it meanwhile
		}
		switch owner {
		case c:
			mine = append(mine, pid)
		case nil:
			unmarked = append(unmarked, pid)
		}
	}
	return mine, unmarked
}

// owner is the command that a child of the agent belongs to, or nil.
func (t *tribe) owner(pid int) *command {
	if c := t.mains[pid]; c != nil {
		return c
	}
	if p, ok := look(pid); ok {
		if c := t.sessions[p.session]; c != nil {
			return c
		}
	}
	return t.marks[markOf(pid)]
}
