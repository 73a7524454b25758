package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// maxListed is the maximum number of names that one call reads.
const maxListed = 1_000_000

// A subtree is the part of the tree that a call lists or searches: a directory and everything
// below it, or one file. It combines the files on disk with the files of routes.
type subtree struct {
	w *Workspace
	location
	hasRoutes   bool                   // routes may serve files here, and hide those on disk
	served      map[string]*servedFile // files of routes, by their name in the mount
	overlapping []*mount               // mounts that contain some of the same files
	filtered    bool                   // the search index left out files that cannot match
}

// A servedFile is a file that a Source serves.
type servedFile struct {
	size     int64
	modified time.Time
	source   Source
}

func (v *servedFile) info() root.Info {
	return root.Info{Mode: 0o644, Size: v.size, Modified: v.modified, Links: 1}
}

// subtree resolves path and lists the files that routes serve below it.
func (w *Workspace) subtree(ctx context.Context, path string) (*subtree, error) {
	p, err := w.resolve(ctx, path, toList)
	if err != nil {
		return nil, err
	}
	a := &subtree{
		w: w, location: p, hasRoutes: p.mount.home && len(w.o.Routes) > 0, served: map[string]*servedFile{},
	}
	if a.overlapping, err = w.overlaps(ctx, p.mount); err != nil {
		return nil, err
	}
	if a.hasRoutes {
		for _, r := range w.o.Routes {
			if err := a.addServed(ctx, r.Source, r.Serves); err != nil {
				return nil, err
			}
		}
	}
	if a.source != nil && a.name != "." && len(a.served) == 0 {
		return nil, tool.Errorf(tool.NotFound, "no file or directory %q", a.shown).
			Try("list its parent directory to see what exists")
	}
	return a, nil
}

func (a *subtree) addServed(ctx context.Context, s Source, serves func(context.Context, string) bool) error {
	files, err := s.List(ctx, a.name)
	if err != nil {
		return err
	}
	for _, f := range files {
		if a.covers(f.Name) && serves(ctx, f.Name) && !a.w.denied(a.mount, f.Name) {
			a.served[f.Name] = &servedFile{f.Size, f.Modified, s}
		}
	}
	return nil
}

// covers reports whether a name is in the subtree.
func (a *subtree) covers(name string) bool {
	return a.name == "." || name == a.name || strings.HasPrefix(name, a.name+"/")
}

// onDisk reports whether there is a directory on disk to walk.
func (a *subtree) onDisk() bool { return a.source == nil && a.info.Dir() }

// options adds to o the directory of the subtree and the names hidden from the caller.
func (a *subtree) options(ctx context.Context, o tree.Options) tree.Options {
	o.Dir = a.name
	o.Skip = func(name string, _ bool) bool {
		return a.w.deniedInDir(a.mount, name) || a.deniedByOverlap(name) || a.hiddenByRoute(ctx, name)
	}
	return o
}

// deniedByOverlap reports whether another mount denies a name.
func (a *subtree) deniedByOverlap(name string) bool {
	return a.mount.anyOverlap(a.overlapping, name, a.w.denied)
}

// hiddenByRoute reports whether a route hides a file on disk.
func (a *subtree) hiddenByRoute(ctx context.Context, name string) bool {
	if !a.hasRoutes {
		return false
	}
	for _, r := range a.w.o.Routes {
		if r.Serves(ctx, name) {
			return true
		}
	}
	return false
}

// relative returns a name of the mount relative to the subtree.
func (a *subtree) relative(name string) string {
	if a.name == "." {
		return name
	}
	if name == a.name {
		return path.Base(name)
	}
	return strings.TrimPrefix(name, a.name+"/")
}

// shownPath returns the path to show to the caller for a name of the mount.
func (a *subtree) shownPath(name string) string {
	switch {
	case name == a.name:
		return a.shown
	case a.shown == ".":
		return display(a.relative(name))
	}
	return path.Join(a.shown, display(a.relative(name)))
}

