package pdf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	headingSize  = 1.12 // of the body size
	maxHeading   = 200  // characters
	maxBoldLine  = 100
	headingLevel = 4
)

// A style has the sizes of text in the whole document.
type style struct {
	body   float64
	levels []float64        // sizes of headings, the greatest first
	sizes  map[float64]bool // all sizes of headings
	mono   bool             // so much is monospaced that it means nothing
	words  map[string]bool
}

// layOut returns the Markdown of each page.
func layOut(pages []page) []string {
	all := make([][]line, len(pages))
	for i, p := range pages {
		all[i] = linesOfPage(p)
	}
	st := styleOf(all)
	st.dropRunning(pages, all)
	out := make([]string, len(pages))
	for i, lines := range all {
		out[i] = st.markdown(lines)
		for _, p := range pages[i].turned {
			out[i] = joinBlocks(out[i], st.markdown(linesOfPage(p)))
		}
	}
	return out
}

// linesOfPage returns the lines of a page in the order of reading. Tables and lists that are
// tagged are lines with a block.
func linesOfPage(p page) []line {
	p.runs = cleaned(p)
	blocks := takeGroups(&p)
	segs := cutAt(p.runs, segmentGap)
	for _, b := range blocks {
		segs = append(segs, b.anchor())
	}
	return columnsOf(segs)
}

// dropRunning removes the lines that are repeated at the top or at the bottom of at least half
// of the pages, or of half of the left or the right ones. Numbers may differ, and so may the
// text beside the number of a page. Of headings the first one stays.
func (st *style) dropRunning(pages []page, all [][]line) {
	if len(pages) < 3 {
		return
	}
	type key struct {
		text string
		side int // 0 and 1 for left and right pages, 2 for all
	}
	counts := map[key]int{}
	sides := [3]int{}
	for i, lines := range all {
		side := pages[i].number % 2
		sides[side]++
		sides[2]++
		for text := range st.marginal(pages[i], lines) {
			counts[key{text, side}]++
			counts[key{text, 2}]++
		}
	}
	kept := map[string]bool{}
	for i, lines := range all {
		side := pages[i].number % 2
		running := map[int]bool{}
		for text, at := range st.marginal(pages[i], lines) {
			often := func(side int) bool {
				n := counts[key{text, side}]
				return n >= 3 && n*2 >= sides[side]
			}
			if !often(2) && !often(side) {
				continue
			}
			if st.level(lines[at]) > 0 && !kept[text] {
				kept[text] = true
				continue
			}
			running[at] = true
		}
		rest := make([]line, 0, len(lines))
		for k, l := range lines {
			if !running[k] {
				rest = append(rest, l)
			}
		}
		all[i] = rest
	}
}

// marginal returns the lines at the top and at the bottom of a page: their texts without
// numbers, and where they are.
func (st *style) marginal(p page, lines []line) map[string]int {
	if len(lines) == 0 {
		return nil
	}
	heights := make([]float64, len(lines))
	for i, l := range lines {
		heights[i] = l.y1
	}
	slices.Sort(heights)
	first, last := heights[0], heights[len(lines)-1]
	all := map[string]int{}
	for i, l := range lines {
		if l.blockOf() != nil {
			continue
		}
		place := ""
		switch {
		case l.y1 <= max(0.12*p.h, first) && l.y1 < p.h/2:
			place = "top "
		case l.y1 >= min(0.88*p.h, last) && l.y0 > p.h/2:
			place = "bottom "
		default:
			continue
		}
		text := l.text()
		all[place+masked(text)] = i
		// A heading has the number of a section.
		if (l.y1 == first || l.y1 == last) && len(text) < maxHeading && st.level(l) == 0 {
			for _, number := range pageNumber().FindAllString(text, -1) {
				section := strings.HasPrefix(text, number+".") || strings.HasPrefix(text, number+")")
				if strings.HasPrefix(text, number) && !section || strings.HasSuffix(text, number) {
					n, _ := strconv.Atoi(number)
					all[fmt.Sprint(place, "page ", p.number-n)] = i
				}
			}
		}
	}
	return all
}

var pageNumber = text.Pattern(`^[ivxlc]+$|\d+`)

