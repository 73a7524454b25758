package workspace

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxMounts bounds the directories that are held open.
const maxMounts = 256

// A mount is a directory that paths may lead into. One that is no longer used
// closes its handle when it is collected, so a running call keeps what it has.
type mount struct {
	root          *root.Root // nil when a Source serves all of it
	source        Source     // which does
	path          string     // absolutePath, as it was given
	realPath      string     // history all links, with slashes
	label         string     // what callers write before a name; "" for the workspace
	home          bool       // it is the workspace of a caller
	write         bool
	callerDir     bool          // a directory of ours within the data directory
	dataName      string        // where the data directory is beneath it; "" when it is not
	forbidden     bool          // it is the data directory, or a part that is no caller's
	deny          *ignore.Names // paths of this machine; nil when none is in it
	protect       *ignore.Names
	locked        *ignore.Names // likewise, for commands
	gitExceptions *ignore.Names // exceptions from those of git
	id            root.Info
	used          int64
	linkCache     *linkCache
}

type mountKey struct {
	path, label string
	write       bool
}

// openMount returns the mount for a directory, which id tells of as it is now.
// open is called when it is not held open, or is another one by now.
func (w *Workspace) openMount(key mountKey, id root.Info, open func() (*root.Root, error)) (*mount, error) {
	if m, err := w.cachedMount(key, id); m != nil || err != nil {
		return m, err
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	m := &mount{root: r, path: key.path, label: key.label, home: key.label == "", write: key.write, linkCache: newLinkCache()}
	if m.id, err = r.Info(); err != nil {
		_ = r.Close()
		return nil, err
	}
	m.realPath = realPath(key.path, m.id)
	m.deny, m.protect = w.deny.forMount(m), w.protect.forMount(m)
	m.locked, m.gitExceptions = w.locks.patterns.forMount(m), w.locks.exceptions.forMount(m)
	w.locateData(m)
	return m, w.cacheMount(key, m)
}

func (w *Workspace) cachedMount(key mountKey, id root.Info) (*mount, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, tool.Errorf(tool.Unavailable, "the server is ending")
	}
	m := w.mounts[key]
	if m == nil || !sameFile(m.id, id) {
		return nil, nil
	}
	w.clock++
	m.used = w.clock
	return m, nil
}

func (w *Workspace) cacheMount(key mountKey, m *mount) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = m.root.Close()
		return tool.Errorf(tool.Unavailable, "the server is ending")
	}
	w.clock++
	m.used = w.clock
	w.mounts[key] = m
	if len(w.mounts) > maxMounts {
		var oldest mountKey
		least := w.clock
		for key, m := range w.mounts {
			if m.used < least {
				oldest, least = key, m.used
			}
		}
		delete(w.mounts, oldest)
	}
	return nil
}

// locateData finds out how the data directory and m lie to each other.
func (w *Workspace) locateData(m *mount) {
	data := filepath.ToSlash(w.o.Data)
	if past, err := filepath.EvalSymlinks(w.o.Data); err == nil {
		data = filepath.ToSlash(past)
	}
	if below, ok := within(m.realPath, data); ok {
		m.dataName = below
	}
	if id, err := root.StatPath(w.o.Data); m.dataName == "." || err == nil && id.Ino != 0 && sameFile(id, m.id) {
		m.forbidden = true
	}
	if below, ok := within(path.Join(data, "files"), m.realPath); ok {
		first, rest, _ := strings.Cut(below, "/")
		m.callerDir = (first == "cache" || first == "state") && rest != ""
		m.forbidden = !m.callerDir
	}
}

// realPath is where a directory is past all links, or the path itself when
// that cannot be told.
func realPath(dir string, id root.Info) string {
	past, err := filepath.EvalSymlinks(dir)
	if err == nil {
		if found, err := root.StatPath(past); err == nil && sameFile(found, id) {
			return filepath.ToSlash(past)
		}
	}
	return filepath.ToSlash(dir)
}

func sameFile(a, b root.Info) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// within tells where name is beneath dir, step by step and not by letters.
// Both are absolute; steps of name past dir stay as they are.
func within(dir, name string) (below string, ok bool) {
	below, ok = strings.CutPrefix(name, dir)
	switch {
	case !ok:
		return "", false
	case below == "":
		return ".", true
	case strings.HasSuffix(dir, "/"):
		return below, true
	}
	return strings.CutPrefix(below, "/")
}

// relative tells where an absolute path is beneath m.
func (m *mount) relative(abs string) (string, bool) {
	if name, ok := within(filepath.ToSlash(m.path), abs); ok {
		return name, true
	}
	return within(m.realPath, abs)
}

// openDir opens a directory that the operator chose.
func (w *Workspace) openDir(key mountKey) (*mount, error) {
	id, err := root.StatPath(key.path)
	if err != nil {
		return nil, err
	}
	return w.openMount(key, id, func() (*root.Root, error) { return root.Open(key.path) })
}

// openUnder opens a directory beneath another mount, and makes it when there
// is none. Links on the way are not followed.
func (w *Workspace) openUnder(base *mount, steps ...string) (*mount, error) {
	name := "."
	var id root.Info
	for _, step := range steps {
		name = path.Join(name, step)
		var err error
		if id, err = base.root.Lstat(name); os.IsNotExist(err) {
			if err = base.root.Mkdir(name, 0o700); err == nil || os.IsExist(err) {
				id, err = base.root.Lstat(name)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	key := mountKey{filepath.Join(base.path, filepath.FromSlash(name)), base.label, base.write}
	return w.openMount(key, id, func() (*root.Root, error) { return base.root.OpenRoot(name) })
}
