package mirror

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// temporary is the prefix of files that are being written. Trees leave them out.
	temporary = ".mcp-tools-copy-"
	// tick is longer than the time between two values of the clock of files: a file that changed within it before it was
	// looked at may have changed after that too, with the same time.
	tick = 20 * time.Millisecond
	// maxFiles is the maximum number of names in a tree.
	maxFiles = 200_000
	// maxBytes is the maximum total size of the files copied at once.
	maxBytes = 4 << 30
)

// A Place is a directory or file of a tree.
type Place struct {
	Path  string // absolute
	File  bool
	Write bool // commands may change it
}

// A kind is the type of a name in a tree.
type kind string

const (
	gone kind = "" // there is none
	dir  kind = "d"
	file kind = "f"
	link kind = "l"
)

// An entry is a name in a tree.
type entry struct {
	Path   string      // the number of its place, and the path in it: 0/src/main.go
	Kind   kind        `json:",omitempty"`
	Mode   fs.FileMode `json:",omitempty"` // permissions
	Time   int64       `json:",omitempty"` // of the last change, in nanoseconds
	Size   int64       `json:",omitempty"` // of a file
	Digest string      `json:",omitempty"` // SHA-256 of a file, in hex
	Link   string      `json:",omitempty"` // target of a link
}

// same reports whether two entries have the same content and rights.
func (e entry) same(as entry) bool {
	return e.Kind == as.Kind && e.Mode == as.Mode && e.Digest == as.Digest && e.Link == as.Link
}

// A stamp changes when a file changes.
type stamp struct {
	mode         fs.FileMode
	size         int64
	time, change int64
	inode        uint64
}

// A memory is an entry as both sides have it.
type memory struct {
	entry
	stamp stamp
	young bool // it changed immediately before it was looked at
}

// A tree is the files of some places, and the last state of them that both sides had.
type tree struct {
	places []place
	known  map[string]memory
	all    bool     // changes looks at places that commands cannot change too
	raw    bool     // names that are not UTF-8 count; otherwise changes leaves them out, since messages cannot have them
	unread []string // names that the last call of changes could not read, or that are devices, pipes or sockets
	// leave returns why a name is not copied, or "".
	leave func(place int, rel string) reason
}

// A reason is why a name of a tree is left alone.
type reason uint8

const (
	none   reason = iota
	hidden        // commands must not see it
	locked        // commands must not change it
)

type place struct {
	Place
	root *os.Root
	base string // the name of its file in root, or "."
	uid  int    // the owner of new files; -1 for the user of the process
	gid  int
}

