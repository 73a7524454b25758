package pdf

import (
	"context"
	"strings"
	"unicode/utf16"

	"github.com/mcp-tools/mcp-tools/internal/document/md"
)

const (
	maxTagNodes = 50_000 // of the structure of a page
	maxTagDepth = 80
	maxSpan     = 100  // columns or rows of a cell
	maxCellText = 2000 // bytes; a table with longer cells arranges text
)

// A tag describes a piece of text by the structure of a tagged file. Pieces with the same tag
// belong together.
type tag struct {
	heading  int    // the level of a heading, from 1; 0 for other text
	group    *group // the table or list that it is in; nil for none
	row, col int    // of a cell; row is the number of an item in a list
	depth    int    // of an item, from 0
	label    bool   // the text is the marker of an item
}

// A group is a table or a list of a tagged file.
type group struct {
	list   bool
	nested bool // a table that has another one within
	header bool // a table that has cells of a header
	rows   int
	cols   int
	taken  map[[2]int]bool // cells, including cells that a cell above or to the left covers
}

// A tagReader reads the structure of a page.
type tagReader struct {
	*pdfium
	left int          // elements that may still be read
	tags map[int]*tag // by the number of the marked content
}

// tagsOf returns the tags of a page by the numbers of its marked contents; nil for a page without
// structure.
func (p *pdfium) tagsOf(ctx context.Context, handle uint64) map[int]*tag {
	tree := p.call(ctx, "FPDF_StructTree_GetForPage", handle)
	if tree == 0 {
		return nil
	}
	defer p.quick("FPDF_StructTree_Close", tree)
	t := tagReader{pdfium: p, left: maxTagNodes, tags: map[int]*tag{}}
	for i := range int(int32(p.quick("FPDF_StructTree_CountChildren", tree))) {
		t.element(p.quick("FPDF_StructTree_GetChildAtIndex", tree, uint64(i)), nil, nil, 0)
	}
	return t.tags
}

// element reads an element and its children. The text of the children has the given tag, unless
// they have their own; in is the table or list around them.
func (t *tagReader) element(element uint64, now *tag, in *group, depth int) {
	if t.left--; element == 0 || t.left < 0 || depth > maxTagDepth || t.failed != nil {
		return
	}
	switch kind := t.utf16("FPDF_StructElement_GetType", element); kind {
	case "H", "Title":
		now = headingTag(now, 1)
	case "H1", "H2", "H3", "H4", "H5", "H6":
		now = headingTag(now, int(kind[1]-'0'))
	case "Table":
		for g := in; g != nil && !g.list; g = nil {
			g.nested = true
		}
		in, now = &group{taken: map[[2]int]bool{}}, nil
	case "TR":
		if in != nil && !in.list {
			in.rows++
		}
	case "TH", "TD":
		if in != nil && !in.list && in.rows > 0 {
			in.header = in.header || kind == "TH"
			now = t.cell(element, in)
		}
	case "L":
		if now == nil || now.group == nil {
			in, now = &group{list: true}, nil
		} else if now.group.list {
			in = now.group
		}
	case "LI":
		if in != nil && in.list {
			in.rows++
			level := 0
			if now != nil && now.group == in {
				level = now.depth + 1
			}
			now = &tag{group: in, row: in.rows, depth: level}
		}
	case "Lbl":
		if now != nil && now.group != nil && now.group.list {
			label := *now
			label.label = true
			now = &label
		}
	}
	for i := range int(int32(t.quick("FPDF_StructElement_CountChildren", element))) {
		if child := t.quick("FPDF_StructElement_GetChildAtIndex", element, uint64(i)); child != 0 {
			t.element(child, now, in, depth+1)
		} else if id := int(int32(t.quick("FPDF_StructElement_GetChildMarkedContentID", element, uint64(i)))); id >= 0 {
			if t.left--; t.left < 0 {
				return
			}
			t.tags[id] = now
		}
	}
}

// headingTag returns the tag of a heading. A heading in a cell or an item is their text.
func headingTag(now *tag, level int) *tag {
	if now != nil && now.group != nil {
		return now
	}
	return &tag{heading: level}
}

// cell returns the tag of the next cell in the last row of a table.
func (t *tagReader) cell(element uint64, in *group) *tag {
	row, col := in.rows-1, 0
	for in.taken[[2]int{row, col}] {
		col++
	}
	high, wide := t.span(element, "RowSpan"), t.span(element, "ColSpan")
	if len(in.taken) < maxTagNodes {
		for y := range high {
			for x := range wide {
				in.taken[[2]int{row + y, col + x}] = true
			}
		}
	}
	in.cols = max(in.cols, col+wide)
	return &tag{group: in, row: row, col: col}
}

// span returns how many rows or columns a cell covers.
func (t *tagReader) span(element uint64, name string) int {
	for i := range min(int(int32(t.quick("FPDF_StructElement_GetAttributeCount", element))), 20) {
		attribute := t.quick("FPDF_StructElement_GetAttributeAtIndex", element, uint64(i))
		value := t.quick("FPDF_StructElement_Attr_GetValue", attribute, t.text(name))
		if value != 0 && t.quick("FPDF_StructElement_Attr_GetNumberValue", value, t.at(0)) != 0 {
			return max(1, min(int(t.float(0)), maxSpan))
		}
	}
	return 1
}

