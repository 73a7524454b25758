package tree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// rgFiles returns the files that ripgrep visits below a directory.
func rgFiles(t testing.TB, dir, sub string, flags ...string) []string {
	t.Helper()
	rg := needtest.Program(t, "rg")
	args := append([]string{"--files", "--null", "--no-ignore-global", "--no-config"}, flags...)
	cmd := exec.Command(rg, append(append([]string{"--no-require-git"}, args...), "./"+sub)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			names = append(names, path.Clean(name))
		}
	}
	slices.Sort(names)
	return names
}

func compare(t *testing.T, got, want []string) bool {
	t.Helper()
	if !slices.IsSorted(got) {
		t.Error("not sorted")
	}
	if slices.Equal(got, want) {
		return true
	}
	for _, name := range got {
		if _, ok := slices.BinarySearch(want, name); !ok {
			t.Errorf("only here: %q", name)
		}
	}
	for _, name := range want {
		if _, ok := slices.BinarySearch(got, name); !ok {
			t.Errorf("only in rg: %q", name)
		}
	}
	return false
}

func TestAsRipgrepInGOROOT(t *testing.T) {
	dir := needtest.GoRoot(t)
	if _, err := os.Stat(filepath.Join(dir, "src")); err != nil {
		t.Skip("no GOROOT here")
	}
	r := openRoot(t, dir)
	for _, c := range []struct {
		o     Options
		flags []string
	}{{Options{}, nil}, {Options{Hidden: true}, []string{"--hidden"}}, {Options{Ignored: true}, []string{"--no-ignore"}}} {
		got, unread, err := Files(context.Background(), r, c.o, nil)
		if err != nil || len(unread) > 0 {
			t.Fatal(err, unread)
		}
		compare(t, got, rgFiles(t, dir, "", c.flags...))
	}
}

// grow creates a random tree with ignore files.
func grow(t *testing.T, dir string, random *rand.Rand, deep int) {
	names := []string{"a", "b", "c", "a.o", "b.o", "x.go", ".h", "a.b", "a-b", "A", "build", ".env", "caf\u00e9"}
	lines := []string{
		"*.o", "!a.o", "/a", "b/", "/b/", "a/b", "**/c", "a/**", "!/a/", "x.go", ".h", "!.h", "!.env", "/*/a", "c/*.o", "!c/a.o", "build", "a*", "?", "[ab]", "*",
		"!*/", "**/b/**/a", "# comment", "a ", "!x.go", "/c/d/", "caf*",
	}
	write := func(name string) {
		var text strings.Builder
		for range 1 + random.IntN(3) {
			fmt.Fprintln(&text, lines[random.IntN(len(lines))])
		}
		put(t, filepath.Join(dir, name), text.String())
	}
	if random.IntN(3) == 0 {
		write(".gitignore")
	}
	if random.IntN(6) == 0 {
		write(".ignore")
	}
	switch random.IntN(7) {
	case 0:
		write(".git/info/exclude")
	case 1:
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			put(t, filepath.Join(dir, ".git"), "gitdir: elsewhere\n")
		}
	}
	for _, name := range names {
		switch random.IntN(4) {
		case 0:
			put(t, filepath.Join(dir, name), "")
		case 1:
			if deep > 0 {
				mkdir(t, filepath.Join(dir, name))
				grow(t, filepath.Join(dir, name), random, deep-1)
			}
		case 2:
			if err := os.Symlink(names[random.IntN(len(names))], filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAsRipgrepAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	files := 0
	for i := range 60 {
		dir := t.TempDir()
		if i%2 == 0 {
			mkdir(t, filepath.Join(dir, ".git"))
		}
		grow(t, dir, random, 3)
		r := openRoot(t, dir)
		for _, c := range []struct {
			o     Options
			flags []string
		}{
			{Options{}, nil}, {Options{Hidden: true}, []string{"--hidden"}},
			{Options{Ignored: true}, []string{"--no-ignore"}}, {Options{Depth: 2}, []string{"--max-depth=2"}},
		} {
			got, unread, err := Files(context.Background(), r, c.o, nil)
			if err != nil || len(unread) > 0 {
				t.Fatal(err, unread)
			}
			files += len(got)
			if !compare(t, got, rgFiles(t, dir, "", c.flags...)) {
				t.Fatalf("tree %d, %+v", i, c.o)
			}
		}
	}
	if files < 1000 {
		t.Errorf("only %d files in all trees", files)
	}
}

// TestAsRipgrepInSubdirectory begins in a subdirectory: the ignore files above it apply.
func TestAsRipgrepInSubdirectory(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	walked := 0
	for range 30 {
		dir := t.TempDir()
		grow(t, dir, random, 3)
		r := openRoot(t, dir)
		for _, sub := range []string{"a", "b/a", "c", "a/b/c", "build", "A/build"} {
			if info, err := r.Lstat(sub); err != nil || !info.Dir() {
				continue
			}
			walked++
			got, _, err := Files(context.Background(), r, Options{Dir: sub}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !compare(t, got, rgFiles(t, dir, sub)) {
				t.Fatalf("beginning in %s", sub)
			}
		}
	}
	if walked < 20 {
		t.Errorf("only %d directories", walked)
	}
}
