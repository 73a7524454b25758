// Package tables reads tables that are text: comma separated values and their relatives.
// It guesses the charset and the separator, and returns pages of 50 rows with the header
// on each. Begin with Read.
package tables

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// rowsOfPage are the rows of a page without the header.
const rowsOfPage = 50

// sampleSize is the beginning of the file that charset and separator are guessed by.
const sampleSize = 64 << 10

// maxColumns limits the columns of a table.
const maxColumns = 500

// Read reads a table.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	text := bufio.NewReaderSize(decoded(src), sampleSize)
	sample, err := text.Peek(sampleSize)
	if err != nil && err != io.EOF {
		return nil, document.Errorf(document.ErrBroken, "the table cannot be read")
	}
	comma := separator(string(sample), src.Name)
	if strings.HasPrefix(strings.ToLower(string(sample)), "sep=") {
		if _, err := text.ReadString('\n'); err != nil {
			return &document.Document{Unit: "page"}, nil
		}
	}
	r := &records{r: text, comma: comma}
	t := &table{src: src, doc: &document.Document{Unit: "page"}}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, document.Errorf(document.ErrBroken, "the table cannot be read after row %d", n)
		}
		if len(row) > 1 || row[0] != "" {
			t.add(row)
		}
	}
	doc := t.end()
	if r.isCut {
		doc.Notes = append(doc.Notes, "Rows of more than a megabyte were cut.")
	}
	return doc, nil
}

// decoded returns the file as UTF-8, without a byte order mark.
func decoded(src document.Source) io.Reader {
	start := make([]byte, min(src.Size, sampleSize))
	n, _ := src.Data.ReadAt(start, 0)
	name := page.Charset(start[:n-cutRune(start[:n])], "")
	r := bufio.NewReader(src.Reader())
	if encoding, err := htmlindex.Get(name); err == nil && name != "utf-8" {
		r = bufio.NewReader(encoding.NewDecoder().Reader(r))
	}
	if mark, _, err := r.ReadRune(); err == nil && mark != '\ufeff' {
		_ = r.UnreadRune() // it follows a ReadRune
	}
	return r
}

// cutRune returns the number of bytes of a character that is cut at the end of a sample.
func cutRune(b []byte) int {
	for i := 1; i <= min(3, len(b)); i++ {
		switch c := b[len(b)-i]; {
		case c >= 0xc0:
			return i
		case c < 0x80:
			return 0
		}
	}
	return 0
}

// separator guesses the separator: the one that gives the first lines the same number of
// columns, and the most.
func separator(sample, name string) byte {
	first, _, _ := strings.Cut(sample, "\n")
	if mark, ok := strings.CutPrefix(strings.ToLower(strings.TrimRight(first, "\r")), "sep="); ok && len(mark) == 1 {
		return mark[0]
	}
	best, highest := byte(','), 0
	if strings.HasSuffix(strings.ToLower(name), ".tsv") {
		best = '\t'
	}
	for _, candidate := range []byte{'\t', ';', ',', '|'} {
		if score := score(sample, candidate); score > highest {
			best, highest = candidate, score
		}
	}
	return best
}

// score is high if many lines have the same number of columns as the first one.
func score(sample string, comma byte) int {
	r := &records{r: bufio.NewReader(strings.NewReader(sample)), comma: comma}
	const sampleLines = 50
	columns, same, lines := 0, 0, 0
	for lines < sampleLines {
		row, err := r.next()
		if err != nil {
			break
		}
		if lines++; lines == 1 {
			columns = len(row)
		}
		if len(row) == columns {
			same++
		}
	}
	if columns < 2 || lines == 0 {
		return 0
	}
	return same*1000/lines + min(columns, 50)
}

// table collects pages.
type table struct {
	src    document.Source
	doc    *document.Document
	header []string
	rows   int // without the header
	out    *md.Writer
	bytes  int
	isFull bool
}

func (t *table) add(row []string) {
	line := make([]string, min(len(row), maxColumns))
	for i := range line {
		line[i] = markdown.Escape(strings.TrimSpace(strings.ToValidUTF8(row[i], "\ufffd")))
	}
	if t.header == nil {
		t.header = line
		return
	}
	if t.rows%rowsOfPage == 0 {
		t.endPage()
		t.beginPage()
	}
	if t.rows++; t.out != nil {
		t.write(line)
	}
}

func (t *table) write(line []string) {
	for len(line) < len(t.header) {
		line = append(line, "")
	}
	t.out.Row(line, false)
}

func (t *table) beginPage() {
	t.doc.Total++
	if t.bytes > t.src.Limits.Text || len(t.doc.Parts) >= t.src.Limits.Parts {
		t.isFull = true
		return
	}
	if t.src.Pages.Has(t.doc.Total) {
		t.out = &md.Writer{}
		t.out.Row(t.header, true)
	}
}

func (t *table) endPage() {
	if t.out == nil {
		return
	}
	text := t.out.String()
	t.bytes += len(text)
	last := t.rows
	t.doc.Parts = append(t.doc.Parts, document.Part{
		Number: t.doc.Total, Name: fmt.Sprintf("rows %d to %d", (t.doc.Total-1)*rowsOfPage+1, last), Markdown: text,
	})
	t.out = nil
}

func (t *table) end() *document.Document {
	if t.header != nil && t.rows == 0 {
		t.beginPage()
	}
	t.endPage()
	if t.doc.Total > 1 {
		t.doc.Notes = append(t.doc.Notes, fmt.Sprintf("The table has %d rows and %d columns.", t.rows, len(t.header)))
	}
	if t.isFull {
		t.doc.Notes = append(t.doc.Notes,
			"The table exceeds the maximum length; ask for its last pages by their numbers.")
	}
	return t.doc
}
