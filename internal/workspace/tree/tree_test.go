package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/ignore"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

func openRoot(t testing.TB, dir string) *root.Root {
	t.Helper()
	r, err := root.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// plant creates a root with empty files, and directories for names that end with a slash.
func plant(t testing.TB, names ...string) (string, *root.Root) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if parent == path {
			continue
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, openRoot(t, dir)
}

func TestOrder(t *testing.T) {
	want := []string{"a-b", "a.b", "a/b", "a/b-c", "a/c/d", "a/c0", "a0", "ab/c", "b", "b.d/x", "c!/x", "c/x", "c0/x"}
	_, r := plant(t, append(slices.Clone(want), "empty/")...)
	for range 20 {
		got, _, err := Files(t.Context(), r, Options{Workers: 4}, nil)
		if err != nil || !slices.Equal(got, want) || !slices.IsSorted(got) {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func TestOptions(t *testing.T) {
	_, r := plant(t, "a/b/c/d.go", "a/b/e.go", "a/f.txt", ".h/g.go", ".env", "z.go", "vendor/v.go")
	skip := func(name string, dir bool) bool { return name == "vendor" && dir || name == "a/f.txt" }
	for name, c := range map[string]struct {
		o    Options
		keep func(string) bool
		want string
	}{
		"none":       {Options{}, nil, "a/b/c/d.go a/b/e.go a/f.txt vendor/v.go z.go"},
		"hidden":     {Options{Hidden: true}, nil, ".env .h/g.go a/b/c/d.go a/b/e.go a/f.txt vendor/v.go z.go"},
		"depth 1":    {Options{Depth: 1}, nil, "z.go"},
		"depth 2":    {Options{Depth: 2}, nil, "a/f.txt vendor/v.go z.go"},
		"dir":        {Options{Dir: "a/b"}, nil, "a/b/c/d.go a/b/e.go"},
		"dir, depth": {Options{Dir: "a/b", Depth: 1}, nil, "a/b/e.go"},
		"hidden dir": {Options{Dir: ".h"}, nil, ".h/g.go"},
		"skip":       {Options{Skip: skip}, nil, "a/b/c/d.go a/b/e.go z.go"},
		"enter":      {Options{Enter: func(dir string) bool { return dir != "a/b/c" }}, nil, "a/b/e.go a/f.txt vendor/v.go z.go"},
		"keep":       {Options{}, func(name string) bool { return strings.HasSuffix(name, ".txt") }, "a/f.txt"},
		"ignored":    {Options{Ignored: true}, nil, "a/b/c/d.go a/b/e.go a/f.txt vendor/v.go z.go"},
	} {
		got, unread, err := Files(t.Context(), r, c.o, c.keep)
		if err != nil || len(unread) != 0 || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v, %v", name, got, unread, err)
		}
	}
}

func TestWalkVisitsEachOnce(t *testing.T) {
	dir, r := plant(t, "b", "a", "c/x", "c/d/", "e/f/g")
	if err := os.Symlink("c", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string][]root.Entry{}
	_, err := Walk(t.Context(), r, Options{Workers: 3}, func(d Dir) error {
		mu.Lock()
		defer mu.Unlock()
		if seen[d.Name] != nil {
			t.Errorf("%s was visited again", d.Name)
		}
		seen[d.Name] = d.Entries
		return nil
	})
	want := map[string][]root.Entry{
		".": {
			{Name: "a"}, {Name: "b"}, {Name: "c", Mode: fs.ModeDir}, {Name: "e", Mode: fs.ModeDir},
			{Name: "link", Mode: fs.ModeSymlink},
		},
		"c":   {{Name: "d", Mode: fs.ModeDir}, {Name: "x"}},
		"c/d": {},
		"e":   {{Name: "f", Mode: fs.ModeDir}},
		"e/f": {{Name: "g"}},
	}
	if err != nil || len(seen) != len(want) {
		t.Errorf("%d directories, %v", len(seen), err)
	}
	for name, entries := range want {
		if !slices.Equal(seen[name], entries) {
			t.Errorf("%s: %v", name, seen[name])
		}
	}
}

func TestDir(t *testing.T) {
	dir, r := plant(t, "a/b", "file")
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"none": fs.ErrNotExist, "link": root.ErrLink, "a/../..": root.ErrName, "/etc": root.ErrName, "": nil, "a": nil,
	} {
		if _, _, err := Files(t.Context(), r, Options{Dir: name}, nil); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, _, err := Files(t.Context(), r, Options{Dir: "file"}, nil); err == nil {
		t.Error("a file was walked")
	}
}

func TestErrorOfVisitEndsWalk(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("d%d/e/f", i))
	}
	_, r := plant(t, names...)
	enough := errors.New("enough")
	for workers := range 5 {
		visits := 0
		var mu sync.Mutex
		_, err := Walk(t.Context(), r, Options{Workers: workers}, func(Dir) error {
			mu.Lock()
			defer mu.Unlock()
			if visits++; visits > 10 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || visits > 15 {
			t.Errorf("%d visits, %v", visits, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = Walk(ctx, r, Options{Workers: workers}, func(Dir) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if _, _, err := Files(ctx, r, Options{Workers: workers}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		_, err = Walk(t.Context(), r, Options{Workers: workers}, func(Dir) error { panic("visit") })
		if err == nil || errors.As(err, new(*tool.Error)) {
			t.Errorf("a panic: %v", err)
		}
	}
}

func TestInvalidIgnoreFiles(t *testing.T) {
	dir, r := plant(t, ".git/", "a", "b", "x/.gitignore/y", "x/.ignore/y", "x/a")
	outside := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(outside, []byte("*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{".gitignore", ".ignore"} {
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, unread, err := Files(t.Context(), r, Options{}, nil)
	if want := []string{"a", "b", "x/a"}; err != nil || len(unread) != 0 || !slices.Equal(got, want) {
		t.Errorf("%q, %q, %v", got, unread, err)
	}
}

// TestRootInRepository opens a root within a repository: .gitignore files in the root
// apply, those outside do not.
func TestRootInRepository(t *testing.T) {
	dir, _ := plant(t, ".git/", "in/a.o", "in/a.c", "in/a.h")
	for name, text := range map[string]string{".gitignore": "*.c\n", "in/.gitignore": "*.o\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := openRoot(t, filepath.Join(dir, "in"))
	got, _, err := Files(t.Context(), r, Options{}, nil)
	if want := []string{"a.c", "a.h"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestManyEntries(t *testing.T) {
	dir := t.TempDir()
	const many = 20_000
	for i := range many {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d", strings.Repeat("n", 40), i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, _, err := Files(t.Context(), openRoot(t, dir), Options{}, nil)
	if err != nil || len(names) != many || !slices.IsSorted(names) {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// TestRemovedDuringWalk removes directories during the walk.
func TestRemovedDuringWalk(t *testing.T) {
	dir, r := plant(t, "a/b/c/d", "e/f", "g/h")
	unread, err := Walk(t.Context(), r, Options{Workers: 1}, func(d Dir) error {
		if d.Name != "." {
			return nil
		}
		if err := os.Rename(filepath.Join(dir, "e"), filepath.Join(dir, "moved")); err != nil {
			return err
		}
		if err := os.Symlink("moved", filepath.Join(dir, "e")); err != nil {
			return err
		}
		return os.RemoveAll(filepath.Join(dir, "a"))
	})
	if err != nil || len(unread) != 0 {
		t.Errorf("%q, %v", unread, err)
	}
}

func TestStats(t *testing.T) {
	dir, r := plant(t, "a/b", "c")
	if err := os.WriteFile(filepath.Join(dir, "c"), []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := slices.Repeat([]string{"a/b", "c", "none", "a", "c/d", "../x"}, 100)
	infos := Stats(t.Context(), r, names, 3)
	for i, info := range infos {
		switch names[i] {
		case "a/b":
			if !info.Regular() || info.Size != 0 || info.Modified.IsZero() {
				t.Fatalf("a/b: %+v", info)
			}
		case "c":
			if info.Size != 4 {
				t.Fatalf("c: %+v", info)
			}
		case "a":
			if !info.Dir() {
				t.Fatalf("a: %+v", info)
			}
		default:
			if info != (root.Info{}) {
				t.Fatalf("%s: %+v", names[i], info)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if infos := Stats(ctx, r, names, 0); len(infos) != len(names) || infos[1] != (root.Info{}) {
		t.Error("it went on without anybody waiting")
	}
}

func BenchmarkFiles(b *testing.B) {
	for name, dir := range map[string]string{"goroot": needtest.GoRoot(b), "home": os.Getenv("TREE_BENCH")} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		r := openRoot(b, dir)
		glob, err := ignore.CompileGlob("**/*_test.go")
		if err != nil {
			b.Fatal(err)
		}
		bench := func(what string, keep func(string) bool) []string {
			var names []string
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if names, _, err = Files(b.Context(), r, Options{}, keep); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(names)), "files")
			})
			return names
		}
		bench("tests", glob.Match)
		if names := bench("all", nil); len(names) > 0 {
			b.Run(name+"/stats", func(b *testing.B) {
				for b.Loop() {
					Stats(b.Context(), r, names, 0)
				}
			})
		}
	}
}
