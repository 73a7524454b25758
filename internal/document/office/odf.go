package office

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// odf is a document of LibreOffice that is being read.
type odf struct {
	ctx      context.Context
	src      document.Source
	p        *pack.Package
	pictures *pictures
	styles   map[string]odfStyle // by family and name: "text/T1"
	lists    map[string]*odfList
	out      *md.Writer
	title    string
	cells    int // open table cells
	number   int // of the page or sheet
	notes    []*pack.Node
	frames   []string // text boxes, tables and charts in a paragraph, written after it
	deleted  bool
	hidden   bool
}

// odfStyle is a style with inherited settings.
type odfStyle struct {
	name   string // shown name, lower case
	format md.Style
	isSet  md.Style
	list   string
	hidden bool
}

// odfList is a style of lists. Level 1 is the first.
type odfList struct {
	levels [11]odfLevel
	counts [11]int
}

type odfLevel struct {
	format, prefix, suffix string // format is empty for bullets
	start, display         int
}

func openODF(ctx context.Context, src document.Source) (*odf, error) {
	p, err := pack.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	if p, src, err = decryptODF(ctx, p, src); err != nil {
		return nil, err
	}
	d := &odf{
		ctx: ctx, src: src, p: p, pictures: newPictures(p, src), styles: map[string]odfStyle{},
		lists: map[string]*odfList{}, out: &md.Writer{Limit: src.Limits.Text}, number: 1,
	}
	if root := tree(p, "meta.xml"); root != nil {
		d.title = md.OneLine(root.Find("dc:title").Content())
	}
	if root := tree(p, "styles.xml"); root != nil {
		for _, n := range root.Kids {
			d.readStyles(n)
		}
	}
	return d, nil
}

// stream passes the elements of the body of the document to each, and reads the styles before.
func (d *odf) stream(within func(*pack.Node) bool, each func(*pack.Node)) error {
	return d.p.Stream("content.xml", func(n *pack.Node) bool {
		return n.Name == "office:document-content" || n.Name == "office:body" || within(n)
	}, func(n *pack.Node) error {
		if n.Name == "office:automatic-styles" {
			d.readStyles(n)
		} else {
			each(n)
		}
		return d.ctx.Err()
	})
}

func (d *odf) document(unit string) *document.Document {
	return &document.Document{
		Title: d.title, Unit: unit, Pictures: d.pictures.list,
		Notes: append(d.pictures.notes(), md.Remarks(d.deleted, d.hidden, d.out.Full)...),
	}
}

// ODT reads a text document.
func ODT(ctx context.Context, src document.Source) (*document.Document, error) {
	d, err := openODF(ctx, src)
	if err != nil {
		return nil, err
	}
	title := d.title
	err = d.stream(func(n *pack.Node) bool {
		return n.Name == "office:text" || n.Name == "text:section" &&
			!d.isHidden(n)
	},
		d.block)
	if err != nil {
		return nil, err
	}
	d.writeNotes()
	doc := d.document("")
	doc.Title = cmp.Or(title, d.title)
	doc.Total, doc.Parts = 1, []document.Part{{Number: 1, Markdown: d.out.String()}}
	return doc, nil
}

func (d *odf) readStyles(root *pack.Node) {
	nodes := map[string]*pack.Node{}
	for _, n := range root.Kids {
		switch n.Name {
		case "style:style":
			nodes[n.Attr("style:family")+"/"+n.Attr("style:name")] = n
		case "text:list-style", "text:outline-style":
			d.readList(n)
		}
	}
	var resolve func(key string, depth int) odfStyle
	resolve = func(key string, depth int) odfStyle {
		n := nodes[key]
		if n == nil || depth > 20 {
			return d.styles[key]
		}
		family, _, _ := strings.Cut(key, "/")
		s := odfStyle{}
		if parent := n.Attr("style:parent-style-name"); parent != "" {
			s = resolve(family+"/"+parent, depth+1)
		}
		if !strings.Contains(key, "/P") && !strings.Contains(key, "/T") || n.Attr("style:display-name") != "" ||
			s.name == "" {
			s.name = strings.ToLower(strings.ReplaceAll(
				cmp.Or(n.Attr("style:display-name"), n.Attr("style:name")), "_20_", " "))
		}
		s.list = cmp.Or(n.Attr("style:list-style-name"), s.list)
		on, set, hidden := odfFormat(n)
		s.format, s.isSet, s.hidden = s.format&^set|on, s.isSet|set, s.hidden || hidden
		if family == "text" {
			switch s.name {
			case "source text", "teletype", "example":
				s.format |= md.Mono
			}
		}
		delete(nodes, key)
		d.styles[key] = s
		return s
	}
	for key := range nodes {
		resolve(key, 0)
	}
}

