package ignore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of patterns from a model. ** and * need none, since no pattern is slow.
const (
	maxGlob         = 1 << 10 // bytes
	maxGlobs        = 100
	maxAlternatives = 256 // patterns that the braces of one pattern expand to
	maxShown        = 100 // bytes of a pattern in an error
)

// A Glob is a set of patterns; a file matches if one of them does. * and ? match
// within a step, ** any number of steps, [a-z] one character, {a,b} either a or b.
// A pattern that ends with a slash matches everything below that directory.
type Glob struct {
	list  *List
	rules []rule
}

// CompileGlob parses patterns relative to one directory: *.go matches the files in
// it, **/*.go files at any depth. Errors can be returned to the model as they are.
func CompileGlob(patterns ...string) (*Glob, error) { return compileGlob(patterns, true) }

// CompileAnyDepth is like CompileGlob, but a pattern without a slash matches names
// at any depth.
func CompileAnyDepth(patterns ...string) (*Glob, error) { return compileGlob(patterns, false) }

func compileGlob(patterns []string, rooted bool) (*Glob, error) {
	if len(patterns) > maxGlobs {
		return nil, tooMany(patterns)
	}
	g := &Glob{list: &List{}}
	for _, pattern := range patterns {
		rules, err := globRules(pattern, rooted)
		if err != nil {
			return nil, err
		}
		g.rules = append(g.rules, rules...)
		for _, r := range rules {
			g.list.add(r)
		}
	}
	if g.list.slow > maxSlow {
		return nil, tooMany(patterns)
	}
	g.list.finish()
	return g, nil
}

func tooMany(patterns []string) error {
	return tool.Errorf(tool.Invalid, "%d globs have too many alternatives together", len(patterns)).
		Try("use fewer globs, or more general ones")
}

// globRules parses one pattern. Each of its alternatives becomes a rule.
func globRules(pattern string, rooted bool) ([]rule, error) {
	bad := func(format string, args ...any) *tool.Error {
		what := fmt.Sprintf(format, args...)
		return tool.Errorf(tool.Invalid, "glob %q: %s", text.Clip(pattern, maxShown), what)
	}
	if len(pattern) > maxGlob {
		return nil, bad("it has %d bytes, the maximum is %d", len(pattern), maxGlob).Try("use a shorter pattern")
	}
	if rooted && strings.HasPrefix(pattern, "/") {
		return nil, bad("it begins with a slash").Try("pass the directory as path, and a pattern relative to it")
	}
	all, err := expand(pattern)
	if err != nil {
		return nil, bad("%v", err).Try(`escape a character with \ to mean it literally, or use fewer braces`)
	}
	var rules []rule
	for _, one := range all {
		one = strings.TrimPrefix(one, "./")
		if strings.HasSuffix(one, "/") && one != "/" {
			one += "**"
		}
		if one == ".." || strings.HasPrefix(one, "../") || strings.Contains(one, "/../") {
			return nil, bad("it has a step ..").Try("pass the directory as path, and a pattern relative to it")
		}
		var r rule
		at := rooted || strings.Contains(one, "/")
		if err := r.parse(strings.TrimPrefix(one, "/"), at, dialect{runes: true}); err != nil {
			return nil, bad("%v", err).Try(`use **/*.go for all Go files; escape a special character with \`)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// Match reports whether a file matches.
func (g *Glob) Match(name string) bool {
	_, decided := g.list.Match(name, false)
	return decided
}

// MayContain reports whether files below a directory can match.
func (g *Glob) MayContain(dir string) bool {
	if dir == "." {
		dir = ""
	}
	for i := range g.rules {
		if g.rules[i].mayContain(dir) {
			return true
		}
	}
	return false
}

var errBraces = errors.New("a { has no closing }")

// expand expands the braces of a pattern: a{b,c}d becomes abd and acd. Braces may be
// nested. Braces within a class and escaped braces are ordinary characters.
func expand(pattern string) ([]string, error) {
	done := []string{""}
	for from := 0; from < len(pattern); {
		open, err := indexUnescaped(pattern, from, "{")
		if err != nil {
			return nil, err
		}
		if open == len(pattern) {
			return product(done, []string{pattern[from:]})
		}
		if done, err = product(done, []string{pattern[from:open]}); err != nil {
			return nil, err
		}
		var choices []string
		if choices, from, err = alternatives(pattern, open+1); err != nil {
			return nil, err
		}
		if done, err = product(done, choices); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// alternatives expands the alternatives between two braces. It also returns the
// offset after the closing brace.
func alternatives(pattern string, from int) ([]string, int, error) {
	var all []string
	for start, at, depth := from, from, 0; ; at++ {
		var err error
		if at, err = indexUnescaped(pattern, at, "{,}"); err != nil {
			return nil, 0, err
		}
		if at == len(pattern) {
			return nil, 0, errBraces
		}
		switch c := pattern[at]; {
		case c == '{':
			depth++
			continue
		case depth > 0:
			if c == '}' {
				depth--
			}
			continue
		}
		choices, err := expand(pattern[start:at])
		if err != nil {
			return nil, 0, err
		}
		if all = append(all, choices...); len(all) > maxAlternatives {
			return nil, 0, errAlternatives()
		}
		if pattern[at] == '}' {
			return all, at + 1, nil
		}
		start = at + 1
	}
}

// indexUnescaped returns the offset of the first of chars that is neither escaped
// nor in a class, or the length of the pattern.
func indexUnescaped(pattern string, from int, chars string) (int, error) {
	for i := from; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
			continue
		case '[':
			_, size, err := parseClass(pattern[i:], dialect{})
			if err != nil {
				return 0, err
			}
			i += size - 1
			continue
		}
		for j := range len(chars) {
			if pattern[i] == chars[j] {
				return i, nil
			}
		}
	}
	return len(pattern), nil
}

// product returns the concatenations of each string of before with each of after.
func product(before, after []string) ([]string, error) {
	if len(before)*len(after) > maxAlternatives {
		return nil, errAlternatives()
	}
	all := make([]string, 0, len(before)*len(after))
	for _, b := range before {
		for _, a := range after {
			all = append(all, b+a)
		}
	}
	return all, nil
}

func errAlternatives() error {
	return fmt.Errorf("its braces expand to more than %d patterns", maxAlternatives)
}

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
