package workspace

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/gitrepo"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	// AsideSuffix is the end of the name of a file that was set aside.
	AsideSuffix = ".set-aside"

	maxGuarded   = 1000 // files of one protected directory; larger directories are not compared
	guardedDepth = 4    // levels of directories in it
	maxReported  = 5    // names in a report
)

// A Command is a command that a checkpoint covers.
type Command struct {
	Text string
	// Named are the protected files that the text says it writes, relative to the
	// workspace. The policy has decided about them, so they stay.
	Named []string
	Git   bool // it runs nothing but git: files with content that the repository had before stay
	Clone bool // it is one git clone of a remote address: the files of a new repository stay
}

// guardedFiles are the files of protected names, by the name that is protected: a
// file, or a directory with the files in it. It is nil for a directory with too many.
type guardedFiles map[string]map[string]root.Info

// SetAside returns a report about files that commands in the caller's workspace made under
// protected names since the last call; "" if there are none. Commands that still run count,
// too.
//
// Such files make other programs run code. A sandbox covers the files that exist when it is
// opened, and no policy sees a file that a command makes without naming it. So SetAside renames
// the file, and a person decides.
func (w *Workspace) SetAside(ctx context.Context) string {
	s, err := w.viewFor(ctx)
	if err != nil {
		return ""
	}
	t := w.tracker(s.home, false)
	if t == nil {
		return ""
	}
	if t.isRunning() {
		t.update(ctx, nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	moved, changed := t.moved, t.changed
	t.moved, t.changed = nil, nil
	var parts []string
	if len(moved) > 0 {
		parts = append(parts,
			fmt.Sprintf("other programs run files with the names %s, so these were renamed to end in %s; "+
				"a person can rename them back", listNames(moved), AsideSuffix))
	}
	if len(changed) > 0 {
		parts = append(parts, fmt.Sprintf("it changed %s, which other programs run; tell the user", listNames(changed)))
	}
	return strings.Join(parts, "; ")
}

func listNames(names []string) string {
	text := strings.Join(names[:min(len(names), maxReported)], ", ")
	if more := len(names) - maxReported; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// isGuarded reports whether a name is protected, or makes programs trust others.
func (t *tracker) isGuarded(name string) bool {
	base := path.Base(name)
	return isGit(base) || strings.EqualFold(base, ".ssh") || t.w.protected(t.m, name)
}

// guard compares the protected files with those at the last call, and sets aside the new ones
// of running commands. t.mu is held.
func (t *tracker) guard() {
	before := t.guarded
	t.guarded = t.guardedNow()
	t.noteObjects()
	if before == nil || len(t.running) == 0 {
		return
	}
	moved := false
	for _, name := range slices.Sorted(maps.Keys(t.guarded)) {
		for _, file := range t.newFiles(name, before) {
			old, existed := before[name][file]
			switch now, there := t.guarded[name][file]; {
			case existed && old.Same(now), t.allowed(name, file):
			case existed && there:
				t.changed = append(t.changed, display(file))
			default:
				moved = true
				t.setAside(file)
			}
		}
	}
	if moved {
		t.guarded = t.guardedNow()
	}
}

// newFiles returns the files of a protected name to compare. A new directory is one.
func (t *tracker) newFiles(name string, before guardedFiles) []string {
	files, known := before[name]
	now := t.guarded[name]
	_, isFile := now[name]
	switch {
	case inDependencies(name):
		return nil
	case isFile || isGit(path.Base(name)):
	case !known:
		return []string{name}
	case files == nil:
		return nil
	}
	return slices.Sorted(maps.Keys(now))
}

// noteObjects notes the objects of the repositories before the first command.
func (t *tracker) noteObjects() {
	if t.objects != nil {
		return
	}
	t.objects = map[string]*gitrepo.Objects{}
	note := func(name string) {
		if dir, found := gitrepo.ObjectDir(name); found && t.objects[dir] == nil {
			t.objects[dir] = gitrepo.ReadObjects(dir)
		}
	}
	note(filepath.Join(t.m.realPath, "x")) // the workspace may be in a repository
	for name := range t.guarded {
		if isGit(path.Base(name)) {
			note(filepath.Join(t.m.realPath, filepath.FromSlash(name)))
		}
	}
}

// restored reports whether git has written a file, or all files of a directory, with
// content that the repository had before the first command. Its index does not count: a
// command can write anything into it. A clone is believed, it is of its remote.
func (t *tracker) restored(r *runningCommand, name, file string) bool {
	if !r.Git {
		return false
	}
	abs := func(name string) string { return filepath.Join(t.m.realPath, filepath.FromSlash(name)) }
	dir, found := gitrepo.ObjectDir(abs(file))
	objects := t.objects[dir]
	if !found || objects == nil {
		return found && r.Clone
	}
	some := false
	for each := range t.guarded[name] {
		if each == file || isBeneath(each, file) {
			if some = true; !objects.HaveFile(abs(each)) {
				return false
			}
		}
	}
	return some
}

// allowed reports whether a file under a protected name may stay.
func (t *tracker) allowed(name, file string) bool {
	abs := filepath.Join(t.m.realPath, filepath.FromSlash(file))
	switch base := path.Base(file); {
	case isGit(base): // the repository of a worktree or a submodule, within the workspace
		dir, ok := within(t.m.realPath, filepath.ToSlash(filepath.Dir(gitDirOf(mountedFile{mount: t.m, name: file}))))
		return ok && t.inRepository(dir)
	case slices.Contains([]string{"config", "config.worktree"}, strings.ToLower(base)) && t.inRepository(file) &&
		gitrepo.Harmless(abs):
		return true
	case strings.EqualFold(base, "commondir") && gitrepo.IsCommonDirOfWorktree(abs):
		return true
	}
	return slices.ContainsFunc(t.running, func(r *runningCommand) bool {
		return t.restored(r, name, file) || slices.ContainsFunc(r.Named, func(named string) bool {
			return named == file || isBeneath(file, named) || isBeneath(named, file)
		})
	})
}

func (t *tracker) inRepository(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), isGit)
}

// setAside renames a file so that no program runs it.
func (t *tracker) setAside(file string) {
	to := file + AsideSuffix
	err := t.m.root.RenameNew(file, to)
	for n := 2; n < 100 && err != nil; n++ {
		if _, taken := t.m.root.Lstat(to); taken != nil {
			break
		}
		to = file + AsideSuffix + "-" + strconv.Itoa(n)
		err = t.m.root.RenameNew(file, to)
	}
	if err != nil {
		t.w.o.Log.Warn("a command made a file that other programs run, and it cannot be renamed; remove it", "path",
			filepath.Join(t.m.path, file), "err", err)
		t.changed = append(t.changed, display(file))
		return
	}
	t.w.o.Log.Warn("a command made a file that other programs run; it was renamed", "path",
		filepath.Join(t.m.path, file), "to", path.Base(to))
	t.moved = append(t.moved, display(file))
}

// guardedNow reads the protected names that were found in the watched directories.
func (t *tracker) guardedNow() guardedFiles {
	all := guardedFiles{}
	for _, names := range t.guards {
		for _, name := range names {
			files := map[string]root.Info{}
			if isGit(path.Base(name)) {
				t.readRepository(name, files)
			} else {
				t.read(name, guardedDepth, files)
			}
			if _, err := t.m.root.Glance(name); err != nil {
				continue
			}
			if len(files) >= maxGuarded {
				files = nil
			}
			all[name] = files
		}
	}
	return all
}

// read adds a file, or the files in a directory.
func (t *tracker) read(name string, depth int, files map[string]root.Info) {
	info, err := t.m.root.Lstat(name)
	if err != nil || len(files) >= maxGuarded {
		return
	}
	if !info.Dir() {
		files[name] = info
		return
	}
	if depth == 0 {
		return
	}
	for _, base := range t.entries(name) {
		t.read(path.Join(name, base), depth-1, files)
	}
}

func (t *tracker) entries(dir string) []string {
	in, err := t.m.root.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer in.Close()
	names, _ := in.Readdirnames(maxGuarded) // an unreadable file does nothing to other programs
	return names
}

// readRepository adds the files that make git run programs, of a repository and its
// submodules. Git makes examples of hooks itself.
func (t *tracker) readRepository(name string, files map[string]root.Info) {
	if info, err := t.m.root.Lstat(name); err == nil && !info.Dir() {
		files[name] = info
		return
	}
	for _, dir := range t.repositories(name, guardedDepth) {
		for _, file := range []string{"config", "config.worktree", "commondir"} {
			t.read(path.Join(dir, file), 0, files)
		}
		t.read(path.Join(dir, "hooks"), 1, files)
		for _, worktree := range t.entries(path.Join(dir, "worktrees")) {
			for _, file := range []string{"config.worktree", "commondir"} {
				t.read(path.Join(dir, "worktrees", worktree, file), 0, files)
			}
		}
	}
	maps.DeleteFunc(files, func(file string, _ root.Info) bool { return strings.HasSuffix(file, ".sample") })
}

// repositories returns a directory of git, and the directories of the submodules below it. The
// names of submodules may have several steps.
func (t *tracker) repositories(dir string, depth int) (all []string) {
	_, err := t.m.root.Glance(path.Join(dir, "HEAD"))
	modules := dir
	if err == nil || isGit(path.Base(dir)) {
		all, modules = append(all, dir), path.Join(dir, "modules")
	}
	if depth == 0 {
		return all
	}
	for _, base := range t.entries(modules) {
		all = append(all, t.repositories(path.Join(modules, base), depth-1)...)
	}
	return all
}

// inDependencies reports whether a name is in a directory of packages that a package
// manager unpacks. No one works in them, and many have settings of their authors.
func inDependencies(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(step string) bool {
		return slices.Contains([]string{"node_modules", "bower_components", "vendor", "site-packages", ".venv", "venv",
			".tox", "Pods"}, step)
	})
}

// A runningCommand is a command between the two calls of a checkpoint.
type runningCommand struct {
	history.Record
	Command
}
