package skills

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

const (
	// settleTime is how long nothing must happen before the directories are read: programs write a skill file by file.
	settleTime = 300 * time.Millisecond
	// maxWatched is how many skills of one directory are watched: each is another watch for the operating system.
	maxWatched = 500
	// maxBelow is how many directories in the skills of one directory are watched.
	maxBelow = 500
)

// Watch calls changed for skills that are added, removed or changed in directories of this machine, until ctx ends. A
// skill changes with any of its files. A directory need not exist yet.
func Watch(ctx context.Context, dirs []string, changed func(slug string)) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	w := watcher{notify: notify, dirs: dirs, known: make([]map[string]string, len(dirs)), touched: map[string]bool{}}
	w.rescan(ctx, func(string) {})
	settled := time.NewTimer(settleTime)
	settled.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-notify.Events:
			if e.Op != fsnotify.Chmod && w.concerns(e.Name) {
				settled.Reset(settleTime)
			}
		case <-notify.Errors: // events were lost
			settled.Reset(settleTime)
		case <-settled.C:
			w.rescan(ctx, changed)
		}
	}
}

type watcher struct {
	notify *fsnotify.Watcher
	dirs   []string
	known  []map[string]string // fingerprints by directory, then by slug

	touched map[string]bool // directories of skills with a changed file, since the last scan
}

// concerns reports whether a path is in one of the directories, or above one. The directory may not exist yet. It
// notes the skill whose file it is.
func (w *watcher) concerns(path string) bool {
	return slices.ContainsFunc(w.dirs, func(dir string) bool {
		below, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(below) {
			slug, file, _ := strings.Cut(filepath.ToSlash(below), "/")
			if file != "" && !skill.IsJunk(file) {
				w.touched[filepath.Join(dir, slug)] = true
			}
			return true
		}
		above, err := filepath.Rel(path, dir)
		return err == nil && filepath.IsLocal(above)
	})
}

// rescan reads the directories, watches new directories in them, and calls changed for the
// differences.
func (w *watcher) rescan(ctx context.Context, changed func(slug string)) {
	for i, dir := range w.dirs {
		w.watch(dir) // before the scan, so that no later change is missed
		now, err := diskDir{Dir{Path: dir}}.scan(ctx)
		if err != nil {
			return // ctx has ended
		}
		before := w.known[i]
		w.known[i] = now
		for slug := range now {
			if now[slug] != before[slug] || w.touched[filepath.Join(dir, slug)] {
				changed(slug)
			}
		}
		for slug := range before {
			if _, exists := now[slug]; !exists {
				changed(slug)
			}
		}
	}
	clear(w.touched)
}

// watch watches a directory, the skills in it and their directories. If the directory does not exist it
// watches the nearest one above. It ignores errors: an unwatched directory is read when
// something else changes.
func (w *watcher) watch(dir string) {
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
	names, _ := opened.Readdirnames(maxWatched)
	left := maxBelow
	for _, slug := range names {
		if !skill.ValidSlug(slug) {
			continue
		}
		_ = w.notify.Add(filepath.Join(dir, slug))
		left -= w.watchBelow(filepath.Join(dir, slug), left)
	}
}

// watchBelow watches the directories in a skill, at most so many, and returns how many there are.
func (w *watcher) watchBelow(dir string, most int) (n int) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case n >= most:
			return fs.SkipAll
		case err != nil || !e.IsDir() || path == dir:
			return nil
		case skill.IsJunk(e.Name()):
			return fs.SkipDir
		}
		n++
		_ = w.notify.Add(path)
		return nil
	})
	return n
}
