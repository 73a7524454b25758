package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Limits of tables.
const (
	maxColumns  = 200
	repeatShort = 80 // bytes of a cell that is written again in each row it spans
)

// table writes a table as one, or what is in it if it only lays out the page.
func (r *renderer) table(n *html.Node) {
	if pre := codeTable(n); pre != nil {
		r.code(pre)
		return
	}
	rows, captions := rowsOf(n)
	if r.w.cell {
		for _, row := range rows {
			r.w.block(1)
			for _, cell := range row {
				r.w.block(1)
				r.children(cell)
			}
		}
		return
	}
	r.w.block(2)
	for _, caption := range captions {
		r.node(caption)
	}
	if layout(n, rows) {
		for _, row := range rows {
			for _, cell := range row {
				if r.skip[cell] {
					continue
				}
				r.w.block(2)
				r.children(cell)
			}
		}
		r.w.block(2)
		return
	}
	for len(rows) > 1 && len(rows[0]) == 1 && len(rows[1]) > 0 { // the name of the table
		r.w.block(2)
		if textOf(rows[0][0], 10) != "" {
			r.marked(rows[0][0], "**")
		} else {
			r.children(rows[0][0])
		}
		r.w.block(2)
		rows = rows[1:]
	}
	r.rows(rows)
	r.w.block(2)
}

// row is the cells of one row.
type row []*html.Node

func rowsOf(table *html.Node) (rows []row, captions []*html.Node) {
	for part := table.FirstChild; part != nil; part = part.NextSibling {
		switch part.Data {
		case "caption":
			captions = append(captions, part)
		case "tr":
			rows = append(rows, cellsOf(part))
		case "thead", "tbody", "tfoot":
			for tr := part.FirstChild; tr != nil; tr = tr.NextSibling {
				if tr.Data == "tr" {
					rows = append(rows, cellsOf(tr))
				}
			}
		}
	}
	return rows, captions
}

func cellsOf(tr *html.Node) (cells row) {
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.Data == "td" || c.Data == "th" {
			cells = append(cells, c)
		}
	}
	return cells
}

// layout tells a table that places things on a page from one that says something.
func layout(n *html.Node, rows []row) bool {
	switch attr(n, "role") {
	case "presentation", "none":
		return true
	case "table", "grid":
		return false
	}
	columns, cells, long, heads := 0, 0, 0, 0
	for _, one := range rows {
		columns = max(columns, len(one))
		for _, cell := range one {
			cells++
			if cell.Data == "th" {
				heads++
			}
			if cells <= 500 {
				if blocky(cell) {
					return true
				}
				if len(textOf(cell, 420)) > 400 {
					long++
				}
			}
		}
	}
	if columns < 2 || len(rows) < 2 && heads == 0 {
		return true
	}
	return heads == 0 && long*4 > min(cells, 500)
}

// blocky reports whether a cell has what does not fit into one line.
func blocky(cell *html.Node) bool {
	paragraphs, seen := 0, 0
	for n := cell.FirstChild; n != nil && seen < 300; n = followingIn(n, cell) {
		seen++
		switch n.Data {
		case "table":
			if n.Type == html.ElementNode {
				return true
			}
		case "h1", "h2", "h3", "form", "pre", "blockquote", "article":
			if n.Type == html.ElementNode {
				return true
			}
		case "p":
			if paragraphs++; paragraphs > 3 {
				return true
			}
		}
	}
	return false
}

// span is a cell that reaches into rows below its own.
type span struct {
	text string
	left int
}

// rows writes the rows of a table. Columns in which no cell begins are left out,
// and so are empty cells at the end of a row.
func (r *renderer) rows(rows []row) {
	grid, used := r.grid(rows)
	head := true
	for _, line := range grid {
		var cells []string
		for i, text := range line {
			if used[i] {
				cells = append(cells, text)
			}
		}
		empty := strings.Join(cells, "") == ""
		if empty || r.w.full || r.err != nil {
			continue
		}
		for len(cells) > 1 && cells[len(cells)-1] == "" && !head {
			cells = cells[:len(cells)-1]
		}
		if r.w.plain {
			r.w.verbatim(strings.Join(cells, " | "))
			continue
		}
		r.w.verbatim("| " + strings.Join(cells, " | ") + " |")
		if head {
			r.w.verbatim("|" + strings.Repeat(" --- |", max(len(cells), count(used))))
		}
		head = false
	}
}

func count(set [maxColumns]bool) int {
	n := 0
	for _, one := range set {
		if one {
			n++
		}
	}
	return n
}

// grid places the texts of cells in columns, and says which of these any cell
// begins in.
func (r *renderer) grid(rows []row) (grid [][]string, used [maxColumns]bool) {
	var spans [maxColumns]span
	size, again := 0, 0 // what was written, and what of it twice
	for y, one := range rows {
		if r.skip[parentOf(one)] {
			continue
		}
		var line []string
		x := 0
		fill := func() {
			for x < maxColumns && spans[x].left > 0 {
				text := spans[x].text
				if again += len(text) + 3; again > size+4096 {
					text = ""
				}
				spans[x].left--
				line = append(line, text)
				x++
			}
		}
		for _, cell := range one {
			fill()
			if x >= maxColumns {
				break
			}
			text := r.cell(cell)
			size += len(text)
			used[x] = true
			wide := between(attr(cell, "colspan"), maxColumns-x)
			down := between(attr(cell, "rowspan"), len(rows)-y) - 1
			if attr(cell, "rowspan") == "0" {
				down = len(rows) - y - 1
			}
			for i := range wide {
				if line = append(line, text); i > 0 {
					line[x] = ""
				}
				if spans[x] = (span{left: down}); i == 0 && len(text) <= repeatShort {
					spans[x].text = text
				}
				x++
			}
		}
		fill()
		for len(line) > 0 && line[len(line)-1] == "" {
			line = line[:len(line)-1]
		}
		grid = append(grid, line)
	}
	return grid, used
}

func parentOf(one row) *html.Node {
	if len(one) == 0 {
		return nil
	}
	return one[0].Parent
}

// between reads a count of at least one.
func between(text string, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 {
		n = 1
	}
	return min(n, max(most, 1))
}

// cell is the text of a cell in one line.
func (r *renderer) cell(n *html.Node) string {
	if r.skip[n] {
		return ""
	}
	outer := r.w
	r.w = newWriter(outer.limit-len(outer.buf), outer.plain)
	r.w.cell = true
	r.children(n)
	text := r.w.String()
	full := r.w.full
	r.w = outer
	r.w.full = r.w.full || full
	return strings.ReplaceAll(text, "\n", " ")
}
