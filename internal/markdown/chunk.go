package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Chunk is a piece of a text that a search can find and show.
type Chunk struct {
	From, To int      // its lines, counting from 1
	Headings []string // the headings above Title, the outermost first; shared, not to be changed
	Title    string   // the heading that it is beneath, or begins with
	Text     string   // its lines, joined by \n; valid UTF-8 without NUL
	Code     bool     // beside headings it has nothing but code
	Meta     bool     // it is front matter
}

// Options are the sizes of chunks, in bytes. Bytes and not characters: a
// Chinese character says more than a Latin letter, and takes more bytes.
type Options struct {
	// Target is the size of full chunks; 0 means [DefaultTarget], and less than 64 means 64.
	Target int
	// Limit is the max size of a chunk; text that belongs together may fill it.
	// 0 means twice the target, and less than the target the target.
	Limit int
}

// DefaultTarget is 200 words of English: a paragraph or three about one thing. A smaller target
// tears an answer from its question. A larger one dilutes the words of one thing by the words
// of others, and few hits fit into an answer. With a limit of twice that, functions of 60 lines
// stay whole.
const DefaultTarget = 1200

func (o Options) sensible() Options {
	if o.Target <= 0 {
		o.Target = DefaultTarget
	}
	o.Target = max(o.Target, 64)
	if o.Limit <= 0 {
		o.Limit = 2 * o.Target
	}
	o.Limit = max(o.Limit, o.Target)
	return o
}

// slack returns the largest size of a rest that is not cut again.
func (o Options) slack() int { return min(o.Limit, o.Target+o.Target/2) }

// small returns the maximum size of a piece that joins a neighbour.
func (o Options) small() int { return o.Target / 4 }

// Chunks cuts a text into pieces for a search index. Every line that is not blank is in one
// chunk; only a line that is larger than the limit is in several. Each heading begins a chunk
// (with the headings right above it, if they have no text of their own), and small blocks stay
// with their neighbours under the same heading. Code blocks, tables, list items, quotes and
// front matter are cut only if they are larger than the limit, and front matter stands alone.
// The same text and options always give the same chunks.
func Chunks(text string, o Options) []Chunk {
	text = normal(text)
	p := &packer{Options: o.sensible(), text: text}
	s := scan(text)
	b, ok := s.block()
	for ok {
		next, more := s.block()
		if more && p.leads(b, next) {
			b.to, b.end = next.to, next.end
			next, more = s.block()
		}
		p.add(b)
		b, ok = next, more
	}
	p.flush()
	return p.chunks
}

// packer fills chunks with blocks.
type packer struct {
	Options
	text    string
	chunks  []Chunk
	section path
	open    draft
	last    draft // the parts of the last chunk
}

// draft is a chunk that is being filled.
type draft struct {
	block        // its content
	used    bool // it has something
	bare    bool // nothing but headings
	headed  bool // has a heading
	code    bool // has code
	text    bool // has something that is neither heading nor code
	ruled   bool // ends with a rule
	section int
}

// path is the position of a text in the outline.
type path struct {
	titles [7]string // by level
	title  string    // the innermost
	above  []string  // those above it
	count  int       // of headings so far
}

func (p *path) enter(level int, title string) {
	p.titles[level] = title
	clear(p.titles[level+1:])
	p.title, p.above = title, nil
	p.count++
	for _, t := range p.titles[:level] {
		if t != "" {
			p.above = append(p.above, t)
		}
	}
}