// masked returns a text with all its numbers alike.
func masked(text string) string {
	return pageNumber().ReplaceAllString(strings.ToLower(text), "#")
}

// styleOf finds the size of the text, and the sizes of headings.
func styleOf(all [][]line) *style {
	st := &style{words: map[string]bool{}, sizes: map[float64]bool{}}
	sizes, proportional := map[float64]int{}, map[float64]int{}
	long := map[float64]int{} // characters in blocks of so many lines that they are not headings
	total, mono := 0, 0
	for _, lines := range all {
		block, chars := 0, 0
		for i, l := range lines {
			size := round(l.size)
			if i > 0 && round(lines[i-1].size) != size {
				block, chars = 0, 0
			}
			chars += l.chars
			if block++; block > 3 {
				long[size] += chars
				chars = 0
			}
			sizes[size] += l.chars
			total += l.chars
			if l.mono {
				mono += l.chars
			} else {
				proportional[size] += l.chars
			}
			for word := range strings.FieldsSeq(l.text()) {
				if i := strings.IndexByte(word, '-'); i > 0 && i < len(word)-1 {
					st.words[strings.ToLower(strings.TrimFunc(word, unicode.IsPunct))] = true
				}
			}
		}
	}
	if st.mono = mono*10 > total*7; st.mono {
		proportional = sizes
	}
	most := 0
	for size, n := range proportional {
		if n > most || n == most && size < st.body {
			st.body, most = size, n
		}
	}
	for size, n := range proportional {
		if size >= headingSize*st.body && n*4 < total && long[size]*2 < n {
			st.levels = append(st.levels, size)
			st.sizes[size] = true
		}
	}
	slices.SortFunc(st.levels, func(a, b float64) int { return cmp.Compare(b, a) })
	st.levels = slices.CompactFunc(st.levels, func(a, b float64) bool { return max(a, b) < 1.06*min(a, b) })
	return st
}

func round(size float64) float64 { return math.Round(size*2) / 2 }

// level returns the level of a heading of this size, 0 for text.
func (st *style) level(l line) int {
	if l.tag != nil {
		return l.tag.heading
	}
	size := round(l.size)
	if !st.sizes[size] || l.mono && !st.mono || letters(l.text()) < 2 {
		return 0
	}
	for i, s := range st.levels {
		if size >= s/1.06 {
			return min(i+1, headingLevel)
		}
	}
	return 0
}

func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			n++
		}
	}
	return n
}

// A flow writes the lines of a page as blocks.
type flow struct {
	*style
	out   []string
	lines []line
	pitch map[int]float64 // of the lines of a column
	left  map[int]float64
	right map[int]float64
	items []item // the open list items, the outermost first
}

// An item is a list item.
type item struct {
	x, text float64 // of the marker and of the text
	number  int     // 0 for a bullet
}

func (st *style) markdown(lines []line) string {
	f := &flow{style: st, lines: lines}
	for i := range f.lines {
		f.lines[i] = joinMarker(f.lines[i])
	}
	f.measure()
	for i := 0; i < len(f.lines); {
		i += f.block(i)
	}
	return joinBlocks(f.out...)
}

// joinBlocks joins blocks that are not empty. The items of a list stand together.
func joinBlocks(blocks ...string) string {
	var b strings.Builder
	last := ""
	for _, block := range blocks {
		if strings.TrimSpace(block) == "" {
			continue
		}
		switch {
		case b.Len() == 0:
		case isItem(last) && isItem(block):
			b.WriteByte('\n')
		default:
			b.WriteString("\n\n")
		}
		b.WriteString(block)
		last = block
	}
	return b.String()
}

var itemStart = text.Pattern(`^ *(- |\d+[.)] )`)

func isItem(block string) bool { return itemStart().MatchString(block) }

