package workspace

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// commandLocks are what of the files that callers do not change is kept from commands.
// They have to work with git, so in place of ".git" stand the files in it by
// which git is made to start other programs.
type commandLocks struct {
	patterns   patterns
	protectGit bool     // ".git" is among the protected
	exceptions patterns // exceptions from that
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

// locked reports whether commands must not change a file, leaving git aside.
func (w *Workspace) locked(m *mount, name string) bool {
	return w.locks.patterns.names.Covers(name) || m.coversPath(m.locked, name)
}

// excepted reports whether the operator lets commands change a file of git's.
func (y *survey) excepted(name string) bool {
	return y.view.w.locks.exceptions.names.Covers(name) || y.mount.coversPath(y.mount.gitExceptions, name)
}

// gitNames tells which entries of a directory make git start programs: the
// settings of a repository, or a .git that is no directory and leads to one.
func (y *survey) gitNames(d tree.Dir) (names []string) {
	if !y.view.w.locks.protectGit {
		return nil
	}
	repository := isRepository(d)
	for _, e := range d.Entries {
		setting := repository && slices.ContainsFunc(gitSettings(), func(n string) bool { return strings.EqualFold(n, e.Name) })
		if setting || !e.Mode.IsDir() && isGit(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

func isGit(base string) bool { return strings.EqualFold(base, ".git") }

// gitSettings are those of a repository. commondir says where more of them are.
func gitSettings() []string { return []string{"config", "config.worktree", "hooks", "commondir"} }

// isRepository tells directories in which git has its settings. What is in .git
// is one by its name, since commands can change what else is there.
func isRepository(d tree.Dir) bool {
	steps := strings.Split(d.Name, "/")
	for i := len(steps) - 1; i >= 0; i-- {
		if !isGit(steps[i]) {
			continue
		}
		switch below := steps[i+1:]; {
		case len(below) == 0:
			return true
		case strings.EqualFold(below[0], "modules"): // a module may be many steps deep
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

// lockGitTarget locks what a .git that is no directory, or a link among the settings
// of a repository, leads to, where that is in the caller's directories.
func (y *survey) lockGitTarget(lead mountedFile) error {
	at := lead.path()
	if !isGit(path.Base(lead.name)) {
		y.lockAt(at)
		return y.ctx.Err()
	}
	if lead.mode.IsRegular() {
		if at = gitDirOf(lead); at == "" {
			return y.ctx.Err()
		}
	}
	for _, name := range gitSettings() {
		y.lockAt(filepath.Join(at, name))
	}
	return y.ctx.Err()
}

// gitDirOf is where a file .git leads, or "" when git would make nothing of it.
func gitDirOf(p mountedFile) string {
	file, _, err := p.mount.root.OpenRegular(p.name)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxGitFile)
	n, _ := file.ReadAt(text, 0) // a file this short is at its end
	dir, is := strings.CutPrefix(string(text[:n]), "gitdir:")
	if dir = strings.Trim(dir, " \r\n"); !is || strings.ContainsRune(dir, 0) {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(p.path()), dir)
	}
	return dir
}

// lockAt locks what an absolute path leads to, if it is there and inside.
func (y *survey) lockAt(abs string) {
	past, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return
	}
	m, name, ok := y.view.mountFor(filepath.ToSlash(past), false)
	if !ok || name == "." || !m.write || y.view.w.denied(m, name) || y.view.w.locks.exceptions.names.Covers(name) || m.coversPath(m.gitExceptions, name) {
		return
	}
	if info, err := m.root.Lstat(name); err == nil && !info.Link() {
		y.locked = append(y.locked, mountedFile{m, name, info.Mode})
	}
}