// odfFormat returns the formats that a style switches on, all that it sets, and whether its
// text is hidden.
func odfFormat(n *pack.Node) (on, set md.Style, hidden bool) {
	if p := n.Child("style:text-properties"); p != nil {
		check := func(name string, format md.Style, isOn func(string) bool) {
			if value, ok := p.Lookup(name); ok {
				if set |= format; isOn(value) {
					on |= format
				}
			}
		}
		check("fo:font-weight", md.Bold, func(v string) bool { return v == "bold" || number(v, 400) >= 600 })
		check("fo:font-style", md.Italic, func(v string) bool { return v == "italic" || v == "oblique" })
		check("style:text-line-through-style", md.Strike, func(v string) bool { return v != "none" })
		position, _, _ := strings.Cut(p.Attr("style:text-position"), " ")
		switch {
		case position == "super" || number(strings.TrimSuffix(position, "%"), 0) > 0:
			on |= md.Super
		case position == "sub" || number(strings.TrimSuffix(position, "%"), 0) < 0:
			on |= md.Sub
		}
		hidden = p.Attr("text:display") == "none"
	}
	hidden = hidden || n.Child("style:drawing-page-properties").Attr("presentation:visibility") == "hidden" ||
		n.Child("style:table-properties").Attr("table:display") == "false"
	return on, set, hidden
}

func (d *odf) readList(n *pack.Node) {
	one := &odfList{}
	for _, level := range n.Kids {
		i := number(level.Attr("text:level"), 0)
		if i < 1 || i >= len(one.levels) {
			continue
		}
		l := odfLevel{start: number(level.Attr("text:start-value"), 1),
			display: number(level.Attr("text:display-levels"), 1)}
		if level.Name != "text:list-level-style-bullet" && level.Name != "text:list-level-style-image" {
			l.format = level.Attr("style:num-format")
			l.prefix, l.suffix = level.Attr("style:num-prefix"), level.Attr("style:num-suffix")
		}
		one.levels[i] = l
	}
	name := n.Attr("style:name")
	if n.Name == "text:outline-style" {
		name = outlineStyle
	}
	d.lists[name] = one
}

const outlineStyle = "\x00outline"

