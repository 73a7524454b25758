package workspace

import (
	"context"
	iofs "io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// List lists a directory, with what is in it up to a depth, ordered by name.
func (w *Workspace) List(ctx context.Context, q ListQuery) (Listing, error) {
	a, err := w.subtree(ctx, q.Path)
	if err != nil {
		return Listing{}, err
	}
	keep, err := listPattern(q.Pattern)
	if err != nil {
		return Listing{}, err
	}
	c := &collector{tree: a, keep: keep}
	c.addServed(q)
	var unread []string
	switch {
	case a.onDisk():
		o := a.options(ctx, tree.Options{Depth: q.Depth, Hidden: q.Hidden, Ignored: q.Ignored, Enter: worthListing})
		if unread, err = tree.Walk(ctx, a.mount.root, o, c.visit); err != nil {
			return Listing{}, a.listError(err)
		}
	case a.source == nil:
		c.found = append(c.found, candidate{name: a.name, mode: a.info.Mode})
	}
	l := c.result(ctx, q.Limit)
	l.Unlisted = a.shownPaths(unread)
	return l, nil
}

// worthListing leaves out what is in git's directory, which is thousands of
// names that say nothing, unless it is what is listed.
func worthListing(dir string) bool { return path.Base(dir) != ".git" }

// listPattern takes the names of a listing, relative to it.
func listPattern(pattern string) (func(name string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	glob, err := ignore.CompileAnyDepth(pattern)
	if err != nil {
		return nil, err
	}
	return glob.Match, nil
}

// A candidate is an entry that was found, by its name from the mount's root.
type candidate struct {
	name   string
	mode   iofs.FileMode
	served *servedFile // nil: it is on the disk
}

// A collector gathers the entries of a listing from many goroutines.
type collector struct {
	tree  *subtree
	keep  func(name string) bool
	mu    sync.Mutex
	found []candidate
}

func (c *collector) visit(d tree.Dir) error {
	taken := make([]candidate, 0, len(d.Entries))
	for _, e := range d.Entries {
		name := path.Join(d.Name, e.Name)
		if c.keep(c.tree.relative(name)) {
			taken = append(taken, candidate{name: name, mode: e.Mode})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, taken...)
	if len(c.found) > maxListed {
		return errTooMany
	}
	return nil
}

// addServed adds what Sources serve, and the directories that only they have.
func (c *collector) addServed(q ListQuery) {
	dirs := map[string]bool{}
	for name, v := range c.tree.served {
		steps := strings.Split(c.tree.relative(name), "/")
		if !q.Hidden && slices.ContainsFunc(steps, func(s string) bool { return strings.HasPrefix(s, ".") }) {
			continue
		}
		for n := 1; n < len(steps) && n <= q.Depth; n++ {
			dirs[strings.Join(steps[:n], "/")] = true
		}
		if len(steps) <= q.Depth && c.keep(strings.Join(steps, "/")) {
			c.found = append(c.found, candidate{name: name, served: v})
		}
	}
	for dir := range dirs {
		name := path.Join(c.tree.name, dir)
		if _, err := c.tree.stat(name); err != nil && c.keep(dir) { // else the walk finds it
			c.found = append(c.found, candidate{name: name, mode: iofs.ModeDir})
		}
	}
}

// stat looks at a name of the disk.
func (a *subtree) stat(name string) (root.Info, error) {
	if a.source != nil {
		return root.Info{}, iofs.ErrNotExist
	}
	return a.mount.root.Lstat(name)
}

// result orders what was found, and looks closer at what is to be shown.
func (c *collector) result(ctx context.Context, limit int) Listing {
	slices.SortFunc(c.found, func(a, b candidate) int { return compareSteps(a.name, b.name) })
	shown := c.found[:min(limit, len(c.found))]
	l := Listing{Dir: c.tree.shown, More: len(c.found) - len(shown)}
	infos := c.tree.infos(ctx, shown)
	for i, f := range shown {
		e := Entry{Name: display(c.tree.relative(f.name)), Mode: f.mode, Size: infos[i].Size, Modified: infos[i].Modified}
		if e.Mode&iofs.ModeSymlink != 0 {
			e.Target = c.tree.target(ctx, f.name)
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// infos tells of many candidates at once.
func (a *subtree) infos(ctx context.Context, of []candidate) []root.Info {
	var names []string
	for _, f := range of {
		if f.served == nil {
			names = append(names, f.name)
		}
	}
	var known []root.Info
	if len(names) > 0 && a.source == nil {
		known = tree.Stats(ctx, a.mount.root, names, 0)
	}
	out := make([]root.Info, len(of))
	for i, f := range of {
		switch {
		case f.served != nil:
			out[i] = f.served.info()
		case len(known) > 0:
			out[i], known = known[0], known[1:]
		}
	}
	return out
}

// target says where a link leads, in the caller's words. Where it may not go
// is not told.
func (a *subtree) target(ctx context.Context, name string) string {
	p, err := a.w.resolve(ctx, a.shownPath(name), toList)
	if err != nil {
		return "(nowhere that can be reached)"
	}
	return p.shown
}

// compareSteps orders names so that a directory is followed by what is in it.
func compareSteps(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}
