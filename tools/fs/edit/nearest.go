package edit

import (
	"slices"
	"strings"
)

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
		if w.score >= least {
			found = append(found, closer(content, wanted, w))
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
	lines int // number of strips
}

const (
	sketchBits = 17
	stripSize  = 256 // length of the strips into which a long line is cut
)

func newSketch(wanted string) *sketch {
	s := new(sketch)
	eachStrip(wanted, func(h uint32) bool {
		s.set[h>>6] |= 1 << (h & 63)
		return true
	}, func(_ stripe, _, all int) {
		s.size += all
		s.lines++
	})
	return s
}

// A stripe is a line of a text, or a part of a long line.
type stripe struct {
	line       int // number of lines before it
	start, end int
}

// eachStrip calls take for each triple of text, and strip for each strip with the number of triples that take accepted
// and of all.
func eachStrip(text string, take func(uint32) bool, strip func(s stripe, taken, all int)) {
	at := stripe{}
	history, taken, all := uint32('\n'), 0, 0
	for i := 0; i <= len(text); i++ {
		c := byte('\n')
		if i < len(text) {
			if c = text[i]; c == ' ' || c == '\t' || c == '\r' {
				continue
			}
		} else if at.start == len(text) && i > 0 {
			break
		}
		history = history<<8 | uint32(c)
		if history&0xFFFF != '\n'<<8|'\n' { // not an empty line
			all++
			if take((history & 0xFFFFFF * 0x9E3779B1) >> (32 - sketchBits)) {
				taken++
			}
		}
		if c == '\n' || all >= stripSize {
			at.end = min(i+1, len(text))
			strip(at, taken, all)
			at.start, taken, all = i+1, 0, 0
			if c == '\n' {
				at.line++
				history = '\n'
			}
		}
	}
}

// A window is a run of strips with its similarity to the wanted text.
type window struct {
	line       int // number of lines before it
	start, end int
	score      int // of 1000
}

// windows returns the most promising windows of content, each as long as the wanted text.
func (s *sketch) windows(content string, most int) []window {
	type strip struct {
		stripe
		taken, all int
	}
	ring := make([]strip, max(1, s.lines))
	taken, all, n := 0, 0, 0
	var best []window
	eachStrip(content, func(h uint32) bool { return s.set[h>>6]>>(h&63)&1 != 0 }, func(at stripe, t, a int) {
		old := &ring[n%len(ring)]
		taken, all = taken+t-old.taken, all+a-old.all
		*old = strip{at, t, a}
		n++
		if taken == 0 {
			return
		}
		first := ring[max(0, n-len(ring))%len(ring)]
		w := window{first.line, first.start, at.end, s.score(taken, all)}
		best = keep(best, w, most)
	})
	return best
}

// score compares a window with the sketch by the number of common triples and of all in the window. Missing triples
// weigh more than additional ones.
func (s *sketch) score(taken, all int) int {
	common := min(taken, s.size)
	return 1000 * 10 * common / (10*common + 8*(s.size-common) + 2*(all-common) + 1)
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
