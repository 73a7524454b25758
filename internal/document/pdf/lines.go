package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	wordGap      = 0.12 // em between runs that makes a space
	segmentGap   = 1.2  // em between runs that makes another segment
	narrowGutter = 0.6  // em between columns of text
	sameLine     = 0.45 // of the lower height that two runs of a line share
)

// A segment is text without a wide gap. A line of a paragraph is one segment; a line of a
// table or of two columns has several.
type segment struct {
	x0, x1, y0, y1 float64
	size           float64 // of most characters
	bold, mono     bool    // most characters
	tag            *tag    // of a heading that the text is
	chars          int
	runs           []run
}

// A line is the segments at one height within one column.
type line struct {
	segs []segment
	segment
	column int // of those side by side
}

// clean returns the text of a run with usual characters. It resolves ligatures, and drops text
// that looks like a mark between pages.
func clean(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '<' {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == 0x00AD || r == 2: // a hyphen at the end of a line
			b.WriteByte('-')
		case r >= 0xFB00 && r <= 0xFB06, r >= 0xFB1D && r <= 0xFDFF, r >= 0xFE70 && r <= 0xFEFC: // ligatures and forms
			b.WriteString(norm.NFKC.String(string(r)))
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "<!--", "<! --")
}

// cleaned returns the runs of a page with usual characters, without runs that are empty or far
// outside.
func cleaned(p page) []run {
	runs := make([]run, 0, len(p.runs))
	for _, r := range p.runs {
		r.text = clean(r.text)
		if strings.TrimSpace(r.text) == "" || r.h <= 0 || r.x < -p.w || r.x > 2*p.w || r.y < -p.h || r.y > 2*p.h {
			continue
		}
		if r.size <= 1 {
			r.size = r.h * 0.83
		}
		runs = append(runs, r)
	}
	return mirrored(p, dropShadows(runs))
}

// cutAt groups runs by height, and cuts the groups at gaps of so many em.
func cutAt(runs []run, most float64) []segment {
	var all []segment
	for _, group := range byHeight(runs, func(r run) (float64, float64) { return r.y, r.y + r.h }) {
		slices.SortStableFunc(group, func(a, b run) int { return cmp.Compare(a.x, b.x) })
		start := 0
		end := group[0].x + group[0].w
		for i := 1; i <= len(group); i++ {
			if i < len(group) {
				em := max(group[i].size, group[i-1].size)
				if r := group[i]; r.x-end <= most*em {
					end = max(end, r.x+r.w)
					continue
				}
				end = group[i].x + group[i].w
			}
			all = append(all, newSegment(group[start:i]))
			start = i
		}
	}
	return all
}

// mirrored returns the runs of a page with its left and right sides exchanged if most of the
// text is written from right to left, so that the text to read first stands left.
func mirrored(p page, runs []run) []run {
	rtl, all := 0, 0
	for _, r := range runs {
		n := letters(r.text)
		if all += n; r.rtl {
			rtl += n
		}
	}
	turn := rtl*2 > all
	for i := range runs {
		r := &runs[i]
		r.against = r.rtl
		if turn {
			r.x, r.against = p.w-r.x-r.w, !r.rtl && letters(r.text) > 0
		}
	}
	return runs
}

// inOrder returns the runs of a line in the order of reading: some that follow each other
// against the direction of the page are reversed.
func inOrder(runs []run) []run {
	against := func(r run) bool { return r.against }
	if !slices.ContainsFunc(runs, against) {
		return runs
	}
	runs = slices.Clone(runs)
	for i := 0; i < len(runs); i++ {
		n := 0
		for k := i; k < len(runs) && (runs[k].against || n > 0 && letters(runs[k].text) == 0); k++ {
			if runs[k].against {
				n = k + 1 - i
			}
		}
		if n > 0 {
			slices.Reverse(runs[i : i+n])
			i += n - 1
		}
	}
	return runs
}

// dropShadows removes runs that are drawn twice to look bold.
func dropShadows(runs []run) []run {
	type place struct {
		text string
		x, y int
	}
	seen := make(map[place]run, len(runs))
	return slices.DeleteFunc(runs, func(r run) bool {
		key := place{r.text, int(r.x / 8), int(r.y / 8)}
		first, ok := seen[key]
		if ok && math.Abs(first.x-r.x) < 0.1*r.size && math.Abs(first.y-r.y) < 0.1*r.size {
			return true
		}
		seen[key] = r
		return false
	})
}

