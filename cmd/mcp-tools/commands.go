package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/results"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/docker"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// behindWalls is the program when it has started itself again, to run commands or
// a browser.
// mine is false when somebody else has started it.
func behindWalls(args []string) (code int, mine bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case agent.Name:
		return agent.Main(args[2:]), true
	case kernel.StageArg:
		return kernel.Main(args[2:]), true
	case docker.StageArg:
		return docker.Stage(args[2:]), true
	case browser.StageArg:
		return browser.Stage(args[2:]), true
	}
	return 0, false
}

// openCommands joins sandboxes to the workspace. Nothing is started yet.
func (h *house) openCommands(context.Context) error {
	c := h.loaded.Config
	launchers, err := launchers(c.Sandbox, h.data, h.log)
	if err != nil {
		return err
	}
	for _, l := range launchers {
		if l, ok := l.(io.Closer); ok {
			h.onClose(l.Close)
		}
	}
	spool, err := private.MakeSub(h.data, "commands")
	if err != nil {
		return err
	}
	modes := make(map[string]commands.Policy)
	for _, p := range c.Sandbox.Profiles {
		modes[p.Profile] = sandboxPolicy(c.Sandbox, p)
	}
	usual := sandboxPolicy(c.Sandbox, config.SandboxProfile{})
	h.commands, err = commands.New(commands.Options{
		Launchers: launchers, Spool: spool, Log: h.log,
		Mode: func(caller tool.Caller) commands.Policy {
			if p, ok := modes[h.server.ProfileOf(caller)]; ok {
				return p
			}
			return usual
		},
		Ground: h.ground, Dir: h.files.Dir, Proxy: h.proxy, Environ: h.environ(),
		ExtraRead: h.extra(c.Sandbox.Read), ExtraWrite: h.extra(c.Sandbox.Write),
		Limits: sandbox.Limits{
			Memory: int64(c.Sandbox.Memory), Processes: c.Sandbox.Processes, FileSize: int64(c.Sandbox.FileSize),
			Temp: int64(c.Sandbox.Temp), CPUs: c.Sandbox.CPUs, CPUTime: time.Duration(c.Sandbox.CPUTime),
		},
		Limit: commands.Limit{
			Host: time.Duration(c.Exec.Timeout), Sandbox: time.Duration(c.Exec.SandboxTimeout), Most: time.Duration(c.Exec.MaxTimeout),
		},
		Scope: commands.Scope(c.Sandbox.Scope), Idle: time.Duration(c.Sandbox.Idle), Age: time.Duration(c.Sandbox.Age),
		Background: commands.Background{
			Count: c.Exec.Background, Age: time.Duration(c.Exec.FinishedAge), Output: int64(c.Exec.Output),
		},
	})
	if err != nil {
		return err
	}
	h.onClose(h.commands.Close)
	return nil
}

// extra are the directories of the operator's list that are there, without
// links. What is missing must not keep commands from running.
func (h *house) extra(paths []string) []string {
	var there []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			h.log.Warn("commands do not see a directory of sandbox.read or sandbox.write; make it and start again", "err", err)
			continue
		}
		there = append(there, real)
	}
	return there
}

