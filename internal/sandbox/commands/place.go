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
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// groundGood is for how long a caller's ground is taken to be as it was.
const groundGood = 30 * time.Second

// An owner is whose walls something runs behind. Two callers are never one.
type owner struct {
	principal, session, workspace, profile string
}

func ownerOf(c tool.Caller) owner {
	return owner{principal: c.Principal(), session: c.Session, workspace: c.Workspace, profile: c.Profile}
}

// A surveyed ground is a ground, what tells it from others, and what follows
// from it for each kind of walls.
type surveyed struct {
	sandbox.Directories
	digest string
	laid   *sync.Map // of laid, by tier
}

// What is laid out is where commands see files, and where programs are.
type laid struct {
	layout sandbox.Layout
	path   []string
	extra  []string // what of the operator's directories is there
}

// A place is where a command of a caller runs, before there is anything there.
type place struct {
	caller tool.Caller
	policy Policy
	wall   *wall
	ground surveyed
	laid
	site sandbox.Site
}

// place finds where a command runs that wants to be in dir.
func (c *Commands) place(ctx context.Context, dir string) (*place, error) {
	p := &place{caller: tool.CallerFrom(ctx)}
	if p.caller == (tool.Caller{}) {
		return nil, tool.Errorf(tool.Refused, "nobody asks for this command").Try("call it as a tool")
	}
	p.policy = c.o.Mode(p.caller)
	var err error
	if p.wall, p.site.Note, err = c.choose(ctx, p.policy); err != nil {
		return nil, err
	}
	if p.ground, err = c.survey(ctx, p.caller); err != nil {
		return nil, err
	}
	hostDir, identity, err := c.o.Dir(ctx, dir)
	if err != nil {
		return nil, err
	}
	p.site.Tier, p.site.Sealed = p.wall.Name(), p.wall.Name() != string(Host)
	p.lay(c)
	inside, ok := p.inside(hostDir)
	if !ok {
		return nil, tool.Errorf(tool.Refused, "commands cannot see the directory %q", dir).
			Try("leave it out to run in the workspace")
	}
	p.fill(c.o, inside, identity)
	p.site.Home = c.warmHome(p)
	p.site.Find = p.finder(hostDir)
	if p.site.Tier != string(Docker) {
		p.site.File = p.identity
	}
	return p, nil
}

// lay finds out where commands see what, once for a ground.
func (p *place) lay(c *Commands) {
	if known, ok := p.ground.laid.Load(p.site.Tier); ok {
		p.laid = known.(laid)
		return
	}
	p.layout = c.layout(p.wall, p.ground.Directories)
	p.path, p.extra = p.searchPath(), slices.Concat(c.there(c.o.ExtraRead), c.there(c.o.ExtraWrite))
	p.ground.laid.Store(p.site.Tier, p.laid)
}

// fill says the rest about the site.
func (p *place) fill(o Options, dir, identity string) {
	s := &p.site
	s.Dir, s.Inode = dir, identity
	s.Network = !s.Sealed || p.policy.Network && o.Proxy != nil
	s.Limit, s.Most = o.Limit.Sandbox, o.Limit.Most
	if !s.Sealed {
		s.Limit = o.Limit.Host
	}
	s.Limit = min(s.Limit, s.Most)
	for _, b := range p.layout.Binds {
		if b.Write {
			s.Roots = append(s.Roots, b.Inside)
		}
	}
}

// layout says what commands see where, with what the operator adds to a ground.
func (c *Commands) layout(w *wall, g sandbox.Directories) sandbox.Layout {
	g.Roots = slices.Clone(g.Roots)
	for _, dir := range c.there(c.o.ExtraRead) {
		g.Roots = withRoot(g.Roots, dir, false)
	}
	for _, dir := range c.there(c.o.ExtraWrite) {
		g.Roots = withRoot(g.Roots, dir, true)
	}
	return w.Layout(g)
}

// there leaves out what is not there: a cache that nobody has filled yet is no
// reason to run nothing. It may come later.
func (c *Commands) there(paths []string) (found []string) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		} else if _, known := c.missing.LoadOrStore(path, true); !known {
			c.o.Log.Warn("commands do not see a file or directory that the settings let in", "path", path, "error", err)
		}
	}
	return found
}

// withRoot adds a root by its own name, or one like it that is free.
func withRoot(roots []sandbox.Root, path string, write bool) []sandbox.Root {
	name := filepath.Base(path)
	for i := 2; slices.ContainsFunc(roots, func(r sandbox.Root) bool { return r.Name == name }); i++ {
		name = fmt.Sprintf("%s-%d", filepath.Base(path), i)
	}
	return append(roots, sandbox.Root{Name: name, Path: path, Write: write})
}

// survey returns the caller's ground.
func (c *Commands) survey(ctx context.Context, caller tool.Caller) (surveyed, error) {
	c.mu.Lock()
	key := ownerOf(caller)
	known := c.grounds[key]
	if known == nil {
		known = newCached[surveyed]()
		c.grounds[key] = known
	}
	c.arm()
	c.mu.Unlock()
	return known.get(ctx, func(ctx context.Context) (surveyed, time.Duration, error) {
		g, err := c.o.Directories(ctx)
		if err != nil {
			return surveyed{}, 0, err
		}
		digest, err := digestOf(g)
		return surveyed{Directories: g, digest: digest, laid: &sync.Map{}}, groundGood, err
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

// inside is where a command sees a file of this machine.
func (p *place) inside(host string) (path string, ok bool) {
	if !p.site.Sealed {
		return host, true
	}
	best := -1
	for _, b := range p.layout.Binds {
		rel, within := beneath(b.Host, host)
		if !within || len(b.Host) <= best {
			continue
		}
		best, ok = len(b.Host), true
		path = b.Inside
		if rel != "." {
			path += "/" + filepath.ToSlash(rel)
		}
	}
	return path, ok
}

// beneath is the way from a directory to what lies in it, or is it.
func beneath(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}
