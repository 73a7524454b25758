package workspace

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	maxEntries = 200_000 // get a mount that are looked at for further names
	dirChunk   = 512
)

// settleTime is how long ago a file must have changed for its time of change to
// tell whether it does so again: systems count in steps of some milliseconds.
const settleTime = 50 * time.Millisecond

// inode tells one file of a system from all others.
type inode struct{ dev, ino uint64 }

// linkCache keeps which files of a mount have several names. What it says of a
// file counts while the system says that nothing was done to the file since:
// another name, or one less, is such a thing.
type linkCache struct {
	sem   chan struct{} // isCurrent one token; who has it may use files
	files map[inode]*linkedFile
}

type linkedFile struct {
	names    map[linkName]string
	changed  time.Time
	links    uint64
	unstable bool // something was done to it between two looks
}

// An linkName is one name of a file. It stays the same when a directory above is
// renamed, so that looking twice does not make two of it.
type linkName struct {
	dir  inode
	base string
}

// isCurrent reports whether what is known of a file is still so.
func (l *linkedFile) isCurrent(now root.Info) bool {
	return l != nil && !l.unstable && !now.Changed.IsZero() && l.changed.Equal(now.Changed)
}

func newLinkCache() *linkCache { return &linkCache{sem: make(chan struct{}, 1)} }

// checkLinks refuses a file that has a name where the caller cannot go, or one
// that is protected when it is to be changed.
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
		return !history.Temporary(path.Base(name)) && (w.denied(p.mount, name) || p.mount.anyOverlap(around, name, w.denied))
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
		return unstableError(p.shown) // what was found is of another moment
	}
	return linkedError(p.shown)
}

// linkNames finds the names of a file beneath its mount, and whether those are all
// that it has.
func (w *Workspace) linkNames(ctx context.Context, p location, info root.Info) (inside []string, all bool, err error) {
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

// waitUntilSettled waits until a change of a file is long enough ago. One that
// is said to happen later is not waited for: nothing can be told then.
func waitUntilSettled(ctx context.Context, changed time.Time) error {
	wait := settleTime - time.Since(changed)
	if wait <= 0 || wait > settleTime {
		return nil
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// linkedFiles looks through a mount for files with several names.
func (w *Workspace) linkedFiles(ctx context.Context, m *mount) (map[inode]*linkedFile, error) {
	files := map[inode]*linkedFile{}
	began := time.Now()
	left := maxEntries
	todo := []string{"."}
	for len(todo) > 0 && left > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		// What cannot be read has no names that count.
		_ = eachEntry(ctx, m.root, dir, &left, func(in inode, name string, mode os.FileMode) {
			if mode.IsDir() && !w.inDataDir(m, name) {
				todo = append(todo, name)
			}
			if !mode.IsRegular() {
				return
			}
			if info, err := m.root.Lstat(name); err == nil && info.Regular() && info.Links > 1 {
				addLink(files, linkName{in, path.Base(name)}, name, info, began)
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addLink adds a name. A file that was renamed meanwhile may be seen twice: its
// time of change tells, when that was long enough before the look began.
func addLink(files map[inode]*linkedFile, at linkName, name string, info root.Info, began time.Time) {
	id := inode{info.Dev, info.Ino}
	f := files[id]
	if f == nil {
		f = &linkedFile{names: map[linkName]string{}, changed: info.Changed, links: info.Links, unstable: began.Sub(info.Changed) < settleTime}
		files[id] = f
	}
	f.unstable = f.unstable || !f.changed.Equal(info.Changed)
	f.names[at] = name
}

// eachEntry calls do for the names in a directory, while left lasts.
func eachEntry(ctx context.Context, r *root.Root, dir string, left *int, do func(in inode, name string, mode os.FileMode)) error {
	d, err := r.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := root.Stat(d)
	if err != nil {
		return err
	}
	for *left > 0 {
		entries, err := d.ReadDir(dirChunk)
		for _, e := range entries {
			*left--
			do(inode{info.Dev, info.Ino}, path.Join(dir, e.Name()), e.Type())
		}
		if err != nil {
			return err // io.EOF at the end
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
