//go:build !linux

package browser

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// LauncherArg is the first argument of this program when it runs as a launcher, which is
// used on Linux only.
const LauncherArg = "browser-stage"

// RunLauncher fails: there are no namespaces on this system.
func RunLauncher([]string) int {
	fmt.Fprintln(os.Stderr, "browsers are isolated on Linux only")
	return 1
}

// CheckIsolation returns nil: browsers are not isolated on this system, so no requirement
// can be missing.
func CheckIsolation(context.Context) error { return nil }

// run starts the browser. It fails on Windows, which cannot pass single handles for
// DevTools.
func (p *program) run(s startOptions) error {
	if os.Geteuid() == 0 {
		return tool.Errorf(tool.Unavailable, "a browser cannot be started as root").
			Try("use web_fetch; the operator can run the server as another user")
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
	if err := cmd.Start(); err != nil {
		_ = l.Close()
		return err
	}
	p.listen, p.kill = l, func() { _ = cmd.Process.Kill() } // its other processes end with it
	go func() {
		_ = cmd.Wait() // the browser is killed, so the exit code has no meaning
		close(p.done)
	}()
	return nil
}
