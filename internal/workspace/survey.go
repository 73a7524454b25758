package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// maxLayout is the maximum number of names in the result of Layout: each of them has a cost
// every time a sandbox starts.
const maxLayout = 4000

// A survey collects the files that commands must not see or change.
type survey struct {
	view        *callerView
	ctx         context.Context
	mount       *mount
	overlapping []*mount

	hidden []mountedFile
	locked []mountedFile
}

// A surveyCache remembers the result for each directory of a mount. A file cannot appear,
// disappear or be replaced without a new change time of its directory. In a mount with many
// directories the kernel's events name the changed ones.
type surveyCache struct {
	mu       sync.Mutex
	overlaps string                   // the mounts that overlap; others have other results
	dirs     map[string]surveyedDir   // by name
	marked   map[string]bool          // the directories with files that are hidden, locked or lead git elsewhere
	events   *searchindex.NameTracker // of all directories; nil if their change times are compared
	watched  *atomic.Int32            // counts mounts with events
	noEvents bool                     // there are none for this mount, or not enough
}

// minWatched is how many directories a mount has whose events are watched. Comparing the
// change times of fewer takes less than a millisecond.
const minWatched = 200

// maxWatched is how many mounts are watched: the system has few watchers for a user.
const maxWatched = 16

// A surveyedDir is the result for one directory, without its subdirectories.
type surveyedDir struct {
	state    root.Info // zero if it may have changed while it was read
	hidden   []mountedFile
	locked   []mountedFile
	gitLinks []mountedFile // files and links that lead git to its settings elsewhere
	subdirs  []string
}

// scan adds the files of one mount.
func (y *survey) scan(m *mount) error {
	y.mount, y.overlapping = m, y.view.overlaps(m)
	c := m.survey
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := y.refresh(c); err != nil {
		c.reset() // its entries may be incomplete
		return err
	}
	var gitLinks []mountedFile
	for name := range c.marked {
		d := c.dirs[name]
		y.hidden, y.locked = append(y.hidden, d.hidden...), append(y.locked, d.locked...)
		gitLinks = append(gitLinks, d.gitLinks...)
	}
	for _, link := range gitLinks {
		if err := y.lockGitTarget(link); err != nil {
			return err
		}
	}
	return y.bounded()
}

func (y *survey) bounded() error {
	if len(y.hidden)+len(y.locked) > maxLayout {
		return y.tooMany()
	}
	return nil
}

// refresh reads the directories that are new or have changed.
func (y *survey) refresh(c *surveyCache) error {
	var overlaps strings.Builder
	for _, o := range y.overlapping {
		overlaps.WriteString(o.realPath + "\x00")
	}
	var changed, created map[string]bool
	if c.events != nil {
		var ok bool
		if changed, created, ok = c.events.Changed(); !ok {
			c.stopWatching()
		}
	}
	if c.dirs == nil || y.mount.id.Ino == 0 || c.overlaps != overlaps.String() {
		c.reset()
		c.overlaps, c.dirs, c.marked = overlaps.String(), map[string]surveyedDir{}, map[string]bool{}
		return y.read(c, ".", true)
	}
	byEvents := c.events != nil
	if !byEvents {
		c.watch(y.view.w, y.mount.root) // changes from now on cause events, earlier ones are found below
	}
	names := slices.Sorted(maps.Keys(changed))
	if !byEvents {
		names = slices.Sorted(maps.Keys(c.dirs))
	}
	for _, name := range names {
		if err := y.ctx.Err(); err != nil {
			return err
		}
		old, known := c.dirs[name]
		if !known {
			continue // removed with a directory above
		}
		state, err := y.mount.root.Glance(name)
		if !byEvents && old.state.Ino != 0 && old.state.Same(state) {
			continue
		}
		if err != nil && name != "." {
			c.remove(name)
			continue
		}
		if err := y.read(c, name, false); err != nil {
			return err
		}
		for _, sub := range c.dirs[name].subdirs {
			if created[sub] {
				c.remove(sub) // another directory has taken its place
			}
			if _, known := c.dirs[sub]; !known {
				if err := y.read(c, sub, true); err != nil {
					return err
				}
			}
		}
		for _, sub := range old.subdirs {
			if !slices.Contains(c.dirs[name].subdirs, sub) {
				c.remove(sub)
			}
		}
	}
	return nil
}

