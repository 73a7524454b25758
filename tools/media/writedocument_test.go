package media

import (
	"context"
	"encoding/json"
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
		{"outside the workspace", writeDocumentArgs{Path: "../a.docx", Markdown: "x"}, tool.Refused, "outside"},
		{"a picture outside", writeDocumentArgs{Path: "a.docx", Markdown: "![x](/etc/passwd)"}, tool.Refused, "outside"},
		{"a picture above", writeDocumentArgs{Path: "a.docx", Markdown: "![x](<../../x.png>)"}, tool.Refused, "outside"},
		{"a missing picture", writeDocumentArgs{Path: "a.docx", Markdown: "![x](none.png)"}, "", "no picture"},
		{"a large picture", writeDocumentArgs{Path: "a.docx", Markdown: "![x](large.png)"}, tool.TooLarge, "maximum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, ctx := workspaceWith(t, map[string]string{
				"old.docx": "old", "rows.csv": "a,b\n1,2", "large.png": strings.Repeat("x", maxEmbedded+1),
			})
			res, err := writeDocument{Options{Files: files}, copier{}}.Do(ctx, test.args)
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
	_, err := writeDocument{Options{Files: files}, copier{}}.Do(ctx, writeDocumentArgs{
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
