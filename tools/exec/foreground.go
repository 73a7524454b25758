package exec

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

const (
	// endTime is how long ending a command may take.
	endTime = 5 * time.Second
	// quiet is how long a command with a terminal is quiet before it may be waiting
	// for input.
	quiet = 2 * time.Second
)

// foreground runs a command and waits for its end. It never leaves a command
// running that the caller cannot find.
func (t execTool) foreground(ctx context.Context, k task) (tool.Result, error) {
	return t.run(ctx, k.args.command(k.site), k)
}

func (r *runner) run(ctx context.Context, c sandbox.Command, k task) (tool.Result, error) {
	news := r.follow(ctx, c.Timeout)
	if news.report != nil {
		c.Watch = news.watch
	}
	p, stopped, err := r.start(ctx, c, k)
	if err != nil {
		news.stop()
		return tool.Result{}, err
	}
	st := await(ctx, p, c.TTY)
	news.stop()
	stopped(st)
	if err := ctx.Err(); err != nil {
		remove(ctx, p)
		return tool.Result{}, err
	}
	return r.settle(ctx, p, st, k)
}

// start starts a command. If it may write, its changes can be undone: the caller calls stopped
// when it no longer waits for the command. The command may still run then.
func (r *runner) start(
	ctx context.Context, c sandbox.Command, k task,
) (p sandbox.Process, stopped func(sandbox.Status), err error) {
	if r.Checkpoint == nil || k.verdict.Risk == tool.Reads {
		p, err = r.Commands.Start(ctx, c)
		return p, func(sandbox.Status) {}, err
	}
	ended := r.Checkpoint(ctx, workspace.Command{
		Text: c.Text, Named: k.verdict.Guarded, Git: onlyGit(k.verdict), Clone: isClone(k.verdict),
	})
	if p, err = r.Commands.Start(ctx, c); err != nil {
		ended()
		return nil, nil, err
	}
	return p, func(st sandbox.Status) {
		if st.State != sandbox.Running && st.Left == 0 {
			ended()
			return
		}
		go func() {
			p.Wait(context.WithoutCancel(ctx), sandbox.WaitCondition{All: true})
			ended()
		}()
	}, nil
}

// onlyGit reports whether a command runs nothing but git.
func onlyGit(v judge.Verdict) bool {
	git := false
	for _, s := range v.Simple {
		switch s.Program {
		case "git":
			git = true
		case "cd", "echo", "true":
		default:
			return false
		}
	}
	return git
}

// isClone reports whether a command is one git clone of a remote address, without options that
// change the effect.
func isClone(v judge.Verdict) bool {
	if len(v.Simple) != 1 || !v.Simple[0].Static || v.Simple[0].Program != "git" {
		return false
	}
	argv, address := v.Simple[0].Argv, ""
	if len(argv) < 3 || argv[1] != "clone" {
		return false
	}
	for i := 2; i < len(argv); i++ {
		switch arg := argv[i]; {
		case arg == "--depth" || arg == "-b" || arg == "--branch":
			i++
		case strings.HasPrefix(arg, "--depth=") || strings.HasPrefix(arg, "--branch=") ||
			slices.Contains([]string{"-q", "--quiet", "--single-branch", "--recursive", "--recurse-submodules", "--"}, arg):
		case strings.HasPrefix(arg, "-"):
			return false
		case address == "":
			address = arg
		}
	}
	scheme, _, remote := strings.Cut(address, "://")
	return remote && slices.Contains([]string{"https", "http", "ssh", "git"}, scheme) ||
		strings.HasPrefix(address, "git@")
}

// await waits for the end of a command, or until a command with a terminal waits
// for input.
func await(ctx context.Context, p sandbox.Process, tty bool) sandbox.Status {
	if !tty {
		return p.Wait(ctx, sandbox.WaitCondition{})
	}
	for idle := quiet; ; idle *= 2 {
		st := p.Wait(ctx, sandbox.WaitCondition{Idle: idle})
		if st.State != sandbox.Running || st.Waiting || ctx.Err() != nil {
			return st
		}
	}
}

// settle returns the result of a command, and leaves its remaining processes to the
// caller.
func (r *runner) settle(ctx context.Context, p sandbox.Process, st sandbox.Status, k task) (tool.Result, error) {
	out, kept, err := r.output(ctx, p)
	if err != nil {
		remove(ctx, p)
		return tool.Result{}, err
	}
	a := answer{status: st, site: k.site, printed: out, kept: kept, k: &k, refused: r.refusedHost(ctx),
		also: r.setAside(ctx), view: r.view(ctx, p, st)}
	if st.State != sandbox.Running && st.Left == 0 {
		remove(ctx, p)
		return a.result(), nil
	}
	if err := p.Keep(ctx, false); err != nil {
		remove(ctx, p)
		a.lost = err
		return a.result(), nil
	}
	r.places.shown(tool.CallerFrom(ctx), st.ID, p.Log(sandbox.Stdout).Size(), p.Log(sandbox.Stderr).Size())
	if st.State == sandbox.Running {
		r.notices.report(ctx, p, r.Finished, r.Ended)
	}
	return following(ctx, a.result(), st), nil
}

// remove ends a command, also after the end of the call.
func remove(ctx context.Context, p sandbox.Process) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = p.Remove(ctx) // a process that cannot be ended now ends with its session
}
