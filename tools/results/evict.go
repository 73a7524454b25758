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

// evict removes expired results, and then results of the owners that keep most until the limits hold. It never removes
// the file named spared, which was just written. Each process decides by what it sees in the directory. One that sees
// more files removes what others would remove and more, so concurrent processes do not remove too much.
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
	kept, err = s.shrink(kept, spared, int64(s.limits.Count), func(fs.FileInfo) int64 { return 1 })
	if err == nil {
		_, err = s.shrink(kept, spared, s.limits.Bytes, fs.FileInfo.Size)
	}
	return err
}

// weighted is a file with the weight of itself and of all later files of its owner.
type weighted struct {
	info   fs.FileInfo
	weight int64
}

// shrink removes files until the weight of the others is at most limit, and returns the others. It always removes the
// oldest file of the owner with the heaviest files, so that no owner evicts results of owners that keep less.
func (s *Store) shrink(
	kept []fs.FileInfo, spared string, limit int64, weight func(fs.FileInfo) int64,
) (rest []fs.FileInfo, err error) {
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return compareAge(b, a) })
	total, byOwner := int64(0), make(map[string]int64)
	files := make([]weighted, len(kept))
	for i, info := range kept {
		_, owner, _ := strings.Cut(info.Name(), ".")
		total += weight(info)
		byOwner[owner] += weight(info)
		files[i] = weighted{info, byOwner[owner]}
	}
	slices.SortFunc(files, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), compareAge(a.info, b.info))
	})
	for _, f := range files {
		if total <= limit || f.info.Name() == spared {
			rest = append(rest, f.info)
			continue
		}
		if err := s.remove(f.info.Name()); err != nil {
			return nil, err
		}
		total -= weight(f.info)
	}
	return rest, nil
}

// compareAge puts the older of two files first.
func compareAge(a, b fs.FileInfo) int {
	return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
}

func (s *Store) remove(name string) error {
	err := os.Remove(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old result: %w", err)
	}
	return nil
}
