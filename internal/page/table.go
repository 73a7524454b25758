package page

import (
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Limits of tables.
const (
	maxColumns   = 200
	maxRepeat    = 80  // bytes of a cell that is repeated in each row that it spans
	maxInspected = 500 // cells that are inspected to recognise layout
)

// table copies a table, or the content of its cells if it is only layout.
func (r *copier) table(n *html.Node) {
	if pre := codeInTable(n); pre != nil {
		r.code(pre)
		return
	}
	rows, captions := rowsOf(n)
	if r.line {
		r.cells(rows)
		return
	}
	for _, caption := range captions {
		r.node(caption)
	}
	if isLayout(n, rows) {
		r.cells(rows)
		return
	}
	for len(rows) > 1 && len(rows[0]) == 1 && len(rows[1]) > 0 { // a title in the first row
		r.titled(rows[0][0], "strong")
		rows = rows[1:]
	}
	r.rows(rows)
}

// cells copies cells one below the other.
func (r *copier) cells(rows [][]*html.Node) {
	for _, row := range rows {
		for _, cell := range row {
			if !r.skip[cell] {
				r.separated(cell, "p")
			}
		}
	}
}

var (
	rowGroups     = goquery.Single("thead, tbody, tfoot")
	tableRows     = goquery.Single("tr")
	tableCells    = goquery.Single("td, th")
	tableCaptions = goquery.Single("caption")
)

// rowsOf returns the cells of a table by row, and its captions.
func rowsOf(n *html.Node) (rows [][]*html.Node, captions []*html.Node) {
	table := goquery.NewDocumentFromNode(n)
	table.ChildrenMatcher(rowGroups).ChildrenMatcher(tableRows).Each(func(_ int, tr *goquery.Selection) {
		rows = append(rows, tr.ChildrenMatcher(tableCells).Nodes)
	})
	return rows, table.ChildrenMatcher(tableCaptions).Nodes
}

// isLayout reports whether a table only arranges content on the page.
func isLayout(n *html.Node, rows [][]*html.Node) bool {
	switch attr(n, "role") {
	case "presentation", "none":
		return true
	case "table", "grid":
		return false
	}
	columns, cells, long, heads := 0, 0, 0, 0
	for _, row := range rows {
		columns = max(columns, len(row))
		for _, cell := range row {
			cells++
			if cell.Data == "th" {
				heads++
			}
			if cells > maxInspected {
				continue
			}
			if containsLayout(cell) {
				return true
			}
			if len(textOf(cell, 420)) > 400 {
				long++
			}
		}
	}
	if columns < 2 || len(rows) < 2 && heads == 0 {
		return true
	}
	return heads == 0 && long*4 > min(cells, maxInspected)
}

var layoutBlocks = []string{"table", "h1", "h2", "h3", "form", "pre", "blockquote", "article"}

// containsLayout reports whether a cell contains more than data: a block of layout or
// more than three paragraphs.
func containsLayout(cell *html.Node) bool {
	paragraphs := 0
	for c := cell.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && slices.Contains(layoutBlocks, c.Data) {
			return true
		}
		if c.Data == "p" {
			if paragraphs++; paragraphs > 3 {
				return true
			}
		}
		if containsLayout(c) {
			return true
		}
	}
	return false
}

// rows copies the rows of a table. It leaves out empty rows, and columns without the start of a
// cell.
func (r *copier) rows(rows [][]*html.Node) {
	grid, used := r.grid(rows)
	columns := 0
	for _, begins := range used {
		if begins {
			columns++
		}
	}
	name := "table"
	if r.format == Text {
		name = "p"
	}
	r.within(name, func() {
		for y, line := range grid {
			if r.size += nodeSize * (columns - len(line)); r.size > r.limit {
				r.full = true
				return
			}
			if r.format != Text {
				r.within("tr", func() { r.row(line, used[:], y == 0) })
				continue
			}
			if y > 0 {
				r.add("br")
			}
			r.row(line, used[:], false)
		}
	})
}

// row copies the cells of a row, and leaves out columns without the start of a cell.
func (r *copier) row(line []*html.Node, used []bool, isHead bool) {
	for i, cell := range line {
		switch {
		case !used[i]:
		case r.format == Text:
			if r.at.LastChild != nil && r.at.LastChild.Data != "br" {
				r.raw(" | ")
			}
			for cell != nil && cell.FirstChild != nil {
				c := cell.FirstChild
				cell.RemoveChild(c)
				r.at.AppendChild(c)
			}
		default:
			if cell == nil {
				cell = &html.Node{Type: html.ElementNode, Data: "td"}
			}
			if isHead {
				cell.Data = "th" // the converter makes it the head
			}
			r.size += nodeSize
			r.at.AppendChild(cell)
		}
	}
}

// rowSpan is a cell that spans rows below its own.
type rowSpan struct {
	cell *html.Node // repeated in each of them; nil leaves them empty
	size int
	left int // rows
}

// grid copies cells and puts them into columns. used has the columns with the start of a cell.
func (r *copier) grid(rows [][]*html.Node) (grid [][]*html.Node, used [maxColumns]bool) {
	var spans [maxColumns]rowSpan
	size, repeated := 0, 0
	for y, row := range rows {
		if len(row) > 0 && r.skip[row[0].Parent] {
			continue
		}
		var line []*html.Node
		x := 0
		fillSpans := func() {
			for x < maxColumns && spans[x].left > 0 {
				cell := spans[x].cell
				if repeated += spans[x].size; repeated > size+4096 {
					cell = nil
				} else if cell != nil {
					cell = goquery.NewDocumentFromNode(cell).Clone().Nodes[0]
				}
				spans[x].left--
				line = append(line, cell)
				x++
			}
		}
		for _, td := range row {
			fillSpans()
			if x >= maxColumns || r.err != nil {
				break
			}
			cell, length := r.cell(td)
			size += length + nodeSize
			used[x] = true
			columns := spanOf(attr(td, "colspan"), maxColumns-x)
			below := spanOf(attr(td, "rowspan"), len(rows)-y) - 1
			if attr(td, "rowspan") == "0" {
				below = len(rows) - y - 1
			}
			for i := range columns {
				spans[x] = rowSpan{left: below, size: nodeSize}
				if i > 0 {
					line = append(line, nil)
				} else if line = append(line, cell); length <= maxRepeat {
					spans[x].cell, spans[x].size = cell, length+nodeSize
				}
				x++
			}
		}
		fillSpans()
		for len(line) > 0 && line[len(line)-1] == nil {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			grid = append(grid, line)
		}
	}
	return grid, used
}

// spanOf parses colspan or rowspan: at least 1, at most limit.
func spanOf(text string, limit int) int {
	n, ok := parseInt(strings.TrimSpace(text))
	if !ok || n < 1 {
		n = 1
	}
	return min(n, max(limit, 1))
}

// cell copies a cell on one line, and returns its size; nil if it is empty.
func (r *copier) cell(n *html.Node) (*html.Node, int) {
	if r.skip[n] {
		return nil, 0
	}
	td := &html.Node{Type: html.ElementNode, Data: "td"}
	before := r.size
	r.line = true
	r.into(td, func() { r.children(n) })
	r.line = false
	if isEmpty(td) {
		return nil, 0
	}
	return td, r.size - before
}
