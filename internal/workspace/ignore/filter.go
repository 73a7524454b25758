package ignore

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Filter selects the files of a search by globs, of which the last match decides,
// and by file types. The nil Filter selects all files.
type Filter struct {
	list     *List
	wanted   []rule // the globs without "!"
	excludes bool   // there are globs with "!"
	types    *Glob
}

// NewFilter parses globs and names of file types. A glob without a slash matches
// names at any depth. With "!" it excludes files, and whole directories. Errors can
// be returned to the model as they are.
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
	pattern, not := strings.CutPrefix(glob, "!")
	dirs := false
	if not {
		pattern, dirs = strings.CutSuffix(pattern, "/")
	}
	rules, err := globRules(pattern, false)
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
		return nil, tool.Errorf(tool.Invalid, "%d file types are too many, the maximum is %d", len(types), maxGlobs).
			Try("leave out types to search all files")
	}
	var globs []string
	for _, name := range types {
		of, ok := TypeGlobs(name)
		if !ok {
			return nil, unknownType(text.Clip(name, maxShown))
		}
		globs = append(globs, of...)
	}
	return compileTypes(globs)
}

// unknownType returns an error that suggests a similar type. There are about a
// hundred types, too many to list.
func unknownType(name string) error {
	err := tool.Errorf(tool.Invalid, "no file type %q", name)
	glob := "*." + strings.TrimLeft(name, ".*")
	if near := tool.Nearest(name, TypeNames()); near != "" {
		return err.Try("did you mean %q? or use the glob %q", near, glob)
	}
	return err.Try("use the glob %q; the types are those of ripgrep, such as go, py, js, ts, rust, java, cpp, md", glob)
}

// Keep reports whether a file is selected.
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

// Enter reports whether files below a directory can be selected.
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
