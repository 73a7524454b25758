// Package seatbelt starts agents in the sandbox of macOS, Seatbelt: nothing to install, no daemon, no image.
//
// It starts this program again with sandbox-exec and a profile that all its children inherit: writes only below the
// workspace and a private directory, protected names denied, files of people unreadable, network only to the proxy of
// the server. The profile is made by pure code (profile.go) and tested on every system by an evaluator of the used
// part of its language; no test has run on macOS. So [Launcher.Probe] lets a program try to leave the sandbox
// (package selftest), and the sandbox is used only where it cannot.
//
// Seatbelt hides no processes and limits no memory. All commands share the loopback address of the machine, so each
// sandbox reaches the proxy at a port of its own, and commands cannot connect to ports that they listen on.
//
// Begin with [Launcher].
package seatbelt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/selftest"
)

const (
	// program applies a profile to itself and becomes another program.
	program = "/usr/bin/sandbox-exec"
	// maxProfile is the maximum length of a profile and its parameters: the system bounds arguments at a MiB.
	maxProfile = 768 << 10
)

// A Launcher starts agents in Seatbelt sandboxes.
type Launcher struct {
	// Private are directories that commands do not see, except for binds, such as the data
	// directory.
	Private []string
	// exec is sandbox-exec, and self this program with its arguments as an agent; "" and nil for the usual ones.
	exec string
	self []string
}

var _ sandbox.Launcher = Launcher{}

// Name returns seatbelt.
func (Launcher) Name() string { return sandbox.Seatbelt }

func (l Launcher) tool() string {
	if l.exec != "" {
		return l.exec
	}
	return program
}

// Probe lets a program try to leave a sandbox.
func (l Launcher) Probe(ctx context.Context) sandbox.ProbeResult {
	const advice = "use sandbox docker; or sandbox host, where commands may do whatever you may"
	if _, err := os.Stat(l.tool()); err != nil {
		return sandbox.ProbeResult{Text: "seatbelt: " + l.tool() + " is missing, which macOS has", Advice: advice}
	}
	if err := selftest.Run(ctx, l, true); err != nil {
		return sandbox.ProbeResult{
			Text:   "seatbelt: the sandbox of macOS did not pass its test: " + err.Error(),
			Advice: "report this with the version of macOS; until then " + advice,
		}
	}
	return sandbox.ProbeResult{
		Works: true, Proxy: true, Guarantees: guarantees(),
		Text: "seatbelt: the sandbox of macOS isolates files and network; a test program could not leave it",
	}
}

func guarantees() []sandbox.Guarantee { return []sandbox.Guarantee{sandbox.Files, sandbox.Network} }

// Layout keeps all paths. The home of commands is new at each call, and also their directory for temporary files.
func (Launcher) Layout(d sandbox.Directories) sandbox.Layout {
	layout := sandbox.Layout{
		Shown: system[:], Binds: []sandbox.Bind{{Host: d.Dir, Inside: d.Dir, Write: true}},
		Home: filepath.Join(real(os.TempDir()), "mcp-tools-home-"+strconv.Itoa(os.Getpid())+"-"+rand.Text()[:12]), HomeIsTemp: true,
	}
	for _, r := range d.Roots {
		layout.Binds = append(layout.Binds, sandbox.Bind{Host: r.Path, Inside: r.Path, Write: r.Write})
	}
	return layout
}