// byHeight groups things that share most of their heights. Groups are in the order of their
// heights, and things within a group in their own order.
func byHeight[T any](things []T, height func(T) (top, bottom float64)) [][]T {
	slices.SortStableFunc(things, func(a, b T) int {
		ta, _ := height(a)
		tb, _ := height(b)
		return cmp.Compare(ta, tb)
	})
	type band struct{ top, bottom float64 }
	var groups [][]T
	var bands []band
	for _, t := range things {
		top, bottom := height(t)
		found := -1
		best := 0.0
		for i := len(groups) - 1; i >= max(0, len(groups)-6); i-- {
			b := bands[i]
			share := (min(bottom, b.bottom) - max(top, b.top)) / min(bottom-top, b.bottom-b.top)
			if share >= sameLine && share > best {
				found, best = i, share
			}
		}
		if found < 0 {
			groups, bands = append(groups, []T{t}), append(bands, band{top, bottom})
			continue
		}
		groups[found] = append(groups[found], t)
		if b := &bands[found]; bottom-top > b.bottom-b.top && best > 0.8 {
			*b = band{top, bottom}
		}
	}
	return groups
}

func newSegment(runs []run) segment {
	s := segment{x0: math.Inf(1), y0: math.Inf(1), x1: math.Inf(-1), y1: math.Inf(-1), runs: runs}
	sizes := map[float64]int{}
	bold, mono, headed, best := 0, 0, 0, 0
	for _, r := range runs {
		n := utf8.RuneCountInString(strings.ReplaceAll(r.text, " ", ""))
		s.chars += n
		if r.bold {
			bold += n
		}
		if r.mono {
			mono += n
		}
		if r.tag != nil && r.tag.heading > 0 && (s.tag == nil || s.tag == r.tag) {
			s.tag = r.tag
			headed += n
		}
		if sizes[r.size] += n; sizes[r.size] > best {
			s.size, best = r.size, sizes[r.size]
		}
	}
	for _, r := range runs {
		s.x0, s.x1 = min(s.x0, r.x), max(s.x1, r.x+max(r.w, 0.1))
		if r.size >= 0.8*s.size { // not those above or below the line
			s.y0, s.y1 = min(s.y0, r.y), max(s.y1, r.y+r.h)
		}
	}
	if headed*10 <= s.chars*9 {
		s.tag = nil
	}
	s.bold, s.mono = bold*10 > s.chars*9, mono*10 > s.chars*9
	return s
}

// text returns the text of a segment as Markdown, with its links.
func (s segment) text() string {
	var b strings.Builder
	href := ""
	runs := inOrder(s.runs)
	for i, r := range runs {
		text := r.text
		if i > 0 {
			last := runs[i-1]
			gap := r.x - (last.x + last.w)
			if r.against || last.against {
				gap = max(gap, last.x-(r.x+r.w))
			}
			switch em := max(r.size, last.size); {
			case strings.HasSuffix(last.text, " ") || strings.HasPrefix(text, " "):
			case gap > wordGap*em:
				text = " " + text
			case gap < wordGap*em && r.href == href && accents(last.text, text):
				whole := composed(b.String(), text)
				b.Reset()
				b.WriteString(whole)
				continue
			}
		}
		if r.href != href {
			if href != "" {
				closeLink(&b, href)
			}
			if href = r.href; href != "" {
				trimmed := strings.TrimLeft(text, " ")
				b.WriteString(text[:len(text)-len(trimmed)] + "[")
				text = trimmed
			}
		}
		b.WriteString(text)
	}
	if href != "" {
		closeLink(&b, href)
	}
	text := strings.TrimSpace(b.String())
	if slices.ContainsFunc(runs, func(r run) bool { return r.rtl }) {
		text = upright(text)
	}
	if strings.Contains(text, "  ") {
		text = strings.Join(strings.Fields(text), " ")
	}
	return text
}

// upright exchanges the brackets of a text that is read from the right if the first one closes:
// files have such brackets by their look, or by their meaning.
func upright(text string) string {
	i := strings.IndexAny(text, "()[]")
	if i < 0 || text[i] == '(' || text[i] == '[' || strings.Contains(text, "](") {
		return text
	}
	return strings.NewReplacer("(", ")", ")", "(", "[", "]", "]", "[").Replace(text)
}

// closeLink ends a link. Spaces at its end come after it.
func closeLink(b *strings.Builder, href string) {
	text := b.String()
	trimmed := strings.TrimRight(text, " ")
	b.Reset()
	b.WriteString(trimmed + "](" + href + ")" + text[len(trimmed):])
}

