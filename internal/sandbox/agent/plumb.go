package agent

import (
	"os"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A stream is an output of a command, and the kind of its frames.
type stream struct {
	kind wire.Kind
	file *os.File
}

// commandFiles holds the files between a command and the agent.
type commandFiles struct {
	theirs  [3]*os.File // stdin, stdout and stderr of the command
	passing []*os.File  // the command's ends, to be closed by the agent after the start
	ours    []*os.File
	streams []stream
	tty     *os.File
}

func (p *commandFiles) closeTheirs() {
	for _, f := range p.passing {
		f.Close()
	}
	p.passing = nil
}

func (p *commandFiles) closeOurs() {
	for _, f := range p.ours {
		f.Close()
	}
}

// openFiles opens the pipes or the terminal of the command.
func (c *command) openFiles() (*commandFiles, error) {
	p := &commandFiles{theirs: [3]*os.File{c.agent.null, nil, nil}}
	err := p.connect(c)
	if err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	return p, nil
}

func (p *commandFiles) connect(c *command) error {
	if c.spec.TTY != nil {
		return p.terminal(c)
	}
	if c.input != nil {
		r, w, err := pipeTo()
		if err != nil {
			return err
		}
		p.theirs[0] = r
		p.passing = append(p.passing, r)
		p.ours = append(p.ours, w)
		c.input.to = w
	}
	if err := p.output(1, wire.Stdout); err != nil {
		return err
	}
	if c.spec.Merge {
		p.theirs[2] = p.theirs[1]
		return nil
	}
	return p.output(2, wire.Stderr)
}

func (p *commandFiles) output(fd int, kind wire.Kind) error {
	r, w, err := pipeFrom()
	if err != nil {
		return err
	}
	p.theirs[fd] = w
	p.passing = append(p.passing, w)
	p.ours = append(p.ours, r)
	p.streams = append(p.streams, stream{kind, r})
	return nil
}

// terminal opens a terminal for all streams of the command.
func (p *commandFiles) terminal(c *command) error {
	ours, theirs, err := openTerminal(*c.spec.TTY)
	if err != nil {
		return err
	}
	p.theirs = [3]*os.File{theirs, theirs, theirs}
	p.passing = append(p.passing, theirs)
	p.ours = append(p.ours, ours)
	p.streams = append(p.streams, stream{wire.Stdout, ours})
	p.tty = ours
	if c.input != nil {
		c.input.to, c.input.tty = ours, true
	}
	return nil
}
