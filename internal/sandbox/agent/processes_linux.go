package agent

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A processTable tracks all processes that the commands have started. The agent is
// their subreaper, or the init process of their namespace, so orphans become its
// children. The tree of a command consists of its own process and its orphans, each
// with their descendants. When the agent has no children but commands, no other
// process is left.
type processTable struct {
	stray func() // called when a process ended that was no command

	orphanEnded chan struct{} // a stray has ended

	mu            sync.Mutex
	reaping       bool                       // a goroutine waits for children
	forking       int                        // starts under way
	earlyExits    map[int]ending             // processes that ended during their start
	commands      map[int]*command           // by pid, until they have ended
	marks         map[string]*command        // that are not gone
	unmarkedSince map[int]time.Time          // strays without a mark, and when that was seen
	orphanOwners  map[int]*command           // strays, until they are reaped
	sessions      map[int]*command           // likewise, by the pid that they were started with
	adopted       map[int]*command           // strays without a mark
	waiting       map[chan struct{}]*command // notified when a process of the command ends
	watch         *watch
	environ       []byte // to read into
}

func newProcessTable(stray func()) (*processTable, error) {
	t := &processTable{
		stray:         stray,
		orphanEnded:   make(chan struct{}, 1),
		earlyExits:    map[int]ending{},
		commands:      map[int]*command{},
		marks:         map[string]*command{},
		sessions:      map[int]*command{},
		unmarkedSince: map[int]time.Time{},
		orphanOwners:  map[int]*command{},
		adopted:       map[int]*command{},
		waiting:       map[chan struct{}]*command{},
	}
	t.watch = &watch{processTable: t, watched: map[*command]bool{}}
	t.environ = make([]byte, 256<<10) // bash and make have long environments
	go func() {
		for range t.orphanEnded {
			t.stray()
		}
	}()
	return t, nil
}

// start starts the process of a command.
func (t *processTable) start(c *command, path string, p *commandFiles) (int, error) {
	files := []uintptr{p.theirs[0].Fd(), p.theirs[1].Fd(), p.theirs[2].Fd()}
	attr := &syscall.ProcAttr{
		Dir:   c.spec.Dir,
		Env:   c.environ(),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: p.tty != nil, Pdeathsig: syscall.SIGKILL},
	}
	if id := uint32(c.spec.User); id != 0 && os.Geteuid() == 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: id, Gid: id}
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
	delete(t.unmarkedSince, pid) // of a process that had this ID before
	delete(t.orphanOwners, pid)
	e, dead := t.earlyExits[pid]
	if dead && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // else the number was another's
		c.ended(e)
	} else {
		t.commands[pid] = c
		limit(pid, c.spec.Limits)
	}
	if t.forking == 0 {
		clear(t.earlyExits)
	}
	return pid, nil
}

// notify sends to a channel with a buffer of one, without blocking.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// startReaping reaps children unless another goroutine does. It is faster if the
// goroutine that has started a child does it itself.
func (t *processTable) startReaping() {
	t.mu.Lock()
	busy := t.reaping
	t.reaping = true
	t.mu.Unlock()
	if !busy {
		t.reap()
	}
}

// reap waits for children until there are none. Handling the end of a command may
// take time, so another goroutine continues to reap in the meantime.
func (t *processTable) reap() {
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
				c.report()
				return
			}
		case errors.Is(err, syscall.ECHILD):
			if t.rest() {
				return
			}
		}
	}
}

// rest stops reaping if there is nothing to reap. It reports whether it did.
func (t *processTable) rest() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reaping = len(t.commands) > 0 || !childless()
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

// reaped returns the command that has ended, or nil for another process.
func (t *processTable) reaped(pid int, e ending) *command {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.commands[pid]
	owner := c
	if owner == nil {
		owner = t.orphanOwners[pid]
	}
	for w, wanted := range t.waiting {
		if wanted == nil || owner == nil || wanted == owner {
			notify(w)
		}
	}
	if c != nil {
		c.ended(e)
		delete(t.commands, pid)
		return c
	}
	if t.forking > 0 {
		t.earlyExits[pid] = e
	}
	delete(t.adopted, pid)
	delete(t.orphanOwners, pid)
	delete(t.unmarkedSince, pid)
	notify(t.orphanEnded)
	return nil
}

// gone removes a command that has ended with all its descendants.
func (t *processTable) gone(c *command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.marks, c.mark)
	if t.sessions[c.pid] == c {
		delete(t.sessions, c.pid)
	}
	isC := func(_ int, owner *command) bool { return owner == c }
	maps.DeleteFunc(t.adopted, isC)
	maps.DeleteFunc(t.orphanOwners, isC)
}

// alone reports whether the agent has no children at all.
func (t *processTable) alone() bool {
	t.mu.Lock()
	busy := t.forking > 0 || len(t.commands) > 0
	t.mu.Unlock()
	return !busy && childless()
}

func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD)
}

// left returns the number of processes of a command that still run. The first command that asks
// gets the orphans without a mark.
func (t *processTable) left(c *command) int {
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
	return len(livingTree(roots, 0))
}

// asleep reports whether every remaining process of a command sleeps.
func (t *processTable) asleep(c *command) bool {
	if t.alone() {
		return true
	}
	mine, unmarked, sure := t.roots(c)
	members(append(mine, unmarked...), 0, func(_ int, p process) { sure = sure && p.asleep })
	return sure
}

// roots returns the children of the agent that belong to a command, and the unmarked children
// that may belong to any. During exec a process has no environment for a moment, so the absence
// of a mark must be seen twice; sure is false if there was no time for the second check.
func (t *processTable) roots(c *command) (mine, unmarked []int, sure bool) {
	for range 50 {
		if mine, unmarked, sure = t.classify(c); sure {
			break
		}
		time.Sleep(rereadDelay)
	}
	return mine, unmarked, sure
}

// rereadDelay is the time between the two checks.
const rereadDelay = 2 * time.Millisecond

func (t *processTable) classify(c *command) (mine, unmarked []int, sure bool) {
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
		seen, before := t.unmarkedSince[pid]
		switch {
		case before && now.Sub(seen) >= rereadDelay:
			unmarked = append(unmarked, pid)
		case t.forking > 0 && starting(pid):
			// a command that is being started
		default:
			sure = false
			if t.forking == 0 && !before { // otherwise it may be a new command
				t.unmarkedSince[pid] = now
			}
		}
	}
	return mine, unmarked, sure
}

// owner returns the command that a child of the agent belongs to, or nil. The kernel
// does not reuse its process ID before it is reaped.
func (t *processTable) owner(pid int) *command {
	if c := t.commands[pid]; c != nil {
		return c
	}
	if c := t.orphanOwners[pid]; c != nil {
		return c
	}
	c := t.marks[t.markOf(pid)]
	if p, ok := look(pid); ok && c == nil {
		c = t.sessions[p.session]
	}
	if c != nil {
		t.orphanOwners[pid] = c
		delete(t.unmarkedSince, pid)
	}
	return c
}

// markOf returns the mark in the initial environment of a process.
func (t *processTable) markOf(pid int) string {
	text, _ := read(procPath(pid, "/environ"), t.environ)
	for v := range bytes.SplitSeq(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(markName+"=")); ok {
			return string(value)
		}
	}
	return ""
}
