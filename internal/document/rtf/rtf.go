// Package rtf reads documents in the Rich Text Format: headings, lists, tables, links,
// footnotes and the formatting of text. It knows the code pages of old documents. Pictures
// and embedded objects are only mentioned. Begin with Read; Convert is for text within
// other formats.
package rtf

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
)

// Read reads a document.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	if src.Size > src.Limits.Part {
		return nil, document.Errorf(document.ErrTooBig, "the document has over %d MB", src.Limits.Part>>20)
	}
	data, err := io.ReadAll(src.Reader())
	if err != nil {
		return nil, err
	}
	return Convert(ctx, data, src.Limits)
}

// Convert converts the bytes of a document.
func Convert(ctx context.Context, data []byte, limits document.Limits) (*document.Document, error) {
	if !strings.HasPrefix(string(data[:min(len(data), 5)]), `{\rtf`) {
		return nil, document.Errorf(document.ErrBroken, `the file is damaged: it does not begin with {\rtf`)
	}
	r := &reader{
		ctx: ctx, data: data, limits: limits, out: &md.Writer{Limit: limits.Text}, line: &md.Inline{},
		page:  "windows-1252",
		fonts: map[int]string{}, styles: map[int]string{}, decoders: map[string]*encoding.Decoder{},
		state: state{skip: 1, par: paragraph{outline: -1, style: -1}},
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	doc := &document.Document{
		Title: r.title, Total: 1, Parts: []document.Part{{Number: 1, Markdown: r.out.String()}}, Notes: r.notes(),
	}
	return doc, nil
}

// destination is the use of the text of a group.
type destination byte

const (
	body destination = iota
	ignored
	fontTable
	styleSheet
	fieldCode
	listText
	footnote
	title
)

// state is the state of a group. A group inherits the state of the outer group.
type state struct {
	to     destination
	style  md.Style
	font   int
	skip   int // bytes that follow a Unicode character for old readers
	hidden bool
	par    paragraph
}

// paragraph has the properties of the paragraph that is read.
type paragraph struct {
	style, outline, level int
	inTable               bool
}

// reader reads a document.
type reader struct {
	ctx      context.Context
	data     []byte
	at       int
	limits   document.Limits
	state    state
	groups   []state
	decoders map[string]*encoding.Decoder

	page   string         // code page of the document
	fonts  map[int]string // code page of fonts
	styles map[int]string // names of styles, lower case
	number int            // of the font or style that is defined
	title  string
	name   strings.Builder // of a style, a field's code, a list's label or the title

	out       *md.Writer
	line      *md.Inline
	label     string // of the item that begins
	pending   []byte // bytes in a code page
	surrogate rune
	skip      int
	links     []link
	cell      []string // paragraphs of the open cell
	row       []string
	rows      [][]string
	outer     []*md.Inline // lines that a footnote interrupts
	footnotes []string
	pictures  int
	deleted   bool
	hidden    bool
}

// link is an open field; depth is the number of groups at its begin.
type link struct {
	href  string
	depth int
}

func (r *reader) run() error {
	for n := 0; r.at < len(r.data) && !r.out.Full; n++ {
		if n%4096 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		c := r.data[r.at]
		r.at++
		switch c {
		case '{':
			r.flush()
			if len(r.groups) >= r.limits.Depth {
				return document.Errorf(document.ErrTooBig, "groups are nested more than %d deep", r.limits.Depth)
			}
			r.groups = append(r.groups, r.state)
		case '}':
			r.flush()
			r.endGroup()
		case '\\':
			r.control()
		case '\r', '\n':
		default:
			r.byte(c)
		}
	}
	r.flush()
	r.endParagraph()
	r.endTable()
	for i, text := range r.footnotes {
		r.out.Paragraph(fmt.Sprintf("[^%d]: %s", i+1, text))
	}
	return nil
}

func (r *reader) endGroup() {
	if len(r.groups) == 0 {
		return
	}
	last := r.groups[len(r.groups)-1]
	r.groups = r.groups[:len(r.groups)-1]
	if r.state.to != last.to {
		switch text := r.name.String(); r.state.to {
		case fieldCode:
			if len(r.links) > 0 {
				r.links[len(r.links)-1].href = address(text)
			}
		case listText:
			r.label = strings.TrimSpace(text)
		case title:
			r.title = md.OneLine(text)
		case footnote:
			r.endFootnote()
		}
		r.name.Reset()
	}
	for len(r.links) > 0 && r.links[len(r.links)-1].depth > len(r.groups) {
		r.links = r.links[:len(r.links)-1]
	}
	r.state = last
}

// address returns the address in the code of a field.
func address(code string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, _, _ = strings.Cut(quoted, `"`)
		return rest
	}
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// control reads the text after a backslash.
func (r *reader) control() {
	if r.at >= len(r.data) {
		return
	}
	c := r.data[r.at]
	if !isLetter(c) {
		r.at++
		r.symbol(c)
		return
	}
	start := r.at
	for r.at < len(r.data) && isLetter(r.data[r.at]) && r.at-start < 40 {
		r.at++
	}
	word := string(r.data[start:r.at])
	start = r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' && r.at-start < 12 {
		r.at++
	}
	value, err := strconv.Atoi(string(r.data[start:r.at]))
	if r.at < len(r.data) && r.data[r.at] == ' ' {
		r.at++
	}
	if err != nil {
		value = 1 // a word without a number switches on
	}
	if word != "u" {
		r.flush()
	}
	r.word(word, value, err == nil)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (r *reader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+2 <= len(r.data) {
			n, err := strconv.ParseUint(string(r.data[r.at:r.at+2]), 16, 8)
			r.at += 2
			if err == nil {
				r.byte(byte(n))
			}
		}
	case '*':
		// The text that follows is only for readers that know it.
		if !r.isKnown() {
			r.state.to = ignored
		}
	case '~':
		r.flush()
		r.text(" ")
	case '_':
		r.flush()
		r.text("-")
	case '-':
	case '\r', '\n':
		r.flush()
		r.word("par", 1, false)
	default:
		r.byte(c)
	}
}

