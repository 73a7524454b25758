package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	probeLimit = 10 * time.Second
	probeAgain = time.Minute    // after one that failed
	probeGood  = 12 * time.Hour // what works is doubted when a start fails
)

// A wall is a launcher, and what was found out about it.
type wall struct {
	sandbox.Launcher
	found *cached[sandbox.Finding]
}

func (w *wall) finding(ctx context.Context) (sandbox.Finding, error) {
	return w.found.get(ctx, func(ctx context.Context) (sandbox.Finding, time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
		defer cancel()
		f := w.Probe(ctx)
		if f.Works {
			return f, probeGood, nil
		}
		return f, probeAgain, nil
	})
}

// Lacks says why walls of which this was found will not do, or "".
func Lacks(f sandbox.Finding, require []sandbox.Promise) string {
	if !f.Works {
		return f.Text
	}
	for _, p := range require {
		if !slices.Contains(f.Holds, p) {
			return fmt.Sprintf("it cannot keep the promise %q that this profile requires", p)
		}
	}
	return ""
}

// choose finds the walls for a policy. The note says why they are not the
// first choice.
func (c *Commands) choose(ctx context.Context, p Policy) (w *wall, note string, err error) {
	switch p.Mode {
	case Off:
		return nil, "", tool.Errorf(tool.Unavailable, "this profile runs no commands").
			Try("use the other tools, or ask the operator for a sandbox")
	case Auto, "":
		return c.strongest(ctx, p)
	}
	for _, w := range c.walls {
		if w.Name() != string(p.Mode) {
			continue
		}
		f, err := w.finding(ctx)
		if err != nil {
			return nil, "", err
		}
		if why := Lacks(f, p.Require); why != "" {
			return nil, "", unusable(w.Name(), why, f.Advice)
		}
		return w, "", nil
	}
	return nil, "", tool.Errorf(tool.Unavailable, "there is no %s sandbox on this server", p.Mode).
		Try("ask the operator to set one up, or to choose another for this profile")
}

// strongest is the first of the walls that works. The host has none, so it is
// never it.
func (c *Commands) strongest(ctx context.Context, p Policy) (w *wall, note string, err error) {
	var reasons []string
	for _, w := range c.walls {
		if w.Name() == string(Host) {
			continue
		}
		f, err := w.finding(ctx)
		if err != nil {
			return nil, "", err
		}
		why := Lacks(f, p.Require)
		if why == "" {
			return w, strings.Join(reasons, "; "), nil
		}
		reasons = append(reasons, w.Name()+": "+why)
	}
	if reasons == nil {
		reasons = []string{"none is set up"}
	}
	return nil, "", tool.Errorf(tool.Unavailable, "no sandbox works here: %s", strings.Join(reasons, "; ")).
		Try("ask the operator to run mcp-tools doctor, which says what to do")
}

func unusable(name, why, advice string) error {
	if advice == "" {
		advice = "the operator finds out more with mcp-tools doctor"
	}
	return tool.Errorf(tool.Unavailable, "the %s sandbox does not work: %s", name, why).Try("%s", advice)
}
