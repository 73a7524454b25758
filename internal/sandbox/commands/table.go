package commands

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// admit adds a process to the running ones.
func (c *Commands) admit(p *process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed()
	}
	c.running[p] = true
	return nil
}

// removeRunning removes a process without running descendants, and leaves its instance.
func (c *Commands) removeRunning(p *process, lost error) {
	c.mu.Lock()
	delete(c.running, p)
	c.mu.Unlock()
	c.leave(p.instance, lost != nil)
}

// sees reports whether a caller has access to a process. c.mu is held.
func (p *process) sees(caller tool.Caller) bool {
	return p.owner.principal == caller.Principal() && (p.beyond || p.owner.session == caller.Session)
}

// Process returns a process that was left to the caller. The process of another
// caller is not found.
func (c *Commands) Process(ctx context.Context, id string) (sandbox.Process, error) {
	c.looked(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.kept[id]
	if p == nil || !p.sees(tool.CallerFrom(ctx)) {
		return nil, tool.Errorf(tool.NotFound, "this server has no process %q of yours", id[:min(len(id), 40)]).
			Try("call process with action list to see yours; it may have been removed, or run on another server " +
				"or in another session: check what it did before you start it again")
	}
	return p, nil
}

func (c *Commands) looked(ctx context.Context) {
	if c.o.Looked != nil {
		c.o.Looked(ctx)
	}
}

// Callers calls yield with the callers of all commands that run.
func (c *Commands) Callers(yield func(tool.Caller) bool) {
	c.mu.Lock()
	running := slices.Collect(maps.Keys(c.running))
	c.mu.Unlock()
	for _, p := range running {
		if !yield(p.grant.Caller) {
			return
		}
	}
}

// Processes returns the processes that were left to the caller, the oldest first.
func (c *Commands) Processes(ctx context.Context) ([]sandbox.Process, error) {
	c.looked(ctx)
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

// Running returns the commands of a caller that have not ended, the newest first.
func (c *Commands) Running(caller tool.Caller) []sandbox.Status {
	who := ownerOf(caller)
	c.mu.Lock()
	var mine []*process
	for p := range c.running {
		if p.owner == who {
			mine = append(mine, p)
		}
	}
	c.mu.Unlock()
	var all []sandbox.Status
	for _, p := range mine {
		all = append(all, p.Status())
	}
	slices.SortFunc(all, func(a, b sandbox.Status) int { return b.Started.Compare(a.Started) })
	return all
}

func oldest(a, b *process) int { return cmp.Compare(a.number, b.number) }

// Keep leaves the process to the caller. If the maximum is reached, the oldest
// ended process is removed.
func (p *process) Keep(_ context.Context, beyond bool) error {
	err := p.keep(beyond)
	if err == nil && p.c.o.Kept != nil {
		p.c.o.Kept(p.owner.principal, p.status.ID)
	}
	return err
}

func (p *process) keep(beyond bool) error {
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
			return tool.Errorf(tool.Busy, "%d commands are running in the background, which is the maximum", len(mine)).
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

// Remove kills the process and its descendants if they run, and deletes it and
// its output.
func (p *process) Remove(ctx context.Context) error {
	err := p.Kill(ctx)
	p.c.mu.Lock()
	p.c.drop(p)
	p.c.mu.Unlock()
	if err == nil && p.private {
		select {
		case <-p.instance.gone:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// drop deletes an ended process and its output. c.mu is held.
func (c *Commands) drop(p *process) {
	if c.kept[p.status.ID] == p {
		delete(c.kept, p.status.ID)
		if c.o.Dropped != nil {
			c.o.Dropped(p.owner.principal, p.status.ID)
		}
	}
	p.left = false
	p.forget()
}

// forget releases the storage of the output.
func (p *process) forget() {
	p.stdout.forget()
	p.stderr.forget()
}

// EndSession ends the commands and the sandboxes of a session, and returns when
// they have ended. Processes that outlive the session continue.
func (c *Commands) EndSession(session string) {
	c.mu.Lock()
	var victims []*process
	for p := range c.running {
		if p.owner.session == session && !p.beyond {
			victims = append(victims, p)
		}
	}
	for _, p := range c.kept {
		// Not isOver: a process that ends just now leaves running before it is over.
		if p.owner.session == session && !p.beyond && !c.running[p] {
			victims = append(victims, p)
		}
	}
	for n := range c.instances {
		if n.key.owner.session == session {
			c.retire(n)
		}
	}
	c.mu.Unlock()
	var ending sync.WaitGroup
	for _, p := range victims {
		ending.Go(func() { _ = p.Remove(c.ctx) }) // a process that survives ends with its sandbox
	}
	ending.Wait()
}

// EndCovered ends the running commands of the callers that covered reports, also those
// that outlive their session, and returns when they have ended. Their output remains.
func (c *Commands) EndCovered(covered func(agent, session string) bool, why string) {
	c.endEach(func(p *process) string {
		if covered(p.owner.agent, p.owner.session) {
			return why
		}
		return ""
	})
}

// EndGranted ends the running commands for which why returns a reason, also commands that
// outlive their session. why gets the grant of the call that started a command. EndGranted
// returns when the commands have ended. Their output remains.
func (c *Commands) EndGranted(why func(tool.Grant) string) {
	c.endEach(func(p *process) string { return why(p.grant) })
}

func (c *Commands) endEach(why func(*process) string) {
	c.mu.Lock()
	running := slices.Collect(maps.Keys(c.running))
	c.mu.Unlock()
	var ending sync.WaitGroup
	for _, p := range running {
		if reason := why(p); reason != "" {
			p.markKilled(reason)
			ending.Go(func() { _ = p.Kill(c.ctx) }) // a process that survives ends with its sandbox
		}
	}
	ending.Wait()
}
