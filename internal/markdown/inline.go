package markdown

import (
	entities "html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline returns the text of a paragraph without its Markdown: emphasis, code
// spans, links, images, tags, comments, escapes and entities.
func inline(text string) string {
	if !strings.ContainsAny(text, "\\`<[*_~&") {
		return text
	}
	p := &inliner{in: text, out: make([]byte, 0, len(text))}
	for p.at < len(p.in) {
		p.step()
	}
	return entities.UnescapeString(strings.ReplaceAll(string(p.out), dropped, ""))
}

// dropped is put over what was written already and turned out to be syntax. A
// normal text has none.
const dropped = "\x00"

// inliner goes once through a text. What it does not understand it leaves.
type inliner struct {
	in       string
	at       int
	out      []byte
	brackets []int       // where in out they were opened
	runs     [3][]span   // of * _ ~ that may begin emphasis
	ticks    map[int]int // where runs of backticks are closed
	lost     int         // searches for nothing
	open     bool        // a comment was not closed
}

// span is a piece of out.
type span struct{ at, size int }

func (p *inliner) step() {
	const syntax = "\\`<[]*_~"
	rest := p.in[p.at:]
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && isPunct(rest[1]) {
			p.at++
		}
		p.copy(1)
	case '`':
		p.code(rest)
	case '<':
		p.tag(rest)
	case '[':
		p.brackets = append(p.brackets, len(p.out))
		p.copy(1)
	case ']':
		p.close(rest)
	case '*', '_', '~':
		p.emphasis(rest)
	default:
		size := strings.IndexAny(rest, syntax)
		if size < 0 {
			size = len(rest)
		}
		p.copy(size)
	}
}

func isPunct(c byte) bool {
	return c > ' ' && c < utf8.RuneSelf-1 && !word(c)
}

func (p *inliner) copy(size int) {
	p.out = append(p.out, p.in[p.at:p.at+size]...)
	p.at += size
}

func (p *inliner) drop(s span) {
	for i := range s.size {
		p.out[s.at+i] = dropped[0]
	}
}

// code copies a code span as it is.
func (p *inliner) code(rest string) {
	if p.ticks == nil {
		p.ticks = pairTicks(p.in)
	}
	size := len(rest) - len(strings.TrimLeft(rest, "`"))
	end, closed := p.ticks[p.at]
	if !closed {
		p.copy(size)
		return
	}
	text := p.in[p.at+size : end]
	if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && !blank(text) {
		text = text[1 : len(text)-1]
	}
	p.out = append(p.out, text...)
	p.at = end + size
}

// pairTicks finds for each run of backticks the next of the same size.
func pairTicks(text string) map[int]int {
	pairs := map[int]int{}
	last := map[int]int{} // by size
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		at += next
		size := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if before, ok := last[size]; ok {
			pairs[before] = at
		}
		last[size] = at
		at += size
	}
	return pairs
}

// until returns where in the rest an end is, within some bytes; -1 if nowhere. It
// gives up when too often there was none, which keeps the time linear.
func (p *inliner) until(rest, end string, within int) int {
	const patience = 200
	if p.lost >= patience {
		return -1
	}
	i := strings.Index(rest[:min(len(rest), within)], end)
	if i < 0 {
		p.lost++
	}
	return i
}

// tag drops a tag or a comment, and the brackets of <https://address>.
func (p *inliner) tag(rest string) {
	if strings.HasPrefix(rest, "<!--") {
		if end := p.comment(rest); end > 0 {
			p.at += end
			return
		}
	}
	end := -1
	if len(rest) > 2 && (letter(rest[1]) || rest[1] == '/' || rest[1] == '!') {
		end = p.until(rest, ">", 1000)
	}
	if end < 2 || strings.IndexByte(rest[1:end], '<') >= 0 {
		p.copy(1)
		return
	}
	address := rest[1:end]
	p.at += end + 1
	if !strings.ContainsAny(address, " \n") && (strings.Contains(address, "://") || strings.Contains(address, "@")) {
		p.out = append(p.out, address...)
	}
}

// comment returns the length of a comment, or 0 if it has no end.
func (p *inliner) comment(rest string) int {
	if p.open {
		return 0
	}
	before, _, closed := strings.Cut(rest, "-->")
	if p.open = !closed; p.open {
		return 0
	}
	return len(before) + len("-->")
}

// close leaves the text of a link or an image, and drops where it goes.
func (p *inliner) close(rest string) {
	if len(p.brackets) == 0 {
		p.copy(1)
		return
	}
	last := len(p.brackets) - 1
	open := p.brackets[last]
	p.brackets = p.brackets[:last]
	end := 0
	switch {
	case strings.HasPrefix(rest, "]("):
		end = p.destination(rest)
	case strings.HasPrefix(rest, "]["):
		end = p.until(rest[1:], "]", 200) + 2
		if end == 1 {
			end = 0
		}
	case strings.HasPrefix(rest, "]]") && last > 0 && p.brackets[last-1] == open-1: // [[page]]
		p.brackets = p.brackets[:last-1]
		p.drop(span{open - 1, 2})
		p.at += 2
		return
	}
	if end == 0 {
		p.copy(1)
		return
	}
	p.drop(span{open, 1})
	if open > 0 && p.out[open-1] == '!' {
		p.drop(span{open - 1, 1})
	}
	p.at += end
}

// destination returns how long "](address "title")" is, or 0.
func (p *inliner) destination(rest string) int {
	const longest, patience = 2000, 200
	depth := 0
	for i := 1; i < len(rest) && i < longest && p.lost < patience; i++ {
		switch rest[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	p.lost++
	return 0
}

// emphasis drops runs of * _ ~ that belong together.
func (p *inliner) emphasis(rest string) {
	kind := strings.IndexByte("*_~", rest[0])
	size := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	before, _ := utf8.DecodeLastRuneInString(p.in[:p.at])
	after, _ := utf8.DecodeRuneInString(rest[size:])
	if p.at == 0 {
		before = ' '
	}
	if size == len(rest) {
		after = ' '
	}
	open := &p.runs[kind]
	left := size
	if rest[0] == '~' && size != 2 {
		p.copy(size)
		return
	}
	if !unicode.IsSpace(before) && !inWord(after) {
		for left > 0 && len(*open) > 0 {
			top := &(*open)[len(*open)-1]
			n := min(left, top.size)
			p.drop(span{top.at + top.size - n, n})
			left -= n
			if top.size -= n; top.size == 0 {
				*open = (*open)[:len(*open)-1]
			}
		}
	}
	if left > 0 && !unicode.IsSpace(after) && !inWord(before) {
		*open = append(*open, span{len(p.out), left})
	}
	p.out = append(p.out, rest[:left]...)
	p.at += size
}

// inWord reports whether a rune makes a mark beside it part of a word, as in
// snake_case; in scripts without spaces none does.
func inWord(r rune) bool {
	const firstWithoutSpaces = 0x2e80
	return r < firstWithoutSpaces && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