// launchers are the sandboxes that the settings allow, the strongest first.
func launchers(c config.Sandbox, data string, log *slog.Logger) ([]sandbox.Launcher, error) {
	var all []sandbox.Launcher
	if c.Docker.Image != "" {
		containers, err := docker.New(docker.Options{
			Image: c.Docker.Image, Hosts: c.Docker.Hosts, Agent: c.Docker.Agent, CPUs: c.CPUs, Data: data,
			Mounts: filepath.Join(data, "mounts"), Log: log,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, containers)
	}
	return append(all, &kernel.Launcher{}, &host.Launcher{}), nil
}

func sandboxPolicy(c config.Sandbox, own config.SandboxProfile) commands.Policy {
	p := commands.Policy{Mode: commands.Mode(c.Mode), Network: c.Network, Require: promises(c.Require)}
	if own.Mode != "" {
		p.Mode = commands.Mode(own.Mode)
	}
	if own.Network != "" {
		p.Network = own.Network == "on"
	}
	if own.Require != nil || p.Mode == commands.Host { // whoever chooses the host wants no walls
		p.Require = promises(own.Require)
	}
	return p
}

func promises(names []string) []sandbox.Promise {
	var all []sandbox.Promise
	for _, name := range names {
		all = append(all, sandbox.Promise(name))
	}
	return all
}

// ground says to the sandboxes what the workspace says of itself.
func (h *house) ground(ctx context.Context) (sandbox.Ground, error) {
	g, err := h.files.Ground(ctx)
	out := sandbox.Ground{Dir: g.Dir, Hidden: g.Hidden, Locked: g.Locked}
	for _, r := range g.Roots {
		out.Roots = append(out.Roots, sandbox.Root(r))
	}
	return out, err
}

// environ is what the operator gives to every command.
func (h *house) environ() []string {
	c := h.loaded.Config.Exec
	var all []string
	for _, name := range c.Inherit {
		if value := h.app.getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	for name, value := range c.Environment {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// proxy opens a way out for the commands of one sandbox.
func (h *house) proxy(ctx context.Context, c tool.Caller, hosts []string) (socket string, stop func(), err error) {
	dialer, err := egress.NewDialer(egress.Rules{AllowPrivate: hosts, Own: h.ownPorts()}, net.DefaultResolver)
	if err != nil {
		return "", nil, err
	}
	socket, listener, err := egress.Listen(filepath.Join(h.data, "commands", "proxies"))
	if err != nil {
		return "", nil, err
	}
	p := egress.NewProxy(egress.ProxyOptions{Dialer: dialer, Log: h.log, Note: func(v egress.Visit) {
		h.log.Debug("a command reached out", "agent", c.Agent, "to", v.Target.String(), "err", v.Err, "sent", v.Sent, "received", v.Received)
	}})
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Serve(serving, listener); err != nil {
			h.log.Error("the way out of a sandbox is closed", "err", err)
		}
	}()
	return socket, func() { cancel(); <-done }, nil
}

// execOptions are what the tools need that run commands.
func (h *house) execOptions(store *results.Store) exec.Options {
	c := h.loaded.Config.Exec
	return exec.Options{
		Commands: h.commands, Keeper: outputs{store, h.scrub}, Rules: func() judge.Rules { return *h.rules.Load() }, Most: time.Duration(c.MaxTimeout),
		Scrub: func(w io.Writer) io.WriteCloser { return h.scrub.NewWriter(w) },
		Programs: cli.Options{
			Programs: cliPrograms(c.Programs), Secret: h.secret, Mask: h.scrub.Set, Changeable: h.changeable, Private: h.private(),
		},
	}
}

// private are the directories whose files no program is to send away.
func (h *house) private() []string {
	dirs := []string{h.data}
	if real, err := filepath.EvalSymlinks(h.data); err == nil && real != h.data {
		dirs = append(dirs, real)
	}
	return dirs
}

// secret reads one from the vault.
func (h *house) secret(name string) ([]byte, error) {
	v, err := h.app.vault(h.loaded.Config.Vault)
	if err != nil {
		return nil, err
	}
	return v.Get(name)
}

// ownPorts are where the server itself listens: nothing that commands do over
// the network may come from within.
func (h *house) ownPorts() []uint16 {
	var ports []uint16
	for _, address := range []string{h.loaded.Config.Server.HTTP, h.loaded.Config.Server.Metrics} {
		_, text, _ := net.SplitHostPort(address)
		if port, err := strconv.ParseUint(text, 10, 16); err == nil && port != 0 {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}

// changeable reports whether the caller could put another program into the
// place of one.
func (h *house) changeable(ctx context.Context, path string) bool {
	g, err := h.files.Ground(ctx)
	if err != nil {
		return true
	}
	dirs := append([]string{g.Dir}, h.loaded.Config.Sandbox.Write...)
	for _, r := range g.Roots {
		if r.Write {
			dirs = append(dirs, r.Path)
		}
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}
