package gitrepo

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Objects are the objects that a repository had at some time. Its index and its branches
// may name others later, with any content; these have the content that they had.
type Objects struct {
	dir   string
	packs map[string]root.Info // indexes of packs
	loose map[string]bool      // ids
}

const (
	maxLoose = 200_000 // objects that are not in a pack
	maxBlob  = 4 << 20 // bytes of a file
)

// ObjectDir returns the directory with the objects of the repository that holds an absolute
// path. A worktree uses the directory of its repository.
func ObjectDir(name string) (dir string, found bool) {
	repo, found := repository(filepath.Dir(name))
	if !found {
		return "", false
	}
	git := filepath.Join(repo, ".git")
	if info, err := os.Lstat(git); err != nil {
		return "", false
	} else if !info.IsDir() {
		to, isLink := strings.CutPrefix(strings.TrimSpace(string(read(git, ignore.MaxText))), "gitdir: ")
		if !isLink {
			return "", false
		}
		git = from(repo, to)
	}
	if common := strings.TrimSpace(string(read(filepath.Join(git, "commondir"), ignore.MaxText))); common != "" {
		git = from(git, common)
	}
	return filepath.Join(git, "objects"), true
}

// from returns a path that is relative to a directory, or absolute.
func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// ReadObjects lists the objects in a directory of objects.
func ReadObjects(dir string) *Objects {
	o := &Objects{dir: dir, packs: map[string]root.Info{}, loose: map[string]bool{}}
	packs, _ := filepath.Glob(filepath.Join(dir, "pack", "*.idx"))
	for _, name := range packs {
		if info, err := root.StatPath(name); err == nil {
			o.packs[name] = info
		}
	}
	entries, _ := os.ReadDir(dir) // an unreadable file tells nothing
	for _, e := range entries {
		if len(e.Name()) != 2 {
			continue
		}
		within, _ := os.ReadDir(filepath.Join(dir, e.Name()))
		for _, id := range within {
			if len(o.loose) < maxLoose {
				o.loose[e.Name()+id.Name()] = true
			}
		}
	}
	return o
}

// HaveFile reports whether the content of a regular file was among the objects.
func (o *Objects) HaveFile(name string) bool {
	text := read(name, maxBlob)
	if text == nil {
		return false
	}
	id := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
	if o.loose[hex.EncodeToString(id[:])] {
		return true
	}
	for pack, info := range o.packs {
		if now, err := root.StatPath(pack); err == nil && now.Same(info) && packHas(pack, id) {
			return true
		}
	}
	return false
}

// packHas reports whether the index of a pack has an object. It knows version 2.
func packHas(name string, id [sha1.Size]byte) bool {
	const header, fanout = 8, 256 * 4
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, header+fanout)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:4]) != "\xfftOc" ||
		binary.BigEndian.Uint32(head[4:]) != 2 {
		return false
	}
	upTo := func(first int) int {
		if first < 0 {
			return 0
		}
		return int(binary.BigEndian.Uint32(head[header+4*first:]))
	}
	begin, end := upTo(int(id[0])-1), upTo(int(id[0]))
	at := make([]byte, sha1.Size)
	get := func(i int) []byte {
		if _, err := file.ReadAt(at, header+fanout+int64(i)*sha1.Size); err != nil {
			clear(at)
		}
		return at
	}
	i := begin + sort.Search(max(end-begin, 0), func(i int) bool { return bytes.Compare(get(begin+i), id[:]) >= 0 })
	return i < end && bytes.Equal(get(i), id[:])
}
