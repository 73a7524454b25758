package workspace

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// maxMounts is the maximum number of directories that are kept open.
const maxMounts = 256

// A mount is a directory that paths may lead into. When it is evicted while a
// call still uses it, the garbage collector closes its handle.
type mount struct {
	root          *root.Root
	path          string // absolute, as it was configured
	realPath      string // without symbolic links, with slashes
	label         string // the prefix of a name in it; "" for the workspace
	home          bool   // it is the workspace of a caller
	write         bool
	callerDir     bool   // it is a caller's cache or state directory in the data directory
	dataName      string // the name of the data directory below it; "" if it is not below
	rules         *nameRules
	forbidden     bool          // it is the data directory, or a part of it that no caller may see
	deny          *ignore.Names // patterns for absolute paths that can match in it, or nil
	protect       *ignore.Names
	locked        *ignore.Names // likewise, for commands
	gitExceptions *ignore.Names // exceptions from the rules for git
	id            root.Info
	used          int64
	linkCache     *linkCache
	survey        *surveyCache
}

type mountKey struct {
	path, label string
	write       bool
	rules       *nameRules // set by openMount
}

// openMount returns the mount of a directory. id is the current state of the
// directory. openMount calls open if the mount is not cached, or if it is cached
// for another directory.
func (w *Workspace) openMount(key mountKey, id root.Info, open func() (*root.Root, error)) (*mount, error) {
	key.rules = w.rules.Load()
	if m, err := w.cachedMount(key, id); m != nil || err != nil {
		return m, err
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	m := &mount{
		root: r, path: key.path, label: key.label, home: key.label == "", write: key.write, linkCache: newLinkCache(),
		survey: &surveyCache{}, rules: key.rules,
	}
	if m.id, err = r.Info(); err != nil {
		_ = r.Close()
		return nil, err
	}
	m.realPath = realPath(key.path, m.id)
	m.deny, m.protect = m.rules.deny.forMount(m), m.rules.protect.forMount(m)
	m.locked, m.gitExceptions = m.rules.locks.patterns.forMount(m), m.rules.locks.exceptions.forMount(m)
	w.locateData(m)
	return m, w.cacheMount(key, m)
}

func (w *Workspace) cachedMount(key mountKey, id root.Info) (*mount, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, tool.Errorf(tool.Unavailable, "the server is shutting down")
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
		return tool.Errorf(tool.Unavailable, "the server is shutting down")
	}
	w.clock++
	m.used = w.clock
	if former := w.mounts[key]; former != nil {
		go former.survey.close() // waits for a survey that runs
	}
	w.mounts[key] = m
	if len(w.mounts) > maxMounts {
		var oldest mountKey
		least := w.clock
		for key, m := range w.mounts {
			if m.used < least {
				oldest, least = key, m.used
			}
		}
		go w.mounts[oldest].survey.close()
		delete(w.mounts, oldest)
	}
	return nil
}

// locateData finds out where the data directory is in relation to m.
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

// realPath returns the path of a directory without symbolic links, or the path
// itself if that fails.
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

// within returns the name of a path relative to dir. It compares whole steps.
// Both paths are absolute; the steps after dir stay unchanged.
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

// relative returns the name of an absolute path relative to m.
func (m *mount) relative(abs string) (string, bool) {
	if name, ok := within(filepath.ToSlash(m.path), abs); ok {
		return name, true
	}
	return within(m.realPath, abs)
}

// openDir opens a directory that the operator configured.
func (w *Workspace) openDir(key mountKey) (*mount, error) {
	id, err := root.StatPath(key.path)
	if err != nil {
		return nil, err
	}
	return w.openMount(key, id, func() (*root.Root, error) { return root.Open(key.path) })
}

// openUnder opens a directory below another mount, and creates it if needed. It
// follows no links.
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
	key := mountKey{path: filepath.Join(base.path, filepath.FromSlash(name)), label: base.label, write: base.write}
	return w.openMount(key, id, func() (*root.Root, error) { return base.root.OpenRoot(name) })
}

// Directories of a caller may overlap, for example if a root is within the
// workspace. Patterns match names relative to a mount, so a name that is in
// several mounts is checked in each of them.

// overlaps returns the mounts of the caller that contain m, or that m contains.
func (w *Workspace) overlaps(ctx context.Context, m *mount) ([]*mount, error) {
	if len(w.o.Roots) == 0 {
		return nil, nil
	}
	s, err := w.viewFor(ctx)
	if err != nil {
		return nil, err
	}
	return s.overlaps(m), nil
}

func (s *callerView) overlaps(m *mount) (others []*mount) {
	if len(s.w.o.Roots) == 0 || m.callerDir {
		return nil
	}
	for _, o := range s.mounts() {
		_, in := within(o.realPath, m.realPath)
		_, holds := within(m.realPath, o.realPath)
		if o != m && !o.callerDir && (in || holds) {
			others = append(others, o)
		}
	}
	return others
}

// anyOverlap reports whether pred is true, in one of the overlapping mounts, for a
// name in m.
func (m *mount) anyOverlap(others []*mount, name string, pred func(m *mount, name string) bool) bool {
	for _, o := range others {
		if below, ok := within(o.realPath, path.Join(m.realPath, name)); ok && pred(o, below) {
			return true
		}
	}
	return false
}
