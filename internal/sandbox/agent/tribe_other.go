//go:build !linux

package agent

import (
	"os"
	"sync"
	"time"
)

// A tribe is the processes that the commands have started. Here the tree of a
// command is what the system keeps together for us: its process group, or its
// job. Nothing is watched.
type tribe struct {
	mu     sync.Mutex
	groups map[*command]*group
}

func newTribe(func()) (*tribe, error) { return &tribe{groups: map[*command]*group{}}, nil }

// start starts the process of a command.
func (t *tribe) start(c *command, path string, p *plumbing) (int, error) {
	attr := &os.ProcAttr{
		Dir:   c.spec.Dir,
		Env:   c.environ(),
		Files: []*os.File{p.theirs[0], p.theirs[1], p.theirs[2]},
		Sys:   attributes(p.tty != nil),
	}
	process, err := os.StartProcess(path, c.spec.Argv, attr)
	if err != nil {
		return 0, err
	}
	g, err := gather(process)
	if err != nil {
		_ = process.Kill()
		_, _ = process.Wait()
		return 0, err
	}
	t.mu.Lock()
	t.groups[c] = g
	t.mu.Unlock()
	go func() {
		state, err := process.Wait()
		if err != nil {
			c.ended(ending{code: -1})
		} else {
			c.ended(endingOf(state))
		}
		close(g.ended)
		c.settle()
	}()
	return process.Pid, nil
}

func (t *tribe) follow(*command) {}
func (t *tribe) attend()         {}

func (t *tribe) group(c *command) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.groups[c]
}

// gone is told that a command has ended with all that it has started.
func (t *tribe) gone(c *command) {
	t.mu.Lock()
	g := t.groups[c]
	delete(t.groups, c)
	t.mu.Unlock()
	if g != nil {
		g.release()
	}
}

// asleep reports that nothing is known about what the processes do.
func (t *tribe) asleep(*command) bool { return false }

// left counts the processes of a command that still run. While there are some
// it is asked again.
func (t *tribe) left(c *command) int {
	g := t.group(c)
	if g == nil {
		return 0
	}
	n := g.count()
	if n > 0 {
		time.AfterFunc(drain, c.settle)
	}
	return n
}

// kill ends a command and all that it has started.
func (t *tribe) kill(c *command, how manner) {
	g := t.group(c)
	if g == nil {
		return
	}
	if how == gently && g.ask() {
		grace := time.NewTimer(150 * time.Millisecond)
		defer grace.Stop()
		select {
		case <-g.ended:
		case <-grace.C:
		}
	}
	g.kill()
	select {
	case <-g.ended:
	case <-time.After(3 * time.Second):
	}
}

// killAll ends everything, at the agent's own end.
func (t *tribe) killAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		g.kill()
	}
}
