// Package docker starts agents in containers of a Docker engine: one hardened
// container for each sandbox. This program, mounted read-only, is the first process
// of the container, and serves commands over its stdin and stdout.
//
// It knows engines (on this machine, over TLS, and several of them), the options of a container, and how to
// find orphaned containers. Of several engines the one with the most free memory gets the next container;
// memory that containers may use counts as used. On engines of other machines commands work on copies of the
// files, and reach the proxy over the connection to the agent. The package knows neither the meaning of
// commands nor the idle time of containers: the caller closes them. Begin with [Launcher.Launch]; spec.go
// holds the options of a container.
package docker

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// patience is the timeout of fast calls to an engine.
	patience = 10 * time.Second
	// attempts is the maximum number of starts while the workspace changes.
	attempts = 3
)

// Options configures the engines and their containers.
type Options struct {
	Image  string       // a name that the engine knows; it is never pulled
	Hosts  []string     // unix://, tcp:// or ssh://; empty: DOCKER_HOST, or the default socket
	Certs  string       // directory of ca.pem, cert.pem and key.pem for tcp://; "": DOCKER_CERT_PATH
	Agent  string       // a Linux build of this program; "": this one
	Prefix string       // prefix of container names; "": mcp-tools-
	Data   string       // the data directory, as a label for operators
	Mounts string       // directory for mounts that a start needs when the server is root
	Log    *slog.Logger // warnings for operators
	// Copy copies files to engines on other machines, and back. Otherwise these machines must have the same
	// directories at the same paths.
	Copy bool
	// Drained reports whether an engine gets no more containers. Nil: none is drained.
	Drained func(ctx context.Context, host string) bool
}

// A Launcher starts agents in containers.
type Launcher struct {
	opts    Options
	self    owner
	engines []*engine
	copies  bool // commands work on copies
	mounts  mounts
}