// shownPaths returns the shownPath of each name.
func (a *subtree) shownPaths(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, a.shownPath(name))
	}
	return out
}

var errTooMany = errors.New("too many names")

// listError turns the error of a walk into an error for the caller.
func (a *subtree) listError(err error) error {
	switch {
	case errors.Is(err, errTooMany):
		return tool.Errorf(tool.TooLarge, "there are more than %d names in %q", maxListed, a.shown).
			Try("choose a directory below it")
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "the directory %q no longer exists", a.shown).
			Try("list its parent directory")
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Refused, "no permission to read the directory %q", a.shown).
			Try("choose another directory")
	case notDir(err):
		err = root.ErrLink // it was a directory when the path was resolved
	}
	return fileError(err, a.shown)
}

// needed are the files that a call has use for. The zero value has all.
type needed struct {
	re        *syntax.Regexp   // files that may match; nil for all
	documents search.Documents // and all of these; nil for none
}

// files returns the files on disk that keep accepts, ordered by name. If there is an index, it leaves out files that are
// not needed.
func (a *subtree) files(
	ctx context.Context, o tree.Options, need needed, keep func(name string) bool,
) (names, unread []string, err error) {
	indexed := !o.Hidden && !o.Ignored
	if indexed {
		if names, unread, ok := a.indexedFiles(ctx, need, keep); ok {
			a.filtered = need.re != nil
			return names, unread, nil
		}
	}
	begun := time.Now()
	names, unread, err = tree.Files(ctx, a.mount.root, a.options(ctx, o), keep)
	if err == nil && len(names) > maxListed {
		err = errTooMany
	}
	if err == nil && indexed {
		a.w.indexes.maybeStart(a.mount, len(names), time.Since(begun))
	}
	return names, unread, err
}

// indexedFiles is names for an existing index. ok is false if there is none, or
// if it cannot answer now.
func (a *subtree) indexedFiles(
	ctx context.Context, need needed, keep func(name string) bool,
) (names, unread []string, ok bool) {
	x := a.w.indexes.get(a.mount)
	if x == nil {
		return nil, nil, false
	}
	var all []string
	if need.re != nil {
		var always func(string) bool
		if need.documents != nil {
			always = need.documents.Has
		}
		all, ok = x.Candidates(ctx, a.name, need.re, always)
	} else {
		all, ok = x.Files(ctx, a.name)
	}
	if !ok {
		return nil, nil, false
	}
	for _, name := range all {
		if keep(name) && !a.deniedByOverlap(name) && !a.hiddenByRoute(ctx, name) {
			names = append(names, name)
		}
	}
	unread = slices.DeleteFunc(slices.Clone(x.Unread(a.name)), a.deniedByOverlap)
	return names, unread, true
}

// withServed adds the files of routes to those on disk.
func (a *subtree) withServed(names []string, hidden bool, keep func(name string) bool) []string {
	n := len(names)
	for name := range a.served {
		if keep(name) && (hidden || !hasHiddenStep(a.relative(name))) {
			names = append(names, name)
		}
	}
	if len(names) > n {
		slices.SortFunc(names, strings.Compare)
	}
	return names
}

// List implements [Files].
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
		o := a.options(ctx, tree.Options{Depth: q.Depth, Hidden: q.Hidden, Ignored: q.Ignored, Enter: outsideGit})
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

// outsideGit skips the thousands of files in .git, unless it is listed itself.
func outsideGit(dir string) bool { return path.Base(dir) != ".git" }

// listPattern returns a function that matches names relative to the listing.
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

// A candidate is an entry of a result, with its name in the mount.
type candidate struct {
	name   string
	mode   fs.FileMode
	served *servedFile // nil if it is on disk
}

// A collector gathers the entries of a listing. Several goroutines use it.
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

