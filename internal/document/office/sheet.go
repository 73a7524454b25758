package office

import (
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
)

// sheet writes the rows of a sheet as a table, and keeps only the first ones in memory.
// Rows without any value are dropped.
type sheet struct {
	out     *md.Writer
	head    [][]string // until the number of columns is known
	columns int
	begun   bool
	notes   []string // comments, a sentence each
}

// headRows are the rows that decide about the number of columns.
const headRows = 500

// row writes the values of a row. It keeps no reference to cells.
func (s *sheet) row(cells []string) {
	last := len(cells)
	for last > 0 && strings.TrimSpace(cells[last-1]) == "" {
		last--
	}
	if last == 0 {
		return
	}
	line := make([]string, max(min(last, maxColumns), s.columns))
	for i := range min(last, maxColumns) {
		line[i] = markdown.Escape(cells[i])
	}
	if s.begun {
		s.out.Row(line, false)
		return
	}
	if s.head = append(s.head, line); len(s.head) >= headRows {
		s.begin()
	}
}

func (s *sheet) begin() {
	s.begun = true
	for _, row := range s.head {
		s.columns = max(s.columns, len(row))
	}
	for i, row := range s.head {
		s.out.Row(append(row, make([]string, s.columns-len(row))...), i == 0)
	}
	s.head = nil
}

// end writes the rest, and returns the text.
func (s *sheet) end() string {
	if !s.begun {
		s.begin()
	}
	for _, note := range s.notes {
		s.out.Item(0, "-", note)
	}
	return s.out.String()
}

// cellName returns the name of a cell, such as B3; both numbers count from 1.
func cellName(column, row int) string {
	name := ""
	for ; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name + strconv.Itoa(row)
}
