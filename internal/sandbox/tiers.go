package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The modes of a choice, beside the names of launchers.
const (
	Auto = "auto" // the strongest sandbox that works, never the host; so is ""
	// Local is the strongest that runs programs of this machine, not programs of an image. If none works it is the
	// host.
	Local = "local"
	// Kubernetes, Docker, Kernel (of Linux), Seatbelt (of macOS) and Host are the names of the
	// launchers. Host isolates nothing.
	Kubernetes = "kubernetes"
	Docker     = "docker"
	Kernel     = "kernel"
	Seatbelt   = "seatbelt"
	Host       = "host"
)

// Modes returns the modes that settings may name. Local is none of them: where no sandbox works it is the host.
func Modes() []string {
	return []string{Auto, Kubernetes, Docker, Kernel, Seatbelt, Host}
}

const (
	probeLimit = 10 * time.Second
	probeAgain = time.Minute    // after a failed probe
	probeGood  = 12 * time.Hour // a failed start makes the result invalid earlier
)

// Tiers are the sandboxes of a server, the strongest first. All programs that the server starts get their sandbox
// from [Tiers.Choose]. It probes the tiers in their order and remembers the results. A caller names a mode and the
// guarantees that it requires; it never gets a weaker sandbox than that.
type Tiers []*Tier

// A Tier is a launcher whose probe is remembered.
type Tier struct {
	Launcher
	turn  chan struct{} // a semaphore for the fields below
	found ProbeResult
	until time.Time
}

// NewTiers returns the tiers of some launchers, the strongest first. Nothing is probed yet.
func NewTiers(launchers ...Launcher) Tiers {
	var all Tiers
	for _, l := range launchers {
		all = append(all, &Tier{Launcher: l, turn: make(chan struct{}, 1)})
	}
	return all
}

// Isolates reports whether the tier is not the host.
func (t *Tier) Isolates() bool { return t.Name() != Host }

// Probe returns the result of the last probe while it is valid, and else probes. Of several
// callers one probes, and the others wait.
func (t *Tier) Probe(ctx context.Context) ProbeResult {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ProbeResult{Text: context.Cause(ctx).Error()}
	}
	defer func() { <-t.turn }()
	if time.Now().Before(t.until) {
		return t.found
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
	defer cancel()
	t.found = t.Launcher.Probe(ctx)
	t.until = time.Now().Add(probeAgain)
	if t.found.Works {
		t.until = time.Now().Add(probeGood)
	}
	return t.found
}

// Doubt makes the next Probe probe again.
func (t *Tier) Doubt() {
	t.turn <- struct{}{}
	t.until = time.Time{}
	<-t.turn
}

// whyUnusable returns why a tier with this probe cannot be used, or "".
func whyUnusable(f ProbeResult, require []Guarantee) string {
	if !f.Works {
		return cmp.Or(f.Text, "it does not work")
	}
	for _, g := range require {
		if !slices.Contains(f.Guarantees, g) {
			return fmt.Sprintf("it cannot guarantee %q, which this profile requires", g)
		}
	}
	return ""
}

// Choose returns the tier for a mode: Auto, Local or the name of a launcher. The note says why
// Choose took no stronger tier. A launcher that is named is never replaced by another.
func (t Tiers) Choose(ctx context.Context, mode string, require ...Guarantee) (_ *Tier, note string, err error) {
	var reasons []string
	named := mode != "" && mode != Auto && mode != Local
	for _, tier := range t {
		switch {
		case named && tier.Name() != mode,
			!named && mode != Local && !tier.Isolates(),
			mode == Local && tier.Layout(Directories{}).Image:
			continue
		}
		f := tier.Probe(ctx)
		if err := ctx.Err(); err != nil {
			return nil, "", context.Cause(ctx)
		}
		why := whyUnusable(f, require)
		switch {
		case why == "":
			return tier, strings.Join(reasons, "; "), nil
		case named && f.Advice == "":
			f.Advice = "the operator finds the cause with mcp-tools doctor"
			fallthrough
		case named:
			return nil, "", tool.Errorf(tool.Unavailable, "the %s sandbox does not work: %s", mode, why).Try("%s", f.Advice)
		}
		reasons = append(reasons, tier.Name()+": "+why)
	}
	if named {
		return nil, "", tool.Errorf(tool.Unavailable, "there is no %s sandbox on this server", mode).
			Try("ask the operator to set one up, or to choose another for this profile")
	}
	if reasons == nil {
		reasons = []string{"no sandbox is configured"}
	}
	return nil, "", tool.Errorf(tool.Unavailable, "no sandbox works here: %s", strings.Join(reasons, "; ")).
		Try("ask the operator to run mcp-tools doctor, which shows what to do")
}
