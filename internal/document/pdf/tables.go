package pdf

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A grid is the lines of a table in the making.
type grid struct {
	strips []interval // of its columns, from left to right
	lines  [][]gridCell
	all    []line
}

// A gridCell is the text of one line in one column.
type gridCell struct {
	strip int
	seg   segment
}

// softGap is the gap in em that may divide the cells of a narrow table. It is more than between
// words, unless a line is justified.
const softGap = 0.45

// maxSoftCell is the largest mean length of cells, in characters, that narrow gaps divide.
const maxSoftCell = 20

// soft returns a line with segments that are divided at narrow gaps, too.
func soft(l line) line {
	var segs []segment
	for _, s := range l.segs {
		start := 0
		for i := 1; i <= len(s.runs); i++ {
			if i < len(s.runs) {
				last, next := s.runs[i-1], s.runs[i]
				if next.x-(last.x+last.w) < softGap*max(last.size, next.size) {
					continue
				}
			}
			segs = append(segs, newSegment(s.runs[start:i]))
			start = i
		}
	}
	l.segs = segs
	return joinMarker(l)
}

// grid returns the table that begins at line i, or nil.
func (f *flow) grid(i int, cells func(line) line) *grid {
	g := &grid{}
	// The line with the most cells shows where the others are to be divided.
	most := len(cells(f.lines[i]).segs)
	for j := i + 1; j < min(i+12, len(f.lines)); j++ {
		l := cells(f.lines[j])
		if l.column != f.lines[i].column || l.y1-f.lines[j-1].y1 > 3.2*l.size || len(l.segs) < 2 && len(l.segs) < most {
			break
		}
		if n := len(l.segs); n > most && n > 2 {
			most = n
			g.strips = nil
			for _, s := range l.segs {
				g.strips = append(g.strips, interval{s.x0, s.x1})
			}
		}
	}
	for j := i; j < len(f.lines); j++ {
		l := f.lines[j]
		if !f.goesOn(i, j) {
			break
		}
		if l = cells(l); l.blockOf() != nil || j == i && len(l.segs) < 2 || !g.add(l) {
			break
		}
	}
	return g.checked()
}

// checked returns the table without the text after it; nil if the rest is too small.
func (g *grid) checked() *grid {
	g.trim()
	several := 0
	for _, cells := range g.lines {
		if len(cells) > 1 {
			several++
		}
	}
	if len(g.strips) < 2 || several < 3 && (several < 2 || len(g.strips) < 3) {
		return nil
	}
	return g
}

// minRiver is the least width in em of the empty strip between two columns.
const minRiver = 0.3

// rivers returns the table that begins at line i, or nil. Its columns are divided by strips that
// are empty in all lines, and wide enough in each line that has text on both sides.
func (f *flow) rivers(i int) *grid {
	free := []interval{{math.Inf(-1), math.Inf(1)}}
	var lines []line
	var strips []interval // of the columns
	step := 0.0           // the greatest one between lines
	for j := i; j < len(f.lines) && f.goesOn(i, j); j++ {
		l := soft(f.lines[j])
		if j == i && len(l.segs) < 2 || l.blockOf() != nil {
			break
		}
		if n := len(lines); n > 0 {
			down := l.y1 - lines[n-1].y1
			if n > 2 && down > 1.5*step {
				break
			}
			step = max(step, down)
		}
		var next []interval
		for _, v := range free {
			from := v.from
			for _, s := range l.segs {
				if s.x1 <= v.from || s.x0 >= v.to {
					continue
				}
				next = appendWide(next, interval{from, min(s.x0, v.to)}, l.size)
				from = max(from, s.x1)
			}
			next = appendWide(next, interval{from, v.to}, l.size)
		}
		columns := between(next, append(lines, l))
		if n := len(lines); n > 0 && (len(columns) < 2 || len(columns) < (len(strips)+1)/2 ||
			n >= 3 && len(columns) < supported(strips, lines)) {
			break
		}
		free, lines, strips = next, append(lines, l), columns
	}
	if len(strips) < 2 {
		return nil
	}
	g := &grid{strips: strips}
	for _, l := range lines {
		var cells []gridCell
		for k, s := range strips {
			var runs []run
			for _, one := range l.segs {
				if one.x0 >= s.from && one.x1 <= s.to {
					runs = append(runs, one.runs...)
				}
			}
			if runs != nil {
				cells = append(cells, gridCell{k, newSegment(runs)})
			}
		}
		g.append(l, cells)
	}
	return g.checked()
}

