package skills

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const (
	// What comes with a skill is written file by file: it is looked at when
	// nothing has happened for a while.
	quiet = 300 * time.Millisecond
	// mostWatched bounds what is watched of one directory: each skill in it is
	// another one for the operating system.
	mostWatched = 500
)

// Watch tells of skills that came, went or are described otherwise in
// directories of this machine, until ctx ends. A directory need not be there.
func Watch(ctx context.Context, dirs []string, changed func(slug string)) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	w := watcher{notify: notify, dirs: dirs, changed: changed}
	w.look(ctx)
	w.begun = true
	settled := time.NewTimer(quiet)
	settled.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-notify.Events:
			if w.matters(e.Name) {
				settled.Reset(quiet)
			}
		case <-notify.Errors: // events were lost
			settled.Reset(quiet)
		case <-settled.C:
			w.look(ctx)
		}
	}
}

type watcher struct {
	notify  *fsnotify.Watcher
	dirs    []string
	changed func(slug string)
	begun   bool                // and so the first look is over
	seen    []map[string]string // skills by directory
}

// matters reports whether a path is in one of the directories, or is on the way
// to one that may not be there yet.
func (w *watcher) matters(path string) bool {
	return slices.ContainsFunc(w.dirs, func(dir string) bool {
		in, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(in) {
			return true
		}
		above, err := filepath.Rel(path, dir)
		return err == nil && filepath.IsLocal(above)
	})
}

// look compares what there is with what there was, and watches what is new.
func (w *watcher) look(ctx context.Context) {
	w.seen = append(w.seen, make([]map[string]string, len(w.dirs)-len(w.seen))...)
	for i, dir := range w.dirs {
		w.add(dir) // first, so that what comes meanwhile is heard of
		now, err := onDisk{Dir{Path: dir}}.scan(ctx)
		if err != nil {
			return // ctx has ended
		}
		before := w.seen[i]
		w.seen[i] = now
		if !w.begun {
			continue
		}
		for slug := range now {
			if now[slug] != before[slug] {
				w.changed(slug)
			}
		}
		for slug := range before {
			if _, there := now[slug]; !there {
				w.changed(slug)
			}
		}
	}
}

// add watches a directory and those in it, which are skills or become some, or of
// one that is not there, what is nearest to it. What cannot be watched is seen
// when something else is.
func (w *watcher) add(dir string) {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			_ = w.notify.Add(at)
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	opened, err := os.Open(dir)
	if err != nil {
		return
	}
	defer opened.Close()
	names, _ := opened.Readdirnames(mostWatched) // those that there are
	for _, slug := range names {
		if skill.ValidSlug(slug) {
			_ = w.notify.Add(filepath.Join(dir, slug))
		}
	}
}
