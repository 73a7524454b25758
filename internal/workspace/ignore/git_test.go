package ignore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// A gitTree is a tree of files, with the names that git ignores in it.
type gitTree struct {
	dir   string
	names map[string]bool // by name, whether it is a directory
	order []string
}

func newGitTree(t *testing.T) *gitTree {
	t.Helper()
	needtest.Program(t, "git")
	g := &gitTree{dir: t.TempDir(), names: map[string]bool{}}
	if out, err := exec.Command("git", "init", "-q", g.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := []string{"a", "b", "ab", "ba", "a.o", "b.o", "a b", "a ", "[a]", "*", "!a", "#a", "\\a", "a\\", "-", "]", ".a", "abab", "Ab", "a\tb"}
	dirs := []string{"", "a/", "b/", "ab/", "a/b/", "a/a/", "b/a/b/", ".a/", "a/b/a/b/"}
	for _, dir := range dirs {
		for _, file := range files {
			file = dir + "f" + file
			if strings.HasSuffix(dir, "b/") {
				file = dir + file[len(dir)+1:] + "x"
			}
			g.add(t, file)
		}
		g.add(t, dir+"d/a")
		g.add(t, dir+"d.o/b.o")
	}
	return g
}

func (g *gitTree) add(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir := false; name != "."; dir = true {
		if _, known := g.names[name]; !known {
			g.names[name] = dir
			g.order = append(g.order, name)
		}
		name = filepath.Dir(name)
	}
}

// ignored asks git which names a .gitignore ignores, and by which line.
func (g *gitTree) ignored(t *testing.T, text string) map[string]string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, ".gitignore"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin")
	cmd.Dir = g.dir
	cmd.Stdin = strings.NewReader(strings.Join(g.order, "\x00") + "\x00")
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	by := map[string]string{}
	fields := bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0})
	if len(fields) != 4*len(g.order) {
		t.Fatalf("git gave %d fields for %d names", len(fields), len(g.order))
	}
	for i := 0; i+3 < len(fields); i += 4 {
		by[string(fields[i+3])] = string(fields[i+2])
	}
	return by
}

// covered reports whether the list ignores a name or one of its directories.
func covered(l *List, name string, dir bool) bool {
	for i := range len(name) {
		if name[i] == '/' {
			if ignored, _ := l.Match(name[:i], true); ignored {
				return true
			}
		}
	}
	ignored, _ := l.Match(name, dir)
	return ignored
}

func (g *gitTree) compare(t *testing.T, text string) {
	t.Helper()
	by := g.ignored(t, text)
	l := Parse([]byte(text))
	for _, name := range g.order {
		line := by[name]
		want := line != "" && !strings.HasPrefix(line, "!")
		if got := covered(l, name, g.names[name]); got != want {
			t.Errorf("%q (directory: %t) with %q: ignored %t, git says %t by %q", name, g.names[name], text, got, want, line)
			return
		}
	}
}

func TestAsGit(t *testing.T) {
	g := newGitTree(t)
	for _, text := range []string{
		"", "\ufeff*.o\r\n", "*.o", "#*.o", "\\#a\n\\!a", "fa ", "fa\\ ", "fa\\  ", "fa\t", "a/", "/a", "/a/b", "a/b", "a/b/", "a//b", "//a", "/", "!",
		"**", "**/", "/**", "**/a", "**/a/b", "a/**", "a/**/b", "a/**/**/b", "a**b", "fa**", "**a", "***", "*/b", "*/*/b", "a/*/b", "/*\n!/a\n",
		"*\n!*/\n!*.o", "d\n!d/a", "d/*\n!d/a", "f?", "f??", "f[ab]", "f[!a]", "f[^a]", "f[]]", "f[]a]*", "f[[]*", "f[a", "f[a-", "f[[:alpha:]]", "f[[:nope:]]",
		"f[[:alpha:]", "f[a-b].o", "f[b-a]", "f[\\]]", "f[a\\-b]", "f\\*", "f\\", "f\\\\a", "fa\\/b", "a\\/b", "[a-]*", "f[[a]]", "f[!!-~]*", "a[/]b",
		"*.o\n!fa.o\n", "fa.o\x00junk", " fa", "f\u00e9", "f??\n!f\u00e9", "a/b/a\n!a/b/a/b", "*b/a*", "**/**/a", "b/**/b/", "d.*/", "\\f\\a",
	} {
		g.compare(t, text)
	}
}

// TestAsGitAtRandom uses random patterns. It leaves out "x**/", where git differs from its
// manual.
func TestAsGitAtRandom(t *testing.T) {
	g := newGitTree(t)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		"a", "b", "f", "d", "*", "?", "**/", "/**", "/**/", "/", "[ab]", "[!a]", "*.o", ".o", "\\a", "ab", "fa", "!",
		" ", "\\ ", "[[:alnum:]]", ".", "x", "[a-f]", "-",
	}
	for range 150 {
		var text strings.Builder
		for range 1 + random.IntN(4) {
			line := ""
			for range 1 + random.IntN(5) {
				line += parts[random.IntN(len(parts))]
			}
			if !quirk(line) {
				text.WriteString(line + "\n")
			}
		}
		g.compare(t, text.String())
	}
}

func quirk(line string) bool {
	for i := 1; i+1 < len(line); i++ {
		if line[i:i+2] == "**" && line[i-1] != '/' {
			return true
		}
	}
	return false
}
