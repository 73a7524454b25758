package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxWords  = 512 << 10   // bytes of arguments and environment
	maxInput  = wire.Window // bytes of stdin that are given at a time
	lateAfter = 15 * time.Second
)

// Site says where a command would run, and starts nothing.
func (c *Commands) Site(ctx context.Context, dir string) (sandbox.Site, error) {
	p, err := c.place(ctx, dir)
	if err != nil {
		return sandbox.Site{}, err
	}
	return p.site, nil
}

// Start starts a command. It outlives ctx: whoever starts it waits for its end,
// kills it, or leaves it to the caller with Keep, and then has it removed.
func (c *Commands) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	if err := check(cmd); err != nil {
		return nil, err
	}
	place, err := c.place(ctx, cmd.Dir)
	if err != nil {
		return nil, err
	}
	if moved(cmd.At, place.site) {
		return nil, tool.Errorf(tool.Conflict, "where commands run has changed since this one was looked at").
			Try("send it again, so that it can be looked at anew")
	}
	var n *cell
	if cmd.Apart != nil {
		n, err = c.seclude(ctx, place, &cmd)
	} else {
		n, err = c.take(ctx, place)
	}
	if err != nil {
		return nil, err
	}
	body := wire.StartBody{
		Argv: cmd.Argv, Dir: place.site.Dir, Input: cmd.Open || cmd.TTY || len(cmd.Stdin) > 0, Merge: cmd.Merge,
		Env:     c.environ(place, n.home, cmd.TTY, n.proxy, cmd.Env),
		Timeout: timeout(cmd, place.site),
		Limits: wire.Limits{
			Memory: c.o.Limits.Memory, Processes: c.o.Limits.Processes,
			FileSize: c.o.Limits.FileSize, CPUTime: c.o.Limits.CPUTime,
		},
	}
	if cmd.TTY {
		body.TTY = &wire.Size{Rows: 40, Cols: 120}
	}
	return c.run(ctx, place, n, cmd, body)
}

// moved reports whether a command would run elsewhere than it was judged for.
func moved(judged, now sandbox.Site) bool {
	return judged.Tier != "" && (judged.Tier != now.Tier || judged.Sealed != now.Sealed || judged.Network != now.Network ||
		judged.Dir != now.Dir || judged.Inode != now.Inode)
}

// check refuses what cannot be started anywhere.
func check(cmd sandbox.Command) error {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return tool.Errorf(tool.Invalid, "there is no command").Try("say what to run")
	}
	size := 0
	for _, word := range slices.Concat(cmd.Argv, cmd.Env) {
		size += len(word)
		if strings.ContainsRune(word, 0) {
			return tool.Errorf(tool.Invalid, "the command contains a zero byte").Try("leave it out")
		}
	}
	if size > maxWords {
		return tool.Errorf(tool.TooLarge, "the command has %d bytes, the most is %d", size, maxWords).
			Try("write what is long to a file first")
	}
	if len(cmd.Stdin) > maxInput {
		return tool.Errorf(tool.TooLarge, "stdin has %d bytes, the most is %d", len(cmd.Stdin), maxInput).
			Try("write it to a file, and have the command read that")
	}
	return checkEnviron(cmd.Env)
}

// timeout is for how long a command may run. Zero is for ever.
func timeout(cmd sandbox.Command, s sandbox.Site) time.Duration {
	return min(max(cmd.Timeout, 0), s.Most)
}

// run starts a command in a cell that was taken for it.
func (c *Commands) run(ctx context.Context, at *place, n *cell, cmd sandbox.Command, body wire.StartBody) (sandbox.Process, error) {
	p := c.newProcess(at, n, cmd)
	if err := c.admit(p); err != nil {
		c.leave(n, false)
		return nil, err
	}
	child, err := n.box.Start(ctx, body, p)
	if errors.Is(err, box.ErrLost) {
		p.Gone(err) // it may have run: never again by itself
		return p, nil
	}
	if err != nil {
		p.abandon()
		return nil, notStarted(ctx, cmd, err)
	}
	if p.begin(child, body.Timeout) {
		return p, child.Kill()
	}
	if len(cmd.Stdin) > 0 {
		err = child.Input(ctx, cmd.Stdin) // it fits, so this waits for nobody
	}
	if err == nil && body.Input && !p.open {
		err = child.EndInput()
	}
	if err != nil {
		c.o.Log.Debug("stdin was not given", "id", p.status.ID, "error", err) // its end says why
	}
	return p, nil
}

func (c *Commands) newProcess(at *place, n *cell, cmd sandbox.Command) *process {
	now := time.Now()
	most, errMost := c.o.Background.Output*3/4, c.o.Background.Output/4
	if cmd.Merge || cmd.TTY {
		most, errMost = c.o.Background.Output, 0
	}
	p := &process{
		c: c, owner: ownerOf(at.caller), cell: n, apart: cmd.Apart != nil,
		stdout: newLog(c.spool, most), stderr: newLog(c.spool, errMost),
		quiet: now, open: cmd.Open || cmd.TTY, end: make(chan struct{}), over: make(chan struct{}),
		status: sandbox.Status{
			ID: "p_" + strings.ToLower(rand.Text()[:12]), Text: cmd.Text, Dir: at.site.Dir, Tier: at.site.Tier,
			State: sandbox.Running, Started: now, TTY: cmd.TTY, Note: at.site.Note,
		},
	}
	if cmd.Watch != nil {
		p.watcher = newWatcher(cmd.Watch, c.working.Go)
	}
	return p
}

// begin takes the child, and sees to the time if the agent does not. It says
// whether somebody has wanted its end meanwhile.
func (p *process) begin(child *box.Child, timeout time.Duration) (unwanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = child
	if timeout > 0 && !p.ended {
		p.late = time.AfterFunc(timeout+lateAfter, p.overdue)
	}
	return p.wanted != ""
}

// abandon ends what never began.
func (p *process) abandon() {
	p.Gone(nil)
	p.forget()
}

// overdue ends a command that should have been ended by the agent, and all that
// runs behind the same walls: whoever is there does not answer any more.
func (p *process) overdue() {
	p.mu.Lock()
	p.wanted = sandbox.TimedOut
	p.mu.Unlock()
	p.c.o.Log.Warn("a command outlived its time, so its sandbox is ended", "id", p.status.ID, "tier", p.status.Tier)
	p.c.end(p.cell)
}

// notStarted is what the model reads about a command that does not run.
func notStarted(ctx context.Context, cmd sandbox.Command, err error) error {
	switch {
	case errors.Is(err, box.ErrNoProgram):
		return tool.Errorf(tool.NotFound, "there is no program %q", cmd.Argv[0]).
			Try("look for another that does the same, or for where it is")
	case errors.Is(err, box.ErrNoDir):
		return tool.Errorf(tool.NotFound, "commands cannot enter the directory %q", cmd.Dir).
			Try("leave it out to run in the workspace")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	return tool.Errorf(tool.Unavailable, "the command %q could not be started: %w", cmd.Argv[0], err).
		Try("mend the command if it is at fault, or try again")
}
