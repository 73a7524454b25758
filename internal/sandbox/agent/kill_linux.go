package agent

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killTimeout is when the agent stops trying to kill processes.
	killTimeout = 2 * time.Second
	// maxFreezes is the maximum number of rounds that stop new processes.
	maxFreezes = 50
)

// kill ends a command and all its descendants, including orphans that cannot be
// assigned to any command. It returns when they have ended, or after killTimeout.
func (t *processTable) kill(c *command, how killMode) {
	changed := make(chan struct{}, 1)
	t.mu.Lock()
	t.waiting[changed] = c
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.waiting, changed)
		t.mu.Unlock()
	}()
	if how == terminateFirst {
		victims, _ := t.tree(c)
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			_ = syscall.Kill(pid, syscall.SIGCONT) // a stopped process does not handle SIGTERM
		}
		t.waitForExit(c, changed)
	}
	t.killFound(func() ([]int, bool) {
		victims, sure := t.tree(c)
		return victims, sure && !t.runs(c)
	}, changed)
}

// runs reports whether the process of a command itself may still run.
func (t *processTable) runs(c *command) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commands[c.pid] == c
}

// tree returns the processes to kill with a command. sure is false if there may be
// more.
func (t *processTable) tree(c *command) (all []int, sure bool) {
	if t.alone() {
		return nil, true
	}
	mine, unmarked, sure := t.roots(c)
	return livingTree(append(mine, unmarked...), 0), sure
}

// waitForExit gives the processes of a command time to end.
func (t *processTable) waitForExit(c *command, changed <-chan struct{}) {
	end := time.NewTimer(c.grace())
	defer end.Stop()
	for {
		if !t.runs(c) {
			if left, sure := t.tree(c); len(left) == 0 && sure {
				return
			}
		}
		select {
		case <-changed:
		case <-end.C:
			return
		}
	}
}

// killFound kills the processes that find returns until it returns none, and all is
// true. It stops all of them before it kills any: processes that fork continuously
// would otherwise create new ones faster than they are killed.
func (t *processTable) killFound(find func() (victims []int, all bool), changed <-chan struct{}) {
	stopped := map[int]bool{}
	freeze := 0
	pause := time.NewTimer(0)
	defer pause.Stop()
	for end, over := time.Now().Add(killTimeout), false; !over; {
		over = time.Now().After(end) // the processes stopped by then are killed, too
		victims, all := find()
		if len(victims) == 0 && all {
			return
		}
		fresh := 0
		for _, pid := range victims {
			if !stopped[pid] {
				stopped[pid] = true
				fresh++
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
		if fresh > 0 && len(victims) > 1 && freeze < maxFreezes && !over {
			freeze++
			continue
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		clear(stopped) // the kernel may reuse a process ID
		freeze = 0
		pause.Reset(5 * time.Millisecond)
		select {
		case <-changed:
		case <-pause.C:
		}
	}
}

// killAll ends all processes when the agent ends. In a PID namespace the kernel
// does that.
func (t *processTable) killAll() {
	self := unix.Getpid()
	if self == 1 {
		return
	}
	changed := make(chan struct{}, 1)
	t.mu.Lock()
	t.waiting[changed] = nil
	t.mu.Unlock()
	t.killFound(func() ([]int, bool) {
		return slices.DeleteFunc(livingTree(children(self), 0), t.beginning), childless()
	}, changed)
}

// beginning reports whether a process is being started: it must execute its program
// before it is killed, since the starting goroutine would get a wrong error.
func (t *processTable) beginning(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forking > 0 && t.commands[pid] == nil && starting(pid)
}
