package custom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// LoadDir reads the definitions in the files *.yaml, *.yml and *.json of a directory. Those that are
// right are returned also with an error, which names every file that is wrong. A missing directory
// has none.
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

// Watch calls changed after changes in a directory, which need not exist yet, until ctx ends.
func Watch(ctx context.Context, dir string, changed func()) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	watch := func() error {
		if err := notify.Add(dir); err == nil {
			return nil
		}
		return notify.Add(filepath.Dir(dir))
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
			if e.Name == dir || filepath.Dir(e.Name) == dir {
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
