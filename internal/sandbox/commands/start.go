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
	maxWords  = 512 << 10   // maximum bytes of arguments and environment
	maxInput  = wire.Window // maximum bytes of stdin per write
	lateAfter = 15 * time.Second
)

// Site returns where a command would run. It starts nothing. An elevated command runs
// on the host, if the operator allows that.
func (c *Commands) Site(ctx context.Context, dir string, elevated bool) (sandbox.Site, error) {
	p, err := c.target(ctx, dir, elevated, false)
	if err != nil {
		return sandbox.Site{}, err
	}
	return p.site, nil
}

// Start starts a command. The command continues after ctx ends. The caller of Start waits for
// its end, kills it or keeps it, and finally removes it.
func (c *Commands) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	if err := check(cmd); err != nil {
		return nil, err
	}
	if c.o.Starting != nil {
		if err := c.o.Starting(ctx); err != nil {
			return nil, err
		}
	}
	target, err := c.target(ctx, cmd.Dir, cmd.At.Elevated, true)
	if err != nil {
		return nil, err
	}
	if moved(cmd.At, target.site) {
		return nil, tool.Errorf(tool.Conflict, "the sandbox or directory of this command changed after it was checked").
			Try("call it again, so that it is checked for the current one")
	}
	var n *instance
	if cmd.Private != nil {
		n, err = c.openPrivate(ctx, target, &cmd)
	} else {
		n, err = c.take(ctx, target)
	}
	if err != nil {
		return nil, err
	}
	body := wire.StartBody{
		Argv: cmd.Argv, Dir: target.site.Dir, Input: cmd.Open || cmd.TTY || len(cmd.Stdin) > 0, Merge: cmd.Merge,
		Env:     c.environ(target, n, cmd.TTY, cmd.Env),
		Timeout: timeout(cmd, target.site),
		Limits: wire.Limits{
			Memory: c.o.Limits.Memory, Processes: c.o.Limits.Processes,
			FileSize: c.o.Limits.FileSize, CPUTime: c.o.Limits.CPUTime,
		},
	}
	if cmd.TTY {
		body.TTY = &wire.Size{Rows: 40, Cols: 120}
	}
	if !cmd.Open && !cmd.TTY {
		out, errs := c.sizes(cmd)
		body.Stdout, body.Stderr = out.ends(), errs.ends()
	}
	return c.run(ctx, target, n, cmd, body)
}

// maxTail is the maximum tail of a stream that the agent holds in memory.
const maxTail = 4 << 20

// logSize is how many bytes a log keeps.
type logSize struct{ most, tail int64 }

// sizes returns the sizes of the two logs of a command. While a command runs in the foreground
// no one reads its logs, so the agent sends no more output than they keep.
func (c *Commands) sizes(cmd sandbox.Command) (out, errs logSize) {
	out.most, errs.most = c.o.Background.Output*3/4, c.o.Background.Output/4
	if cmd.Merge || cmd.TTY {
		out.most, errs.most = c.o.Background.Output, 0
	}
	out.tail, errs.tail = out.most, errs.most
	if !cmd.Open && !cmd.TTY {
		out.tail, errs.tail = min(out.most/2, maxTail), min(errs.most/2, maxTail)
	}
	return out, errs
}

// ends returns the part of a stream that the agent sends.
func (s logSize) ends() wire.Ends { return wire.Ends{Head: s.most - s.tail, Tail: s.tail} }

// moved reports whether a command would run at another site than the approved one.
func moved(judged, now sandbox.Site) bool {
	return judged.Tier != "" && (judged.Tier != now.Tier || judged.Elevated != now.Elevated ||
		judged.Isolated != now.Isolated ||
		judged.Network != now.Network || judged.Asks != now.Asks ||
		judged.Dir != now.Dir || judged.Inode != now.Inode)
}

