package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// maxLayout is the maximum number of names in the result of Layout: each of them has a cost
// every time a sandbox starts.
const maxLayout = 4000

// Layout searches everything that the caller sees. It does not list symbolic
// links: for a command that follows one, the entry for its target counts.
func (w *Workspace) Layout(ctx context.Context) (sandbox.Directories, error) {
	s, err := w.viewFor(ctx)
	if err != nil {
		return sandbox.Directories{}, err
	}
	y := &survey{view: s, ctx: ctx}
	for _, m := range s.mounts() {
		if err := y.scan(m); err != nil {
			return sandbox.Directories{}, fileError(err, s.shownPath(m, "."))
		}
	}
	if err := y.addHardLinks(); err != nil {
		return sandbox.Directories{}, err
	}
	hidden := outermost(paths(y.hidden))
	g := sandbox.Directories{Dir: filepath.FromSlash(s.home.realPath), Hidden: hidden}
	g.Locked = slices.DeleteFunc(outermost(paths(y.locked)), func(p string) bool { return beneathAny(p, hidden) })
	for _, m := range s.mounts() {
		if m != s.home && !beneathAny(filepath.FromSlash(m.realPath), hidden) {
			g.Roots = append(g.Roots, sandbox.Root{
				Name: s.sandboxName(m), Path: filepath.FromSlash(m.realPath), Write: m.write,
			})
		}
	}
	return g, nil
}

// Dir resolves a directory that a model wrote, "" for the workspace. identity
// changes if another directory takes its place.
func (w *Workspace) Dir(ctx context.Context, given string) (dir, identity string, err error) {
	p, err := w.resolve(ctx, given, toList)
	switch {
	case err != nil:
		return "", "", err
	case p.source != nil || !p.exists:
		return "", "", notOnDisk()
	case !p.info.Dir():
		return "", "", tool.Errorf(tool.Invalid, "%q is a file, not a directory", p.shown).
			Try("name the directory to run in, such as %q", path.Dir(p.shown))
	}
	identity = strconv.FormatUint(p.info.Dev, 10) + ":" + strconv.FormatUint(p.info.Ino, 10)
	return filepath.FromSlash(path.Join(p.mount.realPath, p.name)), identity, nil
}

func notOnDisk() error {
	return tool.Errorf(tool.Unavailable, "these files are not on the disk, so commands cannot use them").
		Try("use the file tools")
}

