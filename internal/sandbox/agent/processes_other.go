//go:build !linux

package agent

import (
	"os"
	"sync"
	"time"
)

// A processTable tracks the processes that the commands have started. The tree of a
// command is its process group or its job object. There is no watch for limits.
type processTable struct {
	mu     sync.Mutex
	groups map[*command]*group
}

func newProcessTable(func()) (*processTable, error) {
	return &processTable{groups: map[*command]*group{}}, nil
}

// start starts the process of a command.
func (t *processTable) start(c *command, path string, p *commandFiles) (int, error) {
	attr := &os.ProcAttr{
		Dir:   c.spec.Dir,
		Env:   c.environ(),
		Files: []*os.File{p.theirs[0], p.theirs[1], p.theirs[2]},
		Sys:   attributes(p.tty != nil),
	}
	path, err := c.dress(path, attr.Sys)
	if err != nil {
		return 0, err
	}
	process, err := os.StartProcess(path, c.spec.Argv, attr)
	if err != nil {
		return 0, err
	}
	g, err := gather(process, c.spec.Limits)
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
		c.report()
	}()
	return process.Pid, nil
}

func (t *processTable) follow(*command) {}
func (t *processTable) startReaping()   {}

func (t *processTable) group(c *command) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.groups[c]
}

// gone removes a command that has ended with all its descendants.
func (t *processTable) gone(c *command) {
	t.mu.Lock()
	g := t.groups[c]
	delete(t.groups, c)
	t.mu.Unlock()
	if g != nil {
		g.release()
	}
}

// asleep returns false: the state of the processes is not known.
func (t *processTable) asleep(*command) bool { return false }

// left returns the number of processes of a command that still run. While there are
// some it is called again.
func (t *processTable) left(c *command) int {
	g := t.group(c)
	if g == nil {
		return 0
	}
	n := g.count()
	if n > 0 {
		time.AfterFunc(drain, c.report)
	}
	return n
}

// kill ends a command and all its descendants.
func (t *processTable) kill(c *command, how killMode) {
	g := t.group(c)
	if g == nil {
		return
	}
	if how == terminateFirst && g.ask() {
		grace := time.NewTimer(c.grace())
		defer grace.Stop()
		select {
		case <-g.ended:
		case <-grace.C:
		}
	}
	g.kill()
	Sweep(c.mark + "\x00")
	select {
	case <-g.ended:
	case <-time.After(3 * time.Second):
	}
}

// killAll ends all processes when the agent ends.
func (t *processTable) killAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, g := range t.groups {
		g.kill()
		Sweep(c.mark + "\x00") // the end of the mark: 1 is not 10
	}
}

// buffered returns 0: how much can be read from a pipe is not known.
func buffered(*os.File) int { return 0 }

// take reads from a stream.
func (c *command) take(s stream, to []byte) (int, error) {
	n, err := s.file.Read(to)
	c.read.Add(int64(n))
	return n, err
}