// appendWide adds an interval unless it is too narrow.
func appendWide(all []interval, v interval, size float64) []interval {
	if v.to-v.from < minRiver*size {
		return all
	}
	return append(all, v)
}

// between returns the columns between empty strips, those without text left out.
func between(free []interval, lines []line) (columns []interval) {
	for k := 1; k < len(free); k++ {
		c := interval{free[k-1].to, free[k].from}
		if slices.ContainsFunc(lines, func(l line) bool {
			return slices.ContainsFunc(l.segs, func(s segment) bool { return s.x0 >= c.from && s.x1 <= c.to })
		}) {
			columns = append(columns, c)
		}
	}
	return columns
}

// supported returns the number of columns that more than one line divides: a wide gap between
// words looks like a column in a few lines.
func supported(columns []interval, lines []line) int {
	n := 1
	for k := 1; k < len(columns); k++ {
		count := 0
		for _, l := range lines {
			in := func(c interval) bool {
				return slices.ContainsFunc(l.segs, func(s segment) bool { return s.x0 < c.to && s.x1 > c.from })
			}
			if in(columns[k-1]) && in(columns[k]) {
				count++
			}
		}
		if count > 1 {
			n++
		}
	}
	return n
}

// startsTable reports whether a table of several columns begins at line i.
func (f *flow) startsTable(i int) bool {
	return len(soft(f.lines[i]).segs) > 2 && f.rivers(i) != nil
}

// goesOn reports whether line j may belong to a table that begins at line i.
func (f *flow) goesOn(i, j int) bool {
	if j == i {
		return true
	}
	last, l := f.lines[j-1], f.lines[j]
	return l.column == last.column && l.y1 > last.y1 && l.y1-last.y1 <= 3.2*max(l.size, last.size) &&
		(f.level(l) == 0 || f.level(last) > 0) && !isLeader(l) && (!l.mono || f.mono || len(l.segs) > 1)
}

// isNarrow reports whether the cells are short.
func (g *grid) isNarrow() bool {
	cells, chars := 0, 0
	for _, l := range g.lines {
		for _, c := range l {
			cells, chars = cells+1, chars+c.seg.chars
		}
	}
	return chars <= maxSoftCell*cells
}

// table writes the table that begins at line i and returns how many lines it has: 0 if there
// is none.
func (f *flow) table(i int) int {
	g := f.grid(i, func(l line) line { return l })
	// With narrow gaps there may be more columns.
	if narrow := f.grid(i, soft); narrow != nil && narrow.isNarrow() &&
		(g == nil || len(narrow.strips) > len(g.strips) && len(narrow.lines) >= len(g.lines)) {
		g = narrow
	}
	if r := f.rivers(i); r != nil && (g == nil || len(r.strips) >= len(g.strips) && len(r.lines) >= len(g.lines)) {
		g = r
	}
	if g == nil {
		return 0
	}
	n := len(g.lines)
	rows := g.rows()
	if g.isContents(rows) {
		for _, r := range rows {
			f.out = append(f.out, "- "+strings.Join(f.cells(r, 2), " … "))
		}
		return n
	}
	if g.isDefinitions(rows) {
		for _, r := range rows {
			f.out = append(f.out, "- "+strings.TrimSuffix(strings.Join(f.cells(r, len(g.strips)), ": "), ": "))
		}
		return n
	}
	var out md.Writer
	for k, r := range rows {
		out.Row(f.cells(r, len(g.strips)), k == 0)
	}
	f.out = append(f.out, out.String())
	return n
}