// addServed adds the files of routes, and the directories that exist only there.
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
		if _, err := c.tree.stat(name); err != nil && c.keep(dir) { // otherwise the walk finds it
			c.found = append(c.found, candidate{name: name, mode: fs.ModeDir})
		}
	}
}

// stat returns the state of a name on disk.
func (a *subtree) stat(name string) (root.Info, error) {
	if a.source != nil {
		return root.Info{}, fs.ErrNotExist
	}
	return a.mount.root.Lstat(name)
}

// result sorts the entries and completes those within the limit.
func (c *collector) result(ctx context.Context, limit int) Listing {
	slices.SortFunc(c.found, func(a, b candidate) int { return compareSteps(a.name, b.name) })
	shown := c.found[:min(limit, len(c.found))]
	l := Listing{Dir: c.tree.shown, More: len(c.found) - len(shown)}
	infos := c.tree.infos(ctx, shown)
	for i, f := range shown {
		e := Entry{
			Name: display(c.tree.relative(f.name)), Mode: f.mode, Size: infos[i].Size, Modified: infos[i].Modified,
		}
		if e.Mode&fs.ModeSymlink != 0 {
			e.Target = c.tree.target(ctx, f.name)
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// infos returns the state of many candidates.
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

// target returns the path that a link leads to, if the caller may know it.
func (a *subtree) target(ctx context.Context, name string) string {
	p, err := a.w.resolve(ctx, a.shownPath(name), toList)
	if err != nil {
		return "(not accessible)"
	}
	return p.shown
}

// compareSteps orders names so that a directory comes just before its contents.
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

// Glob implements [Files].
func (w *Workspace) Glob(ctx context.Context, q GlobQuery) (Listing, error) {
	if strings.TrimSpace(q.Pattern) == "" {
		return Listing{}, tool.Errorf(tool.Invalid, "the pattern is empty").Try("use **/*.go to find all Go files")
	}
	dir, pattern := splitGlob(q.Path, q.Pattern)
	a, err := w.subtree(ctx, dir)
	if err != nil {
		return Listing{}, err
	}
	glob, err := ignore.CompileGlob(pattern)
	if err != nil {
		return Listing{}, err
	}
	found, unread, err := a.matching(ctx, q, glob)
	if err != nil {
		return Listing{}, a.listError(err)
	}
	l := Listing{Dir: a.shown, More: max(0, len(found)-q.Limit), Unlisted: a.shownPaths(unread)}
	if q.Newest {
		a.newestFirst(ctx, found)
	}
	for _, f := range found[:min(q.Limit, len(found))] {
		l.Entries = append(l.Entries, Entry{Name: a.shownPath(f.name)})
	}
	return l, nil
}

// splitGlob moves the leading directories of a pattern without wildcards into
// the path, where they may be absolute or go through links.
func splitGlob(dir, pattern string) (in, rest string) {
	steps := strings.Split(pattern, "/")
	n := 0
	for n < len(steps)-1 && !strings.ContainsAny(steps[n], `*?[{\`) {
		n++
	}
	prefix, rest := strings.Join(steps[:n], "/"), strings.Join(steps[n:], "/")
	switch {
	case n == 0:
		return dir, rest
	case prefix == "": // the pattern is absolute
		return "/", rest
	case strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix, "~"):
		return prefix, rest
	}
	return path.Join(dir, prefix), rest
}

// matching returns the files of the subtree that match, ordered by name.
func (a *subtree) matching(
	ctx context.Context, q GlobQuery, glob *ignore.Glob,
) (found []candidate, unread []string, err error) {
	keep := func(name string) bool { return glob.Match(a.relative(name)) }
	var names []string
	if a.onDisk() {
		names, unread, err = a.files(ctx, tree.Options{
			Hidden: q.Hidden || hasHiddenStep(q.Pattern), Ignored: q.Ignored,
			Enter: func(dir string) bool { return dir == a.name || glob.MayContain(a.relative(dir)) },
		}, needed{}, keep)
		if err != nil {
			return nil, nil, err
		}
	}
	names = a.withServed(names, q.Hidden || hasHiddenStep(q.Pattern), keep)
	found = make([]candidate, len(names))
	for i, name := range names {
		found[i] = candidate{name: name, served: a.served[name]}
	}
	return found, unread, nil
}

// hasHiddenStep reports whether a pattern or name has a step that begins with a dot.
func hasHiddenStep(pattern string) bool {
	return strings.Contains("/"+strings.TrimPrefix(pattern, "./"), "/.")
}

func (a *subtree) newestFirst(ctx context.Context, found []candidate) {
	type dated struct {
		candidate
		root.Info
	}
	all := make([]dated, len(found))
	for i, info := range a.infos(ctx, found) {
		all[i] = dated{found[i], info}
	}
	slices.SortStableFunc(all, func(x, y dated) int { return y.Modified.Compare(x.Modified) })
	for i := range all {
		found[i] = all[i].candidate
	}
}

// Search implements [Files].
func (w *Workspace) Search(ctx context.Context, q search.Query) (search.Found, error) {
	m, err := search.Compile(q)
	if err != nil {
		return search.Found{}, err
	}
	filter, err := ignore.NewFilter(q.Globs, q.Types)
	if err != nil {
		return search.Found{}, err
	}
	a, err := w.subtree(ctx, q.Path)
	if err != nil {
		return search.Found{}, err
	}
	names, unread, err := a.toSearch(ctx, q, m, filter)
	if err != nil {
		return search.Found{}, a.listError(err)
	}
	found, err := m.Search(ctx, a.contents(ctx), names)
	if err != nil {
		return search.Found{}, err
	}
	if a.filtered && len(found.Files) == 0 {
		all, _, _ := a.indexedFiles(ctx, needed{}, func(name string) bool { return filter.Keep(a.relative(name)) })
		found.Searched = max(found.Searched, len(all)) // files that cannot match count as searched
	}
	for i := range found.Files {
		found.Files[i].Name = a.shownPath(found.Files[i].Name)
	}
	for i := range found.Failed {
		found.Failed[i].Name = a.shownPath(found.Failed[i].Name)
	}
	found.Unlisted = a.shownPaths(unread)
	return found, nil
}

// toSearch returns the files to search. A file that is named directly is searched
// even if globs or ignore files exclude it.
func (a *subtree) toSearch(
	ctx context.Context, q search.Query, m *search.Matcher, filter *ignore.Filter,
) (names, unread []string, err error) {
	keep := func(name string) bool { return filter.Keep(a.relative(name)) }
	if a.onDisk() {
		names, unread, err = a.files(ctx, tree.Options{
			Hidden: q.Hidden, Ignored: q.Ignored,
			Enter: func(dir string) bool { return dir == a.name || filter.Enter(a.relative(dir)) },
		}, needed{m.Regexp(), q.Documents}, keep)
		return a.withServed(names, q.Hidden, keep), unread, err
	}
	if a.source != nil && a.served[a.name] == nil {
		return a.withServed(nil, q.Hidden, keep), nil, nil
	}
	if a.source == nil && !a.info.Regular() {
		return nil, nil, fileError(root.ErrSpecial, a.shown)
	}
	return []string{a.name}, nil, nil
}

// contents returns the source of the files' contents.
func (a *subtree) contents(ctx context.Context) search.Source {
	s := search.Source{Root: a.mount.root, CheckLinks: func(name string, info root.Info) bool {
		return a.w.checkLinks(ctx, location{mount: a.mount, name: name, shown: a.shownPath(name)}, info) == nil
	}}
	if len(a.served) > 0 {
		s.Virtual = func(name string) ([]byte, bool) {
			v := a.served[name]
			if v == nil {
				return nil, false
			}
			content, _, err := v.source.Read(ctx, name)
			return content, err == nil
		}
	}
	return s
}
