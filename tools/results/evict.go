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

// maxTempAge is the age at which a temporary file counts as left behind by a crash.
const maxTempAge = time.Minute

// evict removes expired results, and then results of the owners that keep most until the limits
// hold. It never removes the file named spared, which was just written. Each process decides by
// what it sees in the directory. A process that sees more files removes the files that others
// would remove and more, so concurrent processes do not remove too much.
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
			continue // another process removed it
		}
		if err != nil {
			return fmt.Errorf("listing the kept results: %w", err)
		}
		age := now.Sub(info.ModTime())
		switch {
		case !info.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), tempPrefix):
			if age > maxTempAge {
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
	return s.shrink(kept, spared)
}

// shrink removes files until the limits hold: always the oldest file of the owner that keeps most, so that no owner
// evicts results of owners that keep less.
func (s *Store) shrink(kept []fs.FileInfo, spared string) error {
	owner := func(f fs.FileInfo) string {
		_, owner, _ := strings.Cut(f.Name(), ".")
		return owner
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for {
		total, count, bytes := int64(0), map[string]int64{}, map[string]int64{}
		for _, f := range kept {
			total += f.Size()
			count[owner(f)]++
			bytes[owner(f)] += f.Size()
		}
		weight := count
		if len(kept) <= s.limits.Count {
			if total <= s.limits.Bytes {
				return nil
			}
			weight = bytes
		}
		next := -1
		for i, f := range kept {
			if f.Name() != spared && (next < 0 || weight[owner(f)] > weight[owner(kept[next])]) {
				next = i
			}
		}
		if next < 0 {
			return nil
		}
		if err := s.remove(kept[next].Name()); err != nil {
			return err
		}
		kept = slices.Delete(kept, next, next+1)
	}
}

func (s *Store) remove(name string) error {
	err := os.Remove(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old result: %w", err)
	}
	return nil
}
