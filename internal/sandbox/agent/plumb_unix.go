//go:build unix

package agent

import (
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// pipeFrom returns a pipe for output of a command. Closing r interrupts a read; the
// command's end blocks, as programs expect.
func pipeFrom() (r, w *os.File, err error) {
	if r, w, err = pipe(0); err == nil {
		wire.Widen(w)
	}
	return r, w, err
}

// pipeTo returns a pipe for input of a command.
func pipeTo() (r, w *os.File, err error) { return pipe(1) }

func pipe(ours int) (r, w *os.File, err error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	err = rawPipe(fds[:])
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("creating a pipe: %w", err)
	}
	_ = syscall.SetNonblock(fds[ours], true) // before NewFile: it checks the flag
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

func openTerminal(size wire.Size) (ours, theirs *os.File, err error) {
	ours, theirs, err = pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	if size.Rows > 0 && size.Cols > 0 {
		_ = pty.Setsize(ours, &pty.Winsize{Rows: size.Rows, Cols: size.Cols})
	}
	return ours, theirs, nil
}

// deadly returns the signals that end a program and can be caught.
func deadly() []os.Signal {
	return []os.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGABRT,
		syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGIO,
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	}
}
