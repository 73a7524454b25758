// Package host starts agents on this machine without isolation: commands run as the user of the
// server and see the same files. The agent still ends whole process trees, and no process
// outlives the server. The package does not know the meaning of commands.
//
// Begin with [Launcher].
package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
)

// A Launcher starts agents on this machine.
type Launcher struct {
	// Self is the program, with its arguments, that becomes an agent. If it is
	// empty, the running program is started again.
	Self []string
}

// Name returns host.
func (l Launcher) Name() string { return sandbox.Host }

// Probe reports whether this program can be started again.
func (l Launcher) Probe(context.Context) sandbox.ProbeResult {
	self, err := l.self()
	if err == nil {
		_, err = os.Stat(self[0])
	}
	if err != nil {
		return sandbox.ProbeResult{Text: "host: this program cannot be started again: " + err.Error()}
	}
	return sandbox.ProbeResult{
		Works:  true,
		Text:   "host: commands run as the server's user and see its files",
		Advice: "use it only where commands may do whatever the server's user may",
	}
}

// Layout returns the paths of this machine unchanged.
func (l Launcher) Layout(g sandbox.Directories) sandbox.Layout {
	layout := sandbox.Layout{Binds: []sandbox.Bind{{Host: g.Dir, Inside: g.Dir, Write: true}}}
	for _, r := range g.Roots {
		layout.Binds = append(layout.Binds, sandbox.Bind{Host: r.Path, Inside: r.Path, Write: r.Write})
	}
	return layout
}

// Launch starts an agent. It fails if any guarantee is required.
func (l Launcher) Launch(ctx context.Context, w sandbox.Spec) (sandbox.Link, error) {
	if len(w.Require) > 0 {
		return nil, fmt.Errorf("the host isolates nothing, so it cannot guarantee %v", w.Require)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	self, err := l.self()
	if err != nil {
		return nil, err
	}
	mark := rand.Text()
	args := append(self[1:len(self):len(self)], "-mark", mark)
	if w.Limits.FileSize > 0 {
		args = append(args, "-filesize", strconv.FormatInt(w.Limits.FileSize, 10))
	}
	if len(w.Child) > 0 {
		args = w.Child
	}
	return start(self[0], args, mark)
}

// A link is the connection to an agent on this machine.
type link struct {
	*sandbox.AgentProcess
	mark string
}

func start(program string, args []string, mark string) (*link, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = bare()
	cmd.Dir = root()
	cmd.SysProcAttr = ownGroup()
	p, err := sandbox.StartProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	return &link{p, mark}, nil
}

// Close ends the agent, and with it its commands.
func (l *link) Close() error {
	l.AgentProcess.Close(func() { agent.Sweep(l.mark) })
	return nil
}

func (l *link) Guarantees() []sandbox.Guarantee { return nil }
