package media

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// copier is a documentWriter whose documents are the content that it gets.
type copier struct{}

func (copier) Write(_ context.Context, _ document.Format, content []byte) (*document.Written, error) {
	return &document.Written{Content: content, Notes: []string{"a note"}}, nil
}

// workspaceWith returns a workspace with these files.
func workspaceWith(t *testing.T, contents map[string]string) (*workspace.Workspace, context.Context) {
	t.Helper()
	files, ctx, dir := workspacetest.New(t)
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files, ctx
}

func TestWriteDocument(t *testing.T) {
	for _, test := range []struct {
		name string
		args writeDocumentArgs
		kind tool.Kind // of the error
		want string    // in the result or the error
	}{
		{"a document", writeDocumentArgs{Path: "new/a.DOCX", Markdown: "x"}, "", "created new/a.DOCX"},
		{"an id for undo and notes", writeDocumentArgs{Path: "a.docx", Markdown: "x"}, "", "use undo"},
		{"a workbook", writeDocumentArgs{Path: "a.xlsx", Rows: json.RawMessage(`[[1]]`)}, "", "created a.xlsx"},
		{"rows of a file", writeDocumentArgs{Path: "a.xlsx", Rows: json.RawMessage(`"rows.csv"`)}, "", "created"},
		{"an old document", writeDocumentArgs{Path: "old.docx", Markdown: "x"}, "", "replaced old.docx"},
		{"only new ones", writeDocumentArgs{Path: "old.docx", Markdown: "x", CreateOnly: true}, tool.Conflict, "exists already"},
		{"another format", writeDocumentArgs{Path: "a.txt", Markdown: "x"}, tool.Invalid, "use write_file"},
		{"no Markdown", writeDocumentArgs{Path: "a.docx"}, tool.Invalid, "markdown"},
		{"no rows", writeDocumentArgs{Path: "a.xlsx", Markdown: "x"}, tool.Invalid, "rows"},
		{"a missing file of rows", writeDocumentArgs{Path: "a.xlsx", Rows: json.RawMessage(`"none.csv"`)}, tool.NotFound, "none.csv"},
		{"cells in place", writeDocumentArgs{Path: "book.xlsx", Values: json.RawMessage(`{"A1":1}`)}, "", "changed book.xlsx"},
		{"rows appended to a copy", writeDocumentArgs{Path: "new.xlsx", From: []string{"book.xlsx"}, Rows: json.RawMessage(`[[1]]`)}, "", "created new.xlsx"},
		{"pages of a PDF file", writeDocumentArgs{Path: "b.pdf", From: []string{"a.pdf"}, Pages: "1-2"}, "", "created b.pdf"},
		{"a PDF file is split", writeDocumentArgs{Path: "b.pdf", From: []string{"a.pdf"}, Pages: "1;2-3"}, "", "created b-2.pdf"},
		{"a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Values: json.RawMessage(`{}`)}, "", "created b.docx"},
		{"a picture in a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Values: json.RawMessage(`{"a":[{"picture":"rows.csv"}]}`)}, "", "created b.docx"},
		{"a missing picture in a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Values: json.RawMessage(`{"a":{"picture":"none.png"}}`)}, "", "no picture"},
		{"a picture outside in a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Values: json.RawMessage(`{"a":{"picture":"/etc/passwd"}}`)}, tool.Refused, "outside"},
		{"values without a template", writeDocumentArgs{Path: "b.docx", Values: json.RawMessage(`{"a":1}`)}, tool.Invalid, "from"},
		{"another ending", writeDocumentArgs{Path: "b.docx", From: []string{"a.pdf"}}, tool.Invalid, "cannot become"},
		{"a page as a template", writeDocumentArgs{Path: "b.html", From: []string{"b.html"}}, tool.Invalid, "no template"},
		{"Markdown and a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Markdown: "x"}, tool.Invalid, "exclude"},
		{"rows for a template", writeDocumentArgs{Path: "b.docx", From: []string{"old.docx"}, Rows: json.RawMessage(`[[1]]`)}, tool.Invalid, "xlsx"},
		{"pages of a workbook", writeDocumentArgs{Path: "book.xlsx", From: []string{"book.xlsx"}, Pages: "1"}, tool.Invalid, "PDF"},
		{"a missing template", writeDocumentArgs{Path: "b.docx", From: []string{"none.docx"}}, tool.NotFound, "none.docx"},
		{"a template outside", writeDocumentArgs{Path: "b.docx", From: []string{"../none.docx"}}, tool.Refused, "outside"},
		{"too many parts", writeDocumentArgs{Path: "b.pdf", From: []string{"a.pdf"}, Pages: strings.Repeat("1;", 60)}, tool.TooLarge, "at most"},
		{"outside the workspace", writeDocumentArgs{Path: "../a.docx", Markdown: "x"}, tool.Refused, "outside"},
		{"a picture outside", writeDocumentArgs{Path: "a.docx", Markdown: "![x](/etc/passwd)"}, tool.Refused, "outside"},
		{"a picture above", writeDocumentArgs{Path: "a.docx", Markdown: "![x](<../../x.png>)"}, tool.Refused, "outside"},
		{"a missing picture", writeDocumentArgs{Path: "a.docx", Markdown: "![x](none.png)"}, "", "no picture"},
		{"a large picture", writeDocumentArgs{Path: "a.docx", Markdown: "![x](large.png)"}, tool.TooLarge, "maximum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, ctx := workspaceWith(t, map[string]string{
				"old.docx": "old", "rows.csv": "a,b\n1,2", "book.xlsx": "book", "a.pdf": "pages", "large.png": strings.Repeat("x", maxEmbedded+1),
			})
			res, err := writeDocument{newStudio(Options{Files: files, Seen: versions{}}), copier{}}.Do(ctx, test.args)
			got := ""
			for _, p := range res.Parts {
				got += p.Text
			}
			if err != nil {
				got = err.Error()
				if kind := tool.AsError(err).Kind; kind != test.kind {
					t.Errorf("got %v: %v, want %v", kind, err, test.kind)
				}
			}
			if (err == nil) != (test.kind == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWrittenPicturesAreOfTheWorkspace looks at the content that the process gets.
func TestWrittenPicturesAreOfTheWorkspace(t *testing.T) {
	files, ctx := workspaceWith(t, map[string]string{"a b.png": "picture", "c.png": "other"})
	_, err := writeDocument{newStudio(Options{Files: files, Seen: versions{}}), copier{}}.Do(ctx, writeDocumentArgs{
		Path: "a.html", Markdown: "![x](<a b.png>) ![y](c.png \"title\") ![z](https://example.com/d.png) ![w](data:image/png;base64,AA)"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Open(ctx, "a.html")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sent write.Source
	content := make([]byte, f.Size)
	if _, err := f.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &sent); err != nil {
		t.Fatal(err)
	}
	if len(sent.Pictures) != 2 || string(sent.Pictures["a b.png"]) != "picture" || string(sent.Pictures["c.png"]) != "other" {
		t.Errorf("pictures: %q", sent.Pictures)
	}
}

// slow is a documentWriter during whose work another program writes to the file.
type slow struct {
	copier
	change func()
}

func (s slow) Write(ctx context.Context, f document.Format, content []byte) (*document.Written, error) {
	s.change()
	return s.copier.Write(ctx, f, content)
}

// versions are versions that a session knows.
type versions map[string]string

func (v versions) Version(_ tool.Caller, name string) (string, bool) { s, ok := v[name]; return s, ok }
func (versions) Of(content io.ReaderAt, size int64, _ string) (string, error) {
	b, err := io.ReadAll(io.NewSectionReader(content, 0, size))
	return string(b), err
}
func (v versions) Note(_ tool.Caller, name, version string) { v[name] = version }

// TestChangesOfOthersAreNotLost changes a workbook that another program has changed.
func TestChangesOfOthersAreNotLost(t *testing.T) {
	files, ctx := workspaceWith(t, map[string]string{"book.xlsx": "book"})
	replace := func(content string) {
		_, err := files.Change(ctx, []string{"book.xlsx"}, func([]*workspace.File) ([]workspace.Change, error) {
			return []workspace.Change{{Path: "book.xlsx", Content: strings.NewReader(content)}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change := writeDocumentArgs{Path: "book.xlsx", Values: json.RawMessage(`{"A1":1}`)}
	o := Options{Files: files, Seen: versions{}}
	_, err := writeDocument{newStudio(o), slow{change: func() { replace("during the call") }}}.Do(ctx, change)
	if tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("changed during the call: %v", err)
	}
	for range 2 { // what this session wrote itself is no conflict
		if _, err := (writeDocument{newStudio(o), copier{}}).Do(ctx, change); err != nil {
			t.Fatal(err)
		}
	}
	replace("after it was read")
	if _, err := (writeDocument{newStudio(o), copier{}}).Do(ctx, change); tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("changed after it was read: %v", err)
	}
}
