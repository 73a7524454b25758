package ignore

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// slow returns the pattern as a regular expression. It is nil for a pattern that matches
// nothing.
func slow(pattern string, rooted bool) *regexp.Regexp {
	const anySteps = `(?:[^/]+/)*`
	var re strings.Builder
	re.WriteString(`^(?s:`)
	if !rooted {
		re.WriteString(anySteps)
	}
	for i, begins := 0, true; i < len(pattern); i++ {
		stars := 0
		for i+stars < len(pattern) && pattern[i+stars] == '*' {
			stars++
		}
		rest := pattern[i+stars:]
		slash, escaped := strings.HasPrefix(rest, "/"), strings.HasPrefix(rest, `\/`)
		switch c := pattern[i]; {
		case stars > 1 && begins && rest == "":
			re.WriteString(`[^/]+(?:/[^/]+)*`)
			i += stars - 1
		case stars > 1 && begins && (slash || escaped):
			re.WriteString(anySteps)
			if i += stars; escaped {
				i++
			}
			continue
		case stars > 0:
			re.WriteString(`[^/]*`)
			i += stars - 1
		case c == '?':
			re.WriteString(`[^/]`)
		case c == '[':
			set, size, err := parseClass(pattern[i:], false)
			if err != nil {
				return nil
			}
			re.WriteString(slowClass(set))
			i += size - 1
		case c == '\\':
			if i++; i == len(pattern) {
				return nil
			}
			fallthrough
		default:
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
		begins = pattern[i] == '/'
	}
	re.WriteString(`)$`)
	compiled, err := regexp.Compile(re.String())
	if err != nil {
		return nil
	}
	return compiled
}

// slowClass removes the slash from a class, because no class matches it.
func slowClass(set class) string {
	re := ""
	for _, s := range set.spans {
		for _, part := range []span{{s.lo, min(s.hi, '/'-1)}, {max(s.lo, '/'+1), s.hi}} {
			if part.lo <= part.hi {
				re += fmt.Sprintf(`\x{%x}-\x{%x}`, part.lo, part.hi)
			}
		}
	}
	switch {
	case set.negated:
		return `[^/` + re + `]`
	case re == "":
		return `[^\x{0}-\x{10ffff}]`
	}
	return `[` + re + `]`
}

func isName(name string) bool {
	return name != "" && name != "." && name != ".." && name[0] != '/' && path.Clean(name) == name &&
		!strings.HasPrefix(name, "../") && !strings.Contains(name, "\x00")
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func FuzzIgnore(f *testing.F) {
	for _, text := range []string{
		"*.o\n!a.o\n", "/a/**/b/\n", "a/*\n!a/b", "\\#x\n#y\n", "[!a-c]?x", "**", "fo*o*o*o\\ ", "\ufeff[[:alpha:]]*\r\n", "a**b", "/**/x/**", "[]-a]", "a\\", "[a",
	} {
		f.Add([]byte(text), "a/b.o", false)
		f.Add([]byte(text), "a/x/b", true)
	}
	f.Add([]byte("*a*a*a*a*a*a*a*b"), strings.Repeat("a", 200), false)
	f.Fuzz(func(t *testing.T, text []byte, name string, dir bool) {
		l := Parse(text)
		ignored, decided := l.Match(name, dir)
		if ignored && !decided {
			t.Fatal("ignored without a rule")
		}
		if !isName(name) {
			return
		}
		in, base := path.Split(name)
		scoped, ok := l.In(path.Clean(in)).Match(base, dir)
		if scoped != ignored || ok != decided {
			t.Fatalf("Match(%q) is %t %t, in its directory %t %t", name, ignored, decided, scoped, ok)
		}
		if len(text) > 200 || !ascii(string(text)) || !ascii(name) {
			return
		}
		want, wantDecided := slowList(string(text), name, dir)
		if want != ignored || wantDecided != decided {
			t.Fatalf("%q with %q: ignored %t (decided %t), want %t (%t)", name, text, ignored, decided, want, wantDecided)
		}
	})
}

func slowList(text, name string, dir bool) (ignored, decided bool) {
	for line := range strings.SplitSeq(text, "\n") {
		line, not := strings.CutPrefix(trimLine(line), "!")
		line, dirs := strings.CutSuffix(line, "/")
		if line == "" || dirs && !dir {
			continue
		}
		re := slow(strings.TrimPrefix(line, "/"), strings.Contains(line, "/"))
		if re != nil && re.MatchString(name) {
			ignored, decided = !not, true
		}
	}
	return ignored, decided
}

func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{
		"*.go", "**/*.go", "src/**/x_{a,b{c,d}}.ts", "a/{b,c/d}/*", "[a-z]?/**", "{,a/}b", "\\{a", "[{,}]", "dir/", "./a", "{a", "**/**/**", "\u00e9?\u00e9", "a{b,c}{d,e}{f,g}",
	} {
		f.Add(pattern, "src/a/x_bc.ts", true)
		f.Add(pattern, "b.go", false)
	}
	f.Fuzz(func(t *testing.T, pattern, name string, rooted bool) {
		g, err := compileGlob([]string{pattern}, rooted)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "invalid: glob ") || !strings.Contains(err.Error(), "; ") {
				t.Fatalf("an error without a next step: %v", err)
			}
			return
		}
		matches := g.Match(name)
		if !isName(name) {
			return
		}
		if matches {
			beneath(t, g, name)
		}
		if len(pattern) > 200 || !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return
		}
		all, err := expand(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for _, one := range all {
			one = strings.TrimPrefix(one, "./")
			if strings.HasSuffix(one, "/") && one != "/" {
				one += "**"
			}
			re := slow(strings.TrimPrefix(one, "/"), rooted || strings.Contains(one, "/"))
			want = want || re != nil && re.MatchString(name)
		}
		if want != matches {
			t.Fatalf("%q with %q (rooted %t): %t, want %t", name, pattern, rooted, matches, want)
		}
	})
}

// beneath checks that the directories of a file that matches may contain matches.
func beneath(t *testing.T, g *Glob, name string) {
	t.Helper()
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if !g.MayContain(dir) {
			t.Fatalf("%q matches and %q may not contain it", name, dir)
		}
		if dir == "." {
			return
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, pattern := range []string{".env*", "!a", "/secret/", "[A-Z]?.KEY", "stra\u00dfe", "**/x/**"} {
		f.Add(pattern, "a/Secret/b.key")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		n, err := NewNames([]string{pattern, "*.pem"})
		if err != nil {
			return
		}
		covered := n.Covers(name)
		upper, lower := n.Covers(strings.ToUpper(name)), n.Covers(strings.ToLower(name))
		if isName(name) && ascii(name) && (covered != upper || covered != lower) {
			t.Fatalf("%q covers %q or not by its case", pattern, name)
		}
		if isName(name) && covered && !n.Covers(name+"/x") {
			t.Fatalf("%q covers %q and not what is in it", pattern, name)
		}
	})
}
