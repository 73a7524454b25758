package ignore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob string
		any  bool // CompileAnyDepth
		yes  string
		no   string
	}{
		{"*.go", false, "a.go .go", "a/b.go a.gox"},
		{"*.go", true, "a.go a/b.go", "a.go/b"},
		{"**/*.go", false, "a.go a/b/c.go", "a.c"},
		{"src/*.go", true, "src/a.go", "x/src/a.go src/b/a.go"},
		{"/src/*.go", true, "src/a.go", "x/src/a.go"},
		{"./src/main.go", false, "src/main.go", "src/main.go/x main.go"},
		{"src/**", false, "src/a src/a/b", "src x/src/a"},
		{"src/", false, "src/a src/a/b", "src"},
		{"src/**/test/*_test.go", false, "src/test/a_test.go src/x/y/test/b_test.go", "src/x/a_test.go"},
		{"a/b/{c,d}/*.txt", false, "a/b/c/x.txt a/b/d/x.txt", "a/b/e/x.txt"},
		{"{a/b,a/c}/x", false, "a/b/x a/c/x", "a/x"},
		{"*.{ts,tsx,m{js,ts}}", true, "a.ts b/a.tsx a.mjs a.mts", "a.js a.m"},
		{"{,a/}b", false, "b a/b", "c/b"},
		{"[a-c]?[!0-9]", false, "axy c\u00e9\u00e9", "dxy ax1"},
		{"[{,}]x", false, "{x ,x", "ax"},
		{`\{a\}`, false, "{a}", "a"},
		{`a\*`, false, "a*", "ab"},
		{"a}", false, "a}", "a"},
		{"**", false, "a a/b", ""},
		{"a**b", false, "ab axb", "a/b"},
		{"*a*b*", false, "ab xaxbx", "ba"},
		{"???", false, "abc \u00e9\u00e9\u00e9 a\xff\xfe", "ab \u00e9"},
	} {
		compile := CompileGlob
		if c.any {
			compile = CompileAnyDepth
		}
		g, err := compile(c.glob)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		for name := range strings.FieldsSeq(c.yes) {
			if !g.Match(name) {
				t.Errorf("%q does not match %q", c.glob, name)
			}
			beneath(t, g, name)
		}
		for name := range strings.FieldsSeq(c.no) {
			if g.Match(name) {
				t.Errorf("%q matches %q", c.glob, name)
			}
		}
	}
}

func TestMayContain(t *testing.T) {
	g, err := CompileGlob("src/*/test/**/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		".": true, "src": true, "src/a": true, "src/a/test": true, "src/a/test/b/c": true, "lib": false, "src/a/lib": false, "srcx": false,
	} {
		if got := g.MayContain(dir); got != want {
			t.Errorf("MayContain(%q) = %t", dir, got)
		}
	}
}

