package searchindex

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// errTooBig means that the view of the tree exceeds Options.Memory.
var errTooBig = errors.New("the tree is too big to be indexed")

// A fileStat is the state of a file. ok reports whether it is a regular file.
type fileStat struct {
	segment.Stamp
	links uint32
	ok    bool
}

// A scan reads directories and the stamps of their files.
type scan struct {
	v *view
	// statNew also reads the stamps of files that are not in the segment. One with
	// several hard links means that the others may have changed.
	statNew bool

	mu     sync.Mutex
	found  []listing
	memory int64
	err    error
}

// A listing is the result of a scan for one directory.
type listing struct {
	name    string
	subdirs []string
	live    []uint32 // files of the segment that are unchanged
	linked  []uint32 // files with several hard links
	fresh   []string
	inodes  []uint64 // of fresh files with several hard links
}

// scanTree reads dir and everything below it, and adds it to the view.
func (v *view) scanTree(ctx context.Context, dir string, news bool) error {
	s := scan{v: v, statNew: news}
	if err := v.watcher.add(v.o.Root, dir); err != nil {
		return err
	}
	unread, err := tree.Walk(ctx, v.o.Root, tree.Options{Dir: dir, Skip: v.o.Skip, Enter: s.enter}, s.visit)
	if err = cmp.Or(s.err, err); err != nil {
		return v.walkError(ctx, dir, err)
	}
	for _, name := range unread {
		v.unread[name] = true
	}
	inodes := map[uint64]bool{}
	for i := range s.found {
		v.merge(&s.found[i], inodes)
	}
	v.markInodes(inodes)
	return nil
}

// walkError handles the error of a walk. It is not an error if the directory no longer
// exists or cannot be read.
func (v *view) walkError(ctx context.Context, dir string, err error) error {
	var known *fs.PathError
	switch {
	case ctx.Err() != nil || dir == "." || !errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, root.ErrLink) || notDirectory(err):
		return nil // an event reports it
	}
	v.unread[dir] = true
	return nil
}

// enter starts to watch a directory before it is listed, so that every later change is
// an event.
func (s *scan) enter(dir string) bool {
	if err := s.v.watcher.add(s.v.o.Root, dir); err != nil {
		s.fail(err)
	}
	return true
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}

// visit is called concurrently.
func (s *scan) visit(d tree.Dir) error {
	l := listing{name: d.Name}
	if err := segment.Guard(func() { s.compareDir(d, &l) }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, l)
	s.memory += 400 + 100*int64(len(d.Entries))
	if s.memory > s.v.o.Memory {
		return errTooBig
	}
	return s.err
}

// compareDir compares the files of a directory with the segment.
func (s *scan) compareDir(d tree.Dir, l *listing) {
	var known childMatcher
	if seg := s.v.seg; seg != nil {
		if dir, ok := seg.Dir(d.Name); ok {
			known = childMatcher{seg: seg, dir: dir, count: seg.Children(dir)}
		}
	}
	var bases []string // the files to stat
	var files []uint32 // their numbers in the segment plus 1; 0 for none
	for _, e := range d.Entries {
		switch {
		case e.Mode.IsDir():
			l.subdirs = append(l.subdirs, e.Name)
		case e.Mode.IsRegular():
			n, ok := known.match(e.Name)
			if !ok && !s.statNew {
				l.fresh = append(l.fresh, e.Name)
				continue
			}
			bases, files = append(bases, e.Name), append(files, 0)
			if ok {
				files[len(files)-1] = n + 1
			}
		}
	}
	for i, st := range s.v.stat(d.Name, bases) {
		l.classify(s.v.seg, bases[i], files[i], st)
	}
}

// classify records whether a file is as the segment has it.
func (l *listing) classify(seg *segment.Segment, base string, file uint32, st fileStat) {
	if file > 0 && st.ok {
		if n := file - 1; seg.Stamp(n) == st.Stamp && seg.Flags(n)&segment.Racy == 0 {
			l.live = append(l.live, n)
			if st.links > 1 {
				l.linked = append(l.linked, n)
			}
			return
		}
	}
	l.fresh = append(l.fresh, base)
	if st.links > 1 {
		l.inodes = append(l.inodes, st.Ino)
	}
}

