// Package gitrepo reads facts about files from a git repository, without running git: settings
// of a repository can make git run programs.
//
// It knows the index, the ignore files, the remotes, the branch and the ids of the objects
// of a repository, and nothing about commits. Begin with [Disposable] and [Remote].
package gitrepo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
)

const (
	maxIndex   = 64 << 20 // bytes of an index
	maxMatches = 1000     // of a pattern
)

// Disposable reports whether git ignores the file or directory at an absolute path and tracks
// nothing in it, so that it can be made again after a removal. The path may be a pattern; then
// Disposable reports whether every match is disposable. It returns false if it cannot find out,
// and for a repository within a repository.
func Disposable(name string) bool {
	names := []string{filepath.Clean(name)}
	if strings.ContainsAny(name, "*?[") {
		var err error
		if names, err = filepath.Glob(name); err != nil || len(names) == 0 || len(names) > maxMatches {
			return false
		}
	}
	for _, name := range names {
		repo, found := repository(filepath.Dir(name))
		if !found {
			return false
		}
		rel, err := filepath.Rel(repo, name)
		if err != nil || exists(filepath.Join(name, ".git")) {
			return false
		}
		rel = filepath.ToSlash(rel)
		if !ignored(repo, rel) || tracks(repo, rel) {
			return false
		}
	}
	return true
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// repository returns the directory of the repository that holds dir.
func repository(dir string) (repo string, found bool) {
	for {
		if exists(filepath.Join(dir, ".git")) {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// ignored reports whether ignore files of the repository cover a file, or a
// directory that holds it.
func ignored(repo, rel string) bool {
	exclude := ignore.Parse(read(filepath.Join(repo, ".git", "info", "exclude"), ignore.MaxText))
	lists := []*ignore.List{exclude} // of the directories from the root down, the deepest last
	dirs := []string{"."}
	parts := strings.Split(rel, "/")
	for i, base := range parts {
		dir := path.Join(parts[:i]...)
		lists = append(lists, ignore.Parse(read(filepath.Join(repo, dir, ".gitignore"), ignore.MaxText)))
		dirs = append(dirs, path.Clean(dir))
		info, err := os.Lstat(filepath.Join(repo, dir, base))
		isDir := err == nil && info.IsDir() || err != nil && i+1 < len(parts)
		for n := len(lists) - 1; n >= 0; n-- {
			within, err := filepath.Rel(dirs[n], path.Clean(dir))
			if err != nil {
				return false
			}
			if covered, decided := lists[n].In(filepath.ToSlash(within)).Match(base, isDir); decided {
				if covered {
					return true
				}
				break
			}
		}
	}
	return false
}

// read returns the content of a regular file, nil if it cannot be read or is
// longer than most bytes.
func read(name string, most int64) []byte {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(file, most))
	if errors.Join(err, file.Close()) != nil {
		return nil
	}
	return text
}

// tracks reports whether the index has a file, or files below a directory. It
// reports true for an index that it cannot read.
func tracks(repo, rel string) bool {
	const header, fixed = 12, 62 // bytes of the header, and of an entry before its name
	file := filepath.Join(repo, ".git", "index")
	if info, err := os.Lstat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return true // a worktree or submodule, whose index is elsewhere
	}
	if !exists(file) {
		return false
	}
	index := read(file, maxIndex)
	if len(index) < header+20 || string(index[:4]) != "DIRC" {
		return true
	}
	version, entries := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version != 2 && version != 3 {
		return true
	}
	rest := index[header : len(index)-20] // a checksum is at the end
	for range entries {
		if len(rest) < fixed+1 {
			return true
		}
		flags, from := binary.BigEndian.Uint16(rest[60:]), fixed
		if flags&0x4000 != 0 {
			from += 2
		}
		end := bytes.IndexByte(rest[min(from, len(rest)):], 0)
		if long := flags & 0xFFF; end <= 0 || long < 0xFFF && int(long) != end {
			return true
		}
		name := string(rest[from : from+end])
		if name == rel || strings.HasPrefix(name, rel+"/") || strings.HasPrefix(rel, name) &&
			strings.HasSuffix(name, "/") {
			return true
		}
		size := (from + end + 8) &^ 7
		if size > len(rest) {
			return true
		}
		rest = rest[size:]
	}
	for len(rest) >= 8 { // extensions; with "link" other entries are in another file
		size := int64(binary.BigEndian.Uint32(rest[4:])) + 8
		if string(rest[:4]) == "link" || size > int64(len(rest)) {
			return true
		}
		rest = rest[size:]
	}
	return false
}

// harmlessKeys are the settings that git writes itself into a new repository. None
// names a program.
const harmlessKeys = " core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase " +
	"core.precomposeunicode core.symlinks core.autocrlf core.eol core.longpaths core.worktree " +
	"core.sparsecheckout core.sparsecheckoutcone extensions.objectformat extensions.partialclone " +
	"extensions.refstorage extensions.worktreeconfig remote.url remote.fetch remote.push remote.pushurl " +
	"remote.tagopt remote.promisor remote.partialclonefilter branch.remote branch.merge branch.rebase " +
	"submodule.url submodule.active user.name user.email pull.rebase init.defaultbranch push.default "

// Harmless reports whether a file with settings of a repository has only settings
// that name no program, and addresses that git contacts without one.
func Harmless(config string) bool {
	text := read(config, ignore.MaxText)
	if text == nil && exists(config) {
		return false
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, isSection := strings.CutPrefix(line, "[")
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch full := " " + section + "." + strings.ToLower(strings.TrimSpace(key)) + " "; {
		case line == "" || line[0] == '#' || line[0] == ';':
		case isSection:
			var rest string
			name, rest, isSection = strings.Cut(name, "]")
			section, _, _ = strings.Cut(strings.ToLower(name), " ")
			if !isSection || rest != "" {
				return false
			}
		case !strings.Contains(harmlessKeys, full), strings.HasSuffix(line, `\`),
			strings.HasSuffix(full, "url ") && strings.Contains(value, "::"): // ext::sh -c ...
			return false
		}
	}
	return true
}

// IsCommonDirOfWorktree reports whether a file names the repository of a worktree as git writes
// it: the repository of that worktree. Any other repository has settings of its own.
func IsCommonDirOfWorktree(file string) bool {
	return filepath.Base(filepath.Dir(filepath.Dir(file))) == "worktrees" &&
		strings.TrimSpace(string(read(file, ignore.MaxText))) == "../.."
}

// Remote returns the address of the remote of the repository around dir (upstream before origin
// before any other), and its branch; "" for none.
func Remote(dir string) (address, branch string) {
	repo, _ := repository(dir)
	if repo == "" {
		return "", ""
	}
	remotes, section := map[string]string{}, ""
	for line := range strings.Lines(string(read(filepath.Join(repo, ".git", "config"), ignore.MaxText))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, ok := strings.CutPrefix(line, `[remote "`)
			if section = strings.TrimSuffix(name, `"]`); !ok {
				section = ""
			}
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && section != "" && strings.TrimSpace(key) == "url" {
			remotes[section] = strings.TrimSpace(value)
		}
	}
	head := strings.TrimSpace(string(read(filepath.Join(repo, ".git", "HEAD"), ignore.MaxText)))
	branch, onBranch := strings.CutPrefix(head, "ref: refs/heads/")
	if !onBranch {
		branch = ""
	}
	for _, name := range append([]string{"upstream", "origin"}, slices.Sorted(maps.Keys(remotes))...) {
		if remotes[name] != "" {
			return remotes[name], branch
		}
	}
	return "", branch
}