// measure finds the usual distance of lines and the edges of each column.
func (f *flow) measure() {
	f.pitch, f.left, f.right = map[int]float64{}, map[int]float64{}, map[int]float64{}
	steps := map[int][]float64{}
	for i, l := range f.lines {
		if x, ok := f.left[l.column]; !ok || l.x0 < x {
			f.left[l.column] = l.x0
		}
		f.right[l.column] = max(f.right[l.column], l.x1)
		if i > 0 && f.lines[i-1].column == l.column {
			if step := l.y1 - f.lines[i-1].y1; step > 0.5*l.size && step < 2.5*l.size {
				steps[l.column] = append(steps[l.column], step/l.size)
			}
		}
	}
	for column, s := range steps {
		slices.Sort(s)
		f.pitch[column] = s[len(s)/3]
	}
}

// block writes the block that begins at line i and returns how many lines it has.
func (f *flow) block(i int) int {
	l := f.lines[i]
	if b := l.blockOf(); b != nil {
		f.items = nil
		for _, s := range l.segs {
			if s.runs[0].block == nil {
				f.out = append(f.out, s.text())
			}
		}
		f.out = append(f.out, b.markdown(f))
		return 1
	}
	if level := f.level(l); level > 0 {
		if n := f.heading(i, level); n > 0 {
			f.items = nil
			return n
		}
	}
	if l.mono && !f.mono {
		f.items = nil
		return f.code(i)
	}
	if n := f.table(i); n > 0 {
		f.items = nil
		return n
	}
	if isLeader(l) {
		f.items = nil
		f.out = append(f.out, "- "+leaders().ReplaceAllString(l.text(), " … "))
		return 1
	}
	return f.paragraph(i)
}

// heading writes lines of one size as a heading, unless they are too many.
func (f *flow) heading(i, level int) int {
	n := 1
	for i+n < len(f.lines) {
		last, next := f.lines[i+n-1], f.lines[i+n]
		if next.column != last.column || f.level(next) != level || next.tag != last.tag ||
			next.y1-last.y1 > 2*last.size || next.y1 < last.y1 {
			break
		}
		n++
	}
	text := f.joined(f.lines[i : i+n])
	if n > 3 || utf8.RuneCountInString(text) > maxHeading {
		return 0
	}
	f.out = append(f.out, strings.Repeat("#", level)+" "+text)
	return n
}

// joined returns the text of lines in one line.
func (f *flow) joined(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		appendLine(&b, l.text(), f.words)
	}
	return b.String()
}

