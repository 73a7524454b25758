package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

func TestStoredDocumentsAreFound(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, _ *memory.Rows) {
		ada := as(t, "a", "ada")
		remember(t, ada, m, "deploy", "# Deploying\n\nRun make release.\n\n## Rollback\n\n"+
			strings.Repeat("Filler about nothing in particular. ", 40)+
			"\n\n## Servers\n\nThe blue server is in Oslo; restart it with systemctl.\n")
		remember(t, ada, m, "user preferences", "Ada likes dark mode.")
		f := search(t, ada, m, memory.Query{Text: "Where is the blue server?"})
		if len(f.Hits) == 0 || f.Hits[0].Path != "memory/deploy.md" || f.Hits[0].From < 5 ||
			!strings.Contains(f.Hits[0].Snippet, "Oslo") {
			t.Fatalf("%+v", f)
		}
		if h := f.Hits[0]; !slices.Contains(h.Headings, "Servers") || h.Score <= 0 || h.Score > 1 || h.Shared ||
			h.Category != memory.Core {
			t.Errorf("%+v", h)
		}
		if got := paths(search(t, ada, m, memory.Query{Text: "preferences"})); !slices.Equal(got,
			[]string{"memory/user preferences.md"}) {
			t.Errorf("by its key: %v", got)
		}
		remember(t, ada, m, "deploy", "Nothing is deployed any more.")
		if f := search(t, ada, m, memory.Query{Text: "Oslo"}); len(f.Hits) != 0 || f.Total != 2 {
			t.Errorf("what was replaced is found: %+v", f)
		}
		if _, err := m.Forget(ada, memory.Forget{Path: "deploy"}); err != nil {
			t.Fatal(err)
		}
		if f := search(t, ada, m, memory.Query{Text: "deployed"}); len(f.Hits) != 0 {
			t.Errorf("what was forgotten is found: %+v", f)
		}
		if d, err := m.Undo(ada, "deploy"); err != nil || d.Version != 3 {
			t.Fatal(d, err)
		}
		if f := search(t, ada, m, memory.Query{Text: "deployed"}); len(f.Hits) != 1 {
			t.Errorf("what was brought back is not found: %+v", f)
		}
	})
}

func TestOwnersAreIsolated(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, _ *memory.Rows) {
		ada, bob, all, other := as(t, "a", "ada"), as(t, "a", "bob"), as(t, "a", ""), as(t, "b", "ada")
		remember(t, ada, m, "secret", "The canary sings at midnight.")
		remember(t, all, m, "shared", "The canary is yellow.")
		remember(t, all, m, "both", "Everybody's robin.")
		remember(t, ada, m, "both", "Ada's robin.")
		for _, c := range []struct {
			who  string
			got  []string
			want []string
		}{
			{"ada", paths(search(t, ada, m, memory.Query{Text: "canary"})),
				[]string{"memory/secret.md", "memory/shared.md"}},
			{"bob", paths(search(t, bob, m, memory.Query{Text: "canary"})), []string{"memory/shared.md"}},
			{"all", paths(search(t, all, m, memory.Query{Text: "canary"})), []string{"memory/shared.md"}},
			{"another agent", paths(search(t, other, m, memory.Query{Text: "canary"})), nil},
			{"ada", paths(search(t, ada, m, memory.Query{Text: "robin"})), []string{"memory/both.md"}},
		} {
			slices.Sort(c.got)
			if !slices.Equal(c.got, c.want) {
				t.Errorf("%s finds %v, not %v", c.who, c.got, c.want)
			}
		}
		if f := search(t, ada, m, memory.Query{Text: "robin"}); !strings.Contains(f.Hits[0].Snippet, "Ada") {
			t.Errorf("%+v", f)
		}
		if f := search(t, bob, m, memory.Query{Text: "midnigt"}); len(f.Suggestions) != 0 || f.Total != 2 {
			t.Errorf("bob is told of %v and %d documents", f.Suggestions, f.Total)
		}
		if f := search(t, ada, m, memory.Query{Text: "midnigt"}); !slices.Contains(f.Suggestions, "midnight") {
			t.Errorf("ada is told of %v", f.Suggestions)
		}
		if _, err := m.Get(bob, "secret"); kind(err) != tool.NotFound || strings.Contains(err.Error(), "secret.md\"?") {
			t.Errorf("%v", err)
		}
		if _, err := m.Forget(bob, memory.Forget{Path: "shared"}); kind(err) != tool.Refused {
			t.Errorf("bob forgets for all: %v", err)
		}
		if s := remember(t, bob, m, "mine", "The canary sings at midnight."); len(s.Similar) != 0 {
			t.Errorf("bob hears of %v", s.Similar)
		}
		for _, err := range []error{
			func() error { _, err := m.Search(t.Context(), memory.Query{Text: "canary"}); return err }(),
			func() error { _, err := m.Get(t.Context(), "shared"); return err }(),
			func() error { _, err := m.Store(t.Context(), memory.Write{Key: "k", Text: "x"}); return err }(),
		} {
			if kind(err) != tool.Refused {
				t.Errorf("nobody: %v", err)
			}
		}
	})
}

