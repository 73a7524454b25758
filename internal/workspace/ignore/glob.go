package ignore

import (
	"embed"
	"errors"
	"fmt"
	"slices"
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
	list  List
	rules []rule
}

// CompileGlob parses a pattern relative to a directory: *.go matches the files in
// it, **/*.go files at any depth. Errors can be returned to the model as they are.
func CompileGlob(pattern string) (*Glob, error) { return compileGlob([]string{pattern}, true) }

// CompileAnyDepth is like CompileGlob, but a pattern without a slash matches names
// at any depth.
func CompileAnyDepth(pattern string) (*Glob, error) { return compileGlob([]string{pattern}, false) }

func compileGlob(patterns []string, rooted bool) (*Glob, error) {
	g := &Glob{}
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
	g.list.finish()
	return g, nil
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
		if err := r.parse(strings.TrimPrefix(one, "/"), at, false); err != nil {
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
func (g *Glob) MayContain(dir string) bool { return mayContain(g.rules, dir) }

func mayContain(rules []rule, dir string) bool {
	if dir == "." {
		dir = ""
	}
	return slices.ContainsFunc(rules, func(r rule) bool { return r.mayContain(dir) })
}

// expand expands the braces of a pattern: a{b,c}d becomes abd and acd. Braces may be
// nested. Braces within a class and escaped braces are ordinary characters.
func expand(pattern string) ([]string, error) {
	open, depth := -1, 0
	var choices []string // between the first braces
	for i, from := 0, 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			_, size, err := parseClass(pattern[i:], false)
			if err != nil {
				return nil, err
			}
			i += size - 1
		case c == '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case depth == 1 && (c == ',' || c == '}'):
			choices, from = append(choices, pattern[from:i]), i+1
			if c == ',' {
				continue
			}
			var all []string
			for _, choice := range choices {
				more, err := expand(pattern[:open] + choice + pattern[from:])
				if err != nil {
					return nil, err
				}
				if all = append(all, more...); len(all) > maxAlternatives {
					return nil, fmt.Errorf("its braces expand to more than %d patterns", maxAlternatives)
				}
			}
			return all, nil
		case depth > 1 && c == '}':
			depth--
		}
	}
	if depth > 0 {
		return nil, errors.New("a { has no closing }")
	}
	return []string{pattern}, nil
}

// A Filter selects the files of a search by globs and by file types. The last glob that matches
// decides. The nil Filter selects all files.
type Filter struct {
	list     List
	wanted   []rule // the globs without "!"
	excludes bool   // there are globs with "!"
	types    *Glob
}

// NewFilter parses globs and names of file types. A glob without a slash matches
// names at any depth. With "!" it excludes files, and whole directories. Errors can
// be returned to the model as they are.
func NewFilter(globs, types []string) (*Filter, error) {
	f := &Filter{}
	for _, glob := range globs {
		if err := f.add(glob); err != nil {
			return nil, err
		}
	}
	if len(globs) > maxGlobs || f.list.slow > maxSlow {
		return nil, tool.Errorf(tool.Invalid, "%d globs have too many alternatives together", len(globs)).
			Try("use fewer globs, or more general ones")
	}
	f.list.finish()
	if len(types) == 0 {
		return f, nil
	}
	var of []string
	for _, name := range types {
		globs := typeGlobs(name)
		if globs == nil {
			return nil, unknownType(text.Clip(name, maxShown))
		}
		of = append(of, globs...)
	}
	slices.Sort(of)
	var err error
	f.types, err = compileGlob(slices.Compact(of), false)
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
	return !(f.excludes && f.excluded(dir)) && (len(f.wanted) == 0 || mayContain(f.wanted, dir))
}

func (f *Filter) excluded(dir string) bool {
	wanted, decided := f.list.Match(dir, true)
	return decided && !wanted
}

//go:embed types.txt
var files embed.FS

// fileTypes has a line for each file type: its names and its globs.
func fileTypes() string {
	text, err := files.ReadFile("types.txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

// typeGlobs returns the globs of a file type, for names at any depth, or nil.
func typeGlobs(name string) []string {
	for line := range strings.Lines(fileTypes()) {
		names, globs, _ := strings.Cut(line, ":")
		if slices.Contains(strings.Fields(names), strings.ToLower(name)) {
			return strings.Fields(globs)
		}
	}
	return nil
}

// unknownType returns an error that suggests a similar type. There are about a
// hundred types, too many to list.
func unknownType(name string) error {
	err := tool.Errorf(tool.Invalid, "no file type %q", name)
	glob := "*." + strings.TrimLeft(name, ".*")
	var all []string
	for line := range strings.Lines(fileTypes()) {
		names, _, _ := strings.Cut(line, ":")
		all = append(all, strings.Fields(names)[0])
	}
	if near := tool.Nearest(name, all); near != "" {
		return err.Try("did you mean %q? or use the glob %q", near, glob)
	}
	return err.Try("use the glob %q; the types come from ripgrep, such as go, py, js, ts, rust, java, cpp, md", glob)
}
