package commands

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// killLimit is when the sandbox of a process that does not die is ended.
const killLimit = 10 * time.Second

// Kill kills the process and all its descendants, and waits until they have
// ended or ctx ends.
func (p *process) Kill(ctx context.Context) error {
	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return nil
	}
	if !p.ended && p.wanted == "" {
		p.wanted = sandbox.Killed
	}
	if p.force == nil {
		p.force = time.AfterFunc(killLimit, func() { p.c.end(p.instance) })
	}
	child := p.child
	p.mu.Unlock()
	if child != nil {
		if err := child.Kill(); err != nil {
			p.c.end(p.instance) // the agent does not read its input
		}
	}
	for _, done := range []chan struct{}{p.over, p.end} { // all descendants have ended, and the status is final
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// markKilled records why the process is about to be killed with its sandbox.
func (p *process) markKilled(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.wanted == "" {
		p.wanted, p.status.Why = sandbox.Killed, why
	}
}

// Write writes data to the stdin of the process, and closes stdin if end is true.
func (p *process) Write(ctx context.Context, data []byte, end bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(data) > maxInput {
		return tool.Errorf(tool.TooLarge, "the input has %d bytes, the maximum is %d", len(data), maxInput).
			Try("write it to a file, and let the command read the file")
	}
	p.mu.Lock()
	ended, open := p.ended, p.open
	p.quiet, p.prompt = time.Now(), false
	if end {
		p.open = false
	}
	p.mu.Unlock()
	if ended {
		return tool.Errorf(tool.Conflict, "the command has ended").Try("read its output with process log")
	}
	if !open {
		return tool.Errorf(tool.Conflict, "stdin of the command is closed or was not opened").
			Try("start the command again, in the background and with tty")
	}
	err := p.child.Input(ctx, data)
	if err == nil && end {
		err = p.child.EndInput()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return tool.Errorf(tool.Busy, "the command does not read its stdin").
			Try("check with process poll what it is doing; part of the input is still buffered")
	}
	return tool.Errorf(tool.Conflict, "the command accepts no more input").Try("check its state with process poll").
		Because(err)
}