// sandboxName returns the name of a root in a sandbox, which is unique.
func (s *callerView) sandboxName(m *mount) string {
	if !strings.HasPrefix(m.label, "/") && !filepath.IsAbs(m.label) {
		return m.label
	}
	base := path.Base(m.realPath)
	if strings.ContainsAny(base, `/\:`) {
		base = "root"
	}
	taken := map[string]bool{workspaceAlias: true, cacheAlias: true, stateAlias: true}
	for _, r := range s.w.o.Roots {
		taken[r.Name] = true
	}
	for _, o := range s.mounts() {
		if o == m {
			break
		}
		if filepath.IsAbs(filepath.FromSlash(o.label)) {
			taken[s.sandboxName(o)] = true
		}
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// A mountedFile is a name in a mount.
type mountedFile struct {
	mount *mount
	name  string
	mode  fs.FileMode
}

func (p mountedFile) path() string { return filepath.FromSlash(path.Join(p.mount.realPath, p.name)) }

func paths(spots []mountedFile) []string {
	out := make([]string, 0, len(spots))
	for _, p := range spots {
		out = append(out, p.path())
	}
	return out
}

// outermost sorts paths and removes those that are within others.
func outermost(all []string) []string {
	slices.SortFunc(all, func(a, b string) int { return compareSteps(filepath.ToSlash(a), filepath.ToSlash(b)) })
	var kept []string
	for _, p := range all {
		if n := len(kept); n == 0 || !isBeneath(p, kept[n-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

func isBeneath(p, dir string) bool {
	_, ok := within(filepath.ToSlash(dir), filepath.ToSlash(p))
	return ok
}

func beneathAny(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isBeneath(p, dir) })
}

// tooMany returns an error that names the pattern that matches most files.
func (y *survey) tooMany() error {
	list, of, setting := y.view.w.o.Deny, y.hidden, "deny"
	if len(y.locked) > len(y.hidden) {
		list, of, setting = y.view.w.o.Protect, y.locked, "protect"
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

// A survey collects the files that commands must not see or change.
type survey struct {
	view        *callerView
	ctx         context.Context
	mount       *mount
	overlapping []*mount

	mu       sync.Mutex
	hidden   []mountedFile
	locked   []mountedFile
	gitLinks []mountedFile // files and links that lead git to its settings elsewhere
}

// scan searches one mount. Commands may run as another user, so directories that
// the server cannot read are hidden as well.
func (y *survey) scan(m *mount) error {
	y.mount, y.overlapping = m, y.view.overlaps(m)
	unread, err := tree.Walk(y.ctx, m.root, tree.Options{Hidden: true, Ignored: true, Enter: y.enter}, y.visit)
	if err != nil {
		return err
	}
	for _, dir := range unread {
		y.hidden = append(y.hidden, mountedFile{m, dir, fs.ModeDir})
	}
	for _, link := range y.gitLinks {
		if err := y.lockGitTarget(link); err != nil {
			return err
		}
	}
	y.gitLinks = nil
	if len(y.hidden)+len(y.locked) > maxLayout {
		return y.tooMany()
	}
	return nil
}

// enter skips hidden directories. It recognizes the data directory under any name.
func (y *survey) enter(dir string) bool {
	if y.denied(dir) {
		return false
	}
	if info, err := y.mount.root.Lstat(dir); err == nil && y.view.isDataDir(info) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.hidden = append(y.hidden, mountedFile{y.mount, dir, fs.ModeDir})
		return false
	}
	return true
}

func (y *survey) visit(d tree.Dir) error {
	var hidden, locked, gitLinks []mountedFile
	whole := !y.mount.write || y.protectedDir(d.Name)
	git := y.gitNames(d)
	for _, e := range d.Entries {
		p := mountedFile{y.mount, path.Join(d.Name, e.Name), e.Mode}
		link := e.Mode&fs.ModeSymlink != 0
		switch {
		case !link && y.denied(p.name):
			hidden = append(hidden, p)
		case whole:
		case slices.Contains(git, e.Name) && !y.excepted(p.name):
			if !link {
				locked = append(locked, p)
			}
			if link || isGit(e.Name) {
				gitLinks = append(gitLinks, p)
			}
		case !link && y.protected(p.name):
			locked = append(locked, p)
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hidden, y.locked = append(y.hidden, hidden...), append(y.locked, locked...)
	y.gitLinks = append(y.gitLinks, gitLinks...)
	if len(y.hidden)+len(y.locked)+len(y.gitLinks) > maxLayout {
		return y.tooMany()
	}
	return nil
}

func (y *survey) denied(name string) bool {
	return y.view.w.deniedInDir(y.mount, name) || y.mount.anyOverlap(y.overlapping, name, y.view.w.denied)
}

// protected reports whether commands must not change a name in a directory that
// is not protected itself.
func (y *survey) protected(name string) bool {
	locks := y.view.w.locks
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
	return w.locks.patterns.names.Covers(name) || m.coversPath(m.locked, name)
}

// excepted reports whether the operator lets commands change a file of git.
func (y *survey) excepted(name string) bool {
	return y.view.w.locks.exceptions.names.Covers(name) || y.mount.coversPath(y.mount.gitExceptions, name)
}

// gitNames returns the entries of a directory that make git start programs: the
// settings of a repository, or a .git file or link that leads to one.
func (y *survey) gitNames(d tree.Dir) (names []string) {
	if !y.view.w.locks.protectGit {
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
		y.view.w.locks.exceptions.names.Covers(name) || m.coversPath(m.gitExceptions, name) {
		return
	}
	if info, err := m.root.Lstat(name); err == nil && !info.Link() {
		y.locked = append(y.locked, mountedFile{m, name, info.Mode})
	}
}
