package search

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A program is a pattern compiled to instructions over bytes. It matches everything
// that the pattern matches. If approximate is set, it may match more in lines that are
// not ASCII, because it treats large classes of runes as any one to four bytes.
type program struct {
	insts           []inst
	sets            []byteSet
	start           int32
	approximate     bool
	hasWordBoundary bool // it has word-boundary conditions
	options         options

	class  [256]uint8
	sample []byte // a byte of each class
}

type options struct {
	multiline bool // "\n" is an ordinary byte
	word      bool // matches must be whole words
	keepCR    bool // "\r" before "\n" is an ordinary byte
}

type op uint8

const (
	opMatch  op = iota
	opByte      // consume a byte of set
	opSplit     // continue at out and other
	opAssert    // continue at out if cond holds
)

type inst struct {
	op         op
	cond       condition
	set        int32
	out, other int32
}

// A condition is about the position between two bytes.
type condition uint8

const (
	atLineStart condition = iota
	atLineEnd
	atTextStart
	atTextEnd
	atBoundary
	noBoundary
	noWordBefore
	noWordAfter
)

type byteSet [4]uint64

func (s *byteSet) add(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s[b>>6] |= 1 << (b & 63)
	}
}

func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// compile compiles a simplified pattern. It stops when the program has more than
// maxProgram instructions.
func compile(re *syntax.Regexp, o options) *program {
	p := &program{options: o, insts: []inst{{op: opMatch}}}
	end := int32(0)
	if o.word {
		p.hasWordBoundary, p.approximate = true, true // exact decides lines that are not ASCII
		end = p.add(inst{op: opAssert, cond: noWordAfter, out: end})
	}
	p.start = p.emit(re, end)
	if o.word {
		p.start = p.add(inst{op: opAssert, cond: noWordBefore, out: p.start})
	}
	if len(p.insts) <= maxProgram {
		p.classify()
	}
	return p
}

func (p *program) add(i inst) int32 {
	p.insts = append(p.insts, i)
	return int32(len(p.insts) - 1)
}

// emit adds instructions that match re and continue at next. It returns their start.
func (p *program) emit(re *syntax.Regexp, next int32) int32 {
	if len(p.insts) > maxProgram {
		return next
	}
	if pairs, ok := singleRune(re); ok {
		return p.emitRunes(pairs, next)
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return p.emitBytes(byteSet{}, next)
	case syntax.OpCapture:
		return p.emit(re.Sub[0], next)
	case syntax.OpLiteral:
		for _, r := range slices.Backward(re.Rune) {
			next = p.emitRunes(pairsOf(caseVariants(r, re.Flags&syntax.FoldCase != 0)), next)
		}
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			next = p.emit(sub, next)
		}
	case syntax.OpAlternate:
		at := p.emit(re.Sub[len(re.Sub)-1], next)
		for i := len(re.Sub) - 2; i >= 0; i-- {
			at = p.add(inst{op: opSplit, out: p.emit(re.Sub[i], next), other: at})
		}
		return at
	case syntax.OpQuest:
		return p.add(inst{op: opSplit, out: p.emit(re.Sub[0], next), other: next})
	case syntax.OpStar:
		return p.emitLoop(re.Sub[0], next)
	case syntax.OpPlus:
		at := p.emitLoop(re.Sub[0], next)
		return p.insts[at].out
	default:
		if when, ok := conditions[re.Op]; ok {
			p.hasWordBoundary = p.hasWordBoundary || when == atBoundary || when == noBoundary
			return p.add(inst{op: opAssert, cond: when, out: next})
		}
	}
	return next
}

// emitLoop adds instructions that match re any number of times. Field out of the
// result matches it at least once.
func (p *program) emitLoop(re *syntax.Regexp, next int32) int32 {
	at := p.add(inst{op: opSplit, other: next})
	if pairs, ok := singleRune(re); ok && coversNonASCII(pairs) {
		// Any number of runes that are not ASCII is any number of such bytes.
		set := asciiSet(pairs)
		set.add(utf8.RuneSelf, 0xFF)
		p.insts[at].out = p.emitBytes(set, at)
		return at
	}
	body := p.emit(re, at)
	p.insts[at].out = body
	return at
}

