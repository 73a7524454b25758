package app

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/docker"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/fleet"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kubernetes"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/local"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/network"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/selftest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/version"
	"github.com/mcp-tools/mcp-tools/internal/workspace/gitrepo"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/code"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
	"github.com/mcp-tools/mcp-tools/tools/script/engine"
)

// RunChild runs this process as a child that the program has started to run
// programs, and returns its exit code. It returns child false if
// this is no such process.
func RunChild(args []string) (code int, child bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case agent.Name:
		return agent.Main(args[2:]), true
	case selftest.Arg:
		return selftest.Main(args[2:]), true
	case kernel.StageArg:
		return kernel.Main(args[2:]), true
	case docker.StageArg:
		return docker.Stage(args[2:]), true
	case document.ChildArg:
		return readers.Main(args[2:]), true
	case engine.Arg:
		return engine.Main(), true
	case kubernetes.InstallArg:
		return kubernetes.Install(args[2:]), true
	}
	return 0, false
}

// openTiers makes the sandboxes of all programs. None is started or probed yet.
func (a *App) openTiers(context.Context) error {
	a.places = fleet.New(a.store, a.log)
	launchers, err := Launchers(a.loaded.Config.Sandbox, a.data, a.log, a.places.Drained)
	if err != nil {
		return err
	}
	for _, l := range launchers {
		if l, ok := l.(io.Closer); ok {
			a.onClose(l.Close)
		}
	}
	for i := range launchers {
		if _, ok := launchers[i].(sandbox.Fleet); ok {
			launchers[i] = a.places.Keep(launchers[i])
		}
	}
	a.tiers = sandbox.NewTiers(launchers...)
	return nil
}

// openCommands joins the sandboxes to the workspace. No sandbox is started yet.
func (a *App) openCommands(context.Context) error {
	c := a.loaded.Config
	spool, err := private.MakeSub(a.data, "commands")
	if err != nil {
		return err
	}
	a.network = &network.Access{
		Settings: c.Sandbox, Data: a.data, Own: a.ownPorts(), Profile: a.autonomyOf, Scrub: a.scrub.Text, Log: a.log,
		Asking:  func() approvals.Settings { return a.inForce().Config.Approvals },
		Running: func(c tool.Caller) []sandbox.Status { return a.commands.Running(c) },
	}
	caches := filepath.Join(a.data, "caches")
	if len(c.Sandbox.Docker.Hosts) > 0 || c.Sandbox.Kubernetes.Image != "" {
		caches = "" // other machines do not see it
	}
	a.commands, err = commands.New(commands.Options{
		Disposable: gitrepo.Disposable,
		Tiers:      a.tiers, Spool: spool, Caches: caches, GitConfig: gitrepo.UserConfig(a.data, SystemUser(), a.log), Log: a.log,
		Mode:        commands.Modes(c.Sandbox, a.rules.profileOf),
		Directories: a.directories, Dir: a.files.Dir, Proxy: a.network.Proxy, Environ: c.Exec.Environ(a.env.Getenv),
		ExtraRead: commands.Existing(c.Sandbox.Read, a.log), ExtraWrite: commands.Existing(c.Sandbox.Write, a.log),
		Limits: sandbox.Limits{
			Memory: int64(c.Sandbox.Memory), Processes: maxProcesses, FileSize: maxFileSize,
			Temp: int64(c.Sandbox.Temp),
		},
		Kept: a.hold(heldProcess), Dropped: a.release(heldProcess), Ended: a.filesSettle(), Looked: a.files.StoreEnded, Starting: a.files.Starting,
		Elevated: c.Sandbox.Elevated, Leaving: a.places.Drained,
		Limit: commands.Limit{Max: maxCommandTime}, Idle: sandboxIdle, Age: sandboxAge,
	})
	if err != nil {
		return err
	}
	a.onClose(a.commands.Close)
	return nil
}

// repository returns the remote and the branch of the git repository of a directory.
func (a *App) repository(ctx context.Context, dir string) (address, branch string) {
	host, _, err := a.files.Dir(ctx, dir)
	if err != nil {
		return "", "" // the command itself says why
	}
	return gitrepo.Remote(host)
}