// cells returns the text of a row in its columns.
func (f *flow) cells(lines [][]gridCell, columns int) []string {
	texts := make([]strings.Builder, columns)
	for _, cells := range lines {
		for _, c := range cells {
			appendLine(&texts[c.strip], c.seg.text(), f.words)
		}
	}
	out := make([]string, columns)
	for i := range texts {
		out[i] = texts[i].String()
	}
	return out
}

// add adds a line, unless it does not fit into the columns.
func (g *grid) add(l line) bool {
	segs := g.split(l)
	if len(segs) == 1 {
		// A single cell, or the text after the table.
		at := g.touched(segs[0])
		if len(at) != 1 || segs[0].x0 < g.strips[at[0]].from-l.size || segs[0].x1 > g.strips[at[0]].to+l.size {
			return false
		}
		g.append(l, []gridCell{{at[0], segs[0]}})
		return true
	}
	strips := slices.Clone(g.strips)
	for _, s := range segs {
		strips = merge(strips, interval{s.x0, s.x1})
	}
	if len(strips) < max(2, len(g.strips)) {
		return false
	}
	if len(strips) > len(g.strips) || len(g.strips) == 0 {
		g.strips = strips
		for _, cells := range g.lines {
			for i := range cells {
				cells[i].strip = g.touched(cells[i].seg)[0]
			}
		}
	}
	g.strips = strips
	cells := make([]gridCell, len(segs))
	for i, s := range segs {
		cells[i] = gridCell{g.touched(s)[0], s}
	}
	g.append(l, cells)
	return true
}

func (g *grid) append(l line, cells []gridCell) {
	g.lines, g.all = append(g.lines, cells), append(g.all, l)
}

// split returns the segments of a line. A segment over two columns is two cells that stand
// close, if there is a gap where the second column begins.
func (g *grid) split(l line) []segment {
	var out []segment
	for _, s := range l.segs {
		at := g.touched(s)
		for len(at) > 1 {
			left, right := divide(s, g.strips[at[1]].from, len(l.segs) > 1)
			if right == nil {
				break
			}
			out = append(out, newSegment(left))
			s = newSegment(right)
			at = g.touched(s)
		}
		out = append(out, s)
	}
	return out
}

// divide divides a segment where a column begins: between two runs, or at a space of a run if
// spaces is set. It returns nil if there is no such place.
func divide(s segment, from float64, spaces bool) (left, right []run) {
	for i, r := range s.runs {
		if i > 0 && math.Abs(r.x-from) < 0.3*s.size {
			return s.runs[:i], s.runs[i:]
		}
		if !spaces {
			continue
		}
		width := r.w / float64(utf8.RuneCountInString(r.text))
		count := 0
		for at, c := range r.text {
			count++
			x := r.x + width*float64(count)
			if c != ' ' || math.Abs(x-from) > 0.5*s.size {
				continue
			}
			first, second := r, r
			first.text, second.text = r.text[:at], r.text[at+1:]
			first.w, second.x, second.w = x-width-r.x, x, r.x+r.w-x
			return append(slices.Clone(s.runs[:i]), first), append([]run{second}, s.runs[i+1:]...)
		}
	}
	return nil, nil
}

// touched returns the columns that a segment is in.
func (g *grid) touched(s segment) []int {
	var all []int
	for i, t := range g.strips {
		if s.x0 < t.to && s.x1 > t.from {
			all = append(all, i)
		}
	}
	return all
}