func TestBadGlobs(t *testing.T) {
	for _, glob := range []string{
		"", "[a", "a\\", "{a", "a{b,{c}", "a//b", "/a", "../a", "a/../b", "..", "[[:nope:]]", strings.Repeat("a", maxGlob+1),
		strings.Repeat("{a,b}", 9), "{" + strings.Repeat(",", maxAlternatives) + "}",
	} {
		_, err := CompileGlob(glob)
		var told *tool.Error
		if !errors.As(err, &told) || told.Kind != tool.Invalid || told.Next == "" || len(err.Error()) > 400 {
			t.Errorf("%.30q: %v", glob, err)
		}
	}
	if _, err := NewFilter(slices.Repeat([]string{"a"}, maxGlobs+1), nil); err == nil {
		t.Error("any number of globs was taken")
	}
	slow := "{" + strings.Repeat("a,", maxAlternatives-1) + "a}*b*c"
	if _, err := NewFilter(slices.Repeat([]string{slow}, 8), nil); err == nil {
		t.Error("any number of alternatives was taken")
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		globs, types string
		yes, no      string
		enter, not   string
	}{
		{"", "", "a a/b", "", "a", ""},
		{"*.go", "", "a.go a/b.go", "a.c", "a", ""},
		{"!*.go", "", "a.c a/b.c", "a.go a/b.go", "a", ""},
		{"*.go !*_test.go", "", "a.go", "a_test.go a.c", "a", ""},
		{"!*_test.go *.go", "", "a_test.go a.go", "a.c", "a", ""}, // the last match decides
		{"!vendor", "", "a/b vendors/a", "vendor vendor/a a/vendor/b/c", "a vendors", "vendor a/vendor"},
		{"!vendor/", "", "a/b vendor", "vendor/a a/vendor/b/c", "a", "vendor a/vendor"},
		{"!/vendor/ *.go", "", "a/vendor/x.go", "vendor/x.go vendor/y/x.go a.c", "a a/vendor", "vendor"},
		{"src/**", "", "src/a src/b/c", "a x/src/b", "src src/b .", "x lib/src"},
		{"src/", "", "src/a src/b/c", "a", "src", "x"},
		{"*.{c,h}", "", "a.c x/a.h", "a.go", "x", ""},
		{"", "go", "a.go", "a.py", "x", ""},
		{"", "go python", "a.go x/a.py", "a.js", "x", ""},
		{"a*", "go", "a.go", "b.go a.py", "x", ""},
		{"", "make docker", "Makefile x/Dockerfile.dev go.mk", "makefiles.go", "x", ""},
	} {
		f, err := NewFilter(strings.Fields(c.globs), strings.Fields(c.types))
		if err != nil {
			t.Errorf("%q %q: %v", c.globs, c.types, err)
			continue
		}
		check := func(what string, names string, ask func(string) bool, want bool) {
			for name := range strings.FieldsSeq(names) {
				if ask(name) != want {
					t.Errorf("%q %q: %s %q is not %t", c.globs, c.types, what, name, want)
				}
			}
		}
		check("keeping", c.yes, f.Keep, true)
		check("keeping", c.no, f.Keep, false)
		check("entering", c.enter, f.Enter, true)
		check("entering", c.not, f.Enter, false)
	}
	var none *Filter
	if !none.Keep("a") || !none.Enter("a") {
		t.Error("no filter leaves something out")
	}
}

func TestBadFilters(t *testing.T) {
	for _, c := range []struct{ globs, types []string }{
		{[]string{"[a"}, nil}, {[]string{"!"}, nil}, {nil, []string{"nope"}},
		{make([]string, maxGlobs+1), nil}, {nil, make([]string, maxGlobs+1)},
	} {
		_, err := NewFilter(c.globs, c.types)
		var told *tool.Error
		if !errors.As(err, &told) || told.Next == "" {
			t.Errorf("%.20q %.20q: %v", c.globs, c.types, err)
		}
	}
}

func TestTypes(t *testing.T) {
	var names []string
	for line := range strings.Lines(fileTypes()) {
		all, _, _ := strings.Cut(line, ":")
		names = append(names, strings.Fields(all)...)
	}
	if slices.Sort(names); len(names) < 80 || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%d types, or a name twice", len(names))
	}
	if _, err := NewFilter(nil, names); err != nil {
		t.Error(err)
	}
	for name, file := range map[string]string{"go": "x.go", "golang": "x.go", "Python": "a/x.py", "md": "README.md", "txt": "x.txt", "yml": "x.yaml", "rs": "x.rs", "tsx": "x.tsx", "docker": "Dockerfile"} {
		f, err := NewFilter(nil, []string{name})
		if err != nil || !f.Keep(file) || f.Keep("x.none") {
			t.Errorf("%s and %s: %v", name, file, err)
		}
	}
	for name, want := range map[string]string{
		"haskel": `invalid: no file type "haskel"; did you mean "haskell"? or use the glob "*.haskel"`,
		".blub":  `invalid: no file type ".blub"; use the glob "*.blub"; the types come from ripgrep, such as go, py, js, ts, rust, java, cpp, md`,
	} {
		if _, err := NewFilter(nil, []string{name}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
