// Package docker puts agents into containers of a Docker engine: one hardened
// container for each set of walls, whose first process is this program, bound
// in read-only, and whose commands go over its stdin and stdout.
//
// It knows engines (on this machine, over TLS, over ssh, and several of them),
// what a container may have, and how to find containers that nobody owns any
// more. It does not know what commands do nor when a container has idled for
// too long: whoever launched it closes it. Begin with [Launcher.Launch];
// spec.go says what a container is made of.
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
	// patience bounds what an engine that works does at once.
	patience = 10 * time.Second
	// attempts at a start while others change the workspace.
	attempts = 3
)

// Options say which engines there are and what containers are made from.
type Options struct {
	Image   string       // as the engine knows it; it is never pulled
	Hosts   []string     // unix://, tcp://, ssh://; none: DOCKER_HOST, or the usual socket
	Certs   string       // directory of ca.pem, cert.pem and key.pem for tcp://; "": DOCKER_CERT_PATH
	Agent   string       // a Linux build of this program; "": this one
	CPUs    float64      // for walls that do not say; 0: all
	Prefix  string       // of the names of containers; "": mcp-tools-
	Data    string       // whose containers they are, for people who look at them
	Mounts  string       // directory for mounts that a start needs when the server is root
	Runtime string       // such as runsc; "": the engine's own
	Log     *slog.Logger // what only operators care for
}

// A Launcher puts agents into containers.
type Launcher struct {
	opts    Options
	self    owner
	engines []*engine
	mounts  mounts
}

// New makes a launcher. It talks to no engine yet.
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
	}
	l.mounts.sweep()
	return l, nil
}

// Name is docker.
func (*Launcher) Name() string { return "docker" }

// Close closes idle connections to the engines. Containers are not its business.
func (l *Launcher) Close() error {
	for _, e := range l.engines {
		e.close()
	}
	l.mounts.close()
	return nil
}

// Layout puts the workspace at /workspace and the roots at /roots.
func (*Launcher) Layout(g sandbox.Directories) sandbox.Layout {
	binds := []sandbox.Bind{{Host: g.Dir, Inside: "/workspace", Write: true}}
	for _, r := range g.Roots {
		binds = append(binds, sandbox.Bind{Host: r.Path, Inside: path.Join("/roots", r.Name), Write: r.Write})
	}
	return sandbox.Layout{Binds: binds, Home: home}
}

// Launch starts a container on the engine that has least to do; one that fails
// is left alone for a while.
func (l *Launcher) Launch(ctx context.Context, w sandbox.Walls) (sandbox.Link, error) {
	switch {
	case l.opts.Image == "":
		return nil, tool.Errorf(tool.Unavailable, "no image is set for docker sandboxes").
			Try("set sandbox.docker.image to one that is on the engine")
	case w.Open:
		return nil, tool.Errorf(tool.Invalid, "a container never gets the network of the machine").
			Try("give it a proxy, or none")
	}
	var first error
	for _, e := range inOrder(l.engines, time.Now()) {
		link, err := l.launchOn(ctx, e, w)
		if err == nil {
			e.works()
			return link, nil
		}
		if down(err) {
			e.fails(time.Now())
		}
		l.opts.Log.Warn("a docker engine did not start a sandbox", "engine", e.name, "error", err)
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// launchOn starts a container and makes sure that the names in the workspace
// which the walls are built upon meant the same from beginning to end: commands
// in other sandboxes may change them meanwhile.
func (l *Launcher) launchOn(ctx context.Context, e *engine, w sandbox.Walls) (sandbox.Link, error) {
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
		if attempt > 0 { // the engine may still know the container before by its name
			w.ID = first + "-" + strconv.Itoa(attempt+1)
		}
		names, err := survey(e.local, w, l.opts.Log)
		if err != nil {
			return nil, err
		}
		link, err := l.start(ctx, e, plan{Walls: w, facts: facts, image: img, names: names})
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

// keeps says whether what is required can be kept.
func (l *Launcher) keeps(f facts, w sandbox.Walls) error {
	holds := f.holds(w.Limits)
	for _, p := range w.Require {
		if !slices.Contains(holds, p) {
			return tool.Errorf(tool.Unavailable, "the docker engine cannot keep what is required of the sandbox: %s",
				p).
				Try("ask the operator: %s", f.lacks())
		}
	}
	return nil
}

// Probe says whether a container could be started.
func (l *Launcher) Probe(ctx context.Context) sandbox.Finding {
	if l.opts.Image == "" {
		return sandbox.Finding{Text: "no image is set", Advice: "set sandbox.docker.image to one that is on the engine"}
	}
	var found sandbox.Finding
	var texts, advice []string
	for _, e := range l.engines {
		one := l.probe(ctx, e)
		texts = append(texts, one.Text)
		if one.Advice != "" {
			advice = append(advice, one.Advice)
		}
		if one.Works && !found.Works {
			found.Works, found.Holds = true, one.Holds
		} else if one.Works {
			found.Holds = slices.DeleteFunc(found.Holds,
				func(p sandbox.Promise) bool { return !slices.Contains(one.Holds, p) })
		}
	}
	found.Text, found.Advice = strings.Join(texts, "; "), strings.Join(advice, "; ")
	return found
}

func (l *Launcher) probe(ctx context.Context, e *engine) sandbox.Finding {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	f, err := e.facts(ctx, nil)
	if err == nil {
		_, err = l.image(ctx, e, f)
	}
	if err != nil {
		var known *tool.Error
		if errors.As(err, &known) {
			return sandbox.Finding{Text: known.What, Advice: known.Next}
		}
		return sandbox.Finding{Text: err.Error()}
	}
	text := "engine " + f.version + " at " + e.name + " has the image " + l.opts.Image
	if f.rootless {
		text += ", rootless"
	}
	lacks := f.lacks()
	if lacks != "" {
		text += ", but " + lacks
	}
	if !e.local {
		text += "; workspaces must be at the same paths there, which cannot be checked from here"
	}
	return sandbox.Finding{Works: true, Holds: f.holds(sandbox.Limits{Memory: 1, Processes: 1}), Text: text,
		Advice: f.advice()}
}
