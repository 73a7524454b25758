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
	probeAgain = time.Minute    // after a failed probe
	probeGood  = 12 * time.Hour // a failed start invalidates the result earlier
)

// A launcher is a sandbox.Launcher with its cached probe result.
type launcher struct {
	sandbox.Launcher
	found *cached[sandbox.ProbeResult]
}

func (w *launcher) finding(ctx context.Context) (sandbox.ProbeResult, error) {
	return w.found.get(ctx, func(ctx context.Context) (sandbox.ProbeResult, time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
		defer cancel()
		f := w.Probe(ctx)
		if f.Works {
			return f, probeGood, nil
		}
		return f, probeAgain, nil
	})
}

// WhyUnusable returns why a launcher with this finding cannot be used, or "".
func WhyUnusable(f sandbox.ProbeResult, require []sandbox.Guarantee) string {
	if !f.Works {
		return f.Text
	}
	for _, p := range require {
		if !slices.Contains(f.Guarantees, p) {
			return fmt.Sprintf("it cannot guarantee %q, which this profile requires", p)
		}
	}
	return ""
}

// choose returns the launcher for a policy. The note says why it is not the
// preferred one.
func (c *Commands) choose(ctx context.Context, p Policy) (w *launcher, note string, err error) {
	switch p.Mode {
	case Off:
		return nil, "", tool.Errorf(tool.Unavailable, "this profile runs no commands").
			Try("use the other tools, or ask the operator for a sandbox")
	case Auto, "":
		return c.strongest(ctx, p)
	}
	for _, w := range c.launchers {
		if w.Name() != string(p.Mode) {
			continue
		}
		f, err := w.finding(ctx)
		if err != nil {
			return nil, "", err
		}
		if why := WhyUnusable(f, p.Require); why != "" {
			return nil, "", unusable(w.Name(), why, f.Advice)
		}
		return w, "", nil
	}
	return nil, "", tool.Errorf(tool.Unavailable, "there is no %s sandbox on this server", p.Mode).
		Try("ask the operator to set one up, or to choose another for this profile")
}

// strongest returns the first launcher that works. It never returns the host,
// which isolates nothing.
func (c *Commands) strongest(ctx context.Context, p Policy) (w *launcher, note string, err error) {
	var reasons []string
	for _, w := range c.launchers {
		if w.Name() == string(Host) {
			continue
		}
		f, err := w.finding(ctx)
		if err != nil {
			return nil, "", err
		}
		why := WhyUnusable(f, p.Require)
		if why == "" {
			return w, strings.Join(reasons, "; "), nil
		}
		reasons = append(reasons, w.Name()+": "+why)
	}
	if reasons == nil {
		reasons = []string{"no sandbox is configured"}
	}
	return nil, "", tool.Errorf(tool.Unavailable, "no sandbox works here: %s", strings.Join(reasons, "; ")).
		Try("ask the operator to run mcp-tools doctor, which shows what to do")
}

func unusable(name, why, advice string) error {
	if advice == "" {
		advice = "the operator finds the cause with mcp-tools doctor"
	}
	return tool.Errorf(tool.Unavailable, "the %s sandbox does not work: %s", name, why).Try("%s", advice)
}