func (p *program) emitBytes(set byteSet, next int32) int32 {
	at := slices.Index(p.sets, set)
	if at < 0 {
		at = len(p.sets)
		p.sets = append(p.sets, set)
	}
	return p.add(inst{op: opByte, set: int32(at), out: next})
}

func asciiSet(pairs []rune) byteSet {
	var set byteSet
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] < utf8.RuneSelf {
			set.add(byte(pairs[i]), byte(min(pairs[i+1], utf8.RuneSelf-1)))
		}
	}
	return set
}

// emitRunes adds instructions that match one of the runes in pairs.
func (p *program) emitRunes(pairs []rune, next int32) int32 {
	set := asciiSet(pairs)
	var high []rune // pairs
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] >= utf8.RuneSelf {
			high = append(high, max(pairs[i], utf8.RuneSelf), pairs[i+1])
		}
	}
	if len(high) == 0 {
		return p.emitBytes(set, next)
	}
	const most = 16
	runes, ok := expandRunes(high, most)
	if !ok || slices.Contains(runes, utf8.RuneError) { // RuneError matches invalid bytes, too
		p.approximate = true
		return p.emitHighBytes(set, next)
	}
	at := int32(-1)
	if set != (byteSet{}) {
		at = p.emitBytes(set, next)
	}
	for _, r := range runes {
		seq := p.emitSequence(r, next)
		if at >= 0 {
			seq = p.add(inst{op: opSplit, out: seq, other: at})
		}
		at = seq
	}
	return at
}

// emitSequence adds instructions that match the bytes of r.
func (p *program) emitSequence(r rune, next int32) int32 {
	for _, b := range slices.Backward(utf8.AppendRune(nil, r)) {
		var set byteSet
		set.add(b, b)
		next = p.emitBytes(set, next)
	}
	return next
}

// emitHighBytes adds instructions that match a byte of set, or one to four bytes that
// are not ASCII.
func (p *program) emitHighBytes(set byteSet, next int32) int32 {
	var high byteSet
	high.add(utf8.RuneSelf, 0xFF)
	at := next
	for range utf8.UTFMax - 1 {
		at = p.add(inst{op: opSplit, out: next, other: p.emitBytes(high, at)})
	}
	at = p.emitBytes(high, at)
	if set == (byteSet{}) {
		return at
	}
	return p.add(inst{op: opSplit, out: p.emitBytes(set, next), other: at})
}

// conditions are the conditions of expressions.
var conditions = map[syntax.Op]condition{
	syntax.OpBeginLine: atLineStart, syntax.OpEndLine: atLineEnd, syntax.OpBeginText: atTextStart,
	syntax.OpEndText: atTextEnd, syntax.OpWordBoundary: atBoundary, syntax.OpNoWordBoundary: noBoundary,
}

// classify groups the bytes that the program does not distinguish into classes.
func (p *program) classify() {
	var ends, returns, words byteSet
	ends.add('\n', '\n')
	returns.add('\r', '\r')
	p.splitClasses(ends)
	p.splitClasses(returns)
	if p.hasWordBoundary {
		for b := range 256 {
			if isWord(byte(b)) {
				words.add(byte(b), byte(b))
			}
		}
		p.splitClasses(words)
	}
	for _, set := range p.sets {
		p.splitClasses(set)
	}
	for b := range 256 {
		if int(p.class[b]) == len(p.sample) { // classes are numbered in order of their first byte
			p.sample = append(p.sample, byte(b))
		}
	}
}

// splitClasses splits each class that has bytes inside and outside of set.
func (p *program) splitClasses(set byteSet) {
	var number [512]int16 // of a new class, by the old one and membership in set; 0 means none
	next := int16(1)
	for b := range 256 {
		old := 2 * int(p.class[b])
		if set.has(byte(b)) {
			old++
		}
		if number[old] == 0 {
			number[old] = next
			next++
		}
		p.class[b] = uint8(number[old] - 1)
	}
}

// isWord reports whether \w matches b.
func isWord(b byte) bool {
	return b == '_' || b-'0' < 10 || b|0x20 >= 'a' && b|0x20 <= 'z'
}
