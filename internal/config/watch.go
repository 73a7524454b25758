package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A Watcher reloads the settings when their file changes.
type Watcher[T any] struct {
	// Apply applies new settings. Settings that need a restart have their old values. If it fails, the old settings
	// remain in force.
	Apply func(*Loaded[T]) error

	// Again requests a reload even if the file has not changed, for SIGHUP. May be nil.
	Again <-chan os.Signal

	// Report gets the result of each reload. May be nil.
	Report func(error)

	Log *slog.Logger
}

// Editors write files in several steps. Settings are read when nothing has happened
// for quiet, but at most most after the first step.
const (
	quiet = 200 * time.Millisecond
	most  = 2 * time.Second
)

// Watch applies changes of the file that running was loaded from until ctx ends. An
// invalid, empty or missing file changes nothing. If the file cannot be watched,
// Again still works.
func (w Watcher[T]) Watch(ctx context.Context, running *Loaded[T]) {
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
				running.place, "err", err)
		default:
			w.Log.Warn("changes of the configuration are not noticed; send SIGHUP after a change", "file",
				running.place, "err", err)
		}
	}()
	w.follow(ctx, running, nudges)
}

// follow reloads the settings after each event, when it is quiet again.
func (w Watcher[T]) follow(ctx context.Context, running *Loaded[T], nudges <-chan struct{}) {
	seen := running.digest
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-w.Again:
			asked = true
		case <-nudges:
			asked = w.settle(ctx, nudges)
		}
		if ctx.Err() != nil {
			return
		}
		if !asked && digestAt(running.place) == seen {
			continue // another file has changed, or only the time of this one
		}
		next, err := running.reader.load(running.options, running)
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

// settle waits until there are no more events, and reports whether a reload was
// requested through Again.
func (w Watcher[T]) settle(ctx context.Context, nudges <-chan struct{}) (asked bool) {
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

func (w Watcher[T]) apply(running, next *Loaded[T]) error {
	waiting := hold(running, next)
	if len(waiting) > 0 {
		w.Log.Warn("these settings change at the next start", "settings", waiting)
	}
	changed := next.reader.Diff(running.Config, next.Config)
	if err := w.Apply(next); err != nil {
		return err
	}
	w.Log.Info("configuration read again", "file", next.Path, "changed", changed)
	return nil
}

func (w Watcher[T]) report(err error) {
	if err != nil {
		w.Log.Error("the configuration is wrong, the old settings stay", "err", err)
	}
	if w.Report != nil {
		w.Report(err)
	}
}

// digestAt returns the digest of the current file, or zero if it cannot be read.
func digestAt(path string) [sha256.Size]byte {
	text, err := readAll(path)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}

// watchFile sends an event when something happens in the directories of path, until
// ctx ends. It watches directories and not the file, because editors and Kubernetes
// replace the file.
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
		select { // first without an event: the file may have changed since it was loaded
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
		case _, open := <-notify.Errors: // events were lost: reload
			if !open {
				return errors.New("the watch has ended")
			}
		}
	}
}

// followLink also watches the directory of the target, if path is a link.
func followLink(notify *fsnotify.Watcher, path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // the file is missing; its directory has an event when it is back
	}
	if dir := filepath.Dir(target); !slices.Contains(notify.WatchList(), dir) {
		_ = notify.Add(dir) // a reload by hand still works
	}
}
