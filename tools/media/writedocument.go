package media

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
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
	maxPartsOfPDF   = 50       // files that one call splits pages into
)

// writeDocument makes a document of Markdown or of rows, or changes one.
type writeDocument struct {
	studio
	writer documentWriter
}

// A documentWriter makes documents: a [document.Service].
type documentWriter interface {
	Write(ctx context.Context, format document.Format, content []byte) (*document.Written, error)
}

type writeDocumentArgs struct {
	Path       string          `json:"path" jsonschema:"file to write: .docx, .pdf, .html, .pptx or .xlsx" alias:"file,file_path,filename,output"`
	Markdown   string          `json:"markdown,omitempty" jsonschema:"content; front matter: title, author, page (letter landscape); pictures by path" alias:"content,text,body" maxlen:"4194304"`
	Rows       json.RawMessage `json:"rows,omitempty" jsonschema:"content of .xlsx, or rows to append: CSV, a file path, rows, or {SHEET: rows}; cells are values, {\"formula\":\"=A1*2\"} or {\"value\":0.1,\"format\":\"0%\"}" alias:"data,csv,sheets"`
	From       []string        `json:"from,omitempty" jsonschema:"file to change: workbook, template with {{name}}, or PDF files to join" alias:"template,source,inputs"`
	Values     json.RawMessage `json:"values,omitempty" jsonschema:"{\"Sheet1!B2\": cell}, {placeholder: text or list of objects}, {form field: text}" alias:"cells,fields,variables"`
	Pages      string          `json:"pages,omitempty" jsonschema:"of PDF files, in order: 3,1-2,5@90 turns 5; each ; begins a file" alias:"page_ranges"`
	CreateOnly bool            `json:"create_only,omitempty" jsonschema:"fail if the file exists" hidden:"true"`
}

func (writeDocument) Spec() tool.Spec {
	return tool.Spec{
		Name: "write_document", Group: groupMake, Title: "Write a document", Risk: tool.Writes, Timeout: 4 * time.Minute,
		Doc: `Makes a Word, PDF, HTML or PowerPoint document of Markdown (one slide for each heading), or an Excel workbook of rows. Changes workbooks, fills in templates ` +
			`and PDF forms, joins, splits and turns PDF pages. Returns an id for undo.`,
		Also:     []string{"create_document", "create_pdf", "create_docx", "create_excel", "create_pptx", "edit_excel", "fill_template", "fill_pdf", "merge_pdf", "split_pdf"},
		Keywords: "docx xlsx excel workbook spreadsheet report letter slides powerpoint template form merge rotate cells append",
	}
}

// An original is a file that a document is made of.
type original struct{ name, stamp, version string }

