package ignore

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Filter chooses the files of a search: by globs, of which the last one that
// matches decides, and by types. The nil Filter takes all.
type Filter struct {
	list     *List
	wanted   []rule // the globs without "!"
	excludes bool   // there are globs with "!"
	types    *Glob
}

// NewFilter reads globs and the names of types. Without a slash a glob is about
// names at any depth; with "!" in front it takes files, and whole directories,
// out. Errors are fit for a model.
func NewFilter(globs, types []string) (*Filter, error) {
	if len(globs) > maxGlobs {
		return nil, tooMany(globs)
	}
	f := &Filter{list: &List{}}
	for _, glob := range globs {
		if err := f.add(glob); err != nil {
			return nil, err
		}
	}
	if f.list.slow > maxSlow {
		return nil, tooMany(globs)
	}
	f.list.finish()
	var err error
	f.types, err = typesGlob(types)
	return f, err
}

func (f *Filter) add(glob string) error {
	text, not := strings.CutPrefix(glob, "!")
	dirs := false
	if not {
		text, dirs = strings.CutSuffix(text, "/")
	}
	rules, err := globRules(text, false)
	if err != nil {
		return err
	}
	for _, r := range rules {
		r.keep, r.dirs = not, dirs
		f.list.add(r)
	}
	if not {
		f.excludes = true
	} else {
		f.wanted = append(f.wanted, rules...)
	}
	return nil
}

func typesGlob(types []string) (*Glob, error) {
	if len(types) == 0 {
		return nil, nil
	}
	if len(types) > maxGlobs {
		return nil, tool.Errorf(tool.Invalid, "%d file types are more than there are", len(types)).Try("leave the types out to take all files")
	}
	var globs []string
	for _, name := range types {
		of, ok := TypeGlobs(name)
		if !ok {
			return nil, unknownType(shorten(name))
		}
		globs = append(globs, of...)
	}
	return compileTypes(globs)
}

// unknownType does not list the types, which are about a hundred.
func unknownType(name string) error {
	err := tool.Errorf(tool.Invalid, "no file type %q", name)
	glob := "*." + strings.TrimLeft(name, ".*")
	if near := tool.Nearest(name, TypeNames()); near != "" {
		return err.Try("did you mean %q? or use the glob %q", near, glob)
	}
	return err.Try("use the glob %q; types are those of ripgrep, such as go, py, js, ts, rust, java, cpp, md", glob)
}

// Keep reports whether a file is chosen.
func (f *Filter) Keep(name string) bool {
	if f == nil {
		return true
	}
	if f.types != nil && !f.types.Match(name) {
		return false
	}
	wanted, decided := f.list.Match(name, false)
	if !decided {
		wanted = len(f.wanted) == 0
	}
	if wanted && f.excludes {
		for i := range len(name) {
			if name[i] == '/' && f.excluded(name[:i]) {
				return false
			}
		}
	}
	return wanted
}

// Enter reports whether a file beneath a directory can be chosen.
func (f *Filter) Enter(dir string) bool {
	if f == nil || dir == "." {
		return true
	}
	if f.excludes && f.excluded(dir) {
		return false
	}
	for i := range f.wanted {
		if f.wanted[i].mayContain(dir) {
			return true
		}
	}
	return len(f.wanted) == 0
}

func (f *Filter) excluded(dir string) bool {
	wanted, decided := f.list.Match(dir, true)
	return decided && !wanted
}
