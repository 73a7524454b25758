package media

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

const (
	maxRowsFile     = 32 << 20
	maxEmbedded     = 8 << 20  // bytes of a picture in a document
	maxAllEmbedded  = 24 << 20 // bytes of all pictures
	maxEmbeddedFile = 100      // pictures
)

// writeDocument makes a document of Markdown or of rows.
type writeDocument struct {
	Options
	writer documentWriter
}

// A documentWriter makes documents: a [document.Service].
type documentWriter interface {
	Write(ctx context.Context, format document.Format, content []byte) (*document.Written, error)
}

type writeDocumentArgs struct {
	Path       string          `json:"path" jsonschema:"file to write: .docx, .pdf, .html or .xlsx" alias:"file,file_path,filename,output"`
	Markdown   string          `json:"markdown,omitempty" jsonschema:"content; front matter: title, author, page (letter landscape); pictures by path" alias:"content,text,body" maxlen:"4194304"`
	Rows       json.RawMessage `json:"rows,omitempty" jsonschema:"content of .xlsx: CSV, a file path, rows, or {SHEET: rows}; cells are values, {\"formula\":\"=A1*2\"} or {\"value\":0.1,\"format\":\"0%\"}" alias:"data,csv,sheets"`
	CreateOnly bool            `json:"create_only,omitempty" jsonschema:"fail if the file exists" hidden:"true"`
}

func (writeDocument) Spec() tool.Spec {
	return tool.Spec{
		Name: "write_document", Group: groupMake, Title: "Write a document", Risk: tool.Writes, Timeout: 2 * time.Minute,
		Doc:      `Makes a Word, PDF or HTML document of Markdown, or an Excel workbook of rows. Returns an id for undo.`,
		Also:     []string{"create_document", "create_pdf", "create_docx", "create_excel"},
		Keywords: "docx xlsx excel workbook spreadsheet report letter",
	}
}

func (t writeDocument) Do(ctx context.Context, a writeDocumentArgs) (tool.Result, error) {
	format := document.Format(strings.TrimPrefix(strings.ToLower(path.Ext(a.Path)), "."))
	var source write.Source
	var notes []string
	var err error
	switch format {
	case document.DOCX, document.PDF, document.HTML:
		if a.Markdown == "" {
			return tool.Result{}, tool.Errorf(tool.Invalid, `write_document: "markdown" is missing for a %s file`, format).
				Try(`send {"path":"report.%s","markdown":"# Title"}`, format)
		}
		source.Markdown = a.Markdown
		source.Pictures, notes, err = t.pictures(ctx, a)
	case document.XLSX:
		source.Rows, err = t.rows(ctx, a)
	default:
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q is no file that write_document makes", text.Clip(a.Path, 200)).
			Try("end the path with .docx, .pdf, .html or .xlsx; for text use write_file")
	}
	if err != nil {
		return tool.Result{}, err
	}
	content, err := json.Marshal(source)
	if err != nil {
		return tool.Result{}, err
	}
	made, err := t.writer.Write(ctx, format, content)
	if err != nil {
		return tool.Result{}, err
	}
	return t.save(ctx, a, made, append(notes, made.Notes...))
}

// save writes the document to the workspace.
func (t writeDocument) save(ctx context.Context, a writeDocumentArgs, made *document.Written, notes []string) (tool.Result, error) {
	receipt, err := t.Files.Change(ctx, []string{a.Path}, func(files []*workspace.File) ([]workspace.Change, error) {
		if f := files[0]; f.Exists && a.CreateOnly {
			return nil, tool.Errorf(tool.Conflict, "%q exists already (%s)", f.Name, text.Bytes(f.Size)).
				Try("use another name, or omit create_only to replace it")
		}
		return []workspace.Change{{Path: a.Path, Content: bytes.NewReader(made.Content)}}, nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	for _, f := range receipt.Files {
		done := "replaced"
		if f.Created {
			done = "created"
		}
		fmt.Fprintf(&b, "%s %s: %s", done, f.Name, text.Bytes(f.Size))
		notes = append(notes, f.Notes...)
	}
	if receipt.ID != "" {
		fmt.Fprintf(&b, "; to undo it use undo %s", receipt.ID)
	}
	for _, note := range notes {
		clean, _ := tool.Clean(note)
		b.WriteString("\n[" + clean + "]")
	}
	return tool.Text(b.String()), nil
}

// pictureLink finds the destinations of pictures in Markdown.
var pictureLink = text.Pattern(`!\[[^\]\n]{0,1000}\]\(\s*(?:<([^<>\n]{1,1000})>|([^\s()<>]{1,1000}))`)

// pictures reads the pictures that the Markdown shows. Those of the web are not fetched, and a picture that is no file
// of the workspace is a note.
func (t writeDocument) pictures(ctx context.Context, a writeDocumentArgs) (found map[string][]byte, notes []string, err error) {
	found = map[string][]byte{}
	total := 0
	for _, match := range pictureLink().FindAllStringSubmatch(a.Markdown, maxEmbeddedFile+1) {
		name := match[1] + match[2]
		if _, again := found[name]; again || strings.Contains(name, "://") || strings.HasPrefix(name, "data:") {
			continue
		}
		if len(found) == maxEmbeddedFile {
			return nil, nil, tool.Errorf(tool.TooLarge, "a document has at most %d pictures", maxEmbeddedFile).
				Try("make several documents")
		}
		data, err := t.picture(ctx, name)
		if err != nil {
			if kind := tool.AsError(err).Kind; kind == tool.NotFound {
				notes = append(notes, fmt.Sprintf("there is no picture %q in the workspace", text.Clip(name, 200)))
				found[name] = nil
				continue
			}
			return nil, nil, err
		}
		if total += len(data); total > maxAllEmbedded {
			return nil, nil, tool.Errorf(tool.TooLarge, "the pictures have more than %s", text.Bytes(maxAllEmbedded)).
				Try("make them smaller, or make several documents")
		}
		found[name] = data
	}
	return found, notes, nil
}

func (t writeDocument) picture(ctx context.Context, name string) ([]byte, error) {
	file, err := t.Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Size > maxEmbedded {
		return nil, tooLarge(file.Name, file.Size, maxEmbedded)
	}
	return io.ReadAll(io.NewSectionReader(file, 0, file.Size))
}

// rows returns the rows of a workbook, which may be in a file.
func (t writeDocument) rows(ctx context.Context, a writeDocumentArgs) (string, error) {
	if len(a.Rows) == 0 {
		return "", tool.Errorf(tool.Invalid, `write_document: "rows" is missing for an xlsx file`).
			Try(`send {"path":"prices.xlsx","rows":[["name","price"],["tea",2.5]]}`)
	}
	var rows string
	if json.Unmarshal(a.Rows, &rows) != nil {
		return string(a.Rows), nil
	}
	switch ext := path.Ext(strings.TrimSpace(rows)); {
	case strings.ContainsAny(rows, "\n{["), ext != ".csv" && ext != ".json" && ext != ".tsv":
		return rows, nil
	}
	file, err := t.Files.Open(ctx, strings.TrimSpace(rows))
	if err != nil {
		return "", err
	}
	defer file.Close()
	if file.Size > maxRowsFile {
		return "", tooLarge(file.Name, file.Size, maxRowsFile)
	}
	content, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size))
	return string(content), err
}
