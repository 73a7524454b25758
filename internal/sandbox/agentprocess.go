package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// patience is how long an agent may take to end by itself.
const patience = time.Second

// An AgentProcess is an agent that runs as a process of this machine.
type AgentProcess struct {
	Cmd   *exec.Cmd
	Words Tail          // its stderr
	Gone  chan struct{} // closed when it has ended
	in    *os.File
	out   *os.File
	end   sync.Once
}

// StartProcess starts an agent, and connects to its streams.
func StartProcess(cmd *exec.Cmd) (*AgentProcess, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	wire.Widen(theirOut)
	p := &AgentProcess{Cmd: cmd, Gone: make(chan struct{}), in: in, out: out}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &p.Words
	cmd.WaitDelay = patience // a command may hold its stderr open
	started := make(chan error, 1)
	go func() { // on one thread: the parent death signal is sent when that thread ends
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its stderr shows how it ended
			close(p.Gone)
		}
	}()
	if err := <-started; err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return p, nil
}

// Read reads stdout of the agent. The error at the end contains its stderr.
func (p *AgentProcess) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if errors.Is(err, io.EOF) {
		select {
		case <-p.Gone:
		case <-time.After(patience):
		}
		if words := p.Words.String(); words != "" {
			err = fmt.Errorf("%w: %s", err, words)
		}
	}
	return n, err
}

// Write writes to stdin of the agent.
func (p *AgentProcess) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes stdin so that the agent ends, kills it after a timeout, and calls clean
// when it has ended.
func (p *AgentProcess) Close(clean func()) {
	p.end.Do(func() {
		p.in.Close()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-p.Gone:
		case <-timer.C:
		}
		_ = p.Cmd.Process.Kill() // an error means that it has ended
		<-p.Gone
		p.out.Close()
		clean()
	})
}
