//go:build !windows && !linux

package browser

import (
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// run starts the browser in its own process group.
func (p *program) run(s startOptions) error {
	if os.Geteuid() == 0 {
		return tool.Errorf(tool.Unavailable,
			"a browser cannot be started as root").Try("use web_fetch; the operator can run the server as another user")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	args := s.args(l.Addr().String())
	if s.insecure {
		args = append([]string{noSandbox}, args...)
	}
	cmd := s.command(s.path, args)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = l.Close()
		return err
	}
	p.listen, p.kill = l, func() { killGroup(cmd) }
	go func() {
		_ = cmd.Wait() // the browser is killed, so the exit code has no meaning
		killGroup(cmd)
		close(p.done)
	}()
	return nil
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
