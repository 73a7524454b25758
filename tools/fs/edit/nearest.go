package edit

import (
	"fmt"
	"slices"
	"strings"
)

// A Candidate is a part of the text that is similar to the missing text.
type Candidate struct {
	First, Last int    // line numbers, from 1
	Text        string // the text of these lines
	Alike       int    // per cent of the missing text that is in Text
	Line        int    // the first line that differs
	Column      int    // byte in that line where they differ, from 1
	Have, Want  string // the line as it is, and as it was looked for
}

// Candidates returns at most n parts of content that are most similar to wanted, the best first. It returns none that
// has nothing in common with wanted. It reads both texts once.
func Candidates(content, wanted string, n int) []Candidate {
	const (
		looked = 16 << 10 // bytes of wanted that are compared
		least  = 200      // minimum score that is worth showing, of 1000
		picked = 8        // windows that are compared closely
	)
	wanted = strings.Trim(wanted, "\r\n")
	if len(wanted) > looked {
		wanted = wanted[:max(strings.LastIndexByte(wanted[:looked], '\n'), looked/2)]
	}
	if strings.TrimSpace(wanted) == "" || n <= 0 {
		return nil
	}
	s := newSketch(wanted)
	var found []Candidate
	for _, w := range s.windows(content, picked) {
		if w.score < least {
			continue
		}
		c := closer(content, wanted, w)
		if !slices.ContainsFunc(found, func(other Candidate) bool { return other.First == c.First }) { // windows move to one place
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return b.Alike - a.Alike })
	return found[:min(n, len(found))]
}

// A sketch is the set of triples of consecutive characters of a text without blanks. Small changes of the text change
// it little.
type sketch struct {
	set   [1 << sketchBits / 64]uint64
	size  int // number of triples
	lines int
}

const sketchBits = 17

func newSketch(wanted string) *sketch {
	s := new(sketch)
	for line := range strings.Lines(wanted) {
		_, all := s.count(line, true)
		s.size += all
		s.lines++
	}
	return s
}

// count returns how many triples of a line are in the set, and how many there are. If add is set it adds them.
func (s *sketch) count(line string, add bool) (taken, all int) {
	history := uint32('\n')
	triple := func(c byte) {
		history = history<<8 | uint32(c)
		h := (history & 0xFFFFFF * 0x9E3779B1) >> (32 - sketchBits)
		if all++; add {
			s.set[h>>6] |= 1 << (h & 63)
		}
		taken += int(s.set[h>>6] >> (h & 63) & 1)
	}
	for _, c := range []byte(line) {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			triple(c)
		}
	}
	if all > 0 {
		triple('\n')
	}
	return taken, all
}

// A window is a run of lines with its similarity to the wanted text.
type window struct {
	line       int // number of lines before it
	start, end int
	score      int // of 1000
}

// windows returns the most promising windows of content, each with as many lines as the wanted text.
func (s *sketch) windows(content string, most int) []window {
	type counted struct{ start, taken, all int }
	ring := make([]counted, s.lines)
	taken, all, n, at := 0, 0, 0, 0
	var best []window
	for line := range strings.Lines(content) {
		old := &ring[n%len(ring)]
		t, a := s.count(line, false)
		taken, all = taken+t-old.taken, all+a-old.all
		*old = counted{at, t, a}
		at += len(line)
		n++
		if taken == 0 {
			continue
		}
		first := max(0, n-len(ring))
		best = keep(best, window{first, ring[first%len(ring)].start, at, s.score(taken, all)}, most)
	}
	return best
}

// score compares a window with the sketch by the number of common triples and of all in the window. Missing triples
// weigh more than additional ones: a long line may have many of those.
func (s *sketch) score(taken, all int) int {
	common := min(taken, s.size)
	return 1000 * 10 * common / (10*common + 8*(s.size-common) + 2*min(all-common, 4*s.size) + 1)
}

// keep adds w to the best windows. It replaces the last one if they overlap, or the worst one if there are enough.
func keep(best []window, w window, most int) []window {
	n := len(best)
	if n > 0 && best[n-1].end > w.start {
		if w.score > best[n-1].score {
			best[n-1] = w
		}
		return best
	}
	if n < most {
		return append(best, w)
	}
	worst := 0
	for i := range best {
		if best[i].score < best[worst].score {
			worst = i
		}
	}
	if w.score > best[worst].score {
		best = append(slices.Delete(best, worst, worst+1), w)
	}
	return best
}

// closer moves a window by a few lines to where it fits best, and finds the first difference.
func closer(content, wanted string, w window) Candidate {
	const slack = 2
	want := SplitLines(wanted)
	from := linesBefore(content, w.start, slack)
	lines := SplitLines(content[from:linesAfter(content, w.end, slack)])
	ahead := countLines(content[from:w.start])
	shift := bestShift(lines, want, ahead)
	first := w.line - ahead + shift
	lines = lines[shift:min(len(lines), shift+len(want))]
	c := Candidate{
		First: first + 1, Last: first + len(lines), Text: strings.Join(lines, ""),
		Alike: alike(lines, want),
	}
	c.differ(lines, want)
	return c
}

// bestShift returns the index of the line where want fits best. It prefers usual.
func bestShift(lines, want []string, usual int) int {
	best, most := usual, fit(lines[usual:], want)
	for shift := range min(len(lines), 2*usual+1) {
		if n := fit(lines[shift:], want); n > most {
			best, most = shift, n
		}
	}
	for best+1 < len(lines) && strings.TrimSpace(lines[best]) == "" && strings.TrimSpace(want[0]) != "" {
		best++
	}
	return best
}

