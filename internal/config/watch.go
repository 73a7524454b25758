package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A Watcher keeps the running program's settings up with their file.
type Watcher struct {
	// Apply takes new settings. What needs a restart has its old value in
	// them. With an error the old settings stay in force.
	Apply func(*Loaded) error

	// Again asks to read the file again, changed or not: a signal. May be nil.
	Again <-chan struct{}

	// Report is told how each reload ended. May be nil.
	Report func(error)

	Log *slog.Logger
}

// An editor writes a file in several steps; settings are read when nothing has
// happened for quiet, but no later than most after the first step.
const (
	quiet = 200 * time.Millisecond
	most  = 2 * time.Second
)

// Watch applies changes of the file that running was loaded from until ctx
// ends. A file that is wrong, empty or gone changes nothing. Where the file
// cannot be watched, Again still works.
func (w Watcher) Watch(ctx context.Context, running *Loaded) {
	nudges := make(chan struct{})
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	defer func() { stop(); <-ended }()
	go func() {
		defer close(ended)
		switch err := watchFile(ctx, running.place, nudges); {
		case err == nil:
		case running.Path == "": // there is no file, and not even its directory
			w.Log.Debug("a configuration file that is made later is not noticed; send SIGHUP then", "file",
				running.place, "error", err)
		default:
			w.Log.Warn("changes of the configuration are not noticed; send SIGHUP after a change", "file",
				running.place, "error", err)
		}
	}()
	w.follow(ctx, running, nudges)
}

// follow reads the settings again after each nudge, once it is quiet.
func (w Watcher) follow(ctx context.Context, running *Loaded, nudges <-chan struct{}) {
	seen := running.digest
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case _, open := <-w.Again:
			if asked = open; !open {
				w.Again = nil
				continue
			}
		case <-nudges:
			asked = w.settle(ctx, nudges)
		}
		if ctx.Err() != nil {
			return
		}
		if !asked && digestAt(running.place) == seen {
			continue // a neighbour of the file has changed, or only its time
		}
		next, err := load(running.options, running)
		seen = next.digest
		if err == nil {
			err = w.apply(running, next)
		}
		if err == nil {
			running = next
		}
		w.report(err)
	}
}

// settle waits until the file is left alone, and says whether somebody asked
// in the meantime for what is to come anyway.
func (w Watcher) settle(ctx context.Context, nudges <-chan struct{}) (asked bool) {
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	calm := time.NewTimer(quiet)
	defer calm.Stop()
	for {
		select {
		case <-nudges:
			calm.Reset(quiet)
		case <-w.Again:
			return true
		case <-calm.C:
			return false
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (w Watcher) apply(running, next *Loaded) error {
	waiting := hold(running, next)
	if len(waiting) > 0 {
		w.Log.Warn("these settings change at the next start", "settings", waiting)
	}
	changed := Diff(running.Config, next.Config)
	if err := w.Apply(next); err != nil {
		return err
	}
	w.Log.Info("configuration read again", "file", next.Path, "changed", changed)
	return nil
}

func (w Watcher) report(err error) {
	if err != nil {
		w.Log.Error("the configuration is wrong, the old settings stay", "error", err)
	}
	if w.Report != nil {
		w.Report(err)
	}
}

// digestAt is the digest of the file as it is now; the zero digest of one that
// cannot be read.
func digestAt(path string) [sha256.Size]byte {
	text, err := readAll(path)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}

// watchFile sends a nudge whenever something happens in the directories that
// decide what path holds, until ctx ends. Directories are watched and not the
// file, because editors and Kubernetes put a new file in the old one's place.
func watchFile(ctx context.Context, path string, nudges chan<- struct{}) error {
	if path == "" {
		return errors.New("there is no file")
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	if err := notify.Add(filepath.Dir(path)); err != nil {
		return err
	}
	for {
		followLink(notify, path)
		select { // at first too: the file may have changed since it was loaded
		case nudges <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-notify.Events:
			if !open {
				return errors.New("the watch has ended")
			}
		case _, open := <-notify.Errors: // events were lost: look
			if !open {
				return errors.New("the watch has ended")
			}
		}
	}
}

// followLink watches the directory of the file itself too, when path is a link.
func followLink(notify *fsnotify.Watcher, path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // gone for now; its directory will say when it is back
	}
	if dir := filepath.Dir(target); !slices.Contains(notify.WatchList(), dir) {
		_ = notify.Add(dir) // a reload by hand still works
	}
}