// Launchers returns the sandboxes that the settings allow, the strongest first. Drained machines get no more
// sandboxes; with a nil drained no machine is drained.
func Launchers(c sandbox.Settings, data string, log *slog.Logger, drained func(context.Context, string) bool) ([]sandbox.Launcher, error) {
	var all []sandbox.Launcher
	if k := c.Kubernetes; k.Image != "" {
		all = append(all, kubernetes.New(kubernetes.Options{
			Image: k.Image, Agent: cmp.Or(k.Agent, "ghcr.io/mcp-tools/mcp-tools:"+version.String()), Namespace: k.Namespace, Kubeconfig: k.Kubeconfig,
			Runtime: k.Runtime, CPU: k.CPU, Disk: int64(k.Disk), PullSecret: k.PullSecret, Data: data, Log: log, Drained: drained,
		}))
	}
	if c.Docker.Image != "" {
		containers, err := docker.New(docker.Options{
			Image: c.Docker.Image, Hosts: c.Docker.Hosts, Agent: linuxBuild(), Data: data,
			Mounts: filepath.Join(data, "mounts"), Log: log, Certs: c.Docker.Certs, Copy: c.Docker.Files == "copy", Drained: drained,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, containers)
	}
	return append(all, local.Launchers(data)...), nil
}

// linuxBuild returns the path of the build of this program that runs in containers, if
// there is one beside this program; "" is this program.
func linuxBuild() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(program), docker.AgentFile)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// execOptions returns the dependencies of the tools that run commands.
func (a *App) execOptions() exec.Options {
	return exec.Options{
		Commands: a.commands, Keeper: outputs{a.results}, MaxTimeout: maxCommandTime,
		Elevated: a.loaded.Config.Sandbox.Elevated,
		Rules:    func(ctx context.Context) judge.Rules { return a.commandsOf(ctx).Judge },
		Scrub: func(ctx context.Context, w io.Writer) io.WriteCloser {
			c := tool.CallerFrom(ctx)
			return a.scrub.For(scrub.Session{Agent: c.Agent, User: c.User, ID: c.Session}).NewWriter(w)
		},
		Checkpoint: a.files.Checkpoint,
		SetAside:   a.files.SetAside,
		Refused:    a.network.TakeRefusal,
		Ended:      a.commandEnded,
		Finished:   a.recordCommand,
		Server:     a.peers.Name(), Elsewhere: ifReplicated(a, a.othersCommands),
		Programs: cli.Options{
			Programs: func(ctx context.Context) cli.Programs { return a.commandsOf(ctx).Programs }, Secret: a.secret,
			Mask: a.scrub.Set, Changeable: a.changeable,
			Repository: a.repository,
			Private:    a.ownPaths(),
		},
	}
}

// codeRoom returns the room of language servers. None is started yet.
func (a *App) codeRoom() *code.Room {
	home := a.data
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real // the sandbox follows no links
	}
	r := code.New(code.Options{
		Files: a.files, Dir: a.files.Dir, Secrets: a.scrub, Programs: &program.Runner{Tiers: a.tiers},
		Workplace: a.commands.Workplace, Home: filepath.Join(home, "code"), Settings: a.loaded.Config.Code, Log: a.log,
	})
	a.onClose(r.Close)
	return r
}

// commandsOf returns the rules for the commands of the caller in ctx.
func (a *App) commandsOf(ctx context.Context) exec.AgentRules {
	return a.rules.load().commands.Of(tool.CallerFrom(ctx).Agent)
}

// commandEnded sends the session of a caller the event that its command in the background has
// ended; for a command that outlives its session, the next session of the caller.
func (a *App) commandEnded(ctx context.Context, st sandbox.Status) {
	to := inbox.ToCaller(tool.CallerFrom(ctx))
	if st.Beyond {
		to.Session = ""
	}
	event := inbox.Event{
		ID: "process " + st.ID + " ended", Kind: inbox.Command, Subject: st.ID, Text: exec.EndOf(st),
		Data: map[string]any{"state": st.State, "exit_code": st.Code, "signal": st.Signal,
			"seconds": st.Took.Seconds()},
	}
	err := a.store.Update(ctx, func(t *store.Tx) error {
		_, err := inbox.Add(t, to, event)
		return err
	})
	if err != nil {
		a.log.Warn("the end of a command could not be sent to its session", "id", st.ID, "err", err)
	}
}

// recordCommand records in the audit log how a command in the background has ended.
func (a *App) recordCommand(ctx context.Context, st sandbox.Status) {
	running := tool.RunningFrom(ctx)
	line, _, _ := strings.Cut(strings.TrimSpace(a.scrub.Text(st.Text)), "\n")
	a.record(ctx, audit.Record{
		Call: store.NewID(), Parent: running.Call, Kind: "command", Tool: running.Tool, About: text.Clip(line, maxAbout),
		Agent: running.Caller.Agent, User: running.Caller.User, Session: running.Caller.Session, End: exec.Ending(st),
	}, st.Started, nil)
}

// secret reads a secret from the vault.
func (a *App) secret(name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	return a.vault.Get(ctx, name)
}

// ownPorts returns the ports of this server. Commands and web tools must not reach them.
func (a *App) ownPorts() []uint16 { return ownPorts(a.loaded.Config.Server) }

func ownPorts(c config.Server) []uint16 {
	var ports []uint16
	for _, address := range []string{c.HTTP, c.Metrics, c.Internal} {
		_, text, _ := net.SplitHostPort(address)
		if port, err := strconv.ParseUint(text, 10, 16); err == nil && port != 0 {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}

// changeable reports whether the caller could replace the program at path.
func (a *App) changeable(ctx context.Context, path string) bool {
	g, err := a.files.Layout(ctx)
	if err != nil {
		return true
	}
	dirs := append([]string{g.Dir}, a.loaded.Config.Sandbox.Write...)
	for _, r := range g.Roots {
		if r.Write {
			dirs = append(dirs, r.Path)
		}
	}
	return slices.ContainsFunc(dirs, func(dir string) bool { return isWithin(path, dir) })
}
