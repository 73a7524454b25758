package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// house returns a workspace with all kinds of files for a listing.
func house(t *testing.T) (*workspace.Workspace, context.Context, string) {
	t.Helper()
	m := newMemory()
	w, ctx, dir := workspacetest.New(t, m.Routed, func(o *workspace.Options) { o.Deny = append(o.Deny, "hush/") })
	for name, text := range map[string]string{
		".env":              "TOKEN=needle",
		".gitignore":        "*.log\nbuild/\n",
		".git/config":       "needle",
		".github/ci.yml":    "needle in ci",
		"a.go":              "package a // needle\n",
		"a-b/x.go":          "package x\n",
		"a/b.go":            "package b // needle\nfunc b() {}\n",
		"a/deep/c.go":       "package c // needle\n",
		"build/out.go":      "needle",
		"hush/secret.go":    "needle",
		"run.log":           "needle",
		"SOUL.md":           "hidden by the route: needle",
		"image.bin":         "\x00\x01needle",
		"name with space":   "x",
		"bad\xffname.txt":   "needle here\n",
		"UPPER/.env.sample": "TOKEN=",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	for link, target := range map[string]string{"to-a": "a", "to-env": ".env", "out": "/etc"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	m.Put("tester", "u", "SOUL.md", "the soul has a needle")
	m.Put("tester", "u", "memory/day.md", "needle in memory")
	m.Put("tester", "u", "memory/sub/deep.md", "nothing")
	for i, name := range []string{"a.go", "a/b.go", "a/deep/c.go"} {
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	return w, ctx, dir
}

func names(l workspace.Listing) string {
	var all []string
	for _, e := range l.Entries {
		name := e.Name
		switch {
		case e.Mode.IsDir():
			name += "/"
		case e.Mode&fs.ModeSymlink != 0:
			name += "->" + e.Target
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func TestList(t *testing.T) {
	w, ctx, _ := house(t)
	for name, test := range map[string]struct {
		q    workspace.ListQuery
		want string
		more int
	}{
		"top":          {workspace.ListQuery{}, `SOUL.md UPPER/ a/ a-b/ a.go bad\xffname.txt build/ image.bin memory/ name with space out->(not accessible) run.log to-a->a to-env->(not accessible)`, 0},
		"hidden":       {workspace.ListQuery{Hidden: true, Pattern: ".*"}, ".git/ .github/ .gitignore", 0},
		"git, deep":    {workspace.ListQuery{Hidden: true, Depth: 9, Pattern: "{.git,config,ci.yml}"}, ".git/ .github/ci.yml", 0},
		"git itself":   {workspace.ListQuery{Path: ".git", Hidden: true, Depth: 2}, "config", 0},
		"deeper":       {workspace.ListQuery{Path: "a", Depth: 3}, "b.go deep/ deep/c.go", 0},
		"a link":       {workspace.ListQuery{Path: "to-a/deep"}, "c.go", 0},
		"pattern":      {workspace.ListQuery{Depth: 9, Pattern: "*.go"}, "a/b.go a/deep/c.go a-b/x.go a.go build/out.go", 0},
		"limit":        {workspace.ListQuery{Depth: 9, Pattern: "*.go", Limit: 2}, "a/b.go a/deep/c.go", 3},
		"a file":       {workspace.ListQuery{Path: "a.go"}, "a.go", 0},
		"virtual":      {workspace.ListQuery{Path: "memory", Depth: 2}, "day.md sub/ sub/deep.md", 0},
		"virtual deep": {workspace.ListQuery{Path: "memory/sub"}, "deep.md", 0},
	} {
		t.Run(name, func(t *testing.T) {
			test.q.Depth, test.q.Ignored = max(test.q.Depth, 1), true
			if test.q.Limit == 0 {
				test.q.Limit = 100
			}
			l, err := w.List(ctx, test.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(l)); diff != "" || l.More != test.more {
				t.Errorf("%d more, %s", l.More, diff)
			}
		})
	}
	for _, path := range []string{"hush", "nowhere", "../", "out", "/etc", "to-env"} {
		if l, err := w.List(ctx, workspace.ListQuery{Path: path, Depth: 1, Limit: 10}); err == nil {
			t.Errorf("%q was listed: %s", path, names(l))
		}
	}
}

func TestListShowsSizesAndTimes(t *testing.T) {
	w, ctx, dir := house(t)
	l, err := w.List(ctx, workspace.ListQuery{Pattern: "a.go", Depth: 1, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "a.go"))
	if err != nil {
		t.Fatal(err)
	}
	if e := l.Entries[0]; e.Size != info.Size() || !e.Modified.Equal(info.ModTime()) {
		t.Errorf("%+v, want %d bytes at %s", e, info.Size(), info.ModTime())
	}
}

func TestGlob(t *testing.T) {
	w, ctx, dir := house(t)
	for name, test := range map[string]struct {
		q    workspace.GlobQuery
		want string
	}{
		"anywhere":     {workspace.GlobQuery{Pattern: "**/*.go"}, "a-b/x.go a.go a/b.go a/deep/c.go"},
		"here":         {workspace.GlobQuery{Pattern: "*.go"}, "a.go"},
		"newest":       {workspace.GlobQuery{Pattern: "a/**/*.go", Newest: true}, "a/deep/c.go a/b.go"},
		"limit":        {workspace.GlobQuery{Pattern: "**/*.go", Limit: 1}, "a-b/x.go"},
		"braces":       {workspace.GlobQuery{Pattern: "{a,a-b}/*.go"}, "a-b/x.go a/b.go"},
		"path":         {workspace.GlobQuery{Pattern: "*.go", Path: "a"}, "a/b.go"},
		"through link": {workspace.GlobQuery{Pattern: "to-a/*.go"}, "a/b.go"},
		"absolute":     {workspace.GlobQuery{Pattern: dir + "/a/*.go"}, "a/b.go"},
		"hidden":       {workspace.GlobQuery{Pattern: ".github/*.yml"}, ".github/ci.yml"},
		"asks":         {workspace.GlobQuery{Pattern: "**/.gitignore"}, ".gitignore"},
		"ignored":      {workspace.GlobQuery{Pattern: "**/*.go", Ignored: true, Path: "build"}, "build/out.go"},
		"never":        {workspace.GlobQuery{Pattern: "**/{.env,secret.go}", Hidden: true, Ignored: true}, ""},
		"virtual":      {workspace.GlobQuery{Pattern: "**/*.md"}, "SOUL.md memory/day.md memory/sub/deep.md"},
		"bad name":     {workspace.GlobQuery{Pattern: "bad*"}, `bad\xffname.txt`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.q.Limit == 0 {
				test.q.Limit = 100
			}
			l, err := w.Glob(ctx, test.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(l)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, pattern := range []string{"", "../*", "/etc/*", "hush/*", "[", "a/../../*"} {
		if l, err := w.Glob(ctx, workspace.GlobQuery{Pattern: pattern, Limit: 10}); err == nil {
			t.Errorf("%q found %q", pattern, names(l))
		}
	}
}

func TestSearch(t *testing.T) {
	w, ctx, _ := house(t)
	for name, test := range map[string]struct {
		q    search.Query
		want string
	}{
		"all":       {search.Query{Pattern: "needle"}, `SOUL.md:1 a.go:1 a/b.go:1 a/deep/c.go:1 bad\xffname.txt:1 memory/day.md:1`},
		"hidden":    {search.Query{Pattern: "needle", Hidden: true, Globs: []string{".github/**"}}, ".github/ci.yml:1"},
		"ignored":   {search.Query{Pattern: "needle", Ignored: true, Globs: []string{"*.log", "build/**"}}, "build/out.go:1 run.log:1"},
		"directory": {search.Query{Pattern: "needle", Path: "a"}, "a/b.go:1 a/deep/c.go:1"},
		"by link":   {search.Query{Pattern: "needle", Path: "to-a"}, "a/b.go:1 a/deep/c.go:1"},
		"file":      {search.Query{Pattern: "func", Path: "a/b.go"}, "a/b.go:2"},
		"named":     {search.Query{Pattern: "needle", Path: "run.log"}, "run.log:1"},
		"type":      {search.Query{Pattern: "needle", Types: []string{"md"}}, "SOUL.md:1 memory/day.md:1"},
		"memory":    {search.Query{Pattern: "needle", Path: "memory"}, "memory/day.md:1"},
		"one":       {search.Query{Pattern: "needle", Path: "memory/day.md"}, "memory/day.md:1"},
		"page":      {search.Query{Pattern: "needle", Offset: 1, Limit: 2}, "a.go:1 a/b.go:1 more"},
		"denied":    {search.Query{Pattern: "TOKEN", Hidden: true, Ignored: true}, "UPPER/.env.sample:1"},
	} {
		t.Run(name, func(t *testing.T) {
			test.q.Mode = search.Content
			if test.q.Limit == 0 {
				test.q.Limit = 100
			}
			found, err := w.Search(ctx, test.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(found)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, path := range []string{"hush", ".env", "to-env", "out/passwd", "nowhere"} {
		q := search.Query{Pattern: ".", Path: path, Mode: search.Content, Limit: 10}
		if found, err := w.Search(ctx, q); err == nil {
			t.Errorf("%q was searched: %s", path, lines(found))
		}
	}
}

func lines(found search.Found) string {
	var all []string
	for _, f := range found.Files {
		for _, line := range f.Lines {
			all = append(all, fmt.Sprintf("%s:%d", f.Name, line.Number))
		}
	}
	if found.More {
		all = append(all, "more")
	}
	return strings.Join(all, " ")
}