// combining returns the combining accent for one that stands alone, as TeX writes it.
func combining(r rune) rune {
	switch r {
	case '¨':
		return 0x308
	case '´':
		return 0x301
	case '`':
		return 0x300
	case 'ˆ':
		return 0x302
	case '˜':
		return 0x303
	case 'ˇ':
		return 0x30C
	case '˚':
		return 0x30A
	case '¯':
		return 0x304
	}
	return 0
}

// accents reports whether the last character of text is an accent of the first of next.
func accents(text, next string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	if combining(last) == 0 || last == '`' || !unicode.IsLetter(first) {
		return false
	}
	return utf8.RuneCountInString(norm.NFC.String(string([]rune{first, combining(last)}))) == 1
}

// composed joins text that ends with an accent and the text that begins with its letter.
func composed(text, next string) string {
	last, n := utf8.DecodeLastRuneInString(text)
	first, k := utf8.DecodeRuneInString(next)
	return text[:len(text)-n] + norm.NFC.String(string([]rune{first, combining(last)})) + next[k:]
}

// linesOf groups the segments of a column into lines.
func linesOf(segs []segment, column int) []line {
	var all []line
	for _, group := range byHeight(segs, func(s segment) (float64, float64) { return s.y0, s.y1 }) {
		slices.SortStableFunc(group, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
		all = append(all, newLine(group, column))
	}
	return all
}

func newLine(segs []segment, column int) line {
	var runs []run
	for _, s := range segs {
		runs = append(runs, s.runs...)
	}
	return line{segs: segs, segment: newSegment(runs), column: column}
}

// text returns the text of all segments.
func (l line) text() string {
	parts := make([]string, len(l.segs))
	for i, s := range l.segs {
		parts[i] = s.text()
	}
	return strings.Join(parts, " ")
}

// columnsOf returns the lines of a page in the order of reading. Where text is set in columns
// side by side, each column is read to its end before the next one.
func columnsOf(segs []segment) []line {
	rows := byHeight(slices.Clone(segs), func(s segment) (float64, float64) { return s.y0, s.y1 })
	gutters := findGutters(segs, rows, 0.75, 0.3)
	if len(gutters) == 0 {
		// The gutter may be as narrow as the gaps between words of other lines.
		var runs []run
		for _, s := range segs {
			runs = append(runs, s.runs...)
		}
		fine := cutAt(runs, narrowGutter)
		gutters = findGutters(fine, byHeight(slices.Clone(fine), func(s segment) (float64, float64) { return s.y0, s.y1 }),
			0.95, 0.6)
		if len(gutters) == 0 {
			return linesOf(segs, 0)
		}
		segs = cutAtGutters(segs, gutters)
		rows = byHeight(slices.Clone(segs), func(s segment) (float64, float64) { return s.y0, s.y1 })
	}
	var all []line
	var columns [][]segment
	var across []segment
	flush := func() {
		all = append(all, linesOf(across, 0)...)
		for i, c := range columns {
			all = append(all, linesOf(c, i+1)...)
		}
		columns, across = nil, nil
	}
	bottom := math.Inf(-1) // of the last row across
	for _, row := range rows {
		crosses := slices.ContainsFunc(row, func(s segment) bool {
			return slices.ContainsFunc(gutters, func(g interval) bool { return s.x0 < g.from && s.x1 > g.to })
		})
		// The last line of a paragraph across may be short.
		crosses = crosses || len(row) == 1 && row[0].x0 < gutters[0].from && across != nil &&
			row[0].y1-bottom < 1.6*row[0].size
		if crosses {
			bottom = row[0].y1
			if columns != nil {
				flush()
			}
			across = append(across, row...)
			continue
		}
		if across != nil {
			flush()
		}
		if columns == nil {
			columns = make([][]segment, len(gutters)+1)
		}
		for _, s := range row {
			at := 0
			for at < len(gutters) && s.x0 > (gutters[at].from+gutters[at].to)/2 {
				at++
			}
			columns[at] = append(columns[at], s)
		}
	}
	flush()
	return all
}

// cutAtGutters cuts the segments that have a gap where a gutter is.
func cutAtGutters(segs []segment, gutters []interval) []segment {
	var all []segment
	for _, s := range segs {
		start := 0
		for i := 1; i < len(s.runs); i++ {
			from, to := s.runs[i-1].x+s.runs[i-1].w, s.runs[i].x
			if slices.ContainsFunc(gutters, func(g interval) bool { return from <= g.from+1 && to >= g.to-1 }) {
				all = append(all, newSegment(s.runs[start:i]))
				start = i
			}
		}
		all = append(all, newSegment(s.runs[start:]))
	}
	return all
}

type interval struct{ from, to float64 }

// findGutters returns the empty strips between columns of running text, and none if the strips
// belong to a table: columns of text are of nearly the same width, have many lines, and many of
// their lines fill them: the share often of the lines has the share full of the width.
func findGutters(segs []segment, rows [][]segment, full, often float64) []interval {
	if len(rows) < minColumnLines {
		return nil
	}
	left, size := math.Inf(1), 0.0
	ends := make([]float64, len(segs))
	for i, s := range segs {
		left, size, ends[i] = min(left, s.x0), size+s.size/float64(len(segs)), s.x1
	}
	slices.Sort(ends)
	right := ends[len(ends)*97/100] // a few lines may be longer
	width := int(right-left) + 1
	if width < 100 || width > 10_000 {
		return nil
	}
	covered := make([]int, width+1) // lines with text at this x
	divided := make([]int, width+1) // lines with text on both sides, but not here
	for _, row := range rows {
		row = slices.Clone(row)
		slices.SortStableFunc(row, func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
		for i, s := range row {
			for x := int(s.x0 - left); x <= min(int(s.x1-left), width); x++ {
				covered[x]++
			}
			if i > 0 {
				// Text may stand right of the edge, as a note in the margin does.
				for x := int(row[i-1].x1-left) + 1; x <= min(int(s.x0-left)-1, width); x++ {
					divided[x]++
				}
			}
		}
	}
	var gutters []interval
	start := -1
	for x := 0; x <= width; x++ {
		open := x < width && divided[x] >= minColumnLines && covered[x] <= 2*divided[x]
		if open && start < 0 {
			start = x
		}
		if !open && start >= 0 {
			from, to := emptiest(covered, start, x)
			if float64(to-from) >= 0.6*size {
				gutters = append(gutters, interval{left + float64(from), left + float64(to)})
			}
			start = -1
		}
	}
	// Some of them may be within columns, between terms and their meaning.
	for n := min(len(gutters), maxColumns-1); n > 0; n-- {
		for _, first := range gutters {
			some := evenly(gutters, first, n, left)
			if some != nil && areColumns(some, rows, left, right, full, often) {
				return some
			}
		}
	}
	return nil
}

const (
	minColumnLines = 8
	minColumnChars = 15 // in a line; cells have fewer
	maxColumns     = 5
)

// emptiest returns the last part of a strip that is as empty as any other. Text that does not
// fill its column makes the strip wider than the gutter.
func emptiest(covered []int, from, to int) (int, int) {
	least := slices.Min(covered[from:to]) + 1
	for to > from && covered[to-1] > least {
		to--
	}
	at := to
	for at > from && covered[at-1] <= least {
		at--
	}
	return at, to
}

// areColumns reports whether the strips between gutters are columns of text.
func areColumns(gutters []interval, rows [][]segment, left, right, share, often float64) bool {
	edges := append([]interval{{left, left}}, gutters...)
	edges = append(edges, interval{right, right})
	pitch := gutters[0].to - left
	if width := right - gutters[len(gutters)-1].to; width < 0.6*pitch || width > 1.1*pitch {
		return false
	}
	for i := range edges[1:] {
		from, to := edges[i].to, edges[i+1].from
		lines, full, chars := 0, 0, 0
		for _, row := range rows {
			x0, x1, text := math.Inf(1), math.Inf(-1), 0.0
			for _, s := range row {
				if s.x0 >= from-1 && s.x1 <= to+1 {
					x0, x1, text, chars = min(x0, s.x0), max(x1, s.x1), text+s.x1-s.x0, chars+s.chars
				}
			}
			if x1 > x0 {
				lines++
				if x1-x0 > share*(to-from) && text > 0.5*(to-from) { // not two short cells
					full++
				}
			}
		}
		if lines < minColumnLines || chars < minColumnChars*lines || float64(full) < often*float64(lines) {
			return false
		}
	}
	return true
}

// evenly returns n of the gutters, the given one and the next ones at the same distance, or
// nil.
func evenly(gutters []interval, first interval, n int, left float64) []interval {
	some := []interval{first}
	for i := 2; i <= n; i++ {
		at := left + float64(i)*(first.to-left)
		k := slices.IndexFunc(gutters, func(g interval) bool { return math.Abs(g.to-at) < 0.05*(first.to-left) })
		if k < 0 {
			return nil
		}
		some = append(some, gutters[k])
	}
	return some
}