// appendLine adds a line to a paragraph. A word that is divided at the end of a line is
// joined; known are words that have a hyphen elsewhere.
func appendLine(b *strings.Builder, text string, known map[string]bool) {
	if text == "" {
		return
	}
	before := b.String()
	if before == "" {
		b.WriteString(text)
		return
	}
	head, cut := strings.CutSuffix(before, "-")
	if !cut {
		head, cut = strings.CutSuffix(before, "‐")
	}
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(head)
	switch {
	case cut && unicode.IsLower(first) && unicode.IsLower(last):
		part := head[strings.LastIndexByte(head, ' ')+1:]
		next, _, _ := strings.Cut(text, " ")
		whole := strings.ToLower(strings.TrimFunc(part+"-"+next, unicode.IsPunct))
		if !known[whole] && !strings.Contains(part, "-") {
			b.Reset()
			b.WriteString(head)
		}
	case cut && (unicode.IsLetter(last) || unicode.IsNumber(last)) && unicode.IsUpper(first):
	default:
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

// code writes monospaced lines with their indentation.
func (f *flow) code(i int) int {
	n := 1
	step := math.Inf(1) // of lines
	for i+n < len(f.lines) {
		last, next := f.lines[i+n-1], f.lines[i+n]
		down := next.y1 - last.y1
		if next.column != last.column || down <= 0 || down > 4*last.size || !next.mono &&
			(down > 1.6*last.size || !partlyMono(next)) {
			break
		}
		step = min(step, down)
		n++
	}
	lines := f.lines[i : i+n]
	left := math.Inf(1)
	for _, l := range lines {
		left = min(left, l.x0)
	}
	var b strings.Builder
	b.WriteString("```\n")
	for k, l := range lines {
		if k > 0 && l.y1-lines[k-1].y1 > 1.6*step {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(spaced(l, left), " "))
		b.WriteByte('\n')
	}
	b.WriteString("```")
	f.out = append(f.out, b.String())
	return n
}

// partlyMono reports whether a good part of a line is monospaced, such as code after the
// number of its line.
func partlyMono(l line) bool {
	n := 0
	for _, r := range l.runs {
		if r.mono {
			n += utf8.RuneCountInString(r.text)
		}
	}
	return n*5 >= l.chars*2
}

// spaced returns the text of a monospaced line with spaces for the distances.
func spaced(l line, left float64) string {
	var b strings.Builder
	width, count := 0.0, 0
	for _, r := range l.runs {
		width, count = width+r.w, count+utf8.RuneCountInString(r.text)
	}
	width = max(width/float64(max(count, 1)), 0.3*l.size)
	column := 0
	for _, s := range l.segs {
		for _, r := range s.runs {
			at := min(int(math.Round((r.x-left)/width)), 500)
			for ; column < at; column++ {
				b.WriteByte(' ')
			}
			b.WriteString(r.text)
			column += utf8.RuneCountInString(r.text)
		}
	}
	return strings.ReplaceAll(b.String(), "```", "'''")
}

var (
	leaders = text.Pattern(`\s*(\.\s?){4,}\s*`)
	leader  = text.Pattern(`(\.\s?){4,}\s*[0-9ivxlc]+$`)
)

// isLeader reports whether a line is one of a table of contents.
func isLeader(l line) bool { return leader().MatchString(l.text()) }

var bullets = text.Pattern(`^([•◦▪■●○‣⁃∙·❖➢✓–—*\-\x{F000}-\x{F0FF}]|o)$`)

var numbered = text.Pattern(`^\(?(\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]$|^\[\d{1,3}\]$`)

// joinMarker joins the marker of a list item or the number of a heading with the text after
// it, so that they are not two cells of a table.
func joinMarker(l line) line {
	if len(l.segs) < 2 || l.segs[1].x0-l.segs[0].x1 > 5*l.size {
		return l
	}
	first := l.segs[0].text()
	if !bullets().MatchString(first) && (len(l.segs) > 2 || !numbered().MatchString(first)) {
		return l
	}
	both := newSegment(slices.Concat(l.segs[0].runs, l.segs[1].runs))
	return line{segs: append([]segment{both}, l.segs[2:]...), segment: l.segment, column: l.column}
}

// marker returns the marker of a list item as Markdown, its number, the text after it, and
// where that text begins; 0 if that is not known.
func (f *flow) marker(l line) (mark string, number int, text string, x float64) {
	whole := l.text()
	head, rest, ok := strings.Cut(whole, " ")
	if !ok || strings.TrimSpace(rest) == "" {
		return "", 0, "", 0
	}
	for i, r := range l.runs {
		if i > 0 && r.x-l.runs[0].x > 0.5*l.size {
			x = r.x
			break
		}
	}
	rest = strings.TrimSpace(rest)
	switch {
	case bullets().MatchString(head):
		return "-", 0, rest, x
	case numbered().MatchString(head) && head[0] != '[':
		n, err := strconv.Atoi(strings.Trim(head, "().]"))
		if err != nil {
			// a) and i. stay as they are, since Markdown has no such lists.
			if len(strings.Trim(head, "().")) == 1 && !strings.HasSuffix(head, ")") && !f.startsColumn(l) {
				return "", 0, "", 0
			}
			return "-", 0, whole, x
		}
		if previous := f.lastNumber(l.x0, l.size); n != 1 && n != previous+1 {
			return "", 0, "", 0
		}
		return strconv.Itoa(n) + ".", n, rest, x
	}
	return "", 0, "", 0
}

// startsColumn reports whether a line is indented: initials and the ends of sentences are not.
func (f *flow) startsColumn(l line) bool { return l.x0 > f.left[l.column]+l.size }

func (f *flow) lastNumber(x, size float64) int {
	for _, it := range f.items {
		if math.Abs(it.x-x) < size {
			return it.number
		}
	}
	return 0
}

// paragraph writes the paragraph or list item that begins at line i.
func (f *flow) paragraph(i int) int {
	l := f.lines[i]
	mark, number, rest, textX := f.marker(l)
	n := 1
	for i+n < len(f.lines) && f.continues(f.lines[i:i+n], f.lines[i+n], mark != "", textX) &&
		!f.startsTable(i+n) {
		n++
	}
	lines := f.lines[i : i+n]
	if mark == "" {
		f.text(lines)
		return n
	}
	for len(f.items) > 0 && f.items[len(f.items)-1].x > l.x0-0.5*l.size {
		f.items = f.items[:len(f.items)-1]
	}
	indent := strings.Repeat("  ", min(len(f.items), 6))
	f.items = append(f.items, item{l.x0, textX, number})
	var b strings.Builder
	b.WriteString(rest)
	for _, one := range lines[1:] {
		appendLine(&b, one.text(), f.words)
	}
	f.out = append(f.out, indent+mark+" "+b.String())
	return n
}

// text writes a paragraph that is not a list item.
func (f *flow) text(lines []line) {
	text := f.joined(lines)
	l := lines[0]
	if len(f.items) > 0 {
		if it := f.items[len(f.items)-1]; l.x0 < it.text-l.size {
			f.items = nil
		}
	}
	bold := !slices.ContainsFunc(lines, func(l line) bool { return !l.bold })
	switch {
	case bold && len(lines) <= 2 && utf8.RuneCountInString(text) <= maxBoldLine && letters(text) > 1 &&
		!strings.ContainsAny(text, "*[") && !strings.HasSuffix(text, "."):
		text = "**" + text + "**"
	case strings.HasPrefix(text, "#") || strings.HasPrefix(text, ">") || strings.HasPrefix(text, "```") ||
		isItem(text):
		text = `\` + text
	}
	f.out = append(f.out, text)
}

// continues reports whether next belongs to the paragraph of lines.
func (f *flow) continues(lines []line, next line, item bool, textX float64) bool {
	first, last := lines[0], lines[len(lines)-1]
	em := last.size
	if f.level(next) > 0 || next.blockOf() != nil || next.mono && !f.mono || isLeader(next) || len(next.segs) > 1 && len(last.segs) > 1 {
		return false
	}
	if math.Abs(next.size-last.size) > 0.15*em || next.bold != last.bold && (next.bold || first.bold) {
		return false
	}
	if mark, _, _, _ := f.marker(next); mark != "" {
		return false
	}
	left, right := f.left[last.column], f.right[last.column]
	if next.column != last.column {
		// The paragraph may go on at the top of the next column.
		return next.column == last.column+1 && next.y1 < last.y1 && !item && last.x1 > right-3*em &&
			!endsSentence(last.text()) &&
			next.x0 < f.left[next.column]+em
	}
	step := next.y1 - last.y1
	if step <= 0 || step > max(1.25*f.pitch[last.column], 1.2)*em {
		return false
	}
	if item {
		if len(lines) > 1 {
			return math.Abs(next.x0-last.x0) < 0.5*em
		}
		if textX > 0 {
			return math.Abs(next.x0-textX) < em
		}
		return next.x0 > first.x0+0.3*em && next.x0 < first.x0+4*em
	}
	switch hanging := len(lines) == 1 && hangs(first, next); {
	case centered(last, next):
		return true
	case next.x0 > last.x0+0.8*em && !hanging:
		return false // the first line of a paragraph is indented
	case next.x0 < last.x0-0.8*em && len(lines) > 1:
		return false
	}
	word, _, _ := strings.Cut(next.text(), " ")
	room := right - last.x1
	fits := float64(utf8.RuneCountInString(word)+1)*0.6*em < room
	return !fits || room < 0.35*(right-left) && !endsSentence(last.text())
}

// hangs reports whether next begins below a later part of a line, as the text of a term does.
func hangs(l, next line) bool {
	return slices.ContainsFunc(l.runs[1:], func(r run) bool { return math.Abs(r.x-next.x0) < 0.4*l.size })
}

// centered reports whether two lines have the same middle and neither the same left nor the
// same right edge.
func centered(a, b line) bool {
	return math.Abs(a.x0+a.x1-b.x0-b.x1) < a.size && math.Abs(a.x0-b.x0) > a.size
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, `"”’')]`)
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?:;", last)
}
