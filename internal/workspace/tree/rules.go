package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	gitDir     = ".git"
	gitIgnore  = ".gitignore"
	ownIgnore  = ".ignore"
	gitExclude = ".git/info/exclude"
)

// markers say which names that mean something a directory has.
type markers uint8

const (
	isRepo       markers = 1 << iota // .git
	hasExclude                       // .git is a directory
	hasGitignore                     // .gitignore
	hasIgnore                        // .ignore
)

func markerOf(name []byte, mode fs.FileMode) markers {
	if len(name) < len(gitDir) || name[0] != '.' {
		return 0
	}
	switch string(name) {
	case gitDir:
		if mode.IsDir() {
			return isRepo | hasExclude
		}
		return isRepo
	case gitIgnore:
		return hasGitignore
	case ownIgnore:
		return hasIgnore
	}
	return 0
}

// rules are the ignore files that count in a directory. Directories without
// files of their own share those of their parent. nil are none.
type rules struct {
	repo bool // the directory is in a repository, so .gitignore counts
	// Each from the deepest directory upwards; .ignore overrules .gitignore, and
	// that .git/info/exclude.
	dotIgnore, gitignore, exclude []ignoreFile
}

// A ignoreFile is one ignore file.
type ignoreFile struct {
	dir  string // "" for the root, else it ends with a slash
	list *ignore.List
}

// relative is dir as seen from the directory of the file, which is above it or
// the same.
func (s *ignoreFile) relative(dir string) string {
	if len(dir) < len(s.dir) {
		return "."
	}
	return dir[len(s.dir):]
}

// rulesAbove are the rules that the directories above dir make.
func rulesAbove(r *root.Root, dir string) *rules {
	all := &rules{repo: InRepo(r.Path())}
	if dir == "." {
		return all
	}
	for i := -1; i < len(dir); i++ {
		if i >= 0 && dir[i] != '/' {
			continue
		}
		above := "."
		if i >= 0 {
			above = dir[:i]
		}
		seen := hasGitignore | hasIgnore
		if info, err := r.Lstat(path.Join(above, gitDir)); err == nil {
			seen |= markerOf([]byte(gitDir), info.Mode)
		}
		all = all.extend(r, above, seen)
	}
	return all
}

// InRepo reports whether a directory is beneath a repository, outside the root.
// Nothing there is read.
func InRepo(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for up := filepath.Dir(dir); up != dir; up = filepath.Dir(dir) {
		dir = up
		if _, err := os.Lstat(filepath.Join(dir, gitDir)); err == nil {
			return true
		}
	}
	return false
}

// extend adds what a directory brings. It leaves the rules as they are.
func (a *rules) extend(r *root.Root, dir string, seen markers) *rules {
	if !a.repo && seen&isRepo == 0 {
		seen &^= hasGitignore | hasExclude
	}
	if seen == 0 {
		return a
	}
	more := *a
	if seen&isRepo != 0 { // another repository begins
		more.repo, more.gitignore, more.exclude = true, nil, nil
	}
	at := ""
	if dir != "." {
		at = dir + "/"
	}
	if seen&hasIgnore != 0 {
		more.dotIgnore = prepend(r, at, ownIgnore, more.dotIgnore)
	}
	if seen&hasGitignore != 0 {
		more.gitignore = prepend(r, at, gitIgnore, more.gitignore)
	}
	if seen&hasExclude != 0 {
		more.exclude = prepend(r, at, gitExclude, more.exclude)
	}
	return &more
}

// prepend puts an ignore file before those of the directories above.
func prepend(r *root.Root, dir, name string, above []ignoreFile) []ignoreFile {
	list := loadIgnoreFile(r, dir+name)
	if list.Empty() {
		return above
	}
	return append([]ignoreFile{{dir, list}}, above...)
}

// loadIgnoreFile reads an ignore file. One that cannot be read ignores nothing; a link is
// not followed, as git does not.
func loadIgnoreFile(r *root.Root, name string) *ignore.List {
	file, _, err := r.OpenRegular(name)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(file, ignore.MaxText))
	if errors.Join(err, file.Close()) != nil {
		return nil
	}
	return ignore.Parse(text)
}

// A scopes is what the rules say in one directory; the first that decides counts.
type scopes []ignore.Scope

// scopes prepares the rules for the names in a directory.
func (a *rules) scopes(dir string, global *ignore.List, to scopes) scopes {
	if a == nil {
		return to
	}
	for _, sources := range [...][]ignoreFile{a.dotIgnore, a.gitignore, a.exclude} {
		for _, s := range sources {
			to = append(to, s.list.In(s.relative(dir)))
		}
	}
	if !global.Empty() {
		to = append(to, global.In(dir))
	}
	return to
}

// visible reports whether a name is seen: not ignored, and not hidden unless a
// rule wants it.
func (v scopes) visible(base string, dir, hidden bool) bool {
	for i := range v {
		if ignored, decided := v[i].Match(base, dir); decided {
			return !ignored
		}
	}
	return hidden || base[0] != '.'
}