// utf16 returns the text that a function of PDFium writes for a handle.
func (p *pdfium) utf16(function string, handles ...uint64) string {
	n := p.quick(function, append(handles, p.at(0), scratchSize)...)
	if n < 2 || n > scratchSize {
		return ""
	}
	return decodeUTF16(p.bytes(n - 2))
}

func decodeUTF16(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// A tagBlock is a table or a list that is ready to be written, and where it stands.
type tagBlock struct {
	*group
	runs []run
}

// takeGroups removes the runs of tables and lists from a page, and returns them as blocks in the
// order of their first runs.
func takeGroups(p *page) []*tagBlock {
	byGroup := map[*group]*tagBlock{}
	var all []*tagBlock
	for _, r := range p.runs {
		if r.tag == nil || r.tag.group == nil {
			continue
		}
		b := byGroup[r.tag.group]
		if b == nil {
			b = &tagBlock{group: r.tag.group}
			byGroup[r.tag.group] = b
			all = append(all, b)
		}
		b.runs = append(b.runs, r)
	}
	kept := all[:0]
	for _, b := range all {
		if b.isSound() {
			kept = append(kept, b)
		} else {
			delete(byGroup, b.group)
		}
	}
	rest := make([]run, 0, len(p.runs))
	for _, r := range p.runs {
		if r.tag == nil || byGroup[r.tag.group] == nil {
			rest = append(rest, r)
		}
	}
	p.runs = rest
	return kept
}

// isSound reports whether a group truly has its kind. Tables that arrange a page, and lists of
// a single word, do not.
func (b *tagBlock) isSound() bool {
	if b.list {
		return true
	}
	rows, cells := map[int]bool{}, map[[2]int]int{}
	for _, r := range b.runs {
		rows[r.tag.row] = true
		at := [2]int{r.tag.row, r.tag.col}
		if cells[at] += len(r.text); cells[at] > maxCellText {
			return false
		}
	}
	return !b.nested && b.cols > 1 && (len(rows) > 1 || b.header && len(cells) > 1)
}

// anchor returns a segment in the place of the first line of a block.
func (b *tagBlock) anchor() segment {
	top := b.runs[0]
	left, right := top.x, top.x+top.w
	for _, r := range b.runs {
		if r.y < top.y {
			top = r
		}
		left, right = min(left, r.x), max(right, r.x+r.w)
	}
	top.x, top.w, top.text, top.href, top.tag, top.block = left, right-left, "\uFFFC", "", nil, b
	return newSegment([]run{top})
}

// blockOf returns the block of a line; nil if it has none.
func (l line) blockOf() *tagBlock {
	for _, r := range l.runs {
		if r.block != nil {
			return r.block
		}
	}
	return nil
}

// markdown returns a block as Markdown.
func (b *tagBlock) markdown(f *flow) string {
	if b.list {
		return b.items(f)
	}
	cells := map[[2]int][]run{}
	first, last := b.runs[0].tag.row, 0
	for _, r := range b.runs {
		at := [2]int{r.tag.row, r.tag.col}
		cells[at] = append(cells[at], r)
		first, last = min(first, r.tag.row), max(last, r.tag.row)
	}
	var out md.Writer
	for y := first; y <= last; y++ {
		texts := make([]string, min(b.cols, maxSpan))
		for x := range texts {
			texts[x] = f.textOf(cells[[2]int{y, x}])
		}
		out.Row(texts, y == first)
	}
	return out.String()
}

// items returns a list as Markdown.
func (b *tagBlock) items(f *flow) string {
	var out []string
	for i := 0; i < len(b.runs); {
		first := b.runs[i].tag // of the item
		var label, body []run
		for ; i < len(b.runs) && b.runs[i].tag.row == first.row; i++ {
			if b.runs[i].tag.label {
				label = append(label, b.runs[i])
			} else {
				body = append(body, b.runs[i])
			}
		}
		mark, text := strings.TrimSpace(f.textOf(label)), f.textOf(body)
		if head, rest, ok := strings.Cut(text, " "); mark == "" && ok &&
			(bullets().MatchString(head) || numbered().MatchString(head)) {
			mark, text = head, rest
		}
		digits := strings.Trim(mark, "().")
		switch {
		case mark == "" || bullets().MatchString(mark) || letters(mark) == 0:
			mark = "-"
		case isDigits(digits):
			mark = digits + "."
		default:
			mark = "- " + mark
		}
		if text != "" {
			out = append(out, strings.Repeat("  ", min(first.depth, 6))+mark+" "+text)
		}
	}
	return strings.Join(out, "\n")
}

func isDigits(text string) bool {
	return text != "" && len(text) < 6 && strings.Trim(text, "0123456789") == ""
}

// textOf returns the text of runs in one line.
func (f *flow) textOf(runs []run) string {
	if len(runs) == 0 {
		return ""
	}
	return f.joined(linesOf(cutAt(runs, segmentGap), 0))
}