// label counts and returns the label of the next item at a level.
func (l *odfList) label(level int) string {
	for i := 1; i <= level; i++ {
		if l.counts[i] == 0 {
			l.counts[i] = max(l.levels[i].start, 1)
			if i == level {
				l.counts[i]--
			}
		}
	}
	l.counts[level]++
	for i := level + 1; i < len(l.counts); i++ {
		l.counts[i] = 0
	}
	now := l.levels[level]
	if now.format == "" {
		return "-"
	}
	var numbers []string
	for i := max(level-now.display+1, 1); i <= level; i++ {
		format := map[string]string{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
		numbers = append(numbers, ordinal(l.counts[i], format[l.levels[i].format]))
	}
	return strings.TrimSpace(now.prefix + strings.Join(numbers, ".") + now.suffix)
}

func (d *odf) isHidden(n *pack.Node) bool {
	return n.Attr("text:display") == "none" || n.Attr("text:is-hidden") == "true"
}

func (d *odf) blocks(n *pack.Node) {
	for _, kid := range n.Kids {
		d.block(kid)
	}
}

func (d *odf) block(n *pack.Node) {
	switch n.Name {
	case "text:h":
		d.heading(n)
	case "text:p":
		d.paragraph(n, nil)
	case "text:list":
		d.list(n, nil, 1)
	case "table:table":
		d.table(n)
	case "text:tracked-changes":
		d.deleted = d.deleted || n.Find("text:deletion") != nil
	case "text:section":
		if d.isHidden(n) {
			d.hidden = true
			return
		}
		d.blocks(n)
	case "text:table-of-content", "text:illustration-index", "text:table-index", "text:object-index", "text:user-index",
		"text:alphabetical-index", "text:bibliography", "text:index-body", "text:index-title", "office:text",
		"text:numbered-paragraph":
		d.blocks(n)
	case "drawing:frame", "drawing:g", "drawing:custom-shape", "drawing:rect", "drawing:a":
		line := &md.Inline{}
		d.shape(n, line, "")
		d.out.Paragraph(line.Markdown())
		d.writeFrames()
	}
}

// render returns the output of write.
func (d *odf) render(write func()) string {
	out, frames := d.out, d.frames
	d.out, d.frames = &md.Writer{Limit: out.Limit}, nil
	write()
	d.writeFrames()
	text := d.out.String()
	out.Full = out.Full || d.out.Full
	d.out, d.frames = out, frames
	return text
}

func (d *odf) heading(n *pack.Node) {
	if d.cells > 0 {
		d.paragraph(n, nil)
		return
	}
	line := &md.Inline{}
	d.inline(n, line, 0, "")
	level := min(max(number(n.Attr("text:outline-level"), 1), 1), 10)
	label := ""
	if outline := d.lists[outlineStyle]; outline != nil && !line.Empty() && n.Attr("text:is-list-header") != "true" {
		if label = outline.label(level); label == "-" {
			label = ""
		}
	}
	if d.title == "" {
		d.title = md.OneLine(line.Plain())
	}
	d.out.Heading(level, strings.TrimSpace(label+" "+line.Without(md.Bold).Markdown()))
	d.writeFrames()
}

// paragraph writes a paragraph; write, if it is not nil, writes its text in another form.
func (d *odf) paragraph(n *pack.Node, write func(text string)) {
	style := d.styles["paragraph/"+n.Attr("text:style-name")]
	if style.hidden {
		d.hidden = true
		return
	}
	line := &md.Inline{}
	d.inline(n, line, 0, "")
	text := line.Markdown()
	switch {
	case line.Empty():
	case write != nil:
		write(text)
	case d.cells > 0:
		d.out.Paragraph(text)
	case style.name == "title":
		if d.title == "" {
			d.title = md.OneLine(line.Plain())
		}
		d.out.Heading(1, line.Without(md.Bold).Markdown())
	case style.name == "preformatted text":
		d.out.Code(line.Plain())
	case style.name == "quotations" || style.name == "quote" || style.name == "block quotation":
		d.out.Quote(text)
	default:
		d.out.Paragraph(text)
	}
	d.writeFrames()
}

func (d *odf) writeFrames() {
	frames := d.frames
	d.frames = nil
	for _, frame := range frames {
		d.out.Paragraph(frame)
	}
}

// list writes the items of a list. A list within another has its style.
func (d *odf) list(n *pack.Node, style *odfList, level int) {
	if own := d.lists[n.Attr("text:style-name")]; own != nil && own != style {
		style = own
		if level == 1 && n.Attr("text:continue-numbering") != "true" && n.Attr("text:continue-list") == "" {
			style.counts = [11]int{}
		}
	}
	if style == nil {
		style = &odfList{}
	}
	level = min(level, 10)
	for _, item := range n.Kids {
		if item.Name != "text:list-item" && item.Name != "text:list-header" {
			continue
		}
		if start := number(item.Attr("text:start-value"), 0); start > 0 {
			style.counts[level] = start - 1
		}
		d.item(item, style, level, item.Name == "text:list-item")
	}
}

// item writes an item with its paragraphs and lists. Only the first paragraph is labelled.
func (d *odf) item(n *pack.Node, style *odfList, level int, labelled bool) {
	for _, kid := range n.Kids {
		switch kid.Name {
		case "text:p":
			d.paragraph(kid, func(text string) {
				if !labelled {
					d.out.Continue(text)
					return
				}
				labelled = false
				mark, rest := marker(style.label(level))
				d.out.Item(level-1, mark, rest+text)
			})
		case "text:list":
			d.list(kid, style, level+1)
		default:
			d.block(kid)
		}
	}
}

// maxRepeat limits how often a row or cell is repeated.
const maxRepeat = 1000

func (d *odf) table(n *pack.Node) {
	var rows [][]string
	d.cells++
	for _, row := range odfRows(n, nil) {
		line := rowOf(row, func(cell *pack.Node, _ int) string { return d.render(func() { d.blocks(cell) }) })
		for range min(max(number(row.Attr("table:number-rows-repeated"), 1), 1), maxRepeat) {
			rows = append(rows, line)
			if width := len(line); width == 0 {
				break
			}
		}
	}
	d.cells--
	writeTable(d.out, rows, d.cells > 0)
}

// odfRows returns the rows of a table, also those in groups.
func odfRows(n *pack.Node, rows []*pack.Node) []*pack.Node {
	for _, kid := range n.Kids {
		switch kid.Name {
		case "table:table-row":
			rows = append(rows, kid)
		case "table:table-header-rows", "table:table-rows", "table:table-row-group":
			rows = odfRows(kid, rows)
		}
	}
	return rows
}

// rowOf returns the texts of the cells of a row, without empty ones at its end. textOf gets the
// column, counted from 1.
func rowOf(n *pack.Node, textOf func(cell *pack.Node, column int) string) []string {
	var line []string
	last := 0
	for _, cell := range n.Kids {
		text := ""
		switch cell.Name {
		case "table:table-cell":
			text = textOf(cell, len(line)+1)
		case "table:covered-table-cell":
		default:
			continue
		}
		for range min(max(number(cell.Attr("table:number-columns-repeated"), 1), 1), maxColumns) {
			if line = append(line, text); text != "" {
				last = len(line)
			}
			if len(line) >= maxColumns {
				return line[:last]
			}
		}
	}
	return line[:last]
}

// inline adds the text within an element to a line.
func (d *odf) inline(n *pack.Node, line *md.Inline, format md.Style, href string) {
	for _, kid := range n.Kids {
		switch kid.Name {
		case "":
			line.Link(odfBlanks(kid.Text), format, href)
		case "text:span":
			style := d.styles["text/"+kid.Attr("text:style-name")]
			if style.hidden {
				d.hidden = true
				continue
			}
			d.inline(kid, line, format&^style.isSet|style.format, href)
		case "text:a":
			d.inline(kid, line, format, cmp.Or(kid.Attr("xlink:href"), href))
		case "text:s":
			line.Link(strings.Repeat(" ", min(max(number(kid.Attr("text:c"), 1), 1), 1000)), format, href)
		case "text:tab":
			line.Link("\t", format, href)
		case "text:line-break":
			line.Link("\n", format, href)
		case "text:note", "office:annotation":
			d.notes = append(d.notes, kid)
			line.Raw("[^" + strconv.Itoa(len(d.notes)) + "]")
		case "text:hidden-text", "text:hidden-paragraph", "office:annotation-end", "text:tracked-changes":
		case "text:ruby":
			d.inline(orEmpty(kid.Child("text:ruby-base")), line, format, href)
			line.Text(" ("+kid.Child("text:ruby-text").Content()+")", format)
		default:
			if strings.HasPrefix(kid.Name, "drawing:") {
				d.shape(kid, line, href)
			} else {
				d.inline(kid, line, format, href)
			}
		}
	}
}

// odfBlanks returns text with white space as single blanks, as documents mean it.
func odfBlanks(text string) string {
	if !strings.ContainsAny(text, "\t\n\r") && !strings.Contains(text, "  ") {
		return text
	}
	out := md.OneLine(text)
	if out == "" {
		return " "
	}
	if strings.IndexAny(text, " \t\r\n") == 0 {
		out = " " + out
	}
	if strings.LastIndexAny(text, " \t\r\n") == len(text)-1 {
		out += " "
	}
	return out
}

// writeNotes writes the footnotes, endnotes and comments that are mentioned.
func (d *odf) writeNotes() {
	d.cells++
	for i := 0; i < len(d.notes) && !d.out.Full; i++ {
		n := d.notes[i]
		body, before := n, ""
		if n.Name == "text:note" {
			body = orEmpty(n.Child("text:note-body"))
		} else {
			before = "Comment by " + cmp.Or(md.Sentence(n.Child("dc:creator").Content()), "unknown") + ": "
		}
		text := d.render(func() { d.blocks(body) })
		d.out.Paragraph("[^" + strconv.Itoa(i+1) + "]: " + before + strings.ReplaceAll(text, "\n\n", "\n\n    "))
	}
	d.cells--
	d.notes = nil
}

// shape adds the picture of a frame or another shape to the line. Its text, table or chart
// is written after the paragraph.
func (d *odf) shape(n *pack.Node, line *md.Inline, href string) {
	switch n.Name {
	case "drawing:a":
		href = cmp.Or(n.Attr("xlink:href"), href)
		fallthrough
	case "drawing:g", "drawing:page":
		for _, kid := range n.Kids {
			d.shape(kid, line, href)
		}
		return
	}
	alt := cmp.Or(n.Child("svg:desc").Content(), n.Child("svg:title").Content())
	if object := n.Child("drawing:object"); object != nil {
		if text := d.object(object.Attr("xlink:href"), line); text != "" {
			d.frames = append(d.frames, text)
		}
		return
	}
	if image := n.Child("drawing:image"); image != nil {
		target := image.Attr("xlink:href")
		name := d.pictures.add(pack.Join("", target), d.number)
		if name == "" && strings.Contains(target, "://") {
			name = path.Base(target)
		}
		if name != "" {
			line.RawLink(md.Image(alt, name), href)
		}
		return
	}
	body := cmp.Or(n.Child("drawing:text-box"), n)
	if text := d.render(func() { d.blocks(body) }); text != "" {
		d.frames = append(d.frames, text)
	}
}

// object returns an embedded chart as a table, or adds a formula to the line.
func (d *odf) object(href string, line *md.Inline) string {
	root := tree(d.p, pack.Join("", href)+"/content.xml")
	switch {
	case root == nil:
		return ""
	case root.Name == "math:math":
		if formula := mathML(root); formula != "" {
			line.Raw("$" + formula + "$")
		}
		return ""
	}
	return d.render(func() {
		for _, n := range root.All("table:table") {
			title := ""
			for _, kid := range root.All("chart:title") {
				title = cmp.Or(title, md.Sentence(kid.Content()))
			}
			d.out.Paragraph("**" + strings.TrimSuffix("Chart: "+title, ": ") + "**")
			d.table(n)
		}
	})
}