func TestSimilarDocumentsAreReported(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, _ *memory.Rows) {
		ada := as(t, "a", "ada")
		remember(t, ada, m, "theme", "The user prefers dark mode in every editor.")
		if s := remember(t, ada, m, "theme2", "the user prefers DARK mode, in every editor!"); !slices.Equal(s.Similar,
			[]string{"memory/theme.md"}) {
			t.Errorf("the same in other letters is like %v", s.Similar)
		}
		search(t, ada, m, memory.Query{Text: "theme"})
		if s := remember(t, ada, m, "theme3",
			"The user prefers the dark mode in every single editor."); len(s.Similar) == 0 {
			t.Error("nearly the same is like nothing")
		}
		if s := remember(t, ada, m, "cat", "The cat is called Mia."); len(s.Similar) != 0 {
			t.Errorf("a cat is like %v", s.Similar)
		}
		if s := remember(t, ada, m, "theme", "The user prefers dark mode in every editor."); !s.Unchanged {
			t.Error("the same is another version")
		}
		if f := search(t, ada, m, memory.Query{Text: "dark mode"}); len(f.Hits) != 1 || len(f.Duplicates) != 2 {
			t.Errorf("%d hits, %v alike", len(f.Hits), f.Duplicates)
		}
	})
}

func TestSearchFilters(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, rows *memory.Rows) {
		ada := as(t, "a", "ada")
		put := func(path, category string, age time.Duration, expires *time.Time) {
			t.Helper()
			_, _, err := rows.Put(ada, memory.Change{Owner: tool.Owner{Agent: "a", User: "ada"}, Path: path,
				Text:     "plum " + strings.Repeat(path[len(path)-4:len(path)-3], 3),
				Category: category, Updated: time.Now().Add(-age), Expires: expires})
			if err != nil {
				t.Fatal(err)
			}
		}
		put("memory/new.md", memory.Core, 0, nil)
		put("memory/old.md", memory.Daily, 100*day, nil)
		put("memory/sub/x.md", memory.Custom, 50*day, nil)
		put("memory/over.md", memory.Core, 0, at(time.UnixMilli(1)))
		put("MEMORY.md", memory.Core, 400*day, nil)
		for name, c := range map[string]struct {
			q    memory.Query
			want []string
		}{
			"all":      {memory.Query{}, []string{"memory/new.md", "memory/sub/x.md", "memory/old.md", "MEMORY.md"}},
			"category": {memory.Query{Category: memory.Daily}, []string{"memory/old.md"}},
			"path":     {memory.Query{Path: "sub"}, []string{"memory/sub/x.md"}},
			"root":     {memory.Query{Path: "MEMORY.md"}, []string{"MEMORY.md"}},
			"since":    {memory.Query{Since: time.Now().Add(-day)}, []string{"memory/new.md"}},
			"score":    {memory.Query{MinScore: 0.99}, nil},
			"until":    {memory.Query{Until: time.Now().Add(-200 * day)}, []string{"MEMORY.md"}},
			"between": {memory.Query{Since: time.Now().Add(-60 * day), Until: time.Now().Add(-day)},
				[]string{"memory/sub/x.md"}},
			"memory/": {memory.Query{Path: "memory/", Category: memory.Custom}, []string{"memory/sub/x.md"}},
			"limit":   {memory.Query{Limit: 1, Path: "memory"}, []string{"memory/new.md"}},
		} {
			c.q.Text = "plum"
			f := search(t, ada, m, c.q)
			got, want := paths(f), slices.Clone(c.want)
			if name == "all" {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) || f.More != (name == "limit") {
				t.Errorf("%s: %v, not %v (more %v)", name, got, want, f.More)
			}
		}
	})
}

