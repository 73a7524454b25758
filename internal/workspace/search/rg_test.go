package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// corpus writes files of random lines, some with CRLF, some without a final line end.
func corpus(t *testing.T, dir string) (names []string) {
	t.Helper()
	words := []string{
		"foo", "Foo", "FOO", "bar", "foobar", "foo_bar", "x", "12", "345", "func", "(", ")", " ", " ", "\t", "-",
		"ABC-12", "err", "error", "!=", "nil", "\"q\"", ".", "$", "^", "a", "b", "é", "日本", "",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 70 {
		var b strings.Builder
		for n := random.IntN(60); n > 0; n-- {
			for k := random.IntN(8); k > 0; k-- {
				b.WriteString(words[random.IntN(len(words))])
			}
			switch {
			case i%7 == 3:
				b.WriteString("\r\n")
			case n > 1 || i%5 != 0:
				b.WriteString("\n")
			}
		}
		name := fmt.Sprintf("d%d/f%03d.txt", i%5, i)
		write(t, dir, name, b.String())
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openRoot(t testing.TB, dir string) *root.Root {
	t.Helper()
	r, err := root.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// shown returns a result in the format of rg.
func shown(found Found, groups bool) string {
	var b strings.Builder
	last := ""
	for _, f := range found.Files {
		previous := -1
		for _, line := range f.Lines {
			if groups && last != "" && (f.Name != last || line.Number != previous+1) {
				b.WriteString("--\n")
			}
			last, previous = f.Name, line.Number
			mark := "-"
			if line.Match {
				mark = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", f.Name, mark, line.Number, mark, line.Text)
		}
	}
	return b.String()
}

func TestAgainstRipgrep(t *testing.T) {
	rg := needtest.Program(t, "rg")
	dir := t.TempDir()
	names := corpus(t, dir)
	r := openRoot(t, dir)
	patterns := []string{
		"foo", "FOO", "ABC-12", "nosuch", "foo|bar", "foo|12|nil|err", `(?-u:\w+\s+\d+)`, `[A-Z]{3}-[0-9]+`, `^foo`, `foo$`, `^$`, `^\s*$`, `func.*\(`, `err\s*!=\s*nil`, `fo+b`, `(foo|bar)+x`,
		`[^a-z]foo`, `"[^"]*"`, `a.b`, `x{2}`, `é`, `日本`, `.`, `a*`, `(?i)foo12`, `foo.*bar|x$`, `^(a|b)+$`, `\.$`, `\(\)`,
	}
	for i, p := range patterns {
		for flags := range 32 {
			if i%4 != flags%4 && flags > 2 { // each of them starts a process
				continue
			}
			q := Query{
				Pattern: p, IgnoreCase: flags&1 != 0, Word: flags&2 != 0, Literal: flags&4 != 0,
				Multiline: flags&8 != 0, Context: flags >> 4 * 2, Limit: 1 << 30,
			}
			if q.Multiline && (q.Word || q.Literal) || q.Literal && strings.Contains(p, "(?") {
				continue
			}
			if q.Multiline && strings.HasSuffix(p, "*$") || q.Multiline && p == "^$" || q.Word && p == "a*" {
				continue // rg matches an empty line after the last one, and words around "\r"
			}
			args := []string{"--sort", "path", "-n", "--no-heading", "--with-filename", "--crlf", "--color=never"}
			for i, flag := range []string{"-i", "-w", "-F", "-U", "-C2"} {
				if flags>>i&1 != 0 {
					args = append(args, flag)
				}
			}
			ours := strings.ReplaceAll(p, "(?-u:", "(?:")
			if q.Multiline {
				args = append(args, "--multiline-dotall")
			}
			q.Pattern = ours
			cmd := exec.Command(rg, append(args, "-e", p)...)
			cmd.Dir = dir
			out, _ := cmd.Output()
			m, err := Compile(q)
			if err != nil {
				t.Fatal(err)
			}
			found, err := m.Files(t.Context(), r, names, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, want := shown(found, q.Context > 0), strings.ReplaceAll(string(out), "\r", "")
			if got != want {
				t.Errorf("%+v:\n%s", q, firstDifference(got, want))
				break
			}
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d of the output:\n got %q\nwant %q\n(before: %q)", i, a[i], b[i], a[max(0, i-3):i])
		}
	}
	return fmt.Sprintf("%d and %d lines of output", len(a), len(b))
}
