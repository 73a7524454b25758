package commands

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// killLimit is when the sandbox of something that does not die is ended.
const killLimit = 10 * time.Second

// Kill ends the process and everything that it has started, and waits for that
// as long as ctx does.
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
		p.force = time.AfterFunc(killLimit, func() { p.c.end(p.cell) })
	}
	child := p.child
	p.mu.Unlock()
	if child != nil {
		if err := child.Kill(); err != nil {
			p.c.end(p.cell) // nobody is there to tell
		}
	}
	for _, done := range []chan struct{}{p.over, p.end} { // it is gone, and its status says so
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// doom says why the process is about to be killed with its sandbox.
func (p *process) doom(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.wanted == "" {
		p.wanted, p.status.Why = sandbox.Killed, why
	}
}

// Write puts data into the process's stdin, and closes that when end is true.
func (p *process) Write(ctx context.Context, data []byte, end bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(data) > maxInput {
		return tool.Errorf(tool.TooLarge, "the input has %d bytes, the most is %d", len(data), maxInput).
			Try("write it to a file, and have the command read that")
	}
	p.mu.Lock()
	ended, open := p.ended, p.open
	p.quiet, p.prompt = time.Now(), false
	if end {
		p.open = false
	}
	p.mu.Unlock()
	if ended {
		return tool.Errorf(tool.Conflict, "the command has ended").Try("read what it wrote with process log")
	}
	if !open {
		return tool.Errorf(tool.Conflict, "nothing reads stdin: it was not opened, or is closed").
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
			Try("see with process poll what it is doing; part of the input waits for it")
	}
	return tool.Errorf(tool.Conflict, "the command takes no more input").Try("see with process poll how it is").Because(err)
}