func TestForgetByWords(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, _ *memory.Rows) {
		ada, all := as(t, "a", "ada"), as(t, "a", "")
		remember(t, ada, m, "x1", "The staging password rotates weekly.")
		remember(t, ada, m, "x2", "Passwords of staging are short.")
		remember(t, ada, m, "x3", "Staging is blue.")
		remember(t, all, m, "x4", "The staging password is shared.")
		for range 2 {
			gone, err := m.Forget(ada, memory.Forget{Query: "staging password", DryRun: true})
			if err != nil || len(gone) != 2 || gone[0].Path != "memory/x1.md" || gone[1].Path != "memory/x2.md" {
				t.Fatalf("%v, %v", gone, err)
			}
		}
		if gone, err := m.Forget(ada, memory.Forget{Query: "staging password"}); err != nil || len(gone) != 2 {
			t.Fatalf("%v, %v", gone, err)
		}
		if gone, err := m.Forget(ada, memory.Forget{Query: "staging password"}); err != nil || len(gone) != 0 {
			t.Errorf("%v, %v", gone, err)
		}
		if _, err := m.Get(ada, "x3"); err != nil {
			t.Error(err)
		}
		for i := range 25 {
			remember(t, ada, m, fmt.Sprint("many", i), fmt.Sprint("walnut ", i))
		}
		search(t, ada, m, memory.Query{Text: "walnut"})
		if _, err := m.Forget(ada, memory.Forget{Query: "walnut"}); kind(err) != tool.TooLarge {
			t.Errorf("%v", err)
		}
	})
}

func TestPathsOfKeys(t *testing.T) {
	m, _ := open(t, t.TempDir(), t.TempDir())
	ada := as(t, "a", "ada")
	for key, want := range map[string]string{
		"k": "memory/k.md", "MEMORY.md": "MEMORY.md", "memory.md": "memory.md", "./MEMORY.md": "MEMORY.md",
		"memory/a.md": "memory/a.md",
		"a/b":         "memory/a/b.md", "v1.2": "memory/v1.2.md", "data.json": "memory/data.json.md",
		"Memory.md": "memory/Memory.md", "a//b/./c": "memory/a/b/c.md",
		"user preferences": "memory/user preferences.md", "/memory/x.md": "memory/x.md", "cafe\u0301": "memory/café.md",
		"memory": "memory/memory.md", "MEMORY": "MEMORY.md",
	} {
		if s, err := m.Store(ada, memory.Write{Key: key, Text: "x"}); err != nil || s.Path != want {
			t.Errorf("%q is %q, %v; want %q", key, s.Path, err, want)
		}
	}
	for _, key := range []string{"", " ", ".", "/", "memory/", "..", "../x", "memory/../x", "memory/../../etc/passwd",
		"a\x00b", "a\nb", "a\u202eb", `a\b`, "C:x", "a\xff",
		strings.Repeat("x", 300), strings.Repeat("a/", 20) + "x", "a#L1", ".hidden", "a/.git/b",
		"a.md/b", strings.Repeat("語", 90)} {
		if s, err := m.Store(ada, memory.Write{Key: key, Text: "x"}); kind(err) != tool.Invalid {
			t.Errorf("%q is %q, %v", key, s.Path, err)
		}
	}
	for text, want := range map[string]tool.Kind{strings.Repeat("x", 1<<20+1): tool.TooLarge, "a\x00": tool.Invalid,
		"\xff": tool.Invalid, strings.Repeat("x ", 1<<19): ""} {
		if _, err := m.Store(ada, memory.Write{Key: "k", Text: text}); kind(err) != want {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, key := range []string{"k", "MEMORY.md", "memory/a.md", "../x", "a//b", "a\x00", "memory/", ".md", "é"} {
		f.Add(key)
	}
	m, _ := open(f, f.TempDir(), f.TempDir())
	ctx := as(f, "a", "ada")
	f.Fuzz(func(t *testing.T, key string) {
		s, err := m.Store(ctx, memory.Write{Key: key, Text: "x"})
		if err != nil {
			if k := kind(err); k != tool.Invalid {
				t.Fatalf("%q: %v", key, err)
			}
			return
		}
		if !memory.IsPath(s.Path) || strings.Contains(s.Path, "..") && strings.Contains("/"+s.Path+"/", "/../") ||
			len(s.Path) > 1000 {
			t.Errorf("%q is %q", key, s.Path)
		}
		if d, err := m.Get(ctx, s.Path); err != nil || d.Path != s.Path {
			t.Errorf("%q is not found by its path %q: %v", key, s.Path, err)
		}
	})
}

func TestSnippetsDoNotRepeatTheHeading(t *testing.T) {
	m, _ := open(t, t.TempDir(), t.TempDir())
	ada := as(t, "a", "ada")
	remember(t, ada, m, "deploy", "# Deploy\n\nRun make release.\n\n## Roll back\n")
	f := search(t, ada, m, memory.Query{Text: "release"})
	if len(f.Hits) != 1 || !slices.Equal(f.Hits[0].Headings, []string{"Deploy"}) ||
		!strings.HasPrefix(f.Hits[0].Snippet, "Run make release.") {
		t.Errorf("%+v", f.Hits)
	}
}
