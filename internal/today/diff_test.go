package today

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// A kept file is a change in a history: what the file had before, and what it has.
func kept(t *testing.T, before, after string) (d *Diffs, c Change, path string) {
	t.Helper()
	dir := t.TempDir()
	d = &Diffs{
		History: history.New(filepath.Join(dir, "data"), history.Limits{}, slog.New(slog.DiscardHandler)),
		Scrub:   func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") },
	}
	path = filepath.Join(dir, "a.txt")
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	digest, err := d.History.Digest(t.Context(), strings.NewReader(after), int64(len(after)))
	if err != nil {
		t.Fatal(err)
	}
	f := history.FileRecord{Root: history.Text(dir), Name: "a.txt", Shown: "a.txt", Before: &history.Content{},
		After: &history.Content{Digest: digest, Size: int64(len(after))}}
	record := history.Record{Call: "CALL", Files: []history.FileRecord{f}}
	if err := d.History.Add(t.Context(), record, []io.Reader{strings.NewReader(before)}); err != nil {
		t.Fatal(err)
	}
	found, ok, err := d.History.Find(t.Context(), "CALL")
	if err != nil || !ok {
		t.Fatalf("the call has no changes: %v", err)
	}
	return d, Change{File: "a.txt", first: found.Files[0], last: found.Files[0]}, path
}

func TestDiffs(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		added, removed      int
		ok                  bool
		want                string
	}{
		{"a line", "a\nb\nc\n", "a\nB\nc\n", 1, 1, true, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"},
		{"an empty file", "", "a\n", 1, 0, true, "@@ -0,0 +1,1 @@\n+a"},
		{"nothing", "a\n", "a\n", 0, 0, true, ""},
		{"lines like marks", "--- x\n", "+++ y\n", 1, 1, true, "@@ -1,1 +1,1 @@\n---- x\n++++ y"},
		{"a secret", "p=hunter2\n", "p=hunter2\nq=hunter2\n", 1, 0, true, "@@ -1,1 +1,2 @@\n p=[REDACTED]\n+q=[REDACTED]"},
		{"no text", "a\x00b", "a\x00c", 0, 0, false, ""},
		{"another encoding", "\xff\xfe", "a", 0, 0, false, ""},
		{"too large", strings.Repeat("x\n", 1<<20), "a", 0, 0, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, c, _ := kept(t, tt.before, tt.after)
			for range 2 { // the second time from memory
				one := []Change{c}
				d.Count(t.Context(), one)
				if one[0].Added != tt.added || one[0].Removed != tt.removed || one[0].Counted != tt.ok {
					t.Errorf("counted +%d -%d %v", one[0].Added, one[0].Removed, one[0].Counted)
				}
			}
			if lines, ok := d.Text(t.Context(), c); ok != tt.ok || strings.Join(lines, "\n") != tt.want {
				t.Errorf("text %q, %v", lines, ok)
			}
		})
	}
}

// TestDiffsOfFilesThatHaveChanged checks that nothing is shown of a file that is not as the change has left it.
func TestDiffsOfFilesThatHaveChanged(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"other content": func(path string) error { return os.WriteFile(path, []byte("x\n"), 0o600) },
		"removed":       os.Remove,
		"a link": func(path string) error {
			other := filepath.Join(filepath.Dir(path), "b.txt")
			if err := os.Rename(path, other); err != nil {
				return err
			}
			return os.Symlink(other, path)
		},
		"a directory": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, c, path := kept(t, "a\n", "b\n")
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			if lines, ok := d.Text(t.Context(), c); ok {
				t.Errorf("text %q", lines)
			}
		})
	}
}
