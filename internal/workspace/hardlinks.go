package workspace

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxEntries is the maximum number of entries of a mount that a search for hard links reads.
const maxEntries = 200_000

// settleTime is the min age of the last change of a file for its change time to
// show the next change: file systems record times in steps of some milliseconds.
const settleTime = 50 * time.Millisecond

// An inode identifies a file on this machine.
type inode struct{ dev, ino uint64 }

// A linkCache remembers the files of a mount with several hard links. Its facts about a file
// are valid until the file's change time changes, because adding and removing a hard link
// changes that time.
type linkCache struct {
	sem   chan struct{} // holds a token while a goroutine uses files
	files map[inode]*linkedFile
}

type linkedFile struct {
	names    map[linkName]string
	changed  time.Time
	links    uint64
	unstable bool // the file changed during the search
}

// A linkName is one name of a file. It does not depend on the names of the
// directories above, so renaming one during a search does not count a name twice.
type linkName struct {
	dir  inode
	base string
}

// isCurrent reports whether the file is unchanged since the search.
func (l *linkedFile) isCurrent(now root.Info) bool {
	return l != nil && !l.unstable && !now.Changed.IsZero() && l.changed.Equal(now.Changed)
}

func newLinkCache() *linkCache { return &linkCache{sem: make(chan struct{}, 1)} }

// checkLinks refuses a file that has a hard link where the caller has no access,
// or, if the file is to be changed, one that is protected.
func (w *Workspace) checkLinks(ctx context.Context, p location, info root.Info) error {
	if info.Links <= 1 || w.o.HardLinks == Allow && p.intent != toWrite {
		return nil
	}
	names, all, err := w.linkNames(ctx, p, info)
	if err != nil {
		return err
	}
	around, err := w.overlaps(ctx, p.mount)
	if err != nil {
		return err
	}
	hidden := slices.ContainsFunc(names, func(name string) bool {
		return !history.Temporary(path.Base(name)) &&
			(w.denied(p.mount, name) || p.mount.anyOverlap(around, name, w.denied))
	})
	kept := p.intent == toWrite && slices.ContainsFunc(names, func(name string) bool {
		return w.protected(p.mount, name) || p.mount.anyOverlap(around, name, w.protected)
	})
	switch {
	case kept:
		return protectedError(p.shown)
	case (all || w.o.HardLinks == Allow) && !hidden:
		return nil
	}
	if now, err := p.mount.root.Lstat(p.name); err != nil || !sameFile(now, info) || !now.Changed.Equal(info.Changed) {
		return unstableError(p.shown) // the file changed during the search
	}
	return linkedError(p.shown)
}

// linkNames returns the hard links of a file in its mount. all reports whether
// the file has no others.
func (w *Workspace) linkNames(
	ctx context.Context, p location, info root.Info,
) (inside []string, all bool, err error) {
	if info.Links <= 1 {
		return []string{p.name}, true, nil
	}
	cache := p.mount.linkCache
	select {
	case cache.sem <- struct{}{}:
		defer func() { <-cache.sem }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	id := inode{info.Dev, info.Ino}
	found := cache.files[id]
	if !found.isCurrent(info) {
		if err := waitUntilSettled(ctx, info.Changed); err != nil {
			return nil, false, err
		}
		if cache.files, err = w.linkedFiles(ctx, p.mount); err != nil {
			return nil, false, err
		}
		found = cache.files[id]
	}
	if !found.isCurrent(info) {
		return []string{p.name}, false, nil
	}
	return slices.Sorted(maps.Values(found.names)), uint64(len(found.names)) >= found.links, nil
}

// waitUntilSettled waits until the change of a file is settleTime ago. A change time in the
// future proves nothing: then it does not wait.
func waitUntilSettled(ctx context.Context, changed time.Time) error {
	wait := settleTime - time.Since(changed)
	if wait <= 0 || wait > settleTime {
		return nil
	}
	_ = clock.Sleep(ctx, wait)
	return ctx.Err()
}

// linkedFiles searches a mount for files with several hard links.
func (w *Workspace) linkedFiles(ctx context.Context, m *mount) (map[inode]*linkedFile, error) {
	files := map[inode]*linkedFile{}
	began := time.Now()
	left := maxEntries
	todo := []string{"."}
	for len(todo) > 0 && left > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in, entries := readDir(m.root, dir, left)
		left -= len(entries)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && !w.inDataDir(m, name):
				todo = append(todo, name)
			case e.Type().IsRegular():
				if info, err := m.root.Lstat(name); err == nil && info.Regular() && info.Links > 1 {
					addLink(files, linkName{in, e.Name()}, name, info, began)
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addLink adds one hard link of a file. If the file changes during the search,
// for example because it is renamed, it is marked as unstable.
func addLink(files map[inode]*linkedFile, at linkName, name string, info root.Info, began time.Time) {
	id := inode{info.Dev, info.Ino}
	f := files[id]
	if f == nil {
		f = &linkedFile{
			names: map[linkName]string{}, changed: info.Changed, links: info.Links,
			unstable: began.Sub(info.Changed) < settleTime,
		}
		files[id] = f
	}
	f.unstable = f.unstable || !f.changed.Equal(info.Changed)
	f.names[at] = name
}

// readDir returns some of the entries of a directory, and its identity. It returns no entries
// of an unreadable directory.
func readDir(r *root.Root, dir string, most int) (inode, []os.DirEntry) {
	d, err := r.OpenDir(dir)
	if err != nil {
		return inode{}, nil
	}
	defer d.Close()
	info, err := root.Stat(d)
	if err != nil {
		return inode{}, nil
	}
	entries, _ := d.ReadDir(most)
	return inode{info.Dev, info.Ino}, entries
}
