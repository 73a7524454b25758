package exec

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

const group = "runtime"

// Options are what the tools need of the world. The zero Options are enough to
// list the tools.
type Options struct {
	Commands Commands
	// Keeper keeps what is too long for the model. nil: it is gone.
	Keeper Keeper
	// Rules say what is refused and asked about, as of now. nil: the defaults.
	Rules func() judge.Rules
	// Scrub hides secrets in what is written to it, across the borders of its
	// pieces. Text that is cut must be scrubbed before: half a key looks like
	// none. nil: nothing is hidden.
	Scrub func(io.Writer) io.WriteCloser
	// Most is the longest that a command in the foreground may take anywhere.
	// 0: an hour.
	Most time.Duration
	// Programs are those that hold credentials. Run and Site are filled in here.
	Programs cli.Options
}

// Tools are the tools that run commands.
func Tools(o Options) []tool.Tool {
	o.Most = cmp.Or(o.Most, time.Hour)
	r := &runner{Options: o, places: newPlaces()}
	o.Programs.Run, o.Programs.Site = r.launch, r.siteOf
	return []tool.Tool{
		tool.Prepared(execTool{r, cli.New(o.Programs)}),
		tool.Prepared(processTool{r}),
		cli.Tool(o.Programs),
	}
}

// runner is what the tools share.
type runner struct {
	Options
	places *places
}

func (r *runner) rules() judge.Rules {
	if r.Rules == nil {
		return judge.Rules{}
	}
	return r.Rules()
}

// site is where a command would run, with times that are within ours.
func (r *runner) site(ctx context.Context, dir string) (Site, error) {
	if r.Commands == nil {
		return Site{}, tool.Errorf(tool.Unavailable, "commands cannot be run here").Try("do it with the file tools, or ask the operator")
	}
	s, err := r.Commands.Site(ctx, dir)
	if err != nil {
		return s, err
	}
	if s.Most <= 0 || s.Most > r.Most {
		s.Most = r.Most
	}
	if s.Limit <= 0 || s.Limit > s.Most {
		s.Limit = min(time.Minute, s.Most)
	}
	if s.Find == nil {
		s.Find = func(string) (string, string) { return "", "" }
	}
	return s, nil
}

// where is one line about the walls, for the person who approves.
func (s Site) where() string {
	walls, network := "no walls", "no network"
	if s.Sealed {
		walls = "changes the workspace only"
	}
	if s.Network {
		network = "with network"
	}
	return s.Tier + ", " + walls + ", " + network
}
