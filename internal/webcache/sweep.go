package webcache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// partAge is how long a download is kept that nobody goes on with.
const partAge = 24 * time.Hour

// A quota is how much may be kept.
type quota struct {
	parts int
	bytes int64
}

// eachQuota is that of one caller, of whom the last part is kept in any case.
func eachQuota() quota { return quota{16, 2 << 30} }

// wholeQuota is that of all callers together.
func wholeQuota() quota { return quota{256, 8 << 30} }

func (q quota) exceeds(most quota) bool { return q.parts > most.parts || q.bytes > most.bytes }

// A shelf is the parts of one caller, the latest first, and what they take.
type shelf struct {
	parts []fs.FileInfo
	held  quota
}

func (s *shelf) put(part fs.FileInfo) {
	s.parts = append(s.parts, part)
	s.held.parts++
	s.held.bytes += part.Size()
}

// takeOldest takes a part off.
func (s *shelf) takeOldest() fs.FileInfo {
	last := len(s.parts) - 1
	part := s.parts[last]
	s.parts = s.parts[:last]
	s.held.parts--
	s.held.bytes -= part.Size()
	return part
}

// sweep removes what nobody went on with, and what is too much: of a caller who
// has more than one may have, and then of whoever has the most. What is at work
// has its lock, and stays.
func (s Spool) sweep() error {
	shelves, err := s.shelves()
	if err != nil {
		return err
	}
	var held quota
	for _, one := range shelves {
		for len(one.parts) > 0 && (time.Since(one.parts[len(one.parts)-1].ModTime()) >= partAge || len(one.parts) > 1 && one.held.exceeds(s.each)) {
			if err := s.drop(one.takeOldest()); err != nil {
				return err
			}
		}
		held.parts += one.held.parts
		held.bytes += one.held.bytes
	}
	for held.parts > 1 && held.exceeds(s.all) {
		part := greediest(shelves, held.bytes > s.all.bytes).takeOldest()
		held.parts--
		held.bytes -= part.Size()
		if err := s.drop(part); err != nil {
			return err
		}
	}
	return nil
}

// greediest is the shelf that holds the most, in bytes or in parts.
func greediest(shelves []*shelf, bytes bool) *shelf {
	return slices.MaxFunc(shelves, func(a, b *shelf) int {
		if bytes {
			return int(min(max(a.held.bytes-b.held.bytes, -1), 1))
		}
		return a.held.parts - b.held.parts
	})
}

// shelves are the parts that there are, by their callers.
func (s Spool) shelves() ([]*shelf, error) {
	entries, err := os.ReadDir(s.dir) // ordered by name: those of one caller in a row
	if err != nil {
		return nil, err
	}
	var all []*shelf
	owner := ""
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), partEnd) || len(e.Name()) < ownerLength {
			continue
		}
		if name := e.Name()[:ownerLength]; name != owner || len(all) == 0 {
			owner = name
			all = append(all, &shelf{})
		}
		all[len(all)-1].put(info)
	}
	for _, one := range all {
		slices.SortFunc(one.parts, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	}
	return all, nil
}

// drop removes a part, unless somebody has it.
func (s Spool) drop(part fs.FileInfo) error {
	path := filepath.Join(s.dir, strings.TrimSuffix(part.Name(), partEnd))
	file, err := os.Open(path + partEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if taken, err := private.TryLock(file); err != nil || !taken {
		return err
	}
	return remove(path)
}

func remove(path string) error {
	for _, ending := range []string{tagEnd, partEnd} {
		if err := os.Remove(path + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