// isKnown reports whether the word after \* is one that word knows.
func (r *reader) isKnown() bool {
	rest := string(r.data[r.at:min(r.at+20, len(r.data))])
	rest, ok := strings.CutPrefix(strings.TrimLeft(rest, "\r\n "), `\`)
	word := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))]
	switch word {
	case "fldinst", "shppict", "shpinst", "shptxt", "ud", "footnote", "listtext", "pntext":
		return ok
	}
	return false
}

// byte adds a byte of text in the code page of the font.
func (r *reader) byte(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	if len(r.pending) > 1<<16 {
		r.flush()
	}
	r.pending = append(r.pending, c)
}

// flush decodes the bytes that were added.
func (r *reader) flush() {
	r.skip = 0
	if len(r.pending) == 0 {
		return
	}
	text := r.decode(r.pending)
	r.pending = r.pending[:0]
	r.text(text)
}

func (r *reader) decode(raw []byte) string {
	name := r.page
	if page := r.fonts[r.state.font]; page != "" {
		name = page
	}
	decoder := r.decoders[name]
	if decoder == nil {
		found, err := htmlindex.Get(name)
		if err != nil {
			return strings.ToValidUTF8(string(raw), "\ufffd")
		}
		decoder = found.NewDecoder()
		r.decoders[name] = decoder
	}
	text, err := decoder.Bytes(raw)
	if err != nil {
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return string(text)
}

// text adds text to the destination of the group.
func (r *reader) text(text string) {
	const maxName = 4096
	switch r.state.to {
	case ignored:
	case fontTable:
	case styleSheet:
		r.name.WriteString(text)
		if before, _, done := strings.Cut(r.name.String(), ";"); done {
			r.styles[r.number] = strings.ToLower(strings.TrimSpace(before))
			r.name.Reset()
		}
	case fieldCode, listText, title:
		if r.name.Len() < maxName {
			r.name.WriteString(text)
		}
	default:
		if r.state.hidden {
			r.hidden = r.hidden || strings.TrimSpace(text) != ""
			return
		}
		href := ""
		if len(r.links) > 0 {
			href = r.links[len(r.links)-1].href
		}
		r.line.Link(text, r.state.style, href)
	}
}

// word executes a control word. has is set if it came with a value.
func (r *reader) word(word string, value int, has bool) {
	switch word {
	case "u":
		r.unicode(value)
		return
	case "uc":
		r.state.skip = min(max(value, 0), 10)
	case "ansicpg":
		if name := CodePage(value); name != "" {
			r.page = name
		}
	case "mac":
		r.page = "macintosh"
	case "bin":
		r.at = min(r.at+max(value, 0), len(r.data))
	case "fonttbl":
		r.state.to = fontTable
	case "stylesheet":
		r.state.to = styleSheet
	case "fcharset":
		if r.state.to == fontTable {
			r.fonts[r.number] = charsets[value]
		}
	case "f":
		if r.state.font = value; r.state.to == fontTable {
			r.number = value
		}
	case "s":
		if r.state.to == styleSheet {
			r.number = value
		} else {
			r.state.par.style = value
		}
	case "fldinst":
		r.state.to = fieldCode
		r.name.Reset()
	case "field":
		if len(r.links) < 100 {
			r.links = append(r.links, link{depth: len(r.groups)})
		}
	case "listtext", "pntext":
		r.state.to = listText
		r.name.Reset()
	case "title":
		if r.state.to == ignored { // within info
			r.state.to = title
			r.name.Reset()
		}
	case "footnote":
		r.beginFootnote()
	case "pict", "objdata":
		if r.state.to == body && word == "pict" {
			r.pictures++
		}
		r.state.to = ignored
	case "info", "colortbl", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf",
		"listtable", "listoverridetable", "revtbl", "rsidtbl", "generator", "themedata", "datastore", "latentstyles",
		"nonshppict", "annotation", "atnid", "atnauthor", "xe", "tc", "bkmkstart", "bkmkend", "sp", "mmathPr", "upr":
		if r.state.to != footnote || word != "upr" {
			r.state.to = ignored
		}
	case "ud":
		r.state.to = body
	default:
		if r.state.to == body || r.state.to == footnote || r.state.to == listText || r.state.to == fieldCode {
			r.format(word, value, has)
		}
	}
}

// format executes a control word about text and paragraphs.
func (r *reader) format(word string, value int, has bool) {
	isOn := !has || value != 0
	set := func(style md.Style, on bool) {
		if r.state.style &^= style; on {
			r.state.style |= style
		}
	}
	switch word {
	case "par", "sect", "page":
		r.endParagraph()
	case "line":
		r.text("\n")
	case "tab":
		r.text("\t")
	case "cell", "nestcell":
		r.endCell()
	case "row", "nestrow":
		r.endRow()
	case "pard":
		r.state.par = paragraph{outline: -1, style: -1}
		if r.state.to == body {
			r.label = ""
		}
	case "intbl":
		r.state.par.inTable = true
	case "outlinelevel":
		r.state.par.outline = value
	case "ilvl":
		r.state.par.level = min(max(value, 0), 8)
	case "plain":
		r.state.style, r.state.hidden = 0, false
	case "b":
		set(md.Bold, isOn)
	case "i":
		set(md.Italic, isOn)
	case "strike", "striked":
		set(md.Strike, isOn)
	case "super":
		set(md.Super|md.Sub, false)
		set(md.Super, isOn)
	case "sub":
		set(md.Super|md.Sub, false)
		set(md.Sub, isOn)
	case "nosupersub":
		set(md.Super|md.Sub, false)
	case "v":
		r.state.hidden = isOn
	case "deleted":
		r.state.hidden, r.deleted = isOn, true
	default:
		r.text(characters[word])
	}
}

// characters are the characters of control words.
var characters = map[string]string{
	"bullet": "•", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
	"emspace": " ", "enspace": " ", "qmspace": " ",
}

// unicode adds a character by its number, and skips its replacement for old readers.
func (r *reader) unicode(value int) {
	r.flush()
	c := rune(value)
	if value < 0 {
		c += 0x10000
	}
	switch {
	case c >= 0xd800 && c < 0xdc00:
		r.surrogate = c
	case c >= 0xdc00 && c < 0xe000:
		if r.surrogate != 0 {
			r.text(string((r.surrogate-0xd800)<<10 + (c - 0xdc00) + 0x10000))
		}
		r.surrogate = 0
	case c >= 0xf020 && c <= 0xf0ff: // a symbol font
		r.text(map[rune]string{0xf0b7: "•", 0xf0a7: "▪", 0xf0fc: "✓"}[c])
	case c > 0 && c <= 0x10ffff:
		r.text(string(c))
	}
	r.skip = r.state.skip
}

func (r *reader) endParagraph() {
	if r.state.to == footnote {
		r.line.Text("\n", 0)
		return
	}
	line, par := r.line, r.state.par
	r.line = &md.Inline{}
	if par.inTable {
		if !line.Empty() {
			r.cell = append(r.cell, line.Markdown())
		}
		return
	}
	label := r.label
	r.label = ""
	if line.Empty() {
		return
	}
	r.endTable()
	name := r.styles[par.style]
	switch level := headingLevel(name, par.outline); {
	case level > 0:
		if r.title == "" {
			r.title = md.OneLine(line.Plain())
		}
		if digits := strings.Trim(label, "0123456789.) "); digits != "" {
			label = ""
		}
		r.out.Heading(level, strings.TrimSpace(label+" "+line.Without(md.Bold).Markdown()))
	case label != "":
		mark, rest := "-", ""
		if n, err := strconv.Atoi(strings.TrimRight(label, ".)")); err == nil && n >= 0 {
			mark = strconv.Itoa(n) + "."
		} else if strings.Trim(label, "•·-–o▪\uf0b7*◦‣○■□➢") != "" {
			rest = md.Sentence(label) + " "
		}
		r.out.Item(par.level, mark, rest+line.Markdown())
	case name == "preformatted text" || name == "html preformatted":
		r.out.Code(line.Plain())
	case name == "quotations" || name == "quote":
		r.out.Quote(line.Markdown())
	default:
		r.out.Paragraph(line.Markdown())
	}
}

func headingLevel(name string, outline int) int {
	if name == "title" {
		return 1
	}
	if level, ok := strings.CutPrefix(name, "heading "); ok {
		if n, err := strconv.Atoi(level); err == nil && n >= 1 && n <= 9 {
			return min(n, 6)
		}
	}
	if outline >= 0 && outline < 9 {
		return min(outline+1, 6)
	}
	return 0
}

// maxColumns limits the cells of a row.
const maxColumns = 500

func (r *reader) endCell() {
	if !r.line.Empty() {
		r.cell = append(r.cell, r.line.Markdown())
	}
	if len(r.row) < maxColumns {
		r.row = append(r.row, strings.Join(r.cell, "\n"))
	}
	r.line, r.cell = &md.Inline{}, nil
}

func (r *reader) endRow() {
	if len(r.row) > 0 {
		r.rows = append(r.rows, r.row)
	}
	r.row = nil
}

func (r *reader) endTable() {
	r.endRow()
	if len(r.rows) > 0 {
		r.out.Table(r.rows)
		r.rows = nil
	}
}

func (r *reader) beginFootnote() {
	if r.state.to != body || len(r.outer) > 4 {
		r.state.to = ignored
		return
	}
	r.state.to = footnote
	r.line.Raw(fmt.Sprintf("[^%d]", len(r.footnotes)+len(r.outer)+1))
	r.outer = append(r.outer, r.line)
	r.line = &md.Inline{}
}

func (r *reader) endFootnote() {
	r.footnotes = append(r.footnotes, r.line.Markdown())
	r.line = r.outer[len(r.outer)-1]
	r.outer = r.outer[:len(r.outer)-1]
}

func (r *reader) notes() []string {
	var notes []string
	if r.pictures > 0 {
		notes = append(notes, fmt.Sprintf("Pictures that were left out: %d.", r.pictures))
	}
	return append(notes, md.Remarks(r.deleted, r.hidden && !r.deleted, r.out.Full)...)
}

// CodePage returns the name of a code page of Windows, "" for unknown ones.
func CodePage(n int) string {
	if n >= 1250 && n <= 1258 {
		return "windows-" + strconv.Itoa(n)
	}
	return map[int]string{
		932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 866: "ibm866", 874: "windows-874", 10000: "macintosh",
		65001: "utf-8",
	}[n]
}

// charsets are the code pages of charsets of fonts. Other charsets use the code page of the
// document.
var charsets = map[int]string{
	0: "windows-1252", 77: "macintosh", 128: "shift_jis", 129: "euc-kr", 134: "gbk", 136: "big5", 161: "windows-1253",
	162: "windows-1254", 163: "windows-1258", 177: "windows-1255", 178: "windows-1256", 186: "windows-1257",
	204: "windows-1251", 222: "windows-874", 238: "windows-1250",
}
