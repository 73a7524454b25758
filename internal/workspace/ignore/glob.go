package ignore

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of what a model may ask for. Neither ** nor * needs one.
const (
	maxGlob         = 1 << 10 // bytes
	maxGlobs        = 100
	maxAlternatives = 256 // that the braces of a pattern stand for
)

// A Glob is patterns for files of which one must match: * and ? within a step,
// ** for any number of steps, [a-z] for one character, {a,b} for either. A slash
// at the end asks for everything beneath.
type Glob struct {
	list  *List
	rules []rule
}

// CompileGlob reads patterns relative to one directory: *.go is about files in
// it, **/*.go about files anywhere beneath. Errors are fit for a model.
func CompileGlob(patterns ...string) (*Glob, error) { return compileGlob(patterns, true) }

// CompileAnyDepth reads patterns as the globs of a search are: one without a
// slash is about names at any depth.
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
	return tool.Errorf(tool.Invalid, "%d globs with all their alternatives are too many", len(patterns)).
		Try("use fewer, or one that matches more")
}

// globRules reads one pattern; its braces make several rules of it.
func globRules(pattern string, rooted bool) ([]rule, error) {
	bad := func(format string, args ...any) *tool.Error {
		what := fmt.Sprintf(format, args...)
		return tool.Errorf(tool.Invalid, "glob %q: %s", shorten(pattern), what)
	}
	if len(pattern) > maxGlob {
		return nil, bad("it has %d bytes, the most is %d", len(pattern), maxGlob).Try("use a shorter pattern")
	}
	if rooted && strings.HasPrefix(pattern, "/") {
		return nil, bad("it begins with a slash").Try("give the directory as path, and a pattern relative to it")
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
			return nil, bad("it has a step ..").Try("give the directory as path, and a pattern relative to it")
		}
		var r rule
		at := rooted || strings.Contains(one, "/")
		if err := r.parse(strings.TrimPrefix(one, "/"), at, dialect{runes: true}); err != nil {
			return nil, bad("%v", err).Try(`write **/*.go for all Go files; escape a character with \ to mean it literally`)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func shorten(pattern string) string {
	if len(pattern) > 100 {
		return strings.ToValidUTF8(pattern[:100], "") + "..."
	}
	return pattern
}

// Match reports whether a file matches.
func (g *Glob) Match(name string) bool {
	_, decided := g.list.Match(name, false)
	return decided
}

// MayContain reports whether a file beneath a directory can match.
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
