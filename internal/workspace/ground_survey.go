package workspace

import (
	"context"
	iofs "io/fs"
	"path"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// A survey looks through mounts for what commands must not see or change.
type survey struct {
	view        *callerView
	ctx         context.Context
	mount       *mount
	overlapping []*mount

	mu       sync.Mutex
	hidden   []mountedFile
	locked   []mountedFile
	gitLinks []mountedFile // files and links that lead git to where it has its settings
}

// scan goes through a mount. Commands may be another program's idea of who they
// are, so what the server cannot read is hidden too.
func (y *survey) scan(m *mount) error {
	y.mount, y.overlapping = m, y.view.overlaps(m)
	unread, err := tree.Walk(y.ctx, m.root, tree.Options{Hidden: true, Ignored: true, Enter: y.enter}, y.visit)
	if err != nil {
		return err
	}
	for _, dir := range unread {
		y.hidden = append(y.hidden, mountedFile{m, dir, iofs.ModeDir})
	}
	for _, lead := range y.gitLinks {
		if err := y.lockGitTarget(lead); err != nil {
			return err
		}
	}
	y.gitLinks = nil
	if len(y.hidden)+len(y.locked) > maxLayout {
		return y.tooMany()
	}
	return nil
}

// enter keeps out of what is hidden. The data directory counts under any name.
func (y *survey) enter(dir string) bool {
	if y.denied(dir) {
		return false
	}
	if info, err := y.mount.root.Lstat(dir); err == nil && y.view.isDataDir(info) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.hidden = append(y.hidden, mountedFile{y.mount, dir, iofs.ModeDir})
		return false
	}
	return true
}

func (y *survey) visit(d tree.Dir) error {
	var hidden, locked, leads []mountedFile
	whole := !y.mount.write || y.protectedDir(d.Name)
	git := y.gitNames(d)
	for _, e := range d.Entries {
		p := mountedFile{y.mount, path.Join(d.Name, e.Name), e.Mode}
		link := e.Mode&iofs.ModeSymlink != 0
		switch {
		case !link && y.denied(p.name):
			hidden = append(hidden, p)
		case whole:
		case slices.Contains(git, e.Name) && !y.excepted(p.name):
			if !link {
				locked = append(locked, p)
			}
			if link || isGit(e.Name) {
				leads = append(leads, p)
			}
		case !link && y.protected(p.name):
			locked = append(locked, p)
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hidden, y.locked, y.gitLinks = append(y.hidden, hidden...), append(y.locked, locked...), append(y.gitLinks, leads...)
	if len(y.hidden)+len(y.locked)+len(y.gitLinks) > maxLayout {
		return y.tooMany()
	}
	return nil
}

func (y *survey) denied(name string) bool {
	return y.view.w.deniedInDir(y.mount, name) || y.mount.anyOverlap(y.overlapping, name, y.view.w.denied)
}

// protected is about a name in a directory that is not protected.
func (y *survey) protected(name string) bool {
	locks := y.view.w.locks
	return locks.patterns.names.CoversInDir(name) || y.mount.coversPath(y.mount.locked, name) || y.mount.anyOverlap(y.overlapping, name, y.view.w.locked)
}

func (y *survey) protectedDir(dir string) bool {
	return y.view.w.locked(y.mount, dir) || y.mount.anyOverlap(y.overlapping, dir, y.view.w.locked)
}

// addHardLinks adds the other names of the files that were found.
func (y *survey) addHardLinks() error {
	hidden, locked := hardLinked(y.hidden), hardLinked(y.locked)
	if y.view.w.o.HardLinks == Allow {
		hidden = nil // callers see them
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

// hardLinked are the files among spots that have more names than one.
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

func (l *linkedFile) inMount(m *mount) (all []mountedFile) {
	if l != nil {
		for _, name := range l.names {
			all = append(all, mountedFile{mount: m, name: name})
		}
	}
	return all
}
