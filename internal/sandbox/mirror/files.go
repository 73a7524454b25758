package mirror

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Files tracks the files of one directory and the known state of a copy of it: a [Mirror] has the copy in a sandbox,
// a managed workspace in the store. Files are not safe for concurrent use.
type Files struct {
	t    *tree
	path string
}

// An Entry is a name in the directory. Its Path is relative.
type Entry = entry

// A Kind is the type of a name.
type Kind = kind

// The kinds.
const (
	Gone = gone // there is none
	Dir  = dir
	File = file
	Link = link
)

// Same reports whether two entries have the same content and rights.
func Same(a, b Entry) bool { return a.same(b) }

// A Mark changes when a file changes.
type Mark struct {
	Mode         fs.FileMode `json:",omitempty"`
	Size         int64       `json:",omitempty"`
	Time, Change int64       `json:",omitempty"`
	Inode        uint64      `json:",omitempty"`
	Young        bool        `json:",omitempty"` // it was taken so soon after a change that the next one may not show
}

// OpenFiles opens a directory, and makes it if there is none. skip reports whether a name is left out; it is a base name.
func OpenFiles(dir string, skip func(base string) bool) (*Files, error) {
	t, err := openTree([]Place{{Path: dir, Write: true}}, true)
	if err != nil {
		return nil, err
	}
	t.raw = true
	t.leave = func(_ int, rel string) reason {
		if skip(path.Base(rel)) {
			return hidden
		}
		return none
	}
	return &Files{t, dir}, nil
}

// Close closes the directory.
func (f *Files) Close() error { return f.t.close() }

// InPlace reports whether the directory is still the one that was opened.
func (f *Files) InPlace() bool {
	was, err := f.t.places[0].root.Stat(".")
	now, missing := os.Stat(f.path)
	return err == nil && missing == nil && os.SameFile(was, now)
}

const only = "0/"

func inside(e Entry) Entry  { e.Path = only + e.Path; return e }
func outside(e Entry) Entry { e.Path = strings.TrimPrefix(e.Path, only); return e }

// Changes returns the entries that differ from the copy. Removed names come first, the innermost before the
// directories around them; then the others, directories before their contents. left are names that could not be read,
// or that are pipes, sockets or devices.
func (f *Files) Changes(ctx context.Context) (list []Entry, left []string, err error) {
	list, err = f.t.changes(ctx)
	for i := range list {
		list[i] = outside(list[i])
	}
	return list, f.t.unread, err
}

// Look returns the entry of a name as it is now. Its error is fs.ErrNotExist if there is none.
func (f *Files) Look(rel string) (Entry, error) {
	i, below, err := f.t.find(only + rel)
	if err != nil {
		return Entry{}, err
	}
	e, err := f.t.look(i, below, only+rel)
	return outside(e), err
}

// Skips reports whether a name is left out.
func (f *Files) Skips(rel string) bool {
	for step := range strings.SplitSeq(rel, "/") {
		if f.t.leave(0, step) != none || strings.HasPrefix(step, temporary) {
			return true
		}
	}
	return false
}

// Open opens a file, and returns its mark from before its content is read.
func (f *Files) Open(rel string) (*os.File, Mark, error) {
	i, below, err := f.t.find(only + rel)
	if err != nil {
		return nil, Mark{}, err
	}
	file, err := f.t.places[i].root.Open(below)
	if err != nil {
		return nil, Mark{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, Mark{}, err
	}
	return file, markOf(info), nil
}

// Put makes an entry. The content of a file is read from data. The entry gets its digest.
func (f *Files) Put(e *Entry, data io.Reader) error {
	in := inside(*e)
	err := f.t.put(&in, data)
	*e = outside(in)
	return err
}

// Mark returns the mark of a file as it is.
func (f *Files) Mark(rel string) Mark {
	info, err := f.t.places[0].root.Lstat(rel)
	if err != nil {
		return Mark{}
	}
	return markOf(info)
}

func markOf(info fs.FileInfo) Mark {
	s := stampOf(info)
	return Mark{s.mode, s.size, s.time, s.change, s.inode, time.Since(time.Unix(0, max(s.time, s.change))) < tick}
}

// RememberAt records that both sides have an entry, read when the file had a mark.
func (f *Files) RememberAt(e Entry, m Mark) {
	e = inside(e)
	if e.Kind == gone {
		delete(f.t.known, e.Path)
		return
	}
	f.t.known[e.Path] = memory{e, stamp{m.Mode, m.Size, m.Time, m.Change, m.Inode}, m.Young}
}

// Known returns the entry that both places had last; its Kind is Gone for none.
func (f *Files) Known(rel string) Entry {
	e := f.t.known[only+rel].entry
	e.Path = rel
	return e
}

// All calls yield with all entries that both places had last.
func (f *Files) All(yield func(Entry, Mark) bool) {
	for _, m := range f.t.known {
		if !yield(outside(m.entry), Mark{m.stamp.mode, m.stamp.size, m.stamp.time, m.stamp.change, m.stamp.inode, m.young}) {
			return
		}
	}
}

// Move moves a file, and makes the directories above its new name. It follows no link.
func (f *Files) Move(from, to string) error {
	_, from, err := f.t.find(only + from)
	if err != nil {
		return err
	}
	_, to, err = f.t.find(only + to)
	if err != nil {
		return err
	}
	p := f.t.places[0]
	if err := p.straight(from); err != nil {
		return err
	}
	made := ""
	for step := range strings.SplitSeq(path.Dir(to), "/") {
		made = path.Join(made, step)
		if made == "." {
			continue
		}
		if err := p.root.Mkdir(made, 0o755); err == nil {
			p.own(made)
		}
	}
	if err := p.straight(to); err != nil {
		return err
	}
	return p.root.Rename(from, to)
}