// merge adds an interval to others, and joins overlapping ones.
func merge(strips []interval, add interval) []interval {
	var out []interval
	for _, s := range strips {
		if s.from < add.to && s.to > add.from {
			add = interval{min(s.from, add.from), max(s.to, add.to)}
		} else {
			out = append(out, s)
		}
	}
	out = append(out, add)
	slices.SortStableFunc(out, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	return out
}

// trim removes single cells in the first column from the end: they are the text after the
// table.
func (g *grid) trim() {
	for n := len(g.lines); n > 0; n-- {
		cells := g.lines[n-1]
		if len(cells) > 1 || cells[0].strip > 0 {
			break
		}
		g.lines, g.all = g.lines[:n-1], g.all[:n-1]
	}
}

// rowGap is the ratio of the distance of rows to the distance of the lines of a cell.
const rowGap = 1.12

// rows groups the lines into rows. A line with text in all columns begins one. Cells of several lines are seen by the distances, if those
// between rows are greater than those within, or by the empty first column.
func (g *grid) rows() [][][]gridCell {
	least := math.Inf(1)
	for i := 1; i < len(g.all); i++ {
		least = min(least, g.all[i].y1-g.all[i-1].y1)
	}
	large := 0
	for i := 1; i < len(g.all); i++ {
		if g.all[i].y1-g.all[i-1].y1 > rowGap*least {
			large++
		}
	}
	starts := 0
	for _, cells := range g.lines {
		if len(cells) > 1 && cells[0].strip == 0 {
			starts++
		}
	}
	byDistance := large > 0 && least < 1.6*g.all[0].size && large+1 >= starts*2/3 && g.wraps(least)
	var rows [][][]gridCell
	for i, cells := range g.lines {
		begins := i == 0
		switch {
		case begins:
		case byDistance:
			begins = g.all[i].y1-g.all[i-1].y1 > rowGap*least || len(cells) == len(g.strips)
		default:
			begins = cells[0].strip == 0 || len(cells) > max(1, len(g.strips)/2)
		}
		if begins {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], cells)
	}
	return rows
}

// wraps reports whether lines at the least distance have fewer cells than those before them,
// as the second lines of cells do.
func (g *grid) wraps(least float64) bool {
	fewer, near := 0, 0
	for i := 1; i < len(g.all); i++ {
		if g.all[i].y1-g.all[i-1].y1 > rowGap*least {
			continue
		}
		near++
		if len(g.lines[i]) < len(g.lines[i-1]) || len(g.lines[i]) == 1 {
			fewer++
		}
	}
	return fewer*2 >= near
}

// isDefinitions reports whether two columns are options or terms with their explanations: a
// list.
func (g *grid) isDefinitions(rows [][][]gridCell) bool {
	if len(g.strips) != 2 {
		return false
	}
	options, long, terms := 0, 0, 0
	for _, r := range rows {
		left, right := "", 0 // the text of the term, and the lines of its explanation
		for _, cells := range r {
			for _, c := range cells {
				if c.strip == 0 {
					left += c.seg.text()
				}
			}
			if cells[len(cells)-1].strip > 0 {
				right++
			}
		}
		first, _ := utf8.DecodeRuneInString(left)
		if strings.ContainsRune("-−–+/", first) && letters(left) > 0 && !isNumber(left) {
			options++
		}
		if right > 1 {
			long++
		}
		if left != "" {
			terms++
		}
	}
	head := rows[0]
	header := len(head) == 1 && !slices.ContainsFunc(head[0], func(c gridCell) bool { return !c.seg.bold })
	return options*2 > len(rows) || !header && long*5 >= terms*2
}

var contentsEntry = text.Pattern(`^(\d+(\.\d+)*\.?|[A-Z]\.?|[IVX]+\.?|Chapter|Appendix|Part) `)

// isContents reports whether the rows are numbered titles with the numbers of their pages.
func (g *grid) isContents(rows [][][]gridCell) bool {
	if len(g.strips) != 2 {
		return false
	}
	titles, page := 0, 0
	for _, r := range rows {
		cells := r[0]
		if len(r) > 1 || len(cells) != 2 {
			return false
		}
		n, err := strconv.Atoi(cells[1].seg.text())
		if err != nil || n < page {
			return false
		}
		page = n
		if contentsEntry().MatchString(cells[0].seg.text()) {
			titles++
		}
	}
	return titles*2 > len(rows)
}

func isNumber(text string) bool {
	return !strings.ContainsFunc(text, unicode.IsLetter)
}