func (t writeDocument) Do(ctx context.Context, a writeDocumentArgs) (tool.Result, error) {
	format := document.Format(strings.TrimPrefix(strings.ToLower(path.Ext(a.Path)), "."))
	switch format {
	case document.DOCX, document.PDF, document.HTML, document.XLSX, document.PPTX:
	default:
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q is no file that write_document makes", text.Clip(a.Path, 200)).
			Try("end the path with .docx, .pdf, .html, .pptx or .xlsx; for text use write_file")
	}
	source := write.Source{Values: a.Values}
	var originals []original
	var notes []string
	var err error
	if len(a.From) == 0 && len(a.Values) > 0 && format == document.XLSX {
		a.From = []string{a.Path}
	}
	switch {
	case len(a.From) > 0:
		if err = a.fits(format); err == nil {
			source.From, originals, err = t.originals(ctx, a.From)
		}
		if err == nil && len(a.Rows) > 0 {
			source.Rows, err = t.rows(ctx, a)
		}
		var values any
		if err == nil && format != document.XLSX && json.Unmarshal(a.Values, &values) == nil {
			source.Pictures = map[string][]byte{}
			err = t.picturesOf(ctx, values, source.Pictures, &notes)
		}
	case len(a.Values) > 0 || a.Pages != "":
		return tool.Result{}, tool.Errorf(tool.Invalid, `write_document: "from" is missing: the template, or the PDF file`).
			Try(`send {"path":"new.%s","from":["template.%[1]s"],"values":{"name":"Ann"}}`, format)
	case format == document.XLSX:
		source.Rows, err = t.rows(ctx, a)
	case a.Markdown == "":
		return tool.Result{}, tool.Errorf(tool.Invalid, `write_document: "markdown" is missing for a %s file`, format).
			Try(`send {"path":"report.%s","markdown":"# Title"}`, format)
	default:
		source.Markdown = a.Markdown
		source.Pictures, notes, err = t.pictures(ctx, a)
	}
	if err != nil {
		return tool.Result{}, err
	}
	parts := strings.Split(strings.Trim(a.Pages, "; "), ";")
	if len(parts) > maxPartsOfPDF {
		return tool.Result{}, tool.Errorf(tool.TooLarge, "one call makes at most %d files", maxPartsOfPDF).Try("make several calls")
	}
	var files []newFile
	for i, pages := range parts {
		source.Pages = pages
		content, err := json.Marshal(source)
		if err != nil {
			return tool.Result{}, err
		}
		write := t.writer.Write
		if format == document.PDF && source.Markdown != "" {
			write = t.print
		}
		made, err := write(ctx, format, content)
		if err != nil {
			return tool.Result{}, err
		}
		name := a.Path
		if len(parts) > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(a.Path, path.Ext(a.Path)), i+1, path.Ext(a.Path))
		}
		files = append(files, newFile{name, made.Content})
		for _, note := range made.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return t.save(ctx, a, files, originals, notes)
}

// print makes a PDF file of Markdown. Chromium prints the page of it; without Chromium, LibreOffice prints the Word
// document.
func (t writeDocument) print(ctx context.Context, format document.Format, content []byte) (*document.Written, error) {
	if t.Browser == nil {
		return t.writer.Write(ctx, format, content)
	}
	page, err := t.writer.Write(ctx, document.HTML, content)
	if err != nil {
		return nil, err
	}
	select {
	case t.drawing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	printed, failed := t.Browser.Print(ctx, string(page.Content))
	<-t.drawing
	if failed == nil {
		if note := t.fontsLacking(ctx, string(page.Content)); note != "" {
			page.Notes = append(page.Notes, note)
		}
		return &document.Written{Content: printed, Notes: page.Notes}, nil
	}
	if ctx.Err() != nil {
		return nil, failed
	}
	made, err := t.writer.Write(ctx, format, content)
	if err != nil && tool.AsError(failed).Kind != tool.Unavailable {
		return nil, failed
	}
	return made, err
}

// fits reports arguments that do not go together with a file that is changed.
func (a writeDocumentArgs) fits(format document.Format) error {
	for _, from := range a.From {
		if !strings.EqualFold(path.Ext(from), "."+string(format)) {
			return tool.Errorf(tool.Invalid, "%q cannot become a %s file", text.Clip(from, 200), format).
				Try("give path the same ending; to convert a document, read it and write its Markdown")
		}
	}
	switch {
	case format == document.HTML:
		return tool.Errorf(tool.Invalid, "an HTML file is no template here").Try("change it with edit")
	case a.Markdown != "":
		return tool.Errorf(tool.Invalid, `"markdown" and "from" exclude each other`).Try("send one of them")
	case len(a.Rows) > 0 && format != document.XLSX:
		return tool.Errorf(tool.Invalid, `"rows" are appended to .xlsx files only`).Try(`for lists in a template send {"values":{"items":[{"name":"tea"}]}}`)
	case a.Pages != "" && format != document.PDF:
		return tool.Errorf(tool.Invalid, `"pages" are of PDF files only`).Try("omit pages")
	}
	return nil
}

// originals reads the files that a document is made of.
func (t writeDocument) originals(ctx context.Context, paths []string) (contents [][]byte, all []original, err error) {
	total := int64(0)
	for _, name := range paths {
		file, err := t.Files.Open(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if total += file.Size; total > maxRowsFile {
			_ = file.Close()
			return nil, nil, tooLarge(file.Name, total, maxRowsFile)
		}
		content, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size))
		_ = file.Close()
		if err != nil {
			return nil, nil, err
		}
		version, err := t.Seen.Of(bytes.NewReader(content), file.Size, file.Stamp)
		if err != nil {
			return nil, nil, err
		}
		contents, all = append(contents, content), append(all, original{file.Name, file.Stamp, version})
	}
	return contents, all, nil
}