// openTree opens the places. Places that are not there are made if made is set.
func openTree(places []Place, made bool) (*tree, error) {
	t := &tree{known: map[string]memory{}, leave: func(int, string) reason { return none }}
	for _, p := range places {
		at, base := p.Path, "."
		if p.File {
			at, base = filepath.Dir(p.Path), filepath.Base(p.Path)
		}
		if made {
			if err := os.MkdirAll(at, 0o755); err != nil {
				return nil, errors.Join(err, t.close())
			}
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
		one := place{Place: p, root: root, base: base, uid: -1, gid: -1}
		if info, err := root.Stat("."); err == nil && os.Geteuid() == 0 {
			one.uid, one.gid = ownerOf(info)
		}
		t.places = append(t.places, one)
	}
	return t, nil
}

// follow opens the directories again that were replaced by others. One that is not there is ErrMissing.
func (t *tree) follow() error {
	for i := range t.places {
		p := &t.places[i]
		if p.File {
			continue
		}
		was, err := p.root.Stat(".")
		now, missing := os.Stat(p.Path)
		switch {
		case missing != nil:
			return ErrMissing
		case err == nil && os.SameFile(was, now):
			continue
		}
		root, err := os.OpenRoot(p.Path)
		if err != nil {
			return ErrMissing
		}
		_ = p.root.Close() // it was read, or written and closed
		p.root = root
	}
	return nil
}

func (t *tree) close() error {
	var all error
	for _, p := range t.places {
		all = errors.Join(all, p.root.Close())
	}
	return all
}

// name returns the path of an entry.
func name(i int, rel string) string {
	if rel == "." {
		return strconv.Itoa(i)
	}
	return strconv.Itoa(i) + "/" + rel
}

// find returns the place of an entry, and its path in the root of the place.
func (t *tree) find(p string) (i int, rel string, err error) {
	number, rel, within := strings.Cut(p, "/")
	i, err = strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(t.places) || len(p) > maxPath || within && !validPath(rel) ||
		strings.ContainsRune(p, 0) || within && t.places[i].File || strconv.Itoa(i) != number {
		return 0, "", fmt.Errorf("the name %q is not valid", p)
	}
	if !within || rel == "." {
		rel = t.places[i].base
	}
	return i, rel, nil
}

// ErrTooMany is the error about a tree with more names than are copied.
var ErrTooMany = fmt.Errorf("there are more than %d files", maxFiles)

// maxPath is the maximum length of the path of an entry.
const maxPath = 4096

// validPath is fs.ValidPath for paths that need not be UTF-8.
func validPath(rel string) bool {
	if rel == "." {
		return true
	}
	for step := range strings.SplitSeq(rel, "/") {
		if step == "" || step == "." || step == ".." {
			return false
		}
	}
	return true
}

// walk calls f for each name at or below a path, a directory before the names in it. It is fs.WalkDir for names that need
// not be UTF-8.
func (p place) walk(rel string, f func(rel string, d fs.DirEntry, err error) error) error {
	info, err := p.root.Lstat(rel)
	if err != nil {
		return f(rel, nil, err)
	}
	if err = p.walkIn(rel, fs.FileInfoToDirEntry(info), f); err == fs.SkipDir || err == fs.SkipAll {
		err = nil
	}
	return err
}

func (p place) walkIn(rel string, d fs.DirEntry, f func(rel string, d fs.DirEntry, err error) error) error {
	if err := f(rel, d, nil); err != nil || !d.IsDir() {
		if err == fs.SkipDir && d.IsDir() {
			return nil
		}
		return err
	}
	list, err := p.list(rel)
	if err != nil {
		if err = f(rel, d, err); err != nil {
			return err
		}
	}
	for _, one := range list {
		at := one.Name()
		if rel != "." {
			at = rel + "/" + at
		}
		if len(at) > maxPath-8 {
			err = f(at, one, fs.ErrPermission)
		} else {
			err = p.walkIn(at, one, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the names in a directory, in their order.
func (p place) list(rel string) ([]fs.DirEntry, error) {
	dir, err := p.root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := dir.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	withStamps(dir, list)
	return list, err
}

// A stamped is a name in a directory with what its directory says about it. It saves the way from the root to it.
type stamped struct {
	fs.DirEntry
	stamp stamp
}

// changes returns the entries that differ from the other side. Removed names come first, the innermost before the
// directories around them; then the others, directories before their contents.
func (t *tree) changes(ctx context.Context) (all []entry, err error) {
	seen := make(map[string]bool, len(t.known))
	t.unread = nil
	unread := func(dir string) { // its entries keep their known state
		for at := range t.known {
			if strings.HasPrefix(at, dir+"/") {
				seen[at] = true
			}
		}
	}
	for i, p := range t.places {
		if !p.Write && !t.all {
			seen[strconv.Itoa(i)] = true
			unread(strconv.Itoa(i))
			continue
		}
		err := p.walk(p.base, func(rel string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			at := name(i, rel)
			if p.File {
				at = strconv.Itoa(i)
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it was removed in the meantime
			case errors.Is(err, fs.ErrPermission) && d != nil:
				unread(at)
				t.unread = append(t.unread, rel)
				return nil
			case err != nil:
				return err
			}
			if d != nil && (strings.HasPrefix(d.Name(), temporary) || !t.raw && !utf8.ValidString(d.Name())) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if t.leave(i, rel) == hidden {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if rel == "." {
				return nil // each side has the directory itself
			}
			if len(seen) >= maxFiles {
				return ErrTooMany
			}
			if s, ok := d.(stamped); ok && t.unchanged(at, s.stamp) {
				seen[at] = true
				return nil
			}
			e, err := t.look(i, rel, at)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || e.Kind == gone {
				seen[at] = err != nil // it cannot be read; or it is none of the kinds, and what was there before is gone
				t.unread = append(t.unread, rel)
				return nil
			}
			seen[at] = true
			if was := t.known[at]; !e.same(was.entry) {
				all = append(all, e)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	var lost []entry
	for at := range t.known {
		if !seen[at] {
			lost = append(lost, entry{Path: at})
		}
	}
	slices.SortFunc(lost, func(a, b entry) int { return cmp.Compare(b.Path, a.Path) })
	return append(lost, all...), nil
}

// unchanged reports whether a stamp shows that a file or directory is as both sides have it.
func (t *tree) unchanged(at string, s stamp) bool {
	was := t.known[at]
	switch {
	case s.mode.IsRegular():
		return was.Kind == file && was.stamp == s && !was.young && was.Mode == s.mode.Perm()
	case s.mode.IsDir():
		return was.Kind == dir && was.Mode == s.mode.Perm()
	}
	return false
}

// look returns the entry of a name. It reads a file only if the file may have changed. Devices and sockets have no kind.
func (t *tree) look(i int, rel, at string) (entry, error) {
	root := t.places[i].root
	now := time.Now()
	info, err := root.Lstat(rel)
	if err != nil {
		return entry{}, err
	}
	e := entry{Path: at, Mode: info.Mode().Perm(), Time: info.ModTime().UnixNano()}
	switch {
	case info.IsDir():
		e.Kind = dir
	case info.Mode()&fs.ModeSymlink != 0:
		e.Kind, e.Mode = link, 0
		e.Link, err = root.Readlink(rel)
	case info.Mode().IsRegular():
		e.Kind, e.Size = file, info.Size()
		was, s := t.known[at], stampOf(info)
		if was.Kind == file && was.stamp == s && !was.young {
			e.Digest = was.Digest
			return e, nil
		}
		if e.Digest, err = digest(root, rel); err != nil {
			return entry{}, err
		}
		if was.Digest == e.Digest {
			was.stamp, was.young = s, now.Sub(time.Unix(0, max(s.time, s.change))) < tick
			t.known[at] = was
		}
	}
	return e, err
}

func digest(root *os.Root, rel string) (string, error) {
	f, err := root.Open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// remember records that both sides have an entry now.
func (t *tree) remember(e entry) {
	if e.Kind == gone {
		delete(t.known, e.Path)
		return
	}
	var s stamp
	if i, rel, err := t.find(e.Path); err == nil {
		if info, err := t.places[i].root.Lstat(rel); err == nil {
			s = stampOf(info)
		}
	}
	t.rememberAt(e, s)
}

// rememberAt is remember for an entry that was read when the file had a stamp.
func (t *tree) rememberAt(e entry, s stamp) {
	t.known[e.Path] = memory{e, s, time.Since(time.Unix(0, max(s.time, s.change))) < tick}
}

// forget records that the other side has an entry that is missing here, so that changes returns the state of this
// side.
func (t *tree) forget(e entry) {
	if e.Kind == gone {
		delete(t.known, e.Path)
		return
	}
	t.known[e.Path] = memory{entry: e}
}

// put makes an entry of the tree. The content of a file is read from data; the entry gets its digest.
func (t *tree) put(e *entry, data io.Reader) error {
	i, rel, err := t.find(e.Path)
	if err != nil {
		return err
	}
	p := t.places[i]
	e.Mode = e.Mode.Perm()
	if err := p.straight(rel); err != nil {
		return err
	}
	now, err := p.root.Lstat(rel)
	there := err == nil
	if there && e.Kind != gone && (now.IsDir() != (e.Kind == dir)) {
		if err := p.root.Remove(rel); err != nil { // a directory only if it is empty
			return err
		}
		there = false
	}
	switch e.Kind {
	case gone:
		if err := p.root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case dir:
		if !there {
			if err := p.root.Mkdir(rel, e.Mode|0o700); err != nil {
				return err
			}
			p.own(rel)
		}
		return p.root.Chmod(rel, e.Mode|0o700)
	case link:
		at := path.Join(path.Dir(rel), temporary+rand.Text())
		if err := p.root.Symlink(e.Link, at); err != nil {
			return err
		}
		p.own(at)
		return p.rename(at, rel)
	case file:
		return p.write(e, rel, data)
	}
	return fmt.Errorf("the name %q has the kind %q", e.Path, e.Kind)
}

// straight returns an error if a directory above a name is a link.
func (p place) straight(rel string) error {
	for at := path.Dir(rel); at != "."; at = path.Dir(at) {
		if info, err := p.root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%q is a link", at)
		}
	}
	return nil
}

func (p place) write(e *entry, rel string, data io.Reader) error {
	at := path.Join(path.Dir(rel), temporary+rand.Text())
	f, err := p.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, sum), data, e.Size)
	e.Digest = hex.EncodeToString(sum.Sum(nil))
	if err = errors.Join(err, f.Close()); err == nil {
		p.own(at)
		changed := time.Unix(0, e.Time)
		err = errors.Join(p.root.Chmod(at, e.Mode), p.root.Chtimes(at, changed, changed))
	}
	if err != nil {
		return errors.Join(err, p.root.Remove(at))
	}
	return p.rename(at, rel)
}

func (p place) rename(from, to string) error {
	if err := p.root.Rename(from, to); err != nil {
		return errors.Join(err, p.root.Remove(from))
	}
	return nil
}

// own gives a new name to the owner of the place.
func (p place) own(rel string) {
	if p.uid >= 0 {
		_ = p.root.Lchown(rel, p.uid, p.gid) // on a file system without owners it fails
	}
}