// leads reports whether b announces the block after it, as in "like this:".
func (p *packer) leads(b, next block) bool {
	text := p.text[b.start:b.end]
	return b.kind == paragraph && (strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")) &&
		b.size() <= p.small() && next.kind != heading && next.kind != rule && next.end-b.start <= p.Limit
}

func (p *packer) add(b block) {
	if b.kind == heading {
		if !p.open.bare || p.open.level >= b.level || b.end-p.open.start > p.Limit {
			p.flush()
		}
		p.section.enter(b.level, shortTitle(b.title))
	}
	if b.size() <= p.Limit {
		p.place(b)
	} else {
		p.cut(b)
	}
}

// place puts a block that is not larger than the limit into the open chunk if
// it fits, or else into a new one.
func (p *packer) place(b block) {
	if p.open.used && !p.fits(b) {
		p.flush()
	}
	d := &p.open
	if !d.used {
		*d = draft{block: b, used: true, bare: true, section: p.section.count}
	}
	d.to, d.end = b.to, b.end
	d.ruled = b.kind == rule
	switch b.kind {
	case heading:
		d.level, d.headed, d.section = b.level, true, p.section.count
		return
	case rule:
		return
	case code:
		d.code = true
	default:
		d.text = true
	}
	d.bare = false
}

func (p *packer) fits(b block) bool {
	d := p.open
	size := b.end - d.start
	switch {
	case b.kind == matter || d.kind == matter:
		return b.kind == d.kind && size <= p.Target
	case size > p.Limit:
		return false
	case d.bare || d.size() < p.small() || b.kind == rule:
		return true
	case d.ruled && d.size() >= p.Target/2:
		return false
	}
	return size <= p.Target
}

// flush makes a chunk of the open draft.
func (p *packer) flush() {
	d := p.open
	p.open = draft{}
	if !d.used {
		return
	}
	if n := len(p.chunks); n > 0 && p.joins(d) {
		d.from, d.start, d.headed = p.last.from, p.last.start, p.last.headed
		d.code, d.text = d.code || p.last.code, d.text || p.last.text
		p.chunks = p.chunks[:n-1]
	}
	p.chunks = append(p.chunks, Chunk{
		From: d.from, To: d.to, Headings: p.section.above, Title: p.section.title,
		Text: p.text[d.start:d.end], Code: d.code && !d.text, Meta: d.kind == matter,
	})
	p.last = d
}

// joins reports whether a draft is so small that it goes to the chunk before.
func (p *packer) joins(d draft) bool {
	return d.size() < p.small() && !d.headed && d.section == p.last.section &&
		d.kind != matter && p.last.kind != matter && d.end-p.last.start <= p.Limit
}

// cut places a block that is larger than the limit piece by piece: between
// lines, at the best border in the second half of each piece, and inside of
// lines that are too large themselves.
func (p *packer) cut(b block) {
	piece := block{kind: b.kind}
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
// it ends, and the line to continue at. There is more than fits.
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
	case isCode && columns == 0 && word(after[0]), !isCode && (isItem(after[bytes:]) || endsSentence(before)):
		return 2
	}
	return 1
}

func endsSentence(text string) bool {
	const near = 8 // bytes; quotes and brackets may follow the full stop
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text[max(0, len(text)-near):], " \t\"')*_"))
	return strings.ContainsRune(".!?…"+alone, last)
}

// alone are the characters that end a sentence without a space after it.
const alone = "。！？；"

// cutLine places a line that is larger than the limit.
func (p *packer) cutLine(piece block, r reader) {
	piece.from, piece.to = r.no, r.no
	rest := strings.TrimLeftFunc(r.line, unicode.IsSpace)
	at := r.end() - len(rest)
	for rest = strings.TrimRightFunc(rest, unicode.IsSpace); rest != ""; {
		size := len(rest)
		if size > p.slack() {
			size = seam(text.Cut(rest, p.Target))
		}
		piece.start, piece.end = at, at+size
		p.place(piece)
		next := strings.TrimLeftFunc(rest[size:], unicode.IsSpace)
		at += len(rest) - len(next)
		rest = next
	}
}

// seam returns where to cut a text that continues: behind a sentence, or else a word,
// in the second half of it; or else at its end.
func seam(text string) int {
	words := 0
	for i := len(text); i > len(text)/2; {
		r, width := utf8.DecodeLastRuneInString(text[:i])
		i -= width
		switch {
		case strings.ContainsRune(alone, r):
			return i + width
		case unicode.IsSpace(r):
			if endsSentence(text[:i]) {
				return i
			}
			words = max(words, i)
		}
	}
	if words > 0 {
		return words
	}
	return len(text)
}
