// Package host starts agents on this machine without isolation: commands run as the
// user of the server and see the same files. The agent still ends whole process
// trees, and no process outlives the server. The package does not know what
// commands do.
//
// Begin with [Launcher].
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	// patience is how long an agent may take to end by itself.
	patience = time.Second
)

// A Launcher starts agents on this machine.
type Launcher struct {
	// Self is the program, with its arguments, that becomes an agent. If it is
	// empty, the running program is started again.
	Self []string
}

// Name returns host.
func (l Launcher) Name() string { return "host" }

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
		Text:   "host: commands run as the server's user and see what it sees",
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
	mark := newMark()
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
	cmd   *exec.Cmd
	mark  string
	to    *os.File
	from  *os.File
	words *sandbox.Tail
	ended chan struct{}
	once  sync.Once
}

func start(program string, args []string, mark string) (*link, error) {
	theirIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		to.Close()
		return nil, err
	}
	l := &link{mark: mark, to: to, from: from, words: &sandbox.Tail{}, ended: make(chan struct{})}
	l.cmd = exec.Command(program, args...)
	l.cmd.Env = bare()
	l.cmd.Dir = root()
	l.cmd.Stdin, l.cmd.Stdout, l.cmd.Stderr = theirIn, theirOut, l.words
	l.cmd.WaitDelay = patience // a command may hold its stderr open
	l.cmd.SysProcAttr = ownGroup()
	err = l.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		to.Close()
		from.Close()
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	go func() {
		_ = l.cmd.Wait()
		close(l.ended)
	}()
	return l, nil
}

// Read reads stdout of the agent. The error at the end contains its stderr.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if errors.Is(err, io.EOF) {
		select {
		case <-l.ended:
		case <-time.After(patience):
		}
		if words := l.words.String(); words != "" {
			err = fmt.Errorf("%w: %s", err, words)
		}
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) { return l.to.Write(p) }

// Close ends the agent, which ends its commands.
func (l *link) Close() error {
	l.once.Do(func() {
		l.to.Close()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-l.ended:
		case <-timer.C:
			_ = l.cmd.Process.Kill()
			<-l.ended
		}
		sweep(l.mark)
		l.from.Close()
	})
	<-l.ended
	return nil
}

func (l *link) Guarantees() []sandbox.Guarantee { return nil }

func (l *link) Describe() string {
	return "on the host, without isolation, as process " + strconv.Itoa(l.cmd.Process.Pid)
}
