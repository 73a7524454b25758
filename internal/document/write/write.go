// Package write makes documents of Markdown, and workbooks of rows. It runs in the process that reads
// documents, so that hostile input can exhaust no more than that process. It opens no files and no addresses:
// a picture is in the Source, or only its description is written.
//
// Begin with Source. The formats are docx.go, pptx.go, html.go, pdf.go and xlsx.go; package readers lists them. edit.go
// changes workbooks, and template.go fills in documents.
//
// github.com/xuri/excelize changes workbooks and calculates formulas. New workbooks are written by xlsx.go, row by row,
// because a sheet of excelize takes ten times the memory.
package write

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/markdown/parser"
)

// A Source is the content of a document that is to be made. It has Markdown, rows, or documents that are changed.
type Source struct {
	Markdown string            `json:",omitempty"`
	Pictures map[string][]byte `json:",omitempty"` // by the destination in the Markdown
	Rows     string            `json:",omitempty"` // JSON or CSV
	From     [][]byte          `json:",omitempty"` // a workbook to change, a template to fill in, or PDF files to join
	Values   json.RawMessage   `json:",omitempty"` // of cells, placeholders or fields, by their names
	Pages    string            `json:",omitempty"` // of the PDF files, joined
}

// A writer makes one document of Markdown.
type writer struct {
	source   []byte
	root     ast.Node
	title    string
	author   string
	page     paper
	pictures map[string][]byte
	notes    []string
}

// A paper is the size of a page in twentieths of a point.
type paper struct{ w, h int }

// papers are the sizes that front matter may name.
var papers = map[string]paper{
	"a3": {16838, 23811}, "a4": {11906, 16838}, "a5": {8391, 11906}, "letter": {12240, 15840}, "legal": {12240, 20160},
}

// decode reads the source of a document.
func decode(src document.Source) (s Source, err error) {
	if err = json.NewDecoder(src.Reader()).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the content: %w", err)
	}
	return s, nil
}

// parse reads the Markdown of a source and its front matter.
func (s Source) parse() (*writer, error) {
	meta, body, _, err := markdown.FrontMatter(s.Markdown)
	if err != nil {
		return nil, document.Errorf(document.ErrBroken, "the front matter is not valid: %v", err)
	}
	w := &writer{source: []byte(readable(body)), title: meta.Text("title"), author: meta.Text("author"),
		pictures: s.Pictures}
	size := cmp.Or(meta.Text("page"), meta.Text("page_size"), "a4")
	landscape := false
	for word := range strings.FieldsSeq(strings.ToLower(size)) {
		if word == "landscape" {
			landscape = true
		} else if word != "portrait" {
			ok := false
			if w.page, ok = papers[word]; !ok {
				return nil, document.Errorf(document.ErrBroken,
					"the page size %.40q is not known; use a3, a4, a5, letter or legal, with landscape after it if wanted", size)
			}
		}
	}
	if w.page.w == 0 {
		w.page = papers["a4"]
	}
	if landscape {
		w.page.w, w.page.h = w.page.h, w.page.w
	}
	w.root = parser.Document(parser.Footnotes()...).Parse(text.NewReader(w.source))
	return w, nil
}

// readable returns text without the control characters that no document has.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// note adds a note for the caller, once.
func (w *writer) note(format string, args ...any) {
	const most = 20
	text := fmt.Sprintf(format, args...)
	for _, n := range w.notes {
		if n == text {
			return
		}
	}
	if len(w.notes) < most {
		w.notes = append(w.notes, text)
	}
}

// plain returns the text in a node.
func (w *writer) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(w.source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// isAddress reports whether a link leads to the web, to a mail address or within the document.
func isAddress(target string) bool {
	lower := strings.ToLower(target)
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(lower, scheme) {
			return true
		}
	}
	return false
}

// escape returns text for XML. Characters that XML does not allow are replaced.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// A zipped is a zip file that is being written.
type zipped struct {
	bytes.Buffer
	zip *zip.Writer
}

func newZip() *zipped {
	p := &zipped{}
	p.zip = zip.NewWriter(&p.Buffer)
	return p
}

// add writes a part.
func (p *zipped) add(name, content string) error {
	part, err := p.zip.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(part, content)
	return err
}

// office starts an Office document with its properties and the relation to its main part.
func (p *zipped) office(main, types, title, author string) error {
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	for _, part := range [][2]string{
		{"[Content_Types].xml", xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>` +
			`<Default Extension="jpeg" ContentType="image/jpeg"/><Default Extension="gif" ContentType="image/gif"/>` +
			`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
			types + `</Types>`},
		{"_rels/.rels", relations(
			relation{"1", office + "officeDocument", main, false},
			relation{"2", "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties",
				"docProps/core.xml", false})},
		{"docProps/core.xml", xml.Header + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" ` +
			`xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>` + escape(title) + `</dc:title><dc:creator>` + escape(author) +
			`</dc:creator></cp:coreProperties>`},
	} {
		if err := p.add(part[0], part[1]); err != nil {
			return err
		}
	}
	return nil
}

// A relation is a link of a part.
type relation struct {
	id, kind, target string
	external         bool
}

// relations returns the part with the relations of another part.
func relations(all ...relation) string {
	var b strings.Builder
	b.WriteString(xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, r := range all {
		mode := ""
		if r.external {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="rId%s" Type="%s" Target="%s"%s/>`, r.id, r.kind, escape(r.target), mode)
	}
	b.WriteString(`</Relationships>`)
	return b.String()
}

// bytes closes the zip file and returns it.
func (p *zipped) bytes() ([]byte, error) {
	err := p.zip.Close()
	return p.Buffer.Bytes(), err
}
