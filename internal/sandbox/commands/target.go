package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// dirsTTL is how long the list of a caller's directories is cached for questions
// about a site. A command that starts in a sandbox gets a new list.
const dirsTTL = 30 * time.Second

// An owner identifies the caller that an instance belongs to. Two callers never
// share an owner value.
type owner struct {
	principal, account, agent, session, workspace, profile string
}

func ownerOf(c tool.Caller) owner {
	return owner{principal: c.Principal(), account: c.Account(), agent: c.Agent, session: c.Session,
		workspace: c.Workspace, profile: c.Profile}
}

// callerDirs are the directories of a caller, their digest, and the layout that
// follows from them for each tier.
type callerDirs struct {
	sandbox.Directories
	digest  string
	layouts *sync.Map // of resolvedLayout, by tier
}

// A resolvedLayout is where commands see files, and where programs are.
type resolvedLayout struct {
	layout sandbox.Layout
	path   []string
	extra  []string // the existing directories of ExtraRead and ExtraWrite
}

// A target is where a command of a caller is to run, before its sandbox is open.
type target struct {
	caller   tool.Caller
	policy   Policy
	launcher *sandbox.Tier
	dirs     callerDirs
	resolvedLayout
	site sandbox.Site
}

// target returns the sandbox and directories for a command with the working directory dir. If
// start is set the command starts now: its sandbox must cover the files that exist now.
func (c *Commands) target(ctx context.Context, dir string, elevated, start bool) (*target, error) {
	p := &target{caller: tool.CallerFrom(ctx)}
	if p.caller == (tool.Caller{}) {
		return nil, tool.Errorf(tool.Refused, "the command has no caller").Try("call it as a tool")
	}
	p.policy = c.o.Mode(p.caller)
	if elevated && p.policy.Mode != Host {
		if !c.o.Elevated || p.policy.Mode == Off {
			return nil, tool.Errorf(tool.Refused, "commands cannot run outside the sandbox here").
				Try("leave out elevated; the operator can allow it with sandbox.elevated")
		}
		p.policy.Mode, p.policy.Require, p.site.Elevated = Host, nil, true
	}
	var err error
	if p.policy.Mode == Off {
		return nil, tool.Errorf(tool.Unavailable, "this profile runs no commands").
			Try("use the other tools, or ask the operator for a sandbox")
	}
	p.launcher, p.site.Note, err = c.o.Tiers.Choose(ctx, string(p.policy.Mode), p.policy.Require...)
	if err != nil {
		return nil, err
	}
	p.site.Tier, p.site.Isolated = p.launcher.Name(), p.launcher.Isolates()
	if p.dirs, err = c.directories(ctx, p.caller, start && p.site.Isolated); err != nil {
		return nil, err
	}
	hostDir, identity, err := c.o.Dir(ctx, dir)
	if err != nil {
		return nil, err
	}
	p.resolveLayout(c)
	inside, ok := p.inside(hostDir)
	if !ok {
		return nil, tool.Errorf(tool.Refused, "commands cannot see the directory %q", dir).
			Try("leave it out to run in the workspace")
	}
	found := p.launcher.Probe(ctx)
	p.site.Network = !p.site.Isolated || p.policy.Network && found.Proxy && c.o.Proxy != nil
	p.site.Asks = p.site.Isolated && p.policy.Asks
	p.fill(c.o, inside, identity)
	p.site.Home = c.warmHome(p)
	p.site.Find = p.finder(hostDir)
	if c.o.Disposable != nil {
		p.site.Disposable = func(path string) bool { return c.o.Disposable(p.outside(path)) }
	}
	if p.site.Isolated && slices.Contains(found.Guarantees, sandbox.Processes) { // else nothing can be locked
		p.site.Locked = func(path string) bool { return slices.Contains(p.dirs.Locked, p.outside(path)) }
	}
	if !p.layout.Image {
		p.site.File = p.identity
	}
	return p, nil
}

