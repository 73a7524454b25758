package memory_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// A folder is a directory in memory that exports write to and imports read.
type folder struct{ fstest.MapFS }

func (f folder) Write(name string, content []byte, modified time.Time) error {
	f.MapFS[name] = &fstest.MapFile{Data: content, ModTime: modified, Mode: 0o600}
	return nil
}

// TestExportAndImportKeepEverything exports documents, imports them for another owner and compares.
func TestExportAndImportKeepEverything(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, rows *memory.Rows) {
		ada, bob := as(t, "a", "ada"), as(t, "b", "bob")
		texts := map[string]string{
			"plain":         "# Title\n\ntext\n",
			"no newline":    "text",
			"crlf":          "a\r\nb\r\n",
			"front":         "---\ntitle: \"mine\"   # a comment\ncategory: nonsense\n---\n\nbody\n",
			"like ours":     "---\nmemory:\n  category: core\n---\nbody",
			"bar":           "---\n\nnot front matter\n---\n",
			"broken front":  "---\na: [\n---\nx",
			"blank first":   "\n\n  x\n\n",
			"data.json":     "{\"a\": 1}\n",
			"MEMORY.md":     "big",
			"memory.md":     "small",
			"Case":          "upper",
			"case":          "lower",
			"deep/er/name":  "x",
			"empty":         "",
			"bom":           "\ufeff---\na: 1\n---\n",
			"unicode ünï 中": "中文\n",
		}
		for key, text := range texts {
			w := memory.Write{Key: key, Text: text, Category: memory.Daily, Tags: []string{"a: b", "true", "01", "[x]"},
				Expires: at(time.Now().Add(30 * day))}
			if _, err := m.Store(ada, w); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		remember(t, as(t, "a", ""), m, "shared", "not ada's")
		out := folder{fstest.MapFS{}}
		if n, err := m.Export(ada, out); n != len(texts) || err != nil {
			t.Fatalf("%d of %d, %v", n, len(texts), err)
		}
		r, err := m.Import(bob, out)
		if err != nil || r.Written != len(texts) || len(r.Skipped) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		for key, text := range texts {
			was, err := m.Get(ada, key)
			if err != nil {
				t.Fatal(err)
			}
			is, err := m.Get(bob, key)
			if err != nil {
				t.Fatal(err)
			}
			if is.Text != text || is.Path != was.Path || is.Category != was.Category ||
				!slices.Equal(is.Tags, was.Tags) || !is.Expires.Equal(was.Expires) ||
				!is.Created.Equal(was.Created) || !is.Updated.Equal(was.Updated) ||
				is.Author != (memory.Author{Name: "ada", Session: "s1"}) || is.Digest != was.Digest {
				t.Errorf("%s:\n%+v\n%+v", key, was, is)
			}
		}
		if r, err := m.Import(bob, out); err != nil || r.Unchanged != len(texts) || r.Written != 0 {
			t.Errorf("again: %+v, %v", r, err)
		}
	})
}

func TestImportOfOtherFiles(t *testing.T) {
	m, _ := open(t, t.TempDir(), t.TempDir())
	ada := as(t, "a", "ada")
	long := strings.Repeat("x", 1<<20+1)
	r, err := m.Import(ada, fstest.MapFS{
		"MEMORY.md":           {Data: []byte("root")},
		"README.md":           {Data: []byte("---\ncategory: daily\ntags: [x, y]\nexpires: 2999-01-01\n---\nhello")},
		"memory/a.md":         {Data: []byte("a"), ModTime: time.Unix(1_600_000_000, 0)},
		".git/config":         {Data: []byte("x")},
		"memory/pic.png":      {Data: []byte("x")},
		"memory/notes.txt":    {Data: []byte("x")},
		"memory/bin.md":       {Data: []byte("a\x00b")},
		"memory/long.md":      {Data: []byte(long)},
		"memory/link.md":      {Mode: fs.ModeSymlink, Data: []byte("a.md")},
		"memory/over.md":      {Data: []byte("---\nexpires: 2001-01-01\n---\nx")},
		"memory/escape.md":    {Data: []byte("---\nmemory:\n  category: core\n  path: ../../etc/passwd\n---\nx")},
		"memory/elsewhere.md": {Data: []byte("---\nmemory:\n  category: core\n  path: MEMORY\n---\nx")},
	})
	if err != nil || r.Written != 4 || len(r.Skipped) != 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	d, err := m.Get(ada, "README")
	if err != nil || d.Category != memory.Daily || !slices.Equal(d.Tags, []string{"x", "y"}) ||
		d.Expires.Year() != 2999 || !strings.HasPrefix(d.Text, "---\n") {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := m.Get(ada, "a"); err != nil || d.Updated.Unix() != 1_600_000_000 || d.Author.Name != "ada" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFilesOfTheWorkspace(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory, _ *memory.Rows) {
		files := m.Files()
		ada, bob, all := as(t, "a", "ada"), as(t, "a", "bob"), as(t, "a", "")
		for name, want := range map[string]bool{"MEMORY.md": true, "memory.md": true, "memory/x.md": true,
			"memory": false, "memory/pool.go": false, "memory/.md": false, "Memory.md": false, "memoryx/y": false,
			"x/memory/y.md": false} {
			if got := files.Serves(ada, name); got != want {
				t.Errorf("%s: %v", name, got)
			}
		}
		noAgent := as(t, "", "ada")
		remember(t, noAgent, m, "mine", "reached with the memory tools only")
		if list, err := files.List(noAgent, "."); files.Serves(noAgent, "MEMORY.md") || len(list) != 0 || err != nil {
			t.Errorf("a caller without an agent sees its memories as files: %v, %v", list, err)
		}
		if list, err := m.Resources(noAgent); len(list) != 1 || err != nil {
			t.Errorf("the resources of a caller without an agent are %v, %v", list, err)
		}
		if err := files.Write(ada, "memory/log.md", []byte("# Log\n\nThe heron landed.\n")); err != nil {
			t.Fatal(err)
		}
		if err := files.Write(all, "MEMORY.md", []byte("for all")); err != nil {
			t.Fatal(err)
		}
		if f := search(t, ada, m, memory.Query{Text: "heron"}); len(f.Hits) != 1 || f.Hits[0].From != 1 ||
			f.Hits[0].To != 3 {
			t.Errorf("%+v", f)
		}
		if text, modified, err := files.Read(bob, "MEMORY.md"); string(text) != "for all" || modified.IsZero() ||
			err != nil {
			t.Errorf("%q, %v, %v", text, modified, err)
		}
		for _, name := range []string{"memory/log.md", "memory/../x", "memory/none.md", "memory/none"} {
			if _, _, err := files.Read(bob, name); !isAbsent(err) {
				t.Errorf("%s: %v", name, err)
			}
			if err := files.Remove(bob, name); !isAbsent(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := files.Remove(bob, "MEMORY.md"); kind(err) != tool.Refused {
			t.Errorf("%v", err)
		}
		if err := files.Write(ada, "memory/pic.png", []byte("x")); kind(err) != tool.Invalid {
			t.Errorf("%v", err)
		}
		if list, err := files.List(ada, "."); err != nil || len(list) != 2 || list[0].Size == 0 {
			t.Errorf("%v, %v", list, err)
		}
		if list, err := files.List(bob, "memory"); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if err := files.Remove(ada, "memory/log.md"); err != nil {
			t.Fatal(err)
		}
		if f := search(t, ada, m, memory.Query{Text: "heron"}); len(f.Hits) != 0 {
			t.Errorf("%+v", f)
		}
	})
}