// A newFile is a file that is to be written.
type newFile struct {
	path    string
	content []byte
}

// save writes the documents to the workspace. A file that is changed in place must be as it was when the call read it, and
// when the session last read it.
func (t writeDocument) save(ctx context.Context, a writeDocumentArgs, made []newFile, from []original, notes []string) (tool.Result, error) {
	caller := tool.CallerFrom(ctx)
	var paths []string
	for _, m := range made {
		paths = append(paths, m.path)
	}
	receipt, err := t.Files.Change(ctx, paths, func(files []*workspace.File) (changes []workspace.Change, err error) {
		for i, f := range files {
			if f.Exists && a.CreateOnly {
				return nil, tool.Errorf(tool.Conflict, "%q exists already (%s)", f.Name, text.Bytes(f.Size)).
					Try("use another name, or omit create_only to replace it")
			}
			for _, o := range from {
				if o.name != f.Name {
					continue
				}
				known, wasRead := t.Seen.Version(caller, f.Name)
				if f.Stamp != o.stamp || wasRead && known != o.version {
					return nil, tool.Errorf(tool.Conflict, "%q changed since you read it", f.Name).
						Try("read it again with read_document, then send the change")
				}
			}
			changes = append(changes, workspace.Change{Path: made[i].path, Content: bytes.NewReader(made[i].content)})
		}
		return changes, nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	for i, f := range receipt.Files {
		done := "replaced"
		if f.Created {
			done = "created"
		} else if slices.ContainsFunc(from, func(o original) bool { return o.name == f.Name }) {
			done = "changed"
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s: %s", done, f.Name, text.Bytes(f.Size))
		notes = append(notes, f.Notes...)
		version := "" // the source of the file may store another form
		if f.Size == int64(len(made[i].content)) {
			if version, err = t.Seen.Of(bytes.NewReader(made[i].content), f.Size, f.Stamp); err != nil {
				return tool.Result{}, err
			}
		}
		t.Seen.Note(caller, f.Name, version)
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

// picturesOf reads the pictures that values name as {"picture": path}.
func (t writeDocument) picturesOf(ctx context.Context, values any, to map[string][]byte, notes *[]string) error {
	total := 0
	for _, data := range to {
		total += len(data)
	}
	if total > maxAllEmbedded || len(to) > maxEmbeddedFile {
		return tool.Errorf(tool.TooLarge, "the pictures are more than %d, or have more than %s", maxEmbeddedFile, text.Bytes(maxAllEmbedded)).
			Try("make them smaller, or make several documents")
	}
	var inner []any
	switch v := values.(type) {
	case []any:
		inner = v
	case map[string]any:
		inner = slices.Collect(maps.Values(v))
		if name, ok := v["picture"].(string); ok && to[name] == nil && !strings.Contains(name, "://") {
			data, err := t.picture(ctx, name)
			if err != nil && tool.AsError(err).Kind == tool.NotFound {
				*notes = append(*notes, fmt.Sprintf("there is no picture %q in the workspace", text.Clip(name, 200)))
			} else if err != nil {
				return err
			} else {
				to[name] = data
			}
		}
	}
	for _, v := range inner {
		if err := t.picturesOf(ctx, v, to, notes); err != nil {
			return err
		}
	}
	return nil
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
