package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut places a block that is larger than the limit piece by piece: between
// lines, at the best border in the second half of each piece, and inside of
// lines that are too large themselves.
func (p *packer) cut(b block) {
	piece := block{kind: b.kind, lang: b.lang}
	if b.kind == heading {
		piece.kind = paragraph
	}
	for r := read(p.text[:b.end], b.start, b.from); !r.over; {
		switch {
		case blank(r.line):
			r.step()
		case b.end-r.at <= p.slack():
			piece.from, piece.start, piece.to, piece.end = r.no, r.at, b.to, b.end
			p.place(piece)
			return
		case len(r.line) > p.Limit:
			p.cutLine(piece, r)
			r.step()
		default:
			piece.from, piece.start = r.no, r.at
			piece.to, piece.end, r = p.stretch(r, b.kind == code)
			p.place(piece)
		}
	}
}

// stretch finds the lines from r on that make a piece: the last of them, where
// it ends, and the line to go on at. There is more than fits.
func (p *packer) stretch(r reader, isCode bool) (to, end int, after reader) {
	start, best := r.at, 0
	lastTo, lastEnd, lastLine := r.no, r.end(), r.line
	gap := false
	for r.step(); !r.over; r.step() {
		if blank(r.line) {
			gap = true
			continue
		}
		if worth := border(lastLine, r.line, gap, isCode); lastEnd-start >= p.Target/2 && worth >= best {
			best, to, end, after = worth, lastTo, lastEnd, r
		}
		if r.end()-start > p.Target {
			break
		}
		lastTo, lastEnd, lastLine, gap = r.no, r.end(), r.line, false
	}
	if best == 0 {
		return lastTo, lastEnd, r
	}
	return to, end, after
}

// border says how good it is to cut between two lines, from 1.
func border(before, after string, gap, isCode bool) int {
	columns, bytes := indent(after)
	switch {
	case gap && columns == 0:
		return 4
	case gap:
		return 3
	case isCode:
		if columns == 0 && word(after[0]) {
			return 2
		}
	case isItem(after[bytes:]) || endsSentence(before):
		return 2
	}
	return 1
}

func endsSentence(text string) bool {
	const near = 8 // bytes; quotes and brackets may follow the full stop
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text[max(0, len(text)-near):], " \t\"')*_"))
	return ends(last)
}

// ends reports whether a rune ends a sentence.
func ends(r rune) bool { return strings.ContainsRune(".!?…", r) || endsAlone(r) }

// endsAlone reports whether it does so without a space after it.
func endsAlone(r rune) bool { return strings.ContainsRune("。！？；", r) }

// cutLine places a line that is larger than the limit.
func (p *packer) cutLine(piece block, r reader) {
	piece.from, piece.to = r.no, r.no
	rest := strings.TrimLeftFunc(r.line, unicode.IsSpace)
	at := r.end() - len(rest)
	for rest = strings.TrimRightFunc(rest, unicode.IsSpace); rest != ""; {
		size := len(rest)
		if size > p.slack() {
			size = seam(cutRunes(rest, p.Target))
		}
		piece.start, piece.end = at, at+size
		p.place(piece)
		next := strings.TrimLeftFunc(rest[size:], unicode.IsSpace)
		at += len(rest) - len(next)
		rest = next
	}
}

// seam returns where to cut a text that continues: behind a sentence, or else a word,
// or else a mark, in the second half of it; or else at its end.
func seam(text string) int {
	words, marks := 0, 0
	for i := len(text); i > len(text)/2; {
		r, width := utf8.DecodeLastRuneInString(text[:i])
		i -= width
		switch {
		case endsAlone(r):
			return i + width
		case unicode.IsSpace(r):
			if endsSentence(text[:i]) {
				return i
			}
			words = max(words, i)
		case strings.ContainsRune(",;|&)]}>", r):
			marks = max(marks, i+width)
		}
	}
	switch {
	case words > 0:
		return words
	case marks > 0:
		return marks
	}
	return len(text)
}
