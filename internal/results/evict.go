package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// leftover is how old a temporary file is before it is nobody's any more.
const leftover = time.Minute

// evict removes what has expired and then the oldest until the limits hold.
// The file named spared stays: it was just written. Each process judges by what
// is in the directory, and oldest first, so those that come at the same time
// remove the same files and never one too many.
func (s *Store) evict(spared string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("listing the kept results: %w", err)
	}
	now := time.Now()
	var kept []fs.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process was faster
		}
		if err != nil {
			return fmt.Errorf("listing the kept results: %w", err)
		}
		age := now.Sub(info.ModTime())
		switch {
		case !info.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), tempPrefix):
			if age > leftover {
				err = s.remove(e.Name())
			}
		case !strings.HasPrefix(e.Name(), idPrefix):
		case age > s.limits.Age:
			err = s.remove(e.Name())
		default:
			total += info.Size()
			kept = append(kept, info)
		}
		if err != nil {
			return err
		}
	}
	return s.shrink(kept, total, spared)
}

// shrink removes the oldest of kept until the limits hold.
func (s *Store) shrink(kept []fs.FileInfo, total int64, spared string) error {
	slices.SortFunc(kept, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	count := len(kept)
	for _, info := range kept {
		if count <= s.limits.Count && total <= s.limits.Bytes {
			break
		}
		if info.Name() == spared {
			continue
		}
		if err := s.remove(info.Name()); err != nil {
			return err
		}
		count--
		total -= info.Size()
	}
	return nil
}

func (s *Store) remove(name string) error {
	err := os.Remove(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old result: %w", err)
	}
	return nil
}