// fit returns how many bytes at the beginning of the first lines are equal, apart from indentation.
func fit(lines, want []string) (n int) {
	const enough = 40
	for i := range min(len(want), len(lines), enough) {
		a, b := strings.TrimSpace(lines[i]), strings.TrimSpace(want[i])
		if n += sameStart(a, b); a == b {
			n += len(a)
		}
	}
	return n
}

// alike returns the percentage of the pairs of characters of want that are in lines too.
func alike(lines, want []string) int {
	have := strings.ReplaceAll(strings.Join(lines, ""), "\r", "")
	wanted := strings.ReplaceAll(strings.Join(want, ""), "\r", "")
	const most = 64 << 10
	pairs := make([]int32, 1<<16)
	for i := 1; i < min(len(have), most); i++ {
		pairs[int(have[i-1])<<8|int(have[i])]++
	}
	common, all := 0, 0
	for i := 1; i < min(len(wanted), most); i++ {
		pair := int(wanted[i-1])<<8 | int(wanted[i])
		if all++; pairs[pair] > 0 {
			pairs[pair]--
			common++
		}
	}
	return min(99, 100*common/max(1, all))
}

// differ finds the first difference between lines and want. The first line of
// want may begin within a line, and its last may end within one.
func (c *Candidate) differ(lines, want []string) {
	for i, w := range want {
		if i >= len(lines) {
			c.Line, c.Column, c.Have, c.Want = c.Last+1, 1, "", w
			return
		}
		line, from := lines[i], 0
		if i == 0 {
			from = aligned(line, w)
		}
		same := sameStart(line[from:], w)
		if same == len(w) && (i == len(want)-1 || from+same == len(line)) {
			continue
		}
		c.Line, c.Column, c.Have, c.Want = c.First+i, from+same+1, line, w
		return
	}
}

// aligned returns where in line the text want most likely begins. A want without leading blanks may begin after the
// indentation.
func aligned(line, want string) int {
	if sameStart(line, want) > 0 {
		return 0
	}
	for n := min(len(want), 64); n > 2; n /= 2 {
		if i := strings.Index(line, want[:n]); i >= 0 {
			return i
		}
	}
	if want == "" || strings.ContainsRune(" \t\r\n", rune(want[0])) {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

// String returns the lines unchanged, so that they can be copied, and where the first difference is. Nothing is written
// in front of a line, since secrets are recognized by the beginnings of lines.
func (c Candidate) String() string {
	const around, widest = 3, 200
	lines := SplitLines(c.Text)
	from, to := 0, len(lines)
	if len(lines) > 2*around {
		from = max(0, min(c.Line-c.First-around, len(lines)-2*around))
		to = min(len(lines), from+2*around)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d%% alike", lineRange(c.First, c.Last), c.Alike)
	if to-from < len(lines) {
		fmt.Fprintf(&b, "; of these %s", lineRange(c.First+from, c.First+to-1))
	}
	b.WriteString(":\n")
	for i, line := range lines[from:to] {
		at := 0
		if c.First+from+i == c.Line {
			at = c.Column
		}
		b.WriteString(strings.ToValidUTF8(excerpt(body(line), at, widest), "\uFFFD") + "\n")
	}
	if c.Line > 0 {
		b.WriteString(c.difference(widest))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// difference describes where Have and Want begin to differ. It makes blanks visible; other text is shown as a whole
// line.
func (c Candidate) difference(widest int) string {
	i := c.Column - 1
	wantAt := i
	if c.Line == c.First {
		wantAt = i - aligned(c.Have, c.Want)
	}
	i, wantAt = min(i, len(c.Have)), min(max(wantAt, 0), len(c.Want))
	where := fmt.Sprintf("(line %d, column %d: ", c.Line, c.Column)
	if c.Have == "" {
		return where + "the file has no such line; your text continues)\n"
	}
	have, haveNext := blanksAt(c.Have, i)
	want, wantNext := blanksAt(c.Want, wantAt)
	if have != want && sameNext(haveNext, wantNext) {
		return where + fmt.Sprintf("the file has %s where your text has %s)\n", shownBlanks(have), shownBlanks(want))
	}
	return where + "your text differs there:)\n" + excerpt(body(c.Want), wantAt, widest) + "\n"
}

// sameNext reports whether two texts go on with the same character.
func sameNext(a, b string) bool {
	return a == "" && b == "" || a != "" && b != "" && a[0] == b[0]
}

// blanksAt returns the blanks around position i, including a line ending, and the text after
// them.
func blanksAt(line string, i int) (blanks, next string) {
	const set = " \t\r\n"
	from := len(strings.TrimRight(line[:i], set))
	next = strings.TrimLeft(line[i:], set)
	return line[from : len(line)-len(next)], next
}

func shownBlanks(text string) string {
	const most = 24
	if text == "" {
		return "no blanks"
	}
	more := ""
	if len(text) > most {
		text, more = text[:most], "…"
	}
	return "«" + strings.NewReplacer(" ", "·", "\t", "→", "\r", "␍", "\n", "␊").Replace(text) + more + "»"
}

func lineRange(first, last int) string {
	if last <= first {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}
