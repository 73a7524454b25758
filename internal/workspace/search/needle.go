package search

import (
	"bytes"
	"math"
	"unicode"
	"unicode/utf8"
)

// A needle is a text to be looked for, by one of its bytes: the rarest.
type needle struct {
	text     []byte
	offset   int // of the byte that is looked for
	rareByte byte
	nextByte byte // what follows it in text, when it is not the last

	// What follows is for ignoring case: text is then not used, and byte is one
	// of the two cases of a letter between two lists of runes.
	fold          bool
	otherCase     byte // the other case, or byte again
	before, after []rune
}

func newNeedle(text string) needle {
	n := needle{text: []byte(text)}
	for i := range n.text {
		if byteShare(n.text[i]) < byteShare(n.text[n.offset]) {
			n.offset = i
		}
	}
	n.rareByte = n.text[n.offset]
	if n.offset+1 < len(n.text) {
		n.nextByte = n.text[n.offset+1]
	}
	return n
}

// newFolded makes a needle that ignores case. There must be a rune that has no
// other case than ASCII ones to look for; ok is false when there is none.
func newFolded(text string) (n needle, ok bool) {
	runes, best := []rune(text), math.Inf(1)
	for i, r := range runes {
		var all float64
		for _, c := range caseVariants(r, true) {
			if c >= utf8.RuneSelf {
				all = math.Inf(1)
				break
			}
			all += byteShare(byte(c))
		}
		if all < best {
			best, n.offset = all, i
		}
	}
	if math.IsInf(best, 1) {
		return n, false
	}
	n.fold = true
	n.rareByte = byte(runes[n.offset])
	n.otherCase = byte(unicode.SimpleFold(runes[n.offset]))
	n.before, n.after = runes[:n.offset], runes[n.offset+1:]
	return n, true
}

// cost is about how many nanoseconds it takes to get a byte further.
func (n *needle) cost() float64 {
	const (
		skip   = 0.04 // for a byte that is passed over
		stop   = 6    // for one that is looked for
		verify = 100  // for a line in which the text is
	)
	if n.fold {
		looked := byteShare(n.rareByte)
		chance := looked
		streams := 1.0
		if n.otherCase != n.rareByte {
			streams = 2
			looked += byteShare(n.otherCase)
			chance = looked
		}
		chance *= math.Pow(0.15, float64(len(n.before)+len(n.after)))
		return streams*skip + looked*stop*2 + chance*verify
	}
	looked := byteShare(n.rareByte)
	return skip + looked*stop + looked*math.Pow(0.15, float64(len(n.text)-1))*verify
}

// find returns the next place at or after from where the needle is.
func (n *needle) find(buf []byte, b byte, from int) (start, end int, ok bool) {
	if n.fold {
		return n.findFolded(buf, b, from)
	}
	rest := len(n.text) - n.offset // from the byte that is looked for
	for i := from + n.offset; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], b)
		if k < 0 {
			break
		}
		i += k
		if i+rest > len(buf) {
			break
		}
		if rest > 1 && buf[i+1] != n.nextByte {
			continue
		}
		if at := i - n.offset; string(buf[at:at+len(n.text)]) == string(n.text) {
			return at, at + len(n.text), true
		}
	}
	return 0, 0, false
}

func (n *needle) findFolded(buf []byte, b byte, from int) (start, end int, ok bool) {
	for i := from; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], b)
		if k < 0 {
			break
		}
		i += k
		start, ok := matchBackward(buf[from:i], n.before)
		if !ok {
			continue
		}
		if length, ok := matchForward(buf[i+1:], n.after); ok {
			return from + start, i + 1 + length, true
		}
	}
	return 0, 0, false
}

// matchForward returns how many bytes of text are runes, whatever their case.
func matchForward(text []byte, runes []rune) (length int, ok bool) {
	for _, want := range runes {
		if length == len(text) {
			return 0, false
		}
		r, size := rune(text[length]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[length:])
		}
		if !sameLetter(r, want) {
			return 0, false
		}
		length += size
	}
	return length, true
}

// matchBackward returns where the runes begin that text ends with, whatever their case.
func matchBackward(text []byte, runes []rune) (start int, ok bool) {
	start = len(text)
	for i := len(runes) - 1; i >= 0; i-- {
		if start == 0 {
			return 0, false
		}
		r, size := rune(text[start-1]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeLastRune(text[:start])
		}
		if !sameLetter(r, runes[i]) {
			return 0, false
		}
		start -= size
	}
	return start, true
}

func sameLetter(a, b rune) bool {
	if a == b {
		return true
	}
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return a|0x20 == b|0x20 && a|0x20 >= 'a' && a|0x20 <= 'z'
	}
	for c := unicode.SimpleFold(a); c != a; c = unicode.SimpleFold(c) {
		if c == b {
			return true
		}
	}
	return false
}

// A finder looks for several needles at once. It remembers for each where the
// next one is, so that nothing is looked at twice.
type finder struct {
	needles []needle
	streams []stream
	buf     []byte
}

type stream struct {
	n          *needle
	b          byte
	start, end int // the next place; start is the end of the buffer when there is none
}

func newFinder(needles []needle) *finder {
	f := &finder{needles: needles}
	for i := range needles {
		n := &needles[i]
		f.streams = append(f.streams, stream{n: n, b: n.rareByte})
		if n.fold && n.otherCase != n.rareByte {
			f.streams = append(f.streams, stream{n: n, b: n.otherCase})
		}
	}
	return f
}

// reset makes the finder look in buf.
func (f *finder) reset(buf []byte) {
	f.buf = buf
	for i := range f.streams {
		f.streams[i].start = -1
	}
}

// nextByte returns the first place at or after from where a needle is. From one
// call to the next, from grows.
func (f *finder) next(from int) (start, end int, ok bool) {
	start = len(f.buf)
	for i := range f.streams {
		s := &f.streams[i]
		if s.start < from {
			if s.start, s.end, ok = s.n.find(f.buf, s.b, from); !ok {
				s.start, s.end = len(f.buf), len(f.buf)
			}
		}
		if s.start < start {
			start, end = s.start, s.end
		}
	}
	return start, end, start < len(f.buf)
}
