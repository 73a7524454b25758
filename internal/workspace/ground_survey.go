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
	s      *space
	ctx    context.Context
	m      *mount
	around []*mount

	mu     sync.Mutex
	hidden []spot
	locked []spot
	leads  []spot // files and links that lead git to where it has its settings
}

// look goes through a mount. Commands may be another program's idea of who they
// are, so what the server cannot read is hidden too.
func (y *survey) look(m *mount) error {
	y.m, y.around = m, y.s.overlaps(m)
	unread, err := tree.Walk(y.ctx, m.root, tree.Options{Hidden: true, Ignored: true, Enter: y.enter}, y.visit)
	if err != nil {
		return err
	}
	for _, dir := range unread {
		y.hidden = append(y.hidden, spot{m, dir, iofs.ModeDir})
	}
	for _, lead := range y.leads {
		if err := y.followGit(lead); err != nil {
			return err
		}
	}
	y.leads = nil
	if len(y.hidden)+len(y.locked) > maxGround {
		return y.tooMany()
	}
	return nil
}

// enter keeps out of what is hidden. The data directory counts under any name.
func (y *survey) enter(dir string) bool {
	if y.denied(dir) {
		return false
	}
	if info, err := y.m.root.Lstat(dir); err == nil && y.s.isData(info) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.hidden = append(y.hidden, spot{y.m, dir, iofs.ModeDir})
		return false
	}
	return true
}

func (y *survey) visit(d tree.Dir) error {
	var hidden, locked, leads []spot
	whole := !y.m.write || y.protectedDir(d.Name)
	git := y.gitNames(d)
	for _, e := range d.Entries {
		p := spot{y.m, path.Join(d.Name, e.Name), e.Mode}
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
	y.hidden, y.locked, y.leads = append(y.hidden, hidden...), append(y.locked, locked...), append(y.leads, leads...)
	if len(y.hidden)+len(y.locked)+len(y.leads) > maxGround {
		return y.tooMany()
	}
	return nil
}

func (y *survey) denied(name string) bool {
	return y.s.w.deniedLast(y.m, name) || y.m.anySays(y.around, name, y.s.w.denied)
}

// protected is about a name in a directory that is not protected.
func (y *survey) protected(name string) bool {
	locks := y.s.w.locks
	return locks.all.names.CoversLast(name) || y.m.coversPath(y.m.locks, name) || y.m.anySays(y.around, name, y.s.w.locked)
}

func (y *survey) protectedDir(dir string) bool {
	return y.s.w.locked(y.m, dir) || y.m.anySays(y.around, dir, y.s.w.locked)
}

// addHardLinks adds the other names of the files that were found.
func (y *survey) addHardLinks() error {
	hidden, locked := several(y.hidden), several(y.locked)
	if y.s.w.o.HardLinks == Allow {
		hidden = nil // callers see them
	}
	if len(hidden)+len(locked) == 0 {
		return nil
	}
	for _, m := range y.s.mounts() {
		files, err := y.s.w.linkedFiles(y.ctx, m)
		if err != nil {
			return err
		}
		for id := range hidden {
			y.hidden = append(y.hidden, files[id].spots(m)...)
		}
		for id := range locked {
			y.locked = append(y.locked, files[id].spots(m)...)
		}
		if y.m = m; len(y.hidden)+len(y.locked) > maxGround {
			return y.tooMany()
		}
	}
	return nil
}

// several are the files among spots that have more names than one.
func several(spots []spot) map[inode]bool {
	files := map[inode]bool{}
	for _, p := range spots {
		if !p.mode.IsRegular() {
			continue
		}
		if info, err := p.m.root.Lstat(p.name); err == nil && info.Links > 1 {
			files[inode{info.Dev, info.Ino}] = true
		}
	}
	return files
}

func (l *linked) spots(m *mount) (all []spot) {
	if l != nil {
		for _, name := range l.names {
			all = append(all, spot{m: m, name: name})
		}
	}
	return all
}
