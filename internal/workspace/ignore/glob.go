package ignore

import (
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
