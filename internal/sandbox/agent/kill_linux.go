package agent

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// grace is how long processes have that are asked to end.
	grace = 150 * time.Millisecond
	// despair is when those are given up that cannot be killed.
	despair = 2 * time.Second
	// freezes bounds the rounds of stopping what multiplies.
	freezes = 50
)

// kill ends a command and all that it has started, and with them every stray of
// which nobody can tell whose it is. It returns when they are gone, or when it
// is hopeless.
func (t *tribe) kill(c *command, how manner) {
	changed := make(chan struct{}, 1)
	t.mu.Lock()
	t.waiting[changed] = c
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.waiting, changed)
		t.mu.Unlock()
	}()
	if how == gently {
		victims, _ := t.tree(c)
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			_ = syscall.Kill(pid, syscall.SIGCONT) // what is stopped hears nothing
		}
		t.await(c, changed)
	}
	t.exterminate(func() ([]int, bool) {
		victims, sure := t.tree(c)
		return victims, sure && !t.runs(c)
	}, changed)
}

// runs says that the process of a command itself is not known to have ended.
func (t *tribe) runs(c *command) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mains[c.pid] == c
}

// tree are the processes that go when a command is killed; it is not sure when
// there may be more.
func (t *tribe) tree(c *command) (all []int, sure bool) {
	if t.alone() {
		return nil, true
	}
	mine, unmarked, sure := t.roots(c)
	return family(append(mine, unmarked...), 0), sure
}

// await gives the processes of a command their grace.
func (t *tribe) await(c *command, changed <-chan struct{}) {
	end := time.NewTimer(grace)
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

// exterminate kills what find finds until that is nothing, and all.
// Everything is stopped before anything is killed: what multiplies would
// otherwise do so faster than it is killed.
func (t *tribe) exterminate(find func() (victims []int, all bool), changed <-chan struct{}) {
	stopped := map[int]bool{}
	freeze := 0
	pause := time.NewTimer(0)
	defer pause.Stop()
	for end := time.Now().Add(despair); time.Now().Before(end); {
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
		if fresh > 0 && len(victims) > 1 && freeze < freezes {
			freeze++
			continue
		}
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		clear(stopped) // a number may be another's next time
		freeze = 0
		pause.Reset(5 * time.Millisecond)
		select {
		case <-changed:
		case <-pause.C:
		}
	}
}

// killAll ends everything, at the agent's own end. Behind a namespace of its
// own the kernel does that.
func (t *tribe) killAll() {
	self := unix.Getpid()
	if self == 1 {
		return
	}
	changed := make(chan struct{}, 1)
	t.mu.Lock()
	t.waiting[changed] = nil
	t.mu.Unlock()
	t.exterminate(func() ([]int, bool) {
		return slices.DeleteFunc(family(children(self), 0), t.beginning), childless()
	}, changed)
}

// beginning says that a process is being started: it must become a program
// before it is killed, or whoever starts it would be confused.
func (t *tribe) beginning(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forking > 0 && t.mains[pid] == nil && starting(pid)
}
