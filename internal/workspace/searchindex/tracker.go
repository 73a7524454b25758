package searchindex

import (
	"errors"
	"path"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A Tracker reports the directories that have changed since the last report. It is for one
// goroutine.
type Tracker struct {
	root *root.Root
	w    *watcher
}

// NewTracker returns a tracker of a root. It fails where not every change causes an
// event.
func NewTracker(r *root.Root) (*Tracker, error) {
	m, err := reliableMounts(r)
	if err != nil {
		return nil, err
	}
	if err := m.close(); err != nil {
		return nil, err
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	return &Tracker{r, w}, nil
}

// reliableMounts reads the mounts below a root. It fails if not every change causes an event.
func reliableMounts(r *root.Root) (*mountTable, error) {
	m, err := readMounts(r)
	if err == nil && !m.reliable() {
		err = errors.Join(errNoEvents, m.close())
	}
	return m, err
}

// Add tracks a directory. A later change of its entries or files is reported.
func (t *Tracker) Add(dir string) error { return t.w.add(t.root, dir) }

// Remove stops tracking a directory.
func (t *Tracker) Remove(dir string) { t.w.remove(dir) }

// Close releases the tracker.
func (t *Tracker) Close() error { return t.w.close() }

// Changed returns the directories that have changed. ok is false if events were lost, or
// if ignore files have changed: then anything may be different.
func (t *Tracker) Changed() (dirs map[string]bool, ok bool) {
	dirs, ok = map[string]bool{}, true
	err := t.w.drain(func(c change) {
		if c.kind == eventsLost || c.kind == rulesChanged || ruleFile(c.base) || c.base == ".git" &&
			c.kind != contentChanged {
			ok = false
		}
		dirs[c.dir] = true
	})
	return dirs, ok && err == nil
}

// A NameTracker reports the directories whose entries or permissions have changed since the
// last report. It does not see the contents of files. It is for one goroutine.
type NameTracker struct {
	root   *root.Root
	w      *watcher
	mounts *mountTable
}

// NewNameTracker returns a tracker of a root. It fails where not every change causes an
// event.
func NewNameTracker(r *root.Root) (*NameTracker, error) {
	m, err := reliableMounts(r)
	if err != nil {
		return nil, err
	}
	w, err := newWatcher()
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return &NameTracker{r, w, m}, nil
}

// Add tracks a directory, also if it has taken the place of one that was tracked. Add it
// before you read it.
func (t *NameTracker) Add(dir string) error { return t.w.addNames(t.root, dir) }

// Remove stops tracking a directory.
func (t *NameTracker) Remove(dir string) { t.w.remove(dir) }

// Close releases the tracker.
func (t *NameTracker) Close() error { return errors.Join(t.w.close(), t.mounts.close()) }

// Changed returns the directories that have changed, and the directories that were created or
// moved, whose whole contents may differ. ok is false if events were lost or file systems were
// mounted: then anything may be different.
func (t *NameTracker) Changed() (dirs, created map[string]bool, ok bool) {
	dirs, created = map[string]bool{}, map[string]bool{}
	if t.mounts.changed() {
		return nil, nil, false
	}
	ok = true
	err := t.w.drain(func(c change) {
		switch {
		case c.kind == eventsLost:
			ok = false
		case c.kind == contentChanged && c.sub: // it may not be watched itself if it cannot be read
			c.dir = path.Join(c.dir, c.base)
		case c.kind == contentChanged && c.base != "":
			return // the permissions of a file
		case c.kind == nameCreated && c.sub:
			created[path.Join(c.dir, c.base)] = true
		}
		dirs[c.dir] = true
	})
	return dirs, created, ok && err == nil
}
