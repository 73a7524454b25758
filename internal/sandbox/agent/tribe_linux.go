package agent

import (
	"bytes"
	"errors"
	"maps"
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
	reaping  bool                       // somebody waits for children
	forking  int                        // starts under way
	early    map[int]ending             // what ended before its start was over
	mains    map[int]*command           // by pid, until they have ended
	marks    map[string]*command        // that are not gone
	bare     map[int]time.Time          // strays that had no mark, and when
	known    map[int]*command           // strays, until they are reaped
	sessions map[int]*command           // likewise, by the pid that they were started with
	adopted  map[int]*command           // strays without a mark
	waiting  map[chan struct{}]*command // who wants to know when something of a command ends
	watch    *watch
	environ  []byte // to read into
}

func newTribe(stray func()) (*tribe, error) {
	t := &tribe{
		stray:    stray,
		stirred:  make(chan struct{}, 1),
		early:    map[int]ending{},
		mains:    map[int]*command{},
		marks:    map[string]*command{},
		sessions: map[int]*command{},
		bare:     map[int]time.Time{},
		known:    map[int]*command{},
		adopted:  map[int]*command{},
		waiting:  map[chan struct{}]*command{},
	}
	t.watch = newWatch(t)
	t.environ = make([]byte, 256<<10) // those of bash and of make are long
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
	delete(t.bare, pid) // whoever had the number
	delete(t.known, pid)
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
	c := t.mains[pid]
	owner := c
	if owner == nil {
		owner = t.known[pid]
	}
	for w, wanted := range t.waiting {
		if wanted == nil || owner == nil || wanted == owner {
			nudge(w)
		}
	}
	if c != nil {
		c.ended(e)
		delete(t.mains, pid)
		return c
	}
	if t.forking > 0 {
		t.early[pid] = e
	}
	delete(t.adopted, pid)
	delete(t.known, pid)
	delete(t.bare, pid)
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
	isC := func(_ int, owner *command) bool { return owner == c }
	maps.DeleteFunc(t.adopted, isC)
	maps.DeleteFunc(t.known, isC)
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
	roots, unmarked, _ := t.roots(c)
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

// asleep reports whether every process that a command has left sleeps.
func (t *tribe) asleep(c *command) bool {
	if t.alone() {
		return true
	}
	mine, unmarked, sure := t.roots(c)
	members(append(mine, unmarked...), 0, func(_ int, p process) { sure = sure && p.asleep })
	return sure
}

// roots are the children of the agent that belong to a command, and those that
// nobody can tell whose they are. A process that becomes another program has no
// environment for a moment, so that it takes two looks to know that it has no
// mark; sure is false when there was no time for the second.
func (t *tribe) roots(c *command) (mine, unmarked []int, sure bool) {
	for range 50 {
		if mine, unmarked, sure = t.sort(c); sure {
			break
		}
		time.Sleep(glance)
	}
	return mine, unmarked, sure
}

// glance is the time between the two looks.
const glance = 2 * time.Millisecond

func (t *tribe) sort(c *command) (mine, unmarked []int, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sure = true
	now := time.Now()
	for _, pid := range children(unix.Getpid()) {
		if owner := t.owner(pid); owner != nil {
			if owner == c {
				mine = append(mine, pid)
			}
			continue
		}
		seen, before := t.bare[pid]
		switch {
		case before && now.Sub(seen) >= glance:
			unmarked = append(unmarked, pid)
		case t.forking > 0 && starting(pid):
			// a command that is not there yet
		default:
			sure = false
			if t.forking == 0 && !before { // else it may be a command, too
				t.bare[pid] = now
			}
		}
	}
	return mine, unmarked, sure
}

// owner is the command that a child of the agent belongs to, or nil. Nobody
// else gets its number before it is reaped.
func (t *tribe) owner(pid int) *command {
	if c := t.mains[pid]; c != nil {
		return c
	}
	if c := t.known[pid]; c != nil {
		return c
	}
	c := t.marks[t.markOf(pid)]
	if p, ok := look(pid); ok && c == nil {
		c = t.sessions[p.session]
	}
	if c != nil {
		t.known[pid] = c
		delete(t.bare, pid)
	}
	return c
}

// markOf reads the mark in the environment that a process was started with.
func (t *tribe) markOf(pid int) string {
	text, _ := read(procPath(pid, "/environ"), t.environ)
	for v := range bytes.SplitSeq(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(markName+"=")); ok {
			return string(value)
		}
	}
	return ""
}
