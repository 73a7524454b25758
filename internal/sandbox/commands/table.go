package commands

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// admit counts a process among those that run.
func (c *Commands) admit(p *process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed()
	}
	c.running[p] = true
	return nil
}

// departed takes word that nothing of a process runs any more.
func (c *Commands) departed(p *process, lost error) {
	c.mu.Lock()
	delete(c.running, p)
	c.mu.Unlock()
	c.leave(p.cell, lost != nil)
}

// sees says whether a caller may know of a process. The lock is held.
func (p *process) sees(caller tool.Caller) bool {
	return p.owner.principal == caller.Principal() && (p.beyond || p.owner.session == caller.Session)
}

// Process finds a command that was left to the caller. That of another is not
// there, like one that never was.
func (c *Commands) Process(ctx context.Context, id string) (sandbox.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.kept[id]
	if p == nil || !p.sees(tool.CallerFrom(ctx)) {
		return nil, tool.Errorf(tool.NotFound, "no process %q", id[:min(len(id), 40)]).
			Try("call process with action list to see those that are there")
	}
	return p, nil
}

// Processes are all that were left to the caller, the oldest first.
func (c *Commands) Processes(ctx context.Context) ([]sandbox.Process, error) {
	caller := tool.CallerFrom(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine []*process
	for _, p := range c.kept {
		if p.sees(caller) {
			mine = append(mine, p)
		}
	}
	slices.SortFunc(mine, oldest)
	all := make([]sandbox.Process, len(mine))
	for i, p := range mine {
		all[i] = p
	}
	return all, nil
}

func oldest(a, b *process) int { return cmp.Compare(a.number, b.number) }

// Keep leaves the process to the caller. Where there are too many, the oldest
// of those that have ended goes.
func (p *process) Keep(_ context.Context, beyond bool) error {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed()
	}
	if p.left {
		p.beyond = beyond
		return nil
	}
	var mine []*process
	for _, other := range c.kept {
		if other.owner.principal == p.owner.principal {
			mine = append(mine, other)
		}
	}
	if len(mine) >= c.o.Background.Count {
		slices.SortFunc(mine, oldest)
		at := slices.IndexFunc(mine, (*process).isOver)
		if at < 0 {
			return tool.Errorf(tool.Busy, "%d commands are running in the background, and more are not allowed", len(mine)).
				Try("end one with process kill; action list shows them")
		}
		c.drop(mine[at])
	}
	c.numbers++
	p.left, p.beyond, p.number = true, beyond, c.numbers
	c.kept[p.status.ID] = p
	c.arm()
	return nil
}

// Remove kills the process, if anything of it runs, and forgets it and what it
// wrote.
func (p *process) Remove(ctx context.Context) error {
	err := p.Kill(ctx)
	p.c.mu.Lock()
	p.c.drop(p)
	p.c.mu.Unlock()
	if err == nil && p.apart {
		select {
		case <-p.cell.gone:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// drop forgets a process. The lock is held.
func (c *Commands) drop(p *process) {
	if c.kept[p.status.ID] == p {
		delete(c.kept, p.status.ID)
	}
	p.left = false
	p.forget()
}

// forget gives back what the output takes.
func (p *process) forget() {
	p.stdout.forget()
	p.stderr.forget()
}

// EndSession ends the commands of a session and its sandboxes, and returns when
// they are gone. What was left beyond the session goes on.
func (c *Commands) EndSession(session string) {
	c.mu.Lock()
	var doomed []*process
	for p := range c.running {
		if p.owner.session == session && !p.beyond {
			doomed = append(doomed, p)
		}
	}
	for _, p := range c.kept {
		if p.owner.session == session && !p.beyond && p.isOver() {
			doomed = append(doomed, p)
		}
	}
	if c.o.Scope == Session {
		for n := range c.cells {
			if n.key.owner.session == session {
				c.retire(n)
			}
		}
	}
	c.mu.Unlock()
	var ending sync.WaitGroup
	for _, p := range doomed {
		ending.Go(func() { _ = p.Remove(c.life) }) // what does not die goes with its sandbox
	}
	ending.Wait()
}
