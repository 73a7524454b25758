package markdown

import "strings"

// Chunk is a piece of a text that a search can find and show.
type Chunk struct {
	From, To int      // its lines, counting from 1
	Headings []string // the headings above Title, the outermost first; shared, not to be changed
	Title    string   // the heading that it is beneath, or begins with
	Text     string   // its lines, joined by \n; valid UTF-8 without NUL
	Code     bool     // beside headings it has nothing but code
	Lang     string   // the language of that code, also where its fence is in a chunk before
	Meta     bool     // it is front matter
}

// Options are the sizes of chunks, in bytes. Bytes and not characters: a
// Chinese character says more than a Latin letter, and takes more bytes.
type Options struct {
	// Target is the size up to which chunks are filled; 0 means
	// [DefaultTarget], and less than 64 means 64.
	Target int
	// Limit is the max size of a chunk; text that belongs together may fill it.
	// 0 means twice the target, and less than the target the target.
	Limit int
}

// DefaultTarget is 200 words of English: a paragraph or three about one thing.
// Much less, and an answer is torn from what it answers; much more, and the
// words of one thing are diluted by those of others, and few hits fit into an
// answer. With a limit of twice that, functions of 60 lines stay whole.
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

// slack returns the size up to which a rest is not cut again.
func (o Options) slack() int { return min(o.Limit, o.Target+o.Target/2) }

// small returns the size below which a piece joins a neighbour.
func (o Options) small() int { return o.Target / 4 }

// Chunks cuts a text into pieces for a search index. Every line that is not
// blank is in one chunk; only a line that is larger than the limit is in
// several. Each heading begins a chunk (with the headings right above it, if
// they have no text of their own), and what is small stays with its neighbours
// under the same heading. Code blocks, tables, list items, quotes and front
// matter are cut only if they are larger than the limit, and front matter
// stands alone. The same text and options always give the same chunks.
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
	last    draft // what the last of chunks was made of
}

// draft is a chunk that is being filled.
type draft struct {
	block        // what it has in it
	used    bool // it has something
	bare    bool // nothing but headings
	headed  bool // has a heading
	code    bool // has code
	text    bool // has something that is neither heading nor code
	ruled   bool // ends with a rule
	section int
}

// leads reports whether b announces the block after it, as in "like this:".
func (p *packer) leads(b, next block) bool {
	return b.kind == paragraph && announces(p.text[b.start:b.end]) && b.size() <= p.small() &&
		next.kind != heading && next.kind != rule && next.end-b.start <= p.Limit
}

func announces(text string) bool {
	return strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")
}

func (p *packer) add(b block) {
	if b.kind == heading {
		if !p.open.bare || p.open.level >= b.level || b.end-p.open.start > p.Limit {
			p.flush()
		}
		p.section.enter(b.level, shortTitle(b.title))
	}
	switch {
	case b.size() <= p.Limit:
		p.place(b)
	case b.kind == item || b.kind == quote:
		for part := range b.parts(p.text) {
			if part.size() <= p.Limit {
				p.place(part)
			} else {
				p.cut(part)
			}
		}
	default:
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
		if !d.code {
			d.lang = b.lang
		}
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
		if p.last.code {
			d.lang = p.last.lang
		}
		d.code, d.text = d.code || p.last.code, d.text || p.last.text
		p.chunks = p.chunks[:n-1]
	}
	c := Chunk{
		From: d.from, To: d.to, Headings: p.section.above, Title: p.section.title,
		Text: p.text[d.start:d.end], Code: d.code && !d.text, Meta: d.kind == matter,
	}
	if c.Code {
		c.Lang = d.lang
	}
	p.chunks = append(p.chunks, c)
	p.last = d
}

// joins reports whether a draft is so small that it goes to the chunk before.
func (p *packer) joins(d draft) bool {
	return d.size() < p.small() && !d.headed && d.section == p.last.section &&
		d.kind != matter && p.last.kind != matter && d.end-p.last.start <= p.Limit
}