// resolveLayout sets the layout of the target. It is computed once per callerDirs and tier.
func (p *target) resolveLayout(c *Commands) {
	if known, ok := p.dirs.layouts.Load(p.site.Tier); ok {
		p.resolvedLayout = known.(resolvedLayout)
		return
	}
	p.layout = c.layout(p.launcher, p.dirs.Directories)
	p.path, p.extra = p.searchPath(), slices.Concat(c.there(c.o.ExtraRead), c.there(c.o.ExtraWrite))
	p.dirs.layouts.Store(p.site.Tier, p.resolvedLayout)
}

// fill sets the remaining fields of the site.
func (p *target) fill(o Options, dir, identity string) {
	s := &p.site
	s.Dir, s.Inode = dir, identity
	s.DefaultTimeout, s.MaxTimeout = o.Limit.Sandbox, o.Limit.Max
	if !s.Isolated {
		s.DefaultTimeout = o.Limit.Host
	}
	s.DefaultTimeout = min(s.DefaultTimeout, s.MaxTimeout)
	for _, b := range p.layout.Binds {
		if b.Write {
			s.Roots = append(s.Roots, b.Inside)
		}
	}
}

// layout returns the paths of the directories in the sandbox, including the directories that
// the operator adds.
func (c *Commands) layout(w *sandbox.Tier, g sandbox.Directories) sandbox.Layout {
	g.Roots = slices.Clone(g.Roots)
	for _, dir := range c.there(c.o.ExtraRead) {
		g.Roots = withRoot(g.Roots, dir, false)
	}
	for _, dir := range c.there(c.o.ExtraWrite) {
		g.Roots = withRoot(g.Roots, dir, true)
	}
	return w.Layout(g)
}

// there returns the paths that exist. A missing directory, such as a cache that
// was not created yet, does not prevent commands from running. It is logged once.
func (c *Commands) there(paths []string) (found []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		} else if _, known := c.missing.LoadOrStore(path, true); !known {
			c.o.Log.Warn("commands cannot see a file or directory of the settings; create it", "path", path, "err",
				err)
		}
	}
	return found
}

// withRoot adds a root named after path, with a number if the name is taken.
func withRoot(roots []sandbox.Root, path string, write bool) []sandbox.Root {
	name := filepath.Base(path)
	for i := 2; slices.ContainsFunc(roots, func(r sandbox.Root) bool { return r.Name == name }); i++ {
		name = fmt.Sprintf("%s-%d", filepath.Base(path), i)
	}
	return append(roots, sandbox.Root{Name: name, Path: path, Write: write})
}

// directories returns the caller's directories, cached for dirsTTL unless now is set.
func (c *Commands) directories(ctx context.Context, caller tool.Caller, now bool) (callerDirs, error) {
	c.mu.Lock()
	key := ownerOf(caller)
	known := c.dirs[key]
	if known == nil {
		known = newCached[callerDirs]()
		c.dirs[key] = known
	}
	c.arm()
	c.mu.Unlock()
	return known.get(ctx, now, func(ctx context.Context) (callerDirs, time.Duration, error) {
		g, err := c.o.Directories(ctx)
		if err != nil {
			return callerDirs{}, 0, err
		}
		digest, err := digestOf(g)
		if known.value.digest == digest {
			return known.value, dirsTTL, err
		}
		return callerDirs{Directories: g, digest: digest, layouts: &sync.Map{}}, dirsTTL, err
	})
}

func digestOf(what any) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// inside returns the path of a file of this machine in the sandbox.
func (p *target) inside(host string) (path string, ok bool) {
	if !p.site.Isolated {
		return host, true
	}
	return p.layout.Inside(host)
}

// outside returns where a path inside is on the host; "" if it is not known.
func (p *target) outside(inside string) string {
	if !p.site.Isolated {
		return inside
	}
	return p.layout.Outside(inside)
}
