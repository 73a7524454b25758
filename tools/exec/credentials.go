package exec

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
)

// credentials prepares programs with credentials. They run isolated from the caller's other
// commands, in every tool.
type credentials interface {
	Prepare(ctx context.Context, o cli.Order) (tool.Plan, error)
}

// order returns the command as an order for a program with credentials, if it is
// a single call of one.
func (t execTool) order(ctx context.Context, a execArgs) (cli.Order, bool) {
	argv, programs := a.Argv, t.programs(ctx)
	if len(argv) == 0 && a.Command != "" && len(programs) > 0 {
		words, err := cli.Parse(a.Command)
		if err != nil {
			return cli.Order{}, false
		}
		argv = words
	}
	if len(argv) == 0 || argv[0] == "" || !programs.Holds(argv[0]) || a.check() != nil {
		return cli.Order{}, false
	}
	return cli.Order{Argv: argv, Dir: a.Cwd, Timeout: min(a.timeout(sandbox.Site{MaxTimeout: t.MaxTimeout}),
		t.MaxTimeout)}, true
}

// alone refuses arguments that a program with credentials cannot have.
func (a execArgs) alone(o cli.Order) error {
	if a.inBackground() || a.TTY || a.Stdin != "" || len(a.Env) > 0 {
		return tool.Errorf(tool.Invalid, "%s has credentials and runs isolated", o.Argv[0]).
			Try("leave out env, stdin, tty and background")
	}
	return nil
}

// withoutCredentials returns a note about programs with credentials that k runs
// without them.
func (t execTool) withoutCredentials(ctx context.Context, k task) string {
	var names []string
	programs := t.programs(ctx)
	for _, c := range k.verdict.Simple {
		if c.Program != "" && programs.Holds(c.Program) && !slices.Contains(names, c.Program) {
			names = append(names, c.Program)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") +
		" had no credentials: run it as the only command, without pipes, variables and cd (send cwd)"
}

// launch runs a program with credentials.
func (r *runner) launch(ctx context.Context, l cli.Launch) (tool.Result, error) {
	site, err := r.site(ctx, l.Dir, false)
	if err != nil {
		return tool.Result{}, err
	}
	c := sandbox.Command{
		Argv: append([]string{l.Program}, l.Argv[1:]...), Text: joined(l.Argv), Dir: l.Dir, Env: l.Env,
		Timeout: min(cmp.Or(l.Timeout, site.DefaultTimeout), site.MaxTimeout),
		Private: &sandbox.Private{
			Secrets: l.Secrets, Files: l.Files, Hosts: l.Hosts, Program: l.Program,
			Verify: func() error { return cli.Same(l.Program, l.Identity) },
		},
	}
	return r.run(ctx, c, task{args: execArgs{Argv: l.Argv, Timeout: int(c.Timeout / time.Second)}, site: site})
}

// siteOf returns where a program with credentials would run.
func (r *runner) siteOf(ctx context.Context, dir string) (cli.Site, error) {
	s, err := r.site(ctx, dir, false)
	return cli.Site{Dir: s.Dir, Inode: s.Inode, Where: s.Where()}, err
}
