package exec

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

const group = "runtime"

// Options configure the tools. The zero Options are enough to list them.
type Options struct {
	Commands Commands
	// Keeper keeps output that is too long for the model. nil: it is lost.
	Keeper Keeper
	// Rules returns the rules for refusals and approvals, for the caller in ctx. nil: the
	// defaults.
	Rules func(ctx context.Context) judge.Rules
	// Scrub returns a writer that hides secrets from the caller in ctx, also secrets divided
	// among writes. Text must be scrubbed before it is cut, since half a key is not recognised.
	// nil: nothing is hidden.
	Scrub func(context.Context, io.Writer) io.WriteCloser
	// Refused returns why a command of the caller in ctx could not connect to a host; ""
	// if none was refused since the last call. nil: always "".
	Refused func(ctx context.Context) string
	// Elevated reports whether callers may ask for commands on the host.
	Elevated bool
	// MaxTimeout is the max time of a command in the foreground.
	// 0: an hour.
	MaxTimeout time.Duration
	// Checkpoint prepares the undo of a command, and returns a function to call when the
	// command has ended. nil: commands cannot be undone.
	Checkpoint func(ctx context.Context, command workspace.Command) (ended func())
	// SetAside returns a report about the files that commands of the caller made under
	// protected names since the last call, "" for none. nil: always "".
	SetAside func(ctx context.Context) string
	// Ended is called when a command in the background has ended and no call of its
	// caller has returned that. ctx has the caller. nil: no event is sent.
	Ended func(ctx context.Context, st sandbox.Status)
	// Finished is called when a command in the background has ended, whether its caller knows or not. ctx is
	// the context of the call that started the command. Finished may be nil.
	Finished func(ctx context.Context, st sandbox.Status)
	// Server is the name of this server, and Elsewhere returns the commands of the caller that other servers have. nil:
	// there are no others.
	Server    string
	Elsewhere func(ctx context.Context) []Elsewhere
	// Programs are the programs with credentials. Tools sets Run and Site.
	Programs cli.Options
}

// Tools returns the tools that run commands.
func Tools(o Options) []tool.Tool {
	o.MaxTimeout = cmp.Or(o.MaxTimeout, time.Hour)
	r := &runner{Options: o, places: newPlaces()}
	o.Programs.Run, o.Programs.Site = r.launch, r.siteOf
	return []tool.Tool{
		tool.Prepared(execTool{r, cli.New(o.Programs)}),
		tool.Prepared(processTool{r}),
		cli.Tool(o.Programs),
	}
}

// An Elsewhere is the commands of a caller that another server has: their list, or their ids and the reason why there is
// none.
type Elsewhere struct {
	Server string
	Listed any // the structured content of the action list there
	IDs    []string
	Why    string // such as "has ended"
}

// runner has the common parts of the tools.
type runner struct {
	Options
	places  *places
	notices notices
}

func (r *runner) refusedHost(ctx context.Context) string {
	if r.Refused == nil {
		return ""
	}
	return r.Refused(ctx)
}

// setAside returns a note about files that were set aside, as a list.
func (r *runner) setAside(ctx context.Context) []string {
	if r.SetAside == nil {
		return nil
	}
	if report := r.SetAside(ctx); report != "" {
		return []string{report}
	}
	return nil
}

func (r *runner) rules(ctx context.Context) judge.Rules {
	if r.Rules == nil {
		return judge.Rules{}
	}
	return r.Rules(ctx)
}

// programs returns the programs with credentials of the caller.
func (r *runner) programs(ctx context.Context) cli.Programs {
	if r.Programs.Programs == nil {
		return nil
	}
	return r.Programs.Programs(ctx)
}

func errNoCommands() error {
	return tool.Errorf(tool.Unavailable, "commands cannot be run here").Try("use the file tools, or ask the operator")
}

// site returns where a command would run, with its times limited to ours.
func (r *runner) site(ctx context.Context, dir string, elevated bool) (sandbox.Site, error) {
	if r.Commands == nil {
		return sandbox.Site{}, errNoCommands()
	}
	s, err := r.Commands.Site(ctx, dir, elevated)
	if err != nil {
		return s, err
	}
	if s.MaxTimeout <= 0 || s.MaxTimeout > r.MaxTimeout {
		s.MaxTimeout = r.MaxTimeout
	}
	if s.DefaultTimeout <= 0 || s.DefaultTimeout > s.MaxTimeout {
		s.DefaultTimeout = min(time.Minute, s.MaxTimeout)
	}
	if s.Find == nil {
		s.Find = func(string) (string, string) { return "", "" }
	}
	return s, nil
}
