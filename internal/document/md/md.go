// Package md writes Markdown: paragraphs, headings, lists, tables and the formatting of text.
// It escapes text that would be read as markup, and as little as possible, because models read
// the text. It does not read Markdown. Begin with Writer for blocks and Inline for the text
// within them.
package md

import (
	"strings"
)

// A Writer collects blocks. The zero value has no limit.
type Writer struct {
	Limit int // bytes; text beyond is dropped and Full is set
	Full  bool

	b     strings.Builder
	last  kind
	items []int // columns of the text of the open list items
}

type kind byte

const (
	none kind = iota
	paragraph
	item
	code
)

// String returns the Markdown, without line breaks at its end.
func (w *Writer) String() string {
	w.endCode()
	return strings.TrimRight(w.b.String(), " \n")
}

func (w *Writer) begin(k kind) bool {
	if w.Full || w.Limit > 0 && w.b.Len() > w.Limit {
		w.Full = true
		return false
	}
	if w.last == code && k != code {
		w.endCode()
	}
	if w.b.Len() > 0 {
		if w.last == item && k == item {
			w.b.WriteString("\n")
		} else {
			w.b.WriteString("\n\n")
		}
	}
	w.last = k
	return true
}

func (w *Writer) endCode() {
	if w.last == code {
		w.b.WriteString("\n```")
		w.last = paragraph
	}
}

// Heading writes a heading of level 1 to 6.
func (w *Writer) Heading(level int, text string) {
	text = OneLine(text)
	if text == "" || !w.begin(paragraph) {
		return
	}
	w.items = nil
	w.b.WriteString(strings.Repeat("#", min(max(level, 1), 6)) + " " + text)
}

// Paragraph writes a paragraph, or several that are separated by empty lines.
func (w *Writer) Paragraph(text string) {
	text = strings.TrimSpace(text)
	if text == "" || !w.begin(paragraph) {
		return
	}
	w.items = nil
	w.b.WriteString(text)
}

// Quote writes text as a quote.
func (w *Writer) Quote(text string) {
	text = strings.TrimSpace(text)
	if text == "" || !w.begin(paragraph) {
		return
	}
	w.items = nil
	w.b.WriteString("> " + strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n> "), "> \n", ">\n"))
}

// Item writes an item of a list: level 0 is the outermost, marker is "-" or "3.".
func (w *Writer) Item(level int, marker, text string) {
	text = strings.TrimSpace(text)
	if text == "" || !w.begin(item) {
		return
	}
	if level < len(w.items) {
		w.items = w.items[:level]
	}
	column := 0
	if len(w.items) > 0 {
		column = w.items[len(w.items)-1]
	}
	w.items = append(w.items, column+len(marker)+1)
	w.b.WriteString(strings.Repeat(" ", column) + marker + " ")
	w.b.WriteString(indent(text, column+len(marker)+1))
}

// Continue writes another paragraph of the last item, or an ordinary one.
func (w *Writer) Continue(text string) {
	text = strings.TrimSpace(text)
	if len(w.items) == 0 || w.last != item {
		w.Paragraph(text)
		return
	}
	if text == "" || !w.begin(paragraph) {
		return
	}
	w.last = item
	column := w.items[len(w.items)-1]
	w.b.WriteString(strings.Repeat(" ", column) + indent(text, column))
}

func indent(text string, column int) string {
	text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", column))
	return strings.ReplaceAll(text, "\n"+strings.Repeat(" ", column)+"\n", "\n\n")
}

// Code writes lines of code. Calls that follow each other write one block.
func (w *Writer) Code(text string) {
	again := w.last == code
	if again {
		w.b.WriteString("\n")
	} else {
		if !w.begin(code) {
			return
		}
		w.b.WriteString("```\n")
	}
	w.items = nil
	w.b.WriteString(strings.ReplaceAll(text, "```", "` ``"))
}

// Fence writes a complete block of code in a language.
func (w *Writer) Fence(language, text string) {
	text = strings.Trim(text, "\n")
	if text == "" || !w.begin(paragraph) {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.items = nil
	w.b.WriteString(fence + language + "\n" + text + "\n" + fence)
}

// Row writes one row of a table. The first row is the header, and begins the table.
func (w *Writer) Row(cells []string, first bool) {
	if first {
		if !w.begin(paragraph) {
			return
		}
		w.items = nil
	} else {
		if w.Full || w.Limit > 0 && w.b.Len() > w.Limit {
			w.Full = true
			return
		}
		w.b.WriteByte('\n')
	}
	w.b.WriteByte('|')
	for _, cell := range cells {
		w.b.WriteByte(' ')
		w.b.WriteString(Cell(cell))
		w.b.WriteString(" |")
	}
	if first {
		w.b.WriteString("\n|" + strings.Repeat(" --- |", len(cells)))
	}
}

// Table writes a table with its first row as header. Empty rows and columns at the end are
// dropped. A table with a single cell is a paragraph.
func (w *Writer) Table(rows [][]string) {
	for len(rows) > 0 && width(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	columns := 0
	for _, row := range rows {
		columns = max(columns, width(row))
	}
	if columns <= 1 && len(rows) <= 1 {
		if columns == 1 {
			w.Paragraph(rows[0][0])
		}
		return
	}
	for i, row := range rows {
		line := make([]string, columns)
		copy(line, row)
		w.Row(line, i == 0)
	}
}

func width(row []string) int {
	n := len(row)
	for n > 0 && strings.TrimSpace(row[n-1]) == "" {
		n--
	}
	return n
}

// Cell returns Markdown as the content of a table cell: in one line, with bars escaped.
func Cell(text string) string {
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, "|\r\n") {
		return text
	}
	text = strings.ReplaceAll(text, "\r", "")
	for strings.Contains(text, "\n\n") {
		text = strings.ReplaceAll(text, "\n\n", "\n")
	}
	text = strings.ReplaceAll(text, `\|`, "|")
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", "<br>")
}

// Cut is the remark that a document was cut.
const Cut = "The document exceeds the maximum length; its end is missing."

// Remarks returns the remarks about a document with deleted or hidden text, or with its end cut
// off.
func Remarks(deleted, hidden, full bool) (all []string) {
	if deleted {
		all = append(all, "The document has tracked changes: insertions are in the text, deletions are not.")
	}
	if hidden {
		all = append(all, "Hidden text was left out.")
	}
	if full {
		all = append(all, Cut)
	}
	return all
}

// OneLine returns text with all white space as single blanks.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
