//go:build unix && !linux

package agent

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A group is the process group, and session, of a command.
type group struct {
	leader int
	ended  chan struct{} // closed when the command itself has
}

func attributes(tty bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: tty}
}

// dress changes nothing: programs get their arguments as a list.
func (c *command) dress(path string, _ *syscall.SysProcAttr) (string, error) { return path, nil }

func gather(p *os.Process, _ wire.Limits) (*group, error) {
	return &group{leader: p.Pid, ended: make(chan struct{})}, nil
}

// count says 1 when there are any.
func (g *group) count() int {
	if errors.Is(syscall.Kill(-g.leader, 0), syscall.ESRCH) {
		return 0
	}
	return 1
}

func (g *group) ask() bool { return syscall.Kill(-g.leader, syscall.SIGTERM) == nil }
func (g *group) kill()     { _ = syscall.Kill(-g.leader, syscall.SIGKILL) }
func (g *group) release()  {}

func endingOf(s *os.ProcessState) ending {
	e := ending{code: s.ExitCode(), cpu: s.UserTime() + s.SystemTime()}
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.code, e.signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return e
}

func rawPipe(fds []int) error {
	if err := syscall.Pipe(fds); err != nil {
		return err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return nil
}

// prepare keeps commands from leaving their memory in files, and bounds the size of files.
func prepare(o options) error {
	if o.fileSize > 0 {
		limit := syscall.Rlimit{Cur: uint64(o.fileSize), Max: uint64(o.fileSize)}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
	}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
