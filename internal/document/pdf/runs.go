package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// collectors join characters to runs, separately for each direction of writing.
type collectors struct {
	page  *page
	links []link
	all   [slanted + 1]collector
	last  struct{ space bool } // there was one before the next character
}

func (c *collectors) count() (n int) {
	for i := range c.all {
		n += len(c.all[i].runs)
	}
	return n
}

// add adds a character with its box on the page.
func (c *collectors) add(r rune, x, y, w, h float64, o textObject) {
	o.size = cmp.Or(o.size, h*0.83)
	one := run{x: x, y: y, w: w, h: h, size: o.size, bold: o.bold, mono: o.mono, tag: o.tag, text: string(r)}
	for _, l := range c.links {
		if mx, my := x+w/2, y+h/2; mx > l.x && mx < l.x+l.w && my > l.y && my < l.y+l.h {
			one.href = l.href
			break
		}
	}
	switch o.turn {
	case 1:
		one.x, one.y, one.w, one.h = c.page.h-y-h, x, h, w
	case 2:
		one.x, one.y = c.page.w-x-w, c.page.h-y-h
	case 3:
		one.x, one.y, one.w, one.h = y, c.page.w-x-w, h, w
	}
	to := &c.all[o.turn]
	if o.turn == slanted {
		to.append(one, c.last.space)
	} else {
		to.add(one, r, c.last.space)
	}
	c.last.space = false
}

// finish gives the runs to the page. The direction of most characters is the direction of the
// page.
func (c *collectors) finish() {
	chars := func(i int) (n int) {
		for _, r := range c.all[i].runs {
			n += len(r.text)
		}
		return n
	}
	most := 0
	for i := range c.all {
		c.all[i].flush()
		if i < slanted && chars(i) > chars(most) {
			most = i
		}
	}
	w, h := c.page.w, c.page.h
	if most%2 == 1 {
		c.page.w, c.page.h = h, w
	}
	c.page.runs = c.all[most].runs
	for i := range c.all {
		if i == most || len(c.all[i].runs) == 0 {
			continue
		}
		other := page{number: c.page.number, w: w, h: h, runs: c.all[i].runs}
		if i%2 == 1 {
			other.w, other.h = h, w
		}
		c.page.turned = append(c.page.turned, other)
	}
}

// A collector joins the characters of one direction to runs.
type collector struct {
	runs  []run
	one   run
	chars []run // of one if it is read from the right
	box   run   // of the last character
}

// add adds a character; space reports that there is a space before it. A word that is read from
// the right is a run of its own, with the characters in the order of their places: files have
// them in either order, and PDFium exchanges the characters of a ligature.
func (c *collector) add(next run, r rune, space bool) {
	one := &c.one
	next.rtl = isRTL(r)
	em := next.size
	gap := next.x - (one.x + one.w)
	same := one.text != "" && one.size == next.size && one.bold == next.bold && one.mono == next.mono &&
		one.href == next.href && one.tag == next.tag && math.Abs(next.y+next.h-one.y-one.h) < 0.1*em
	switch neutral := !next.rtl && letters(next.text) == 0; {
	case !same:
	case one.rtl && (next.rtl || neutral):
		same = !space && max(gap, one.x-(next.x+next.w)) < softGap*em
	case next.x == c.box.x && next.w == c.box.w && next.w > 0 && one.rtl == next.rtl:
		gap = 0 // one glyph for several characters
	default:
		same = one.rtl == next.rtl && gap > -0.6*em && gap < softGap*em
	}
	c.box = next
	if !same {
		if space && one.text != "" && !one.rtl && gap <= wordGap*em {
			one.text += " " // greater gaps are seen by their width
		}
		c.flush()
		c.one = next
		if next.rtl {
			c.chars = append(c.chars[:0], next)
			if space {
				c.one.text = " " + next.text
			}
		}
		return
	}
	if one.rtl {
		c.chars = append(c.chars, next)
	} else if space || gap > wordGap*em {
		one.text += " "
	}
	one.text += next.text
	one.cover(next)
}

// ordered returns the characters of a word from the right to the left. A mark follows the letter
// that it stands at.
func ordered(chars []run) string {
	middle := func(r run) float64 { return r.x + r.w/2 }
	isMark := func(r run) bool {
		first, _ := utf8.DecodeRuneInString(r.text)
		return unicode.Is(unicode.Mn, first)
	}
	var letters, marks []run
	for _, r := range chars {
		if isMark(r) {
			marks = append(marks, r)
		} else {
			letters = append(letters, r)
		}
	}
	for i := 1; i < len(letters); i++ { // PDFium exchanges the parts of a ligature
		if a, b := letters[i-1], letters[i]; a.x == b.x && a.w == b.w && strings.Contains("اأإآ", a.text) && b.text == "ل" {
			letters[i-1], letters[i] = b, a
		}
	}
	slices.SortStableFunc(letters, func(a, b run) int { return cmp.Compare(middle(b), middle(a)) })
	for _, m := range marks {
		best := -1
		for i, l := range letters {
			if best < 0 || math.Abs(middle(l)-middle(m)) < math.Abs(middle(letters[best])-middle(m)) {
				best = i
			}
		}
		if best < 0 {
			letters = append(letters, m)
		} else {
			letters[best].text += m.text
		}
	}
	var b strings.Builder
	for _, l := range letters {
		b.WriteString(l.text)
	}
	return b.String()
}

// append adds a character to the only run.
func (c *collector) append(next run, space bool) {
	if c.one.text == "" {
		c.one = next
		return
	}
	if space {
		c.one.text += " "
	}
	c.one.text += next.text
	c.one.cover(next)
}

// cover extends the box of a run.
func (r *run) cover(next run) {
	right, bottom := max(r.x+r.w, next.x+next.w), max(r.y+r.h, next.y+next.h)
	r.x, r.y = min(r.x, next.x), min(r.y, next.y)
	r.w, r.h = right-r.x, bottom-r.y
}

func (c *collector) flush() {
	if c.one.text != "" {
		if c.one.rtl {
			blank := ""
			if strings.HasPrefix(c.one.text, " ") {
				blank = " "
			}
			c.one.text = blank + ordered(c.chars)
		}
		c.runs = append(c.runs, c.one)
	}
	c.one = run{}
}

// isRTL reports whether a character is written from right to left.
func isRTL(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) &&
		!unicode.IsDigit(r)
}
