package custom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// LoadDir reads the definitions in the files *.yaml, *.yml and *.json of a directory. It
// returns the valid definitions also with an error. The error names every invalid file. A
// missing directory has none.
func LoadDir(dir string) (all []Definition, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		d, err := LoadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err))
			continue
		}
		all = append(all, d)
	}
	return all, errors.Join(problems...)
}

// LoadFile reads one definition.
func LoadFile(path string) (Definition, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Definition{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDefinition {
		return Definition{}, fmt.Errorf("it is not a file of at most %d bytes", maxDefinition)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Definition{}, err
	}
	return Parse(text)
}

// settleTime is how long nothing must happen before files are read: editors write in several steps.
const settleTime = 200 * time.Millisecond

// Watch calls changed after changes in directories until ctx ends. They need not exist yet. They are asked for again
// after each change.
func Watch(ctx context.Context, directories func() []string, changed func()) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	var dirs []string
	watch := func() error {
		var last error
		dirs = directories()
		for _, dir := range dirs {
			if notify.Add(dir) == nil {
				continue
			}
			if err := notify.Add(filepath.Dir(dir)); err != nil {
				last = err
			}
		}
		return last
	}
	if err := watch(); err != nil {
		return err
	}
	settled := time.NewTimer(settleTime)
	settled.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-notify.Events:
			if slices.Contains(dirs, e.Name) || slices.Contains(dirs, filepath.Dir(e.Name)) {
				settled.Reset(settleTime)
			}
		case <-notify.Errors: // events were lost
			settled.Reset(settleTime)
		case <-settled.C:
			if err := watch(); err != nil {
				return err
			}
			changed()
		}
	}
}
