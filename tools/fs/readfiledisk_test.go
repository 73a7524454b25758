package fs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// opener is the part of Files that reading needs.
type opener interface {
	Open(ctx context.Context, path string) (*workspace.File, error)
}

type reading struct {
	workspace.Files
	from opener
}

func (r reading) Open(ctx context.Context, path string) (*workspace.File, error) {
	return r.from.Open(ctx, path)
}

// disk is the tool over a real workspace.
func disk(t testing.TB) (read func(args string) (tool.Result, error), dir string) {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t)
	one := fs.ReadFile(reading{from: ws}, &fs.Seen{})
	return func(args string) (tool.Result, error) {
		call, err := one.Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		return call.Run(ctx)
	}, dir
}

func put(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadFromDisk(t *testing.T) {
	read, dir := disk(t)
	put(t, filepath.Join(dir, "notes.txt"), "one\ntwo\n")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(filepath.Join(dir, "large.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if _, err := large.WriteAt([]byte("\nthe last line\n"), 100<<20); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want, kind string }{
		{`{"path":"notes.txt"}`, "[notes.txt: 2 lines, 8 B, version ", ""},
		{`{"path":"notes.txt","numbers":true}`, "\n1|one\n2|two", ""},
		{`{"path":"gone.txt"}`, "gone.txt", string(tool.NotFound)},
		{`{"path":"sub"}`, "list_files", string(tool.Invalid)},
		{`{"path":"../x"}`, "outside", string(tool.Refused)},
		{`{"path":"large.log","offset":-1,"encoding":"utf-8"}`, "[large.log: line -1, 105 MB, version ", ""},
		{`{"path":"large.log","offset":-1,"encoding":"utf-8","limit":5}`, "]\nthe last line", ""},
	} {
		res, err := read(tt.args)
		text, kind := res.Text(), ""
		if err != nil {
			text, kind = err.Error(), string(tool.AsError(err).Kind)
		}
		if !strings.Contains(text, tt.want) || kind != tt.kind {
			t.Errorf("%s: %q %.300s", tt.args, kind, text)
		}
	}
}

func TestReadAgainFromDisk(t *testing.T) {
	read, dir := disk(t)
	name := filepath.Join(dir, "notes.txt")
	for i, want := range []string{"word word", "is unchanged since", "word word"} {
		put(t, name, strings.Repeat("word ", 100)) // the same, in a file written anew
		if res, err := read(`{"path":"notes.txt"}`); err != nil || !strings.Contains(res.Text(), want) {
			t.Errorf("reading number %d: %.100s, %v", i+1, res.Text(), err)
		}
	}
}

func BenchmarkRead1KFromDisk(b *testing.B) {
	read, dir := disk(b)
	for i := range 2 {
		put(b, filepath.Join(dir, fmt.Sprint(i)), strings.Repeat("thirty-two bytes are in this one\n", 31))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := read(fmt.Sprintf(`{"path":"%d"}`, i&1)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAWrongEncodingIsNamed reads texts in encodings that they have, could have or do not
// have.
func TestAWrongEncodingIsNamed(t *testing.T) {
	read, dir := disk(t)
	put(t, filepath.Join(dir, "ascii"), "plain text\n")
	put(t, filepath.Join(dir, "utf8"), "gr\u00fc\u00dfe\n")
	put(t, filepath.Join(dir, "latin1"), "gr\xfc\xdfe\n")
	put(t, filepath.Join(dir, "wide"), "\xff\xfeh\x00i\x00")
	put(t, filepath.Join(dir, "unmarked"), "h\x00i\x00")
	for args, want := range map[string]string{
		`"path":"ascii","encoding":"utf-16"`:      "but it seems to be utf-8: omit encoding",
		`"path":"ascii","encoding":"latin1"`:      "",
		`"path":"utf8","encoding":"latin1"`:       "but it seems to be utf-8: omit encoding",
		`"path":"utf8","encoding":"utf8"`:         "",
		`"path":"latin1","encoding":"latin1"`:     "",
		`"path":"latin1","encoding":"cp1252"`:     "",
		`"path":"wide","encoding":"utf-8"`:        "but it seems to be utf-16le: omit encoding",
		`"path":"wide","encoding":"utf-16le"`:     "",
		`"path":"unmarked","encoding":"utf-16le"`: "",
	} {
		res, err := read("{" + args + "}")
		head, _, _ := strings.Cut(res.Text(), "\n")
		if err != nil || !strings.Contains(head, want) || want == "" && strings.Contains(head, "seems") {
			t.Errorf("%s: %s, %v", args, head, err)
		}
	}
}
