package page

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
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
	if r.d.cell {
		for _, row := range rows {
			r.d.end(1)
			for _, cell := range row {
				r.d.end(1)
				r.children(cell)
			}
		}
		return
	}
	r.d.end(2)
	for _, caption := range captions {
		r.node(caption)
	}
	if layout(n, rows) {
		for _, row := range rows {
			for _, cell := range row {
				if r.skip[cell] {
					continue
				}
				r.d.end(2)
				r.children(cell)
			}
		}
		r.d.end(2)
		return
	}
	for len(rows) > 1 && len(rows[0]) == 1 && len(rows[1]) > 0 { // the name of the table
		r.d.end(2)
		if textOf(rows[0][0], 10) != "" {
			r.marked(rows[0][0], "strong")
		} else {
			r.children(rows[0][0])
		}
		r.d.end(2)
		rows = rows[1:]
	}
	r.rows(rows)
	r.d.end(2)
}

// row is the cells of one row.
type row []*html.Node

var (
	rowGroups  = goquery.Single("thead, tbody, tfoot")
	tableRows  = goquery.Single("tr")
	tableCells = goquery.Single("td, th")
	tableNames = goquery.Single("caption")
)

func rowsOf(n *html.Node) (rows []row, captions []*html.Node) {
	table := goquery.NewDocumentFromNode(n)
	table.ChildrenMatcher(rowGroups).ChildrenMatcher(tableRows).Each(func(_ int, tr *goquery.Selection) {
		rows = append(rows, tr.ChildrenMatcher(tableCells).Nodes)
	})
	return rows, table.ChildrenMatcher(tableNames).Nodes
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
				if bulky(cell) {
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

// bulky reports whether there is more in a cell than a line of text.
func bulky(cell *html.Node) bool {
	paragraphs := 0
	for c := cell.FirstChild; c != nil; c = c.NextSibling {
		switch c.Data {
		case "table", "h1", "h2", "h3", "form", "pre", "blockquote", "article":
			if c.Type == html.ElementNode {
				return true
			}
		case "p":
			if paragraphs++; paragraphs > 3 {
				return true
			}
		}
		if bulky(c) {
			return true
		}
	}
	return false
}

// span is a cell that reaches into rows below its own.
type span struct {
	cell *html.Node // is written again in each of them
	size int
	left int
}

// rows takes the rows of a table. Columns in which no cell begins are left out,
// and so are empty rows.
func (r *renderer) rows(rows []row) {
	grid, used := r.grid(rows)
	columns := 0
	for _, begins := range used {
		if begins {
			columns++
		}
	}
	name := "table"
	if r.d.plain {
		name = "p"
	}
	table := r.d.leaf(name)
	for _, line := range grid {
		if r.d.size += nodeSize * (columns - len(line)); table == nil || r.d.size > r.d.limit {
			r.d.full = true
			return
		}
		into := table
		if !r.d.plain {
			into = r.d.add(table, "tr")
		} else if table.FirstChild != nil {
			r.d.add(table, "br")
		}
		for i, cell := range line {
			if used[i] {
				r.place(cell, into)
			}
		}
	}
}

// place puts a cell into a row, which may not be the first one that has it.
func (r *renderer) place(cell, into *html.Node) {
	name := "td"
	if into == into.Parent.FirstChild { // the converter's sign of a head
		name = "th"
	}
	if r.d.plain && into.FirstChild != nil && into.LastChild.Data != "br" {
		r.d.add(into, asIs, html.Attribute{Key: "text", Val: " | "})
	} else if !r.d.plain {
		into = r.d.add(into, name)
	}
	for cell != nil && cell.FirstChild != nil {
		c := cell.FirstChild
		cell.RemoveChild(c)
		into.AppendChild(c)
	}
}

// grid places cells in columns, and says which of these any cell begins in.
func (r *renderer) grid(rows []row) (grid []row, used [maxColumns]bool) {
	var spans [maxColumns]span
	size, again := 0, 0 // what was written, and what of it twice
	for y, one := range rows {
		if r.skip[parentOf(one)] {
			continue
		}
		var line row
		x := 0
		fill := func() {
			for x < maxColumns && spans[x].left > 0 {
				cell := spans[x].cell
				if again += spans[x].size; again > size+4096 {
					cell = nil
				} else if cell != nil {
					cell = goquery.NewDocumentFromNode(cell).Clone().Nodes[0]
				}
				spans[x].left--
				line = append(line, cell)
				x++
			}
		}
		for _, td := range one {
			fill()
			if x >= maxColumns || r.err != nil {
				break
			}
			cell, length := r.cell(td)
			size += length + nodeSize
			used[x] = true
			wide := between(attr(td, "colspan"), maxColumns-x)
			down := between(attr(td, "rowspan"), len(rows)-y) - 1
			if attr(td, "rowspan") == "0" {
				down = len(rows) - y - 1
			}
			for i := range wide {
				spans[x] = span{left: down, size: nodeSize}
				if i > 0 {
					line = append(line, nil)
				} else if line = append(line, cell); length <= repeatShort {
					spans[x].cell, spans[x].size = cell, length+nodeSize
				}
				x++
			}
		}
		fill()
		for len(line) > 0 && line[len(line)-1] == nil {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			grid = append(grid, line)
		}
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
	n, ok := numberIn(strings.TrimSpace(text))
	if !ok || n < 1 {
		n = 1
	}
	return min(n, max(most, 1))
}

// cell is a cell of a draft, all in one line, and how long it is; nil is an empty
// one.
func (r *renderer) cell(n *html.Node) (*html.Node, int) {
	if r.skip[n] {
		return nil, 0
	}
	outer := r.d
	td := &html.Node{Type: html.ElementNode, Data: "td"}
	r.d = &draft{root: td, homes: []*html.Node{td}, block: td, cell: true, plain: outer.plain, limit: outer.limit - outer.size}
	r.children(n)
	r.d.flush()
	size := r.d.size
	outer.full = outer.full || r.d.full
	outer.size += size
	r.d = outer
	if td.FirstChild == nil {
		return nil, 0
	}
	return td, size
}