// watch begins to watch all directories of a mount with many.
func (c *surveyCache) watch(w *Workspace, r *root.Root) {
	if len(c.dirs) < minWatched || c.noEvents {
		return
	}
	if w.watched.Add(1) > maxWatched {
		w.watched.Add(-1)
		return
	}
	events, err := searchindex.NewNameTracker(r)
	if c.noEvents = err != nil; c.noEvents {
		w.watched.Add(-1)
		return
	}
	c.events, c.watched = events, &w.watched
	for dir := range c.dirs {
		c.add(dir)
	}
}

// add watches a directory before it is read. Without enough watches none is used.
func (c *surveyCache) add(dir string) {
	if c.events != nil && c.events.Add(dir) != nil {
		c.stopWatching()
		c.noEvents = true
	}
}

func (c *surveyCache) stopWatching() {
	if c.events != nil {
		_ = c.events.Close()
		c.events = nil
		c.watched.Add(-1)
	}
}

// reset forgets everything, so that the next refresh reads the whole mount.
func (c *surveyCache) reset() {
	c.stopWatching()
	c.dirs, c.marked = nil, nil
}

// close releases the events.
func (c *surveyCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset()
	c.noEvents = true
}

// set stores the result for a directory.
func (c *surveyCache) set(dir string, d surveyedDir) {
	c.dirs[dir] = d
	if len(d.hidden)+len(d.locked)+len(d.gitLinks) > 0 {
		c.marked[dir] = true
	} else {
		delete(c.marked, dir)
	}
}

// read reads a directory, and with deep all below it. Unreadable entries are hidden, since
// commands may run as another user.
func (y *survey) read(c *surveyCache, dir string, deep bool) error {
	began := time.Now()
	var mu sync.Mutex
	watch := func(dir string) {
		mu.Lock()
		defer mu.Unlock()
		c.add(dir)
	}
	watch(dir)
	o := tree.Options{Dir: dir, Hidden: true, Ignored: true, Enter: func(dir string) bool {
		enter := y.enter(dir)
		if enter {
			watch(dir)
		}
		return enter
	}}
	if !deep {
		o.Depth = 1
	}
	found, total := map[string]surveyedDir{}, 0
	unread, err := tree.Walk(y.ctx, y.mount.root, o, func(d tree.Dir) error {
		f := y.visit(d)
		mu.Lock()
		defer mu.Unlock()
		found[d.Name] = f
		if total += len(f.hidden) + len(f.locked) + len(f.gitLinks); total > maxLayout {
			y.hidden, y.locked = nil, nil
			for _, f := range found {
				y.hidden, y.locked = append(y.hidden, f.hidden...), append(y.locked, f.locked...)
			}
			return y.tooMany()
		}
		return nil
	})
	if err != nil && dir != "." && total <= maxLayout && y.ctx.Err() == nil {
		unread, err = []string{dir}, nil
	}
	if err != nil {
		return err
	}
	for _, name := range unread {
		found[name] = surveyedDir{hidden: []mountedFile{{y.mount, name, fs.ModeDir}}}
	}
	names := slices.Collect(maps.Keys(found))
	for i, state := range tree.Stats(y.ctx, y.mount.root, names, 0) {
		f := found[names[i]]
		if state.Changed.Before(began.Add(-settleTime)) {
			f.state = state
		}
		c.set(names[i], f)
	}
	return y.ctx.Err()
}

// remove removes a directory and all below it.
func (c *surveyCache) remove(dir string) {
	subdirs := c.dirs[dir].subdirs
	delete(c.dirs, dir)
	delete(c.marked, dir)
	if c.events != nil {
		c.events.Remove(dir)
	}
	for _, sub := range subdirs {
		c.remove(sub)
	}
}

// enter skips hidden directories. It recognizes the data directory under any name.
func (y *survey) enter(dir string) bool { return !y.denied(dir) && !y.isData(dir) }

func (y *survey) isData(dir string) bool {
	info, err := y.mount.root.Lstat(dir)
	return err == nil && y.view.isDataDir(info)
}

func (y *survey) visit(d tree.Dir) (found surveyedDir) {
	whole := !y.mount.write || y.protectedDir(d.Name)
	git := y.gitNames(d)
	for _, e := range d.Entries {
		p := mountedFile{y.mount, path.Join(d.Name, e.Name), e.Mode}
		link := e.Mode&fs.ModeSymlink != 0
		if !link && y.denied(p.name) || e.Mode.IsDir() && y.isData(p.name) {
			found.hidden = append(found.hidden, p)
			continue
		}
		if e.Mode.IsDir() {
			found.subdirs = append(found.subdirs, p.name)
		}
		switch {
		case whole:
		case slices.Contains(git, e.Name) && !y.excepted(p.name):
			if !link {
				found.locked = append(found.locked, p)
			}
			if link || isGit(e.Name) {
				found.gitLinks = append(found.gitLinks, p)
			}
		case !link && y.protected(p.name):
			found.locked = append(found.locked, p)
		}
	}
	return found
}