// check returns an error for commands that cannot be started in any sandbox.
func check(cmd sandbox.Command) error {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return tool.Errorf(tool.Invalid, "there is no command").Try("pass the program to run")
	}
	size := 0
	for _, word := range slices.Concat(cmd.Argv, cmd.Env) {
		size += len(word)
		if strings.ContainsRune(word, 0) {
			return tool.Errorf(tool.Invalid, "the command contains a zero byte").Try("leave it out")
		}
	}
	if size > maxWords {
		return tool.Errorf(tool.TooLarge, "the command has %d bytes, the maximum is %d", size, maxWords).
			Try("write long arguments to a file first")
	}
	if len(cmd.Stdin) > maxInput {
		return tool.Errorf(tool.TooLarge, "stdin has %d bytes, the maximum is %d", len(cmd.Stdin), maxInput).
			Try("write it to a file, and let the command read the file")
	}
	return checkEnviron(cmd.Env)
}

// timeout returns how long a command may run. Zero means no timeout.
func timeout(cmd sandbox.Command, s sandbox.Site) time.Duration {
	return min(max(cmd.Timeout, 0), s.MaxTimeout)
}

// run starts a command in an instance that was acquired for it.
func (c *Commands) run(ctx context.Context, at *target, n *instance, cmd sandbox.Command,
	body wire.StartBody) (sandbox.Process, error) {
	p := c.newProcess(at, n, cmd)
	p.grant = tool.Grant{Caller: at.caller}
	if grant := tool.RunningFrom(ctx).Grant; grant != nil {
		p.grant = grant()
	}
	if err := c.admit(p); err != nil {
		c.leave(n, false)
		return nil, err
	}
	child, err := n.box.Start(ctx, body, p)
	if errors.Is(err, box.ErrLost) {
		p.Gone(err) // it may have started, so it must not be started again
		return p, nil
	}
	if err != nil {
		p.abandon()
		return nil, startError(ctx, cmd, err)
	}
	if p.begin(child, body.Timeout) {
		return p, child.Kill()
	}
	if len(cmd.Stdin) > 0 {
		err = child.Input(ctx, cmd.Stdin) // it fits into the window, so this does not wait
	}
	if err == nil && body.Input && !p.open {
		err = child.EndInput()
	}
	if err != nil {
		c.o.Log.Debug("stdin was not given", "id", p.status.ID, "err", err) // the exit status shows the cause
	}
	return p, nil
}

func (c *Commands) newProcess(at *target, n *instance, cmd sandbox.Command) *process {
	now := time.Now()
	out, errs := c.sizes(cmd)
	p := &process{
		c: c, owner: ownerOf(at.caller), instance: n, private: cmd.Private != nil,
		stdout: newLog(c.spool, out.most, out.tail), stderr: newLog(c.spool, errs.most, errs.tail),
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

// begin sets the child, and starts a timer in case the agent does not enforce the
// timeout. It reports whether the process was killed in the meantime.
func (p *process) begin(child *box.Child, timeout time.Duration) (unwanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = child
	if timeout > 0 && !p.ended {
		p.late = time.AfterFunc(timeout+lateAfter, p.overdue)
	}
	return p.wanted != ""
}

// abandon discards a process that did not start.
func (p *process) abandon() {
	p.Gone(nil)
	p.forget()
}

// overdue ends the instance of a command that the agent did not end in time. It
// ends the other commands in it too, since the agent no longer works.
func (p *process) overdue() {
	p.mu.Lock()
	p.wanted = sandbox.TimedOut
	p.mu.Unlock()
	p.c.o.Log.Warn("a command exceeded its timeout, so its sandbox was ended", "id", p.status.ID, "tier", p.status.Tier)
	p.c.end(p.instance)
}

// startError returns the error for the model if a command does not start.
func startError(ctx context.Context, cmd sandbox.Command, err error) error {
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
		Try("try again; if other commands fail too, tell the user that the sandbox does not work")
}
