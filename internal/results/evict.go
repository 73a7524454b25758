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

// evict removes what has expired, and then from those who keep most until the
// limits hold. The file named spared stays: it was just written. Each process
// judges by what is in the directory. Whoever sees more there removes what
// others would remove, and more, so those that come at the same time never
// remove one too many.
func (s *Store) evict(spared string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("listing the kept results: %w", err)
	}
	now := time.Now()
	var kept []fs.FileInfo
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
			kept = append(kept, info)
		}
		if err != nil {
			return err
		}
	}
	kept, err = s.shrink(kept, spared, int64(s.limits.Count), func(fs.FileInfo) int64 { return 1 })
	if err == nil {
		_, err = s.shrink(kept, spared, s.limits.Bytes, fs.FileInfo.Size)
	}
	return err
}

// A burden is a file with all that its owner has put since.
type burden struct {
	info  fs.FileInfo
	since int64 // weight of the file and of the owner's later ones
}

// shrink removes files until the rest weighs at most most, and returns the
// rest. The next to go is always the oldest file of the owner whose files weigh
// most, so nobody can push out others that keep less.
func (s *Store) shrink(kept []fs.FileInfo, spared string, most int64, weight func(fs.FileInfo) int64) (rest []fs.FileInfo, err error) {
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return older(b, a) })
	total, held := int64(0), make(map[string]int64)
	burdens := make([]burden, len(kept))
	for i, info := range kept {
		_, owner, _ := strings.Cut(info.Name(), ".")
		total += weight(info)
		held[owner] += weight(info)
		burdens[i] = burden{info, held[owner]}
	}
	slices.SortFunc(burdens, func(a, b burden) int { return cmp.Or(cmp.Compare(b.since, a.since), older(a.info, b.info)) })
	for _, b := range burdens {
		if total <= most || b.info.Name() == spared {
			rest = append(rest, b.info)
			continue
		}
		if err := s.remove(b.info.Name()); err != nil {
			return nil, err
		}
		total -= weight(b.info)
	}
	return rest, nil
}

// older puts the older of two files first.
func older(a, b fs.FileInfo) int {
	return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
}

func (s *Store) remove(name string) error {
	err := os.Remove(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old result: %w", err)
	}
	return nil
}