// identity returns a value that changes when one of the files is replaced by
// another of the same name.
func (y *survey) identity() string {
	var all []string
	for _, p := range slices.Concat(y.hidden, y.locked) {
		info, _ := p.mount.root.Glance(p.name) // a file that was removed has the zero Info
		all = append(all, p.path()+"\x00"+strconv.FormatUint(info.Dev, 16)+":"+strconv.FormatUint(info.Ino, 16))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
	return hex.EncodeToString(sum[:])
}

// tooMany returns an error that names the pattern that matches most files.
func (y *survey) tooMany() error {
	list, of, setting := y.mount.rules.denyList, y.hidden, "deny"
	if len(y.locked) > len(y.hidden) {
		list, of, setting = y.mount.rules.protectList, y.locked, "protect"
	}
	worst, most := "", 0
	for _, pattern := range list {
		names, err := ignore.NewNames([]string{pattern})
		if err != nil || strings.HasPrefix(pattern, "!") {
			continue
		}
		hits := 0
		for _, p := range of {
			if names.Covers(p.name) || y.mount.coversPath(names, p.name) {
				hits++
			}
		}
		if hits > most {
			worst, most = pattern, hits
		}
	}
	cause := "workspace." + setting
	if worst != "" {
		cause = fmt.Sprintf("the pattern %q of %s", worst, cause)
	}
	return tool.Errorf(tool.TooLarge, "more than %d files must be kept from commands, most of them because of %s",
		maxLayout, cause).
		Try("ask the operator to list their directories instead, with a slash at the end, or an exception with !")
}

func (y *survey) denied(name string) bool {
	return y.view.w.deniedInDir(y.mount, name) || y.mount.anyOverlap(y.overlapping, name, y.view.w.denied)
}

// protected reports whether commands must not change a name in a directory that
// is not protected itself.
func (y *survey) protected(name string) bool {
	locks := y.mount.rules.locks
	return locks.patterns.names.CoversInDir(name) || y.mount.coversPath(y.mount.locked, name) ||
		y.mount.anyOverlap(y.overlapping, name, y.view.w.locked)
}

func (y *survey) protectedDir(dir string) bool {
	return y.view.w.locked(y.mount, dir) || y.mount.anyOverlap(y.overlapping, dir, y.view.w.locked)
}

// addHardLinks adds the other hard links of the files that were found.
func (y *survey) addHardLinks() error {
	hidden, locked := hardLinked(y.hidden), hardLinked(y.locked)
	if y.view.w.o.HardLinks == Allow {
		hidden = nil // callers see these files, too
	}
	if len(hidden)+len(locked) == 0 {
		return nil
	}
	for _, m := range y.view.mounts() {
		files, err := y.view.w.linkedFiles(y.ctx, m)
		if err != nil {
			return err
		}
		for id := range hidden {
			y.hidden = append(y.hidden, files[id].inMount(m)...)
		}
		for id := range locked {
			y.locked = append(y.locked, files[id].inMount(m)...)
		}
		if y.mount = m; len(y.hidden)+len(y.locked) > maxLayout {
			return y.tooMany()
		}
	}
	return nil
}

// hardLinked returns the files that have more than one hard link.
func hardLinked(spots []mountedFile) map[inode]bool {
	files := map[inode]bool{}
	for _, p := range spots {
		if !p.mode.IsRegular() {
			continue
		}
		if info, err := p.mount.root.Lstat(p.name); err == nil && info.Links > 1 {
			files[inode{info.Dev, info.Ino}] = true
		}
	}
	return files
}

// inMount returns the hard links of a file in a mount.
func (l *linkedFile) inMount(m *mount) (all []mountedFile) {
	if l != nil {
		for _, name := range l.names {
			all = append(all, mountedFile{mount: m, name: name})
		}
	}
	return all
}

// commandLocks are the protected names that commands must not change. Commands
// need to work with git, so instead of the whole .git directory they lock only
// the files in it that make git start other programs.
type commandLocks struct {
	patterns   patterns
	protectGit bool     // ".git" is protected
	exceptions patterns // files that commands may change
}

func newCommandLocks(protect []string, home string) (l commandLocks, err error) {
	var all, not []string
	for _, pattern := range protect {
		if body, is := strings.CutPrefix(pattern, "!"); is {
			not = append(not, body)
		}
		if pattern == ".git" {
			l.protectGit = true
			continue
		}
		all = append(all, pattern)
	}
	if l.patterns, err = newPatterns(all, home); err == nil {
		l.exceptions, err = newPatterns(not, home)
	}
	return l, err
}

// locked reports whether commands must not change a file, apart from the rules
// for git.
func (w *Workspace) locked(m *mount, name string) bool {
	return m.rules.locks.patterns.names.Covers(name) || m.coversPath(m.locked, name)
}

// excepted reports whether the operator lets commands change a file of git.
func (y *survey) excepted(name string) bool {
	return y.mount.rules.locks.exceptions.names.Covers(name) || y.mount.coversPath(y.mount.gitExceptions, name)
}

// gitNames returns the entries of a directory that make git start programs: the
// settings of a repository, or a .git file or link that leads to one.
func (y *survey) gitNames(d tree.Dir) (names []string) {
	if !y.mount.rules.locks.protectGit {
		return nil
	}
	repository := isRepository(d)
	for _, e := range d.Entries {
		setting := repository && slices.ContainsFunc(gitSettings(), func(n string) bool {
			return strings.EqualFold(n, e.Name)
		})
		if setting || !e.Mode.IsDir() && isGit(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

func isGit(base string) bool { return strings.EqualFold(base, ".git") }

// gitSettings returns the names of a repository's settings. commondir names the
// directory with the rest of them.
func gitSettings() []string { return []string{"config", "config.worktree", "hooks", "commondir"} }

// isRepository reports whether git reads settings from a directory. A directory
// within .git is recognized by its name alone, because commands can change the
// files in it.
func isRepository(d tree.Dir) bool {
	steps := strings.Split(d.Name, "/")
	for i := len(steps) - 1; i >= 0; i-- {
		if !isGit(steps[i]) {
			continue
		}
		switch below := steps[i+1:]; {
		case len(below) == 0:
			return true
		case strings.EqualFold(below[0], "modules"): // the name of a module may have many steps
			return len(below) > 1
		case strings.EqualFold(below[0], "worktrees"):
			return len(below) == 2
		}
		return false
	}
	marks := 0
	for _, e := range d.Entries {
		if e.Name == "HEAD" && !e.Mode.IsDir() || (e.Name == "objects" || e.Name == "refs") && !e.Mode.IsRegular() {
			marks++
		}
	}
	return marks == 3
}

const maxGitFile = 4 << 10

// lockGitTarget locks the target of a .git file or link, or of a link among the
// settings of a repository, if it is within the caller's directories.
func (y *survey) lockGitTarget(link mountedFile) error {
	at := link.path()
	if !isGit(path.Base(link.name)) {
		y.lockAt(at)
		return y.ctx.Err()
	}
	if link.mode.IsRegular() {
		if at = gitDirOf(link); at == "" {
			return y.ctx.Err()
		}
	}
	for _, name := range gitSettings() {
		y.lockAt(filepath.Join(at, name))
	}
	return y.ctx.Err()
}

// gitDirOf returns the directory that a .git file names, or "" if it is invalid.
func gitDirOf(p mountedFile) string {
	file, _, err := p.mount.root.OpenRegular(p.name)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxGitFile)
	n, _ := file.ReadAt(text, 0) // io.EOF, as the file is short
	dir, is := strings.CutPrefix(string(text[:n]), "gitdir:")
	if dir = strings.Trim(dir, " \r\n"); !is || strings.ContainsRune(dir, 0) {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(p.path()), dir)
	}
	return dir
}

// lockAt locks the file that an absolute path leads to, if it exists and is
// within the caller's directories.
func (y *survey) lockAt(abs string) {
	past, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return
	}
	m, name, ok := y.view.mountFor(filepath.ToSlash(past))
	if !ok || name == "." || !m.write || y.view.w.denied(m, name) ||
		m.rules.locks.exceptions.names.Covers(name) || m.coversPath(m.gitExceptions, name) {
		return
	}
	if info, err := m.root.Lstat(name); err == nil && !info.Link() {
		y.locked = append(y.locked, mountedFile{m, name, info.Mode})
	}
}