// New returns a launcher. It does not connect to any engine yet.
func New(o Options) (*Launcher, error) {
	if o.Prefix == "" {
		o.Prefix = "mcp-tools-"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Mounts == "" {
		o.Mounts = "/run/mcp-tools/mounts"
	}
	hosts := o.Hosts
	if len(hosts) == 0 {
		hosts = []string{defaultHost()}
	}
	self := thisProcess()
	l := &Launcher{opts: o, self: self, mounts: mounts{dir: o.Mounts, self: self}}
	for _, h := range hosts {
		e, err := newEngine(h, o.Certs)
		if err != nil {
			return nil, err
		}
		l.engines = append(l.engines, e)
		l.copies = l.copies || o.Copy && !e.local
	}
	l.mounts.sweep()
	return l, nil
}

// Name returns docker.
func (*Launcher) Name() string { return sandbox.Docker }

// Close closes idle connections to the engines. It does not affect containers.
func (l *Launcher) Close() error {
	for _, e := range l.engines {
		e.close()
	}
	l.mounts.close()
	return nil
}

// Layout mounts the workspace at /workspace and the roots at /roots. Copies are in a directory of a volume: an engine
// gives a whole volume only to root.
func (l *Launcher) Layout(g sandbox.Directories) sandbox.Layout {
	base := "/"
	if l.copies {
		base = files
	}
	binds := []sandbox.Bind{{Host: g.Dir, Inside: path.Join(base, "workspace"), Write: true}}
	for _, r := range g.Roots {
		binds = append(binds, sandbox.Bind{Host: r.Path, Inside: path.Join(base, "roots", r.Name), Write: r.Write})
	}
	return sandbox.Layout{Binds: binds, Home: home, Image: true}
}

// Launch starts a container on the engine with the most free memory. An engine that fails is
// avoided for a while.
func (l *Launcher) Launch(ctx context.Context, w sandbox.Spec) (sandbox.Link, error) {
	switch {
	case l.opts.Image == "":
		return nil, tool.Errorf(tool.Unavailable, "no image is set for docker sandboxes").
			Try("set sandbox.docker.image to one that is on the engine")
	case w.Open:
		return nil, tool.Errorf(tool.Invalid, "a container never gets the network of the machine").
			Try("give it a proxy, or none")
	}
	engines, err := l.inOrder(ctx)
	if err != nil {
		return nil, err
	}
	var first error
	for _, e := range engines {
		link, err := l.launchWithin(ctx, e, w, len(engines))
		if err == nil {
			e.works()
			return link, nil
		}
		if down(err) {
			e.fails(time.Now())
		}
		l.opts.Log.Warn("a docker engine did not start a sandbox", "engine", e.name, "err", err)
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// launchLimit is how long one of several engines may take.
const launchLimit = 20 * time.Second

// launchWithin is launchOn with a time limit if there are other engines.
func (l *Launcher) launchWithin(ctx context.Context, e *engine, w sandbox.Spec, engines int) (sandbox.Link, error) {
	if engines == 1 {
		return l.launchOn(ctx, e, w)
	}
	within, cancel := context.WithTimeout(ctx, launchLimit)
	defer cancel()
	return l.launchOn(within, e, w)
}

// launchOn starts a container, and verifies that the protected names in the
// workspace were not renamed during the start: commands in other sandboxes may
// change them at the same time.
func (l *Launcher) launchOn(ctx context.Context, e *engine, w sandbox.Spec) (sandbox.Link, error) {
	facts, err := e.facts(ctx, l.reap)
	if err != nil {
		return nil, err
	}
	img, err := l.image(ctx, e, facts)
	if err != nil {
		return nil, err
	}
	if err := l.keeps(facts, w); err != nil {
		return nil, err
	}
	first := w.ID
	for attempt := range attempts {
		if attempt > 0 { // the engine may still use the name of the previous container
			w.ID = first + "-" + strconv.Itoa(attempt+1)
		}
		var names names
		if l.copies {
			err = checkBinds(true, w)
		} else {
			names, err = survey(e.local, w, l.opts.Log)
		}
		if err != nil {
			return nil, err
		}
		link, err := l.start(ctx, e, plan{Spec: w, facts: facts, image: img, names: names, copies: l.copies})
		if err != nil {
			return nil, err
		}
		if names.still() {
			return link, nil
		}
		link.Close()
	}
	return nil, tool.Errorf(tool.Conflict, "protected files of the workspace were renamed while the sandbox started").
		Try("call again when other commands in this workspace have ended")
}

// keeps returns an error if the engine cannot provide the required guarantees.
func (l *Launcher) keeps(f facts, w sandbox.Spec) error {
	holds := f.holds(w.Limits)
	for _, p := range w.Require {
		if !slices.Contains(holds, p) {
			return tool.Errorf(tool.Unavailable, "the docker engine cannot give the required guarantees of the sandbox: %s",
				p).
				Try("ask the operator: %s", f.lacks())
		}
	}
	return nil
}

// Probe reports whether a container could be started.
func (l *Launcher) Probe(ctx context.Context) sandbox.ProbeResult {
	if l.opts.Image == "" {
		return sandbox.ProbeResult{Text: "no image is set",
			Advice: "set sandbox.docker.image to one that is on the engine"}
	}
	var found sandbox.ProbeResult
	var texts, advice []string
	for _, e := range l.engines {
		one := l.probe(ctx, e)
		texts = append(texts, one.Text)
		if one.Advice != "" {
			advice = append(advice, one.Advice)
		}
		if one.Works && !found.Works {
			found.Works, found.Proxy, found.Guarantees = true, one.Proxy, one.Guarantees
		} else if one.Works {
			found.Guarantees = slices.DeleteFunc(found.Guarantees,
				func(p sandbox.Guarantee) bool { return !slices.Contains(one.Guarantees, p) })
		}
	}
	found.Text, found.Advice = strings.Join(texts, "; "), strings.Join(advice, "; ")
	return found
}

func (l *Launcher) probe(ctx context.Context, e *engine) sandbox.ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	f, err := e.facts(ctx, nil)
	if err == nil {
		_, err = l.image(ctx, e, f)
	}
	if err != nil {
		var known *tool.Error
		if errors.As(err, &known) {
			return sandbox.ProbeResult{Text: known.What, Advice: known.Next}
		}
		return sandbox.ProbeResult{Text: err.Error()}
	}
	text := "engine " + f.version + " at " + e.name + " has the image " + l.opts.Image
	if f.rootless {
		text += ", rootless"
	}
	lacks := f.lacks()
	if lacks != "" {
		text += ", but " + lacks
	}
	if !e.local && !l.copies {
		text += "; workspaces must be at the same paths there, which cannot be checked from here"
	}
	return sandbox.ProbeResult{Works: true, Guarantees: f.holds(sandbox.Limits{Memory: 1, Processes: 1}),
		Proxy: true,
		Text:  text, Advice: f.advice()}
}
