package tree

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	gitDir     = ".git"
	gitIgnore  = ".gitignore"
	ownIgnore  = ".ignore"
	gitExclude = ".git/info/exclude"
)

// markers are the special names in a directory.
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

// rules are the ignore files that apply in a directory. Directories without ignore
// files share the rules of their parent. nil means no rules.
type rules struct {
	// Each list is ordered from the deepest directory upwards. .ignore takes
	// precedence over .gitignore, and .gitignore over .git/info/exclude.
	dotIgnore, gitignore, exclude []ignoreFile
}

// An ignoreFile is one parsed ignore file.
type ignoreFile struct {
	dir  string // "" for the root, otherwise it ends with a slash
	list *ignore.List
}

// relative returns dir relative to the directory of the file: dir is below it, or the same.
func (s *ignoreFile) relative(dir string) string {
	if len(dir) < len(s.dir) {
		return "."
	}
	return dir[len(s.dir):]
}

// rulesAbove returns the rules from the directories above dir.
func rulesAbove(r *root.Root, dir string) *rules {
	all := &rules{}
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

// extend returns the rules with the ignore files of a directory added.
func (a *rules) extend(r *root.Root, dir string, seen markers) *rules {
	if seen == 0 {
		return a
	}
	more := *a
	if seen&isRepo != 0 { // another repository begins here
		more.gitignore, more.exclude = nil, nil
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

// prepend puts an ignore file before the files of the directories above.
func prepend(r *root.Root, dir, name string, above []ignoreFile) []ignoreFile {
	list := loadIgnoreFile(r, dir+name)
	if list.Empty() {
		return above
	}
	return append([]ignoreFile{{dir, list}}, above...)
}

// loadIgnoreFile reads an ignore file. It returns nil if the file cannot be read, or is a link:
// git does not follow it either.
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

// scopes are the rules for one directory. The first that decides is used.
type scopes []ignore.Scope

// scopes appends the rules for the names in a directory to to.
func (a *rules) scopes(dir string, to scopes) scopes {
	if a == nil {
		return to
	}
	for _, sources := range [...][]ignoreFile{a.dotIgnore, a.gitignore, a.exclude} {
		for _, s := range sources {
			to = append(to, s.list.In(s.relative(dir)))
		}
	}
	return to
}

// visible reports whether a name is visited: not ignored, and not hidden unless a
// rule includes it.
func (v scopes) visible(base string, dir, hidden bool) bool {
	for i := range v {
		if ignored, decided := v[i].Match(base, dir); decided {
			return !ignored
		}
	}
	return hidden || base[0] != '.'
}
