package searchindex

import "github.com/mcp-tools/mcp-tools/internal/workspace/root"

// A Tracker reports which directories have changed since it was asked last. It is for
// one goroutine.
type Tracker struct {
	root *root.Root
	w    *watcher
}

// NewTracker returns a tracker of a root. It fails where not every change causes an
// event.
func NewTracker(r *root.Root) (*Tracker, error) {
	m, err := readMounts(r)
	if err != nil {
		return nil, err
	}
	reliable := m.reliable()
	if err := m.close(); err != nil {
		return nil, err
	}
	if !reliable {
		return nil, errNoEvents
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	return &Tracker{r, w}, nil
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