// Launch starts an agent.
func (l Launcher) Launch(ctx context.Context, s sandbox.Spec) (sandbox.Link, error) {
	for _, g := range s.Require {
		if !slices.Contains(guarantees(), g) {
			return nil, fmt.Errorf("seatbelt cannot guarantee %q", g)
		}
	}
	if s.Open || s.Nested {
		return nil, errors.New("seatbelt neither opens the network of this machine, nor lets programs make sandboxes of their own")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, err := l.start(s)
	if err != nil {
		k.clean()
		return nil, err
	}
	return k, nil
}

// start returns a link that has to be cleaned even if there is an error.
func (l Launcher) start(s sandbox.Spec) (k *link, err error) {
	k = &link{mark: rand.Text()}
	self := l.self
	if self == nil {
		path, err := os.Executable()
		if err != nil {
			return k, err
		}
		self = []string{real(path)}
	}
	a := accessOf(s, l.Private, real)
	a.Program = self[0]
	if s.Home != "" {
		if err := os.Mkdir(s.Home, 0o700); err != nil {
			return k, fmt.Errorf("a home for commands: %w", err)
		}
		k.home = s.Home
	}
	env := []string{"PATH=" + sandbox.DefaultPath, "HOME=" + s.Home, "TMPDIR=" + s.Home}
	if s.Proxy != "" {
		if k.proxy, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return k, fmt.Errorf("an address for the proxy: %w", err)
		}
		go agent.Tunnel(k.proxy, s.Proxy)
		a.Ports = append(a.Ports, k.proxy.Addr().(*net.TCPAddr).Port)
		env = append(env, sandbox.ProxyVariables(k.ProxyURL())...)
	}
	args, err := l.arguments(a, self, s, k.mark)
	if err != nil {
		return k, err
	}
	cmd := exec.Command(l.tool(), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", env, ownGroup()
	if k.AgentProcess, err = sandbox.StartProcess(cmd); err != nil {
		err = fmt.Errorf("starting %s: %w", l.tool(), err)
	}
	return k, err
}

// accessOf returns the access of commands. real returns the path that the kernel has of a file.
func accessOf(s sandbox.Spec, private []string, real func(string) string) access {
	each := func(paths []string) (all []string) {
		for _, path := range paths {
			all = append(all, real(path))
		}
		return all
	}
	a := access{Hidden: each(s.Hidden), Locked: each(s.Locked), Private: each(private), Home: s.Home, Ports: locals(s.Forward)}
	if home, err := os.UserHomeDir(); err == nil {
		a.Private = append(a.Private, real(home))
	}
	for _, b := range s.Binds {
		b.Host = real(b.Host)
		a.Binds = append(a.Binds, b)
	}
	return a
}

// locals returns the ports of programs on this machine that a sandbox may reach. Hosts elsewhere are reached through the
// proxy only.
func locals(all []sandbox.Forward) (ports []int) {
	for _, f := range all {
		host, port, _ := net.SplitHostPort(f.To)
		number, err := strconv.Atoi(port)
		if ip := net.ParseIP(host); err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) {
			ports = append(ports, number)
		}
	}
	return ports
}

// arguments returns the arguments of sandbox-exec.
func (l Launcher) arguments(a access, self []string, s sandbox.Spec, mark string) ([]string, error) {
	text, parameters := a.profile()
	size := len(text)
	args := []string{"-p", text}
	for _, p := range parameters {
		size += len(p)
		args = append(args, "-D", p)
	}
	if size > maxProfile {
		return nil, fmt.Errorf("too many paths are hidden or locked: %d", len(s.Hidden)+len(s.Locked))
	}
	args = append(args, self...)
	if len(s.Child) > 0 {
		return append(args, s.Child...), nil
	}
	args = append(args, agent.Name, "-mark", mark)
	if s.Limits.FileSize > 0 {
		args = append(args, "-filesize", strconv.FormatInt(s.Limits.FileSize, 10))
	}
	return args, nil
}

// A link is the connection to an agent.
type link struct {
	*sandbox.AgentProcess
	mark  string
	home  string
	proxy net.Listener // nil for no network
}

// ProxyURL returns the address of the proxy.
func (k *link) ProxyURL() string {
	if k.proxy == nil {
		return ""
	}
	return "http://" + k.proxy.Addr().String()
}

// Guarantees returns files and network.
func (*link) Guarantees() []sandbox.Guarantee { return guarantees() }

// Read reads the output of the agent. If sandbox-exec has refused the profile, the error at the end suggests what
// to do.
func (k *link) Read(b []byte) (int, error) {
	n, err := k.AgentProcess.Read(b)
	if err != nil && strings.Contains(err.Error(), "sandbox-exec:") {
		err = fmt.Errorf("macOS refuses the profile of the sandbox, as other sandboxes around this program make it do (%w); "+
			"start the server outside of them, or use sandbox docker", err)
	}
	return n, err
}

// Close ends the agent and all that its commands have started.
func (k *link) Close() error {
	k.AgentProcess.Close(k.clean)
	return nil
}

func (k *link) clean() {
	agent.Sweep(k.mark)
	if k.proxy != nil {
		k.proxy.Close()
	}
	if k.home != "" {
		os.RemoveAll(k.home)
	}
}