// A childMatcher finds names of a directory in a segment. The names must be in order.
type childMatcher struct {
	seg            *segment.Segment
	dir, at, count int
}

func (m *childMatcher) match(base string) (uint32, bool) {
	for ; m.at < m.count; m.at++ {
		n := m.seg.Child(m.dir, m.at)
		switch c := strings.Compare(string(m.seg.Base(n)), base); {
		case c == 0:
			return n, true
		case c > 0:
			return 0, false
		}
	}
	return 0, false
}

// merge adds a listing to the view.
func (v *view) merge(l *listing, inodes map[uint64]bool) {
	v.dirs[l.name] = l.subdirs
	v.namesVersion++
	for _, n := range l.live {
		v.revive(n)
	}
	v.linked = append(v.linked, l.linked...)
	for _, base := range l.fresh {
		v.addFresh(l.name, base)
	}
	for _, ino := range l.inodes {
		inodes[ino] = true
	}
}

// markInodes marks the files with these inodes as changed.
func (v *view) markInodes(inodes map[uint64]bool) {
	if len(inodes) == 0 {
		return
	}
	for _, in := range v.fresh { // they may be read for a new segment at the moment
		for base := range in {
			in[base] = v.version
		}
	}
	if v.seg == nil {
		return
	}
	for n := range uint32(v.seg.Len()) {
		if v.alive(n) && inodes[v.seg.Stamp(n).Ino] {
			v.markFileChanged(n)
		}
	}
}

// markFileChanged is markChanged for a file of the segment.
func (v *view) markFileChanged(n uint32) {
	v.markChanged(split(string(v.seg.AppendName(nil, n))))
}

// listDir compares one directory with the view.
func (v *view) listDir(ctx context.Context, dir string, inodes map[uint64]bool) error {
	var got tree.Dir
	o := tree.Options{Dir: dir, Depth: 1, Skip: v.o.Skip, Workers: 1}
	_, err := tree.Walk(ctx, v.o.Root, o, func(d tree.Dir) error {
		got = d
		return nil
	})
	if err != nil {
		v.relistDir(dir)
		return v.walkError(ctx, dir, err)
	}
	for _, kid := range v.dirs[dir] {
		if mode, ok := entry(got, kid); !ok || !mode.IsDir() {
			v.forget(join(dir, kid))
		}
	}
	v.removeMissing(got)
	got.Entries = slices.DeleteFunc(got.Entries, func(e root.Entry) bool {
		return e.Mode.IsRegular() && v.hasFile(dir, e.Name)
	})
	s, l := scan{v: v, statNew: true}, listing{name: dir}
	s.compareDir(got, &l)
	v.merge(&l, inodes)
	for _, kid := range l.subdirs {
		if name := join(dir, kid); !v.hasDir(name) {
			if err := v.scanTree(ctx, name, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeMissing removes the files of a directory that no longer exist.
func (v *view) removeMissing(d tree.Dir) {
	there := func(base string) bool {
		mode, ok := entry(d, base)
		return ok && mode.IsRegular()
	}
	for base := range v.fresh[d.Name] {
		if !there(base) {
			v.removeFile(d.Name, base)
		}
	}
	if v.seg == nil {
		return
	}
	dir, ok := v.seg.Dir(d.Name)
	for i := 0; ok && i < v.seg.Children(dir); i++ {
		if n := v.seg.Child(dir, i); v.alive(n) && !there(string(v.seg.Base(n))) {
			v.kill(n)
			v.namesVersion++
		}
	}
}

// entry returns the type of a name in a directory.
func entry(d tree.Dir, base string) (fs.FileMode, bool) {
	i, ok := slices.BinarySearchFunc(d.Entries, base, func(e root.Entry, base string) int {
		return strings.Compare(e.Name, base)
	})
	if !ok {
		return 0, false
	}
	return d.Entries[i].Mode, true
}

func notDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
