package office

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// DOCX reads a document of Word.
func DOCX(ctx context.Context, src document.Source) (*document.Document, error) {
	p, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	main := mainPart(p)
	if main == "" {
		return nil, document.Errorf(document.ErrBroken, "the file is damaged: it has no document in it")
	}
	rels := p.Relations(main)
	d := &docx{
		p: p, rels: rels, out: &md.Writer{Limit: src.Limits.Text}, pictures: newPictures(p, src),
		styles: readWordStyles(tree(p, pack.Target(rels, "styles"))),
		lists:  readNumbering(tree(p, pack.Target(rels, "numbering"))),
		notes:  map[string]*pack.Node{}, noteRels: map[string]map[string]pack.Relation{},
	}
	for _, kind := range []string{"footnotes", "endnotes", "comments"} {
		root := tree(p, pack.Target(rels, kind))
		if root == nil {
			continue
		}
		d.noteRels[kind] = p.Relations(pack.Target(rels, kind))
		for _, n := range root.Kids {
			d.notes[kind+n.Attr("w:id")] = n
		}
	}
	within := func(n *pack.Node) bool {
		switch n.Name {
		case "w:document", "w:body":
			return true
		}
		return isTransparent(n.Name)
	}
	err = p.Stream(main, within, func(n *pack.Node) error {
		d.block(n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.endParagraph()
	d.writeNotes()
	doc := single(cmp.Or(titleOf(p), d.title), d.out.String())
	doc.Pictures, doc.Notes = d.pictures.list, d.remarks()
	return doc, nil
}

// docx is a document of Word that is being read.
type docx struct {
	p        *pack.Package
	rels     map[string]pack.Relation // of the part that is read
	styles   map[string]wordStyle
	lists    *numbering
	pictures *pictures
	out      *md.Writer
	title    string
	cells    int // open table cells

	fields  []field    // open fields; they may contain paragraphs
	line    *md.Inline // of a paragraph that continues in the next one, as its end was deleted
	boxes   []string   // text boxes and charts, written after their paragraph
	inBoxes int

	notes    map[string]*pack.Node               // by kind and id
	noteRels map[string]map[string]pack.Relation // by kind
	queue    []string                            // kinds and ids of notes that are mentioned, in order
	hidden   bool
	deleted  bool
	embedded bool
}

// field is a field such as a link, between its marks.
type field struct {
	code   strings.Builder
	result bool
	href   string
}

// isTransparent reports whether an element only groups its children.
func isTransparent(name string) bool {
	switch name {
	case "w:sdt", "w:sdtContent", "w:ins", "w:moveTo", "w:customXml", "w:smartTag", "w:bdo", "w:dir":
		return true
	}
	return false
}

func (d *docx) blocks(n *pack.Node) {
	if n != nil {
		for _, kid := range n.Kids {
			d.block(kid)
		}
	}
}

func (d *docx) block(n *pack.Node) {
	switch {
	case n.Name == "w:p":
		d.paragraph(n)
	case n.Name == "w:tbl":
		d.endParagraph()
		d.table(n)
	case n.Name == "mc:AlternateContent":
		d.blocks(choice(n))
	case n.Name == "m:oMathPara":
		d.endParagraph()
		d.out.Paragraph("$$" + latex(n) + "$$")
	case n.Name == "w:altChunk":
		d.embedded = true
	case isTransparent(n.Name):
		d.blocks(n)
	}
}

// render returns the output of write.
func (d *docx) render(write func()) string {
	out, line, boxes := d.out, d.line, d.boxes
	d.out, d.line, d.boxes = &md.Writer{Limit: out.Limit}, nil, nil
	write()
	d.endParagraph()
	text := d.out.String()
	out.Full = out.Full || d.out.Full
	d.out, d.line, d.boxes = out, line, boxes
	return text
}

// endParagraph writes a paragraph that waits for the next one.
func (d *docx) endParagraph() {
	if d.line != nil {
		line := d.line
		d.line = nil
		d.out.Paragraph(line.Markdown())
		d.writeBoxes()
	}
}

func (d *docx) paragraph(n *pack.Node) {
	pPr := n.Child("w:pPr")
	style := d.styles[pPr.Child("w:pStyle").Attr("w:val")]
	if pPr.Child("w:pStyle") == nil {
		style.outline = -1
	}
	line := d.line
	d.line = nil
	if line == nil {
		line = &md.Inline{}
	}
	d.inline(n, line, 0)
	if pPr.At("w:rPr", "w:del") != nil {
		d.line, d.deleted = line, true
		return
	}
	style.outline = number(pPr.Child("w:outlineLvl").Attr("w:val"), style.outline)
	d.write(line, style, pPr)
	d.writeBoxes()
}

// write writes a paragraph in the form that its style gives it.
func (d *docx) write(line *md.Inline, style wordStyle, pPr *pack.Node) {
	label, level := "", 0
	if !line.Empty() {
		label, level = d.label(style, pPr)
	}
	mark, rest := marker(label)
	switch heading := style.heading(); {
	case line.Empty():
	case heading > 0 && d.cells == 0:
		if d.title == "" {
			d.title = md.OneLine(line.Plain())
		}
		if label == "-" {
			label = ""
		}
		d.out.Heading(heading, strings.TrimSpace(label+" "+line.Without(md.Bold).Markdown()))
	case label != "":
		d.out.Item(level, mark, rest+line.Markdown())
	case style.isCode():
		d.out.Code(line.Plain())
	case style.isQuote():
		d.out.Quote(line.Markdown())
	case strings.HasPrefix(style.name, "list") && d.cells == 0:
		d.out.Continue(line.Markdown())
	default:
		d.out.Paragraph(line.Markdown())
	}
}

// label returns the label of an item of a list and its level, "" for other paragraphs.
func (d *docx) label(style wordStyle, pPr *pack.Node) (label string, level int) {
	id, at := style.numID, style.level
	if num := pPr.Child("w:numPr"); num != nil {
		id = cmp.Or(num.Child("w:numId").Attr("w:val"), id)
		at = cmp.Or(num.Child("w:ilvl").Attr("w:val"), at)
	}
	if id == "" || id == "0" {
		return "", 0
	}
	level = min(max(number(at, 0), 0), 8)
	label, _ = d.lists.next(id, level)
	return label, level
}

func (d *docx) writeBoxes() {
	boxes := d.boxes
	d.boxes = nil
	for _, box := range boxes {
		d.out.Paragraph(box)
	}
}

// maxColumns limits the columns of a table.
const maxColumns = 500

func (d *docx) table(n *pack.Node) {
	rows := [][]string{}
	d.cells++
	for _, row := range elements(n, "w:tr") {
		if row.At("w:trPr", "w:del") != nil {
			d.deleted = true
			continue
		}
		var line []string
		for range min(number(row.At("w:trPr", "w:gridBefore").Attr("w:val"), 0), maxColumns) {
			line = append(line, "")
		}
		for _, cell := range elements(row, "w:tc") {
			tcPr := cell.Child("w:tcPr")
			text := ""
			if isContinued(tcPr.Child("w:vMerge")) || isContinued(tcPr.Child("w:hMerge")) {
				line = append(line, "")
			} else {
				text = d.render(func() { d.blocks(cell) })
				line = append(line, text)
			}
			for range min(number(tcPr.Child("w:gridSpan").Attr("w:val"), 1), maxColumns) - 1 {
				line = append(line, "")
			}
		}
		rows = append(rows, line[:min(len(line), maxColumns)])
	}
	d.cells--
	writeTable(d.out, rows, d.cells > 0)
}

// writeTable writes a table. One in a cell of another is written as lines.
func writeTable(out *md.Writer, rows [][]string, isInner bool) {
	if !isInner {
		out.Table(rows)
		return
	}
	for _, row := range rows {
		out.Paragraph(strings.Trim(strings.Join(row, " | "), " |"))
	}
}

// isContinued reports whether a cell belongs to the one above or before it.
func isContinued(merge *pack.Node) bool { return merge != nil && merge.Attr("w:val") != "restart" }

// elements returns the children with a name, also of elements that only group them.
func elements(n *pack.Node, name string) []*pack.Node {
	var found []*pack.Node
	for _, kid := range n.Kids {
		switch {
		case kid.Name == name:
			found = append(found, kid)
		case isTransparent(kid.Name):
			found = append(found, elements(kid, name)...)
		}
	}
	return found
}

// inline adds the text within an element to a line.
func (d *docx) inline(n *pack.Node, line *md.Inline, format md.Style) {
	for _, kid := range n.Kids {
		switch kid.Name {
		case "w:r":
			d.run(kid, line)
		case "w:hyperlink":
			href := ""
			if r := d.rels[kid.Attr("r:id")]; r.External {
				href = r.Target
			}
			d.link(kid, line, 0, href)
		case "w:fldSimple":
			d.link(kid, line, format, linkIn(kid.Attr("w:instr")))
		case "w:del", "w:moveFrom":
			d.deleted = true
		case "m:oMath":
			if !d.inCode() {
				line.Raw("$" + latex(kid) + "$")
			}
		case "m:oMathPara":
			if !d.inCode() {
				line.Raw("$$" + latex(kid) + "$$")
			}
		case "mc:AlternateContent":
			if chosen := choice(kid); chosen != nil {
				d.inline(chosen, line, format)
			}
		case "w:sdt":
			if kid.At("w:sdtPr", "w:showingPlcHdr") == nil {
				d.inline(kid, line, format)
			}
		default:
			if isTransparent(kid.Name) {
				d.inline(kid, line, format)
			}
		}
	}
}

// link adds the text within an element that is the result of a field, perhaps a link.
func (d *docx) link(n *pack.Node, line *md.Inline, format md.Style, href string) {
	d.fields = append(d.fields, field{result: true, href: href})
	d.inline(n, line, format)
	d.fields = d.fields[:len(d.fields)-1]
}

// inCode reports whether the text is the code of a field, not its result.
func (d *docx) inCode() bool {
	for i := range d.fields {
		if !d.fields[i].result {
			return true
		}
	}
	return false
}

func (d *docx) href() string {
	for i := len(d.fields) - 1; i >= 0; i-- {
		if d.fields[i].href != "" {
			return d.fields[i].href
		}
	}
	return ""
}

// linkIn returns the address in the code of a field: HYPERLINK "address".
func linkIn(code string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK ")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		address, _, _ := strings.Cut(quoted, `"`)
		return address
	}
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// run adds a w:r to a line.
func (d *docx) run(n *pack.Node, line *md.Inline) {
	rPr := n.Child("w:rPr")
	style := d.styles[rPr.Child("w:rStyle").Attr("w:val")]
	on, set := runFormat(rPr)
	format := style.format&^set | on
	if isOn(rPr.Child("w:vanish"), "w:val") {
		if strings.TrimSpace(n.Content()) != "" && !d.inCode() {
			d.hidden = true
		}
		d.marks(n)
		return
	}
	d.content(n, line, format)
}

// marks reads only the marks of fields.
func (d *docx) marks(n *pack.Node) {
	for _, kid := range n.Children("w:fldChar") {
		d.fieldMark(kid)
	}
}

func (d *docx) fieldMark(n *pack.Node) {
	switch n.Attr("w:fldCharType") {
	case "begin":
		if len(d.fields) < 50 {
			d.fields = append(d.fields, field{})
		}
	case "separate":
		if last := len(d.fields) - 1; last >= 0 {
			d.fields[last].result = true
			d.fields[last].href = linkIn(d.fields[last].code.String())
		}
	case "end":
		if last := len(d.fields) - 1; last >= 0 {
			d.fields = d.fields[:last]
		}
	}
}

// content adds the content of a run.
func (d *docx) content(n *pack.Node, line *md.Inline, format md.Style) {
	add := func(text string) {
		if !d.inCode() {
			line.Link(text, format, d.href())
		}
	}
	for _, kid := range n.Kids {
		switch kid.Name {
		case "w:t":
			add(kid.Content())
		case "w:instrText":
			if last := len(d.fields) - 1; last >= 0 {
				d.fields[last].code.WriteString(kid.Content())
			}
		case "w:fldChar":
			if box := kid.At("w:ffData", "w:checkBox"); box != nil {
				state := cmp.Or(box.Child("w:checked"), box.Child("w:default"))
				line.Text(map[bool]string{true: "[x] ", false: "[ ] "}[isOn(state, "w:val")], 0)
			}
			d.fieldMark(kid)
		case "w:tab", "w:ptab":
			add("\t")
		case "w:br", "w:cr":
			if kid.Attr("w:type") == "" || kid.Attr("w:type") == "textWrapping" {
				add("\n")
			}
		case "w:noBreakHyphen":
			add("-")
		case "w:sym":
			add(symbol(kid.Attr("w:font"), kid.Attr("w:char")))
		case "w:footnoteReference":
			d.note("footnotes", kid.Attr("w:id"), line)
		case "w:endnoteReference":
			d.note("endnotes", kid.Attr("w:id"), line)
		case "w:commentReference":
			d.note("comments", kid.Attr("w:id"), line)
		case "w:drawing", "w:pict", "w:object":
			d.drawing(kid, line)
		case "w:ruby":
			d.inline(orEmpty(kid.Child("w:rubyBase")), line, format)
			add(" (")
			d.inline(orEmpty(kid.Child("w:rt")), line, format)
			add(")")
		case "mc:AlternateContent":
			if chosen := choice(kid); chosen != nil {
				d.content(chosen, line, format)
			}
		}
	}
}

func orEmpty(n *pack.Node) *pack.Node {
	if n == nil {
		return &pack.Node{}
	}
	return n
}

// symbol returns a character of a symbol font.
func symbol(font, code string) string {
	var n int
	if _, err := fmt.Sscanf(code, "%x", &n); err != nil {
		return ""
	}
	n &= 0xfff
	const greek = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
	switch font = strings.ToLower(font); {
	case strings.HasPrefix(font, "wingdings"):
		switch n {
		case 0xfc, 0xfe, 0x52:
			return "✓"
		case 0xfb, 0xfd, 0x51, 0x53:
			return "✗"
		case 0xa8, 0x6f:
			return "☐"
		case 0xe0, 0xe8, 0xf0:
			return "→"
		}
		return "•"
	case font == "symbol" && n >= 'a' && n <= 'z':
		return string([]rune(greek)[n-'a'])
	case font == "symbol":
		return map[int]string{0xa3: "≤", 0xb3: "≥", 0xb9: "≠", 0xb1: "±", 0xb4: "×", 0xae: "→", 0xb0: "°", 0xa5: "∞",
			0x44: "Δ", 0x57: "Ω", 0x53: "Σ", 0xb7: "•"}[n]
	case n < 0x20:
		return ""
	}
	return string(rune(n))
}

// note mentions a footnote, an endnote or a comment.
func (d *docx) note(kind, id string, line *md.Inline) {
	if d.notes[kind+id] == nil || d.inCode() {
		return
	}
	d.queue = append(d.queue, kind+"\x00"+id)
	line.Raw(fmt.Sprintf("[^%d]", len(d.queue)))
}

// writeNotes writes the notes that are mentioned, including notes that only notes mention.
func (d *docx) writeNotes() {
	const maxNotes = 20_000
	for i := 0; i < len(d.queue) && i < maxNotes && !d.out.Full; i++ {
		kind, id, _ := strings.Cut(d.queue[i], "\x00")
		n := d.notes[kind+id]
		rels := d.rels
		d.rels, d.fields = d.noteRels[kind], nil
		d.cells++ // headings in notes are paragraphs
		text := d.render(func() { d.blocks(n) })
		d.cells--
		d.rels = rels
		if kind == "comments" {
			text = "Comment by " + cmp.Or(md.Sentence(n.Attr("w:author")), "unknown") + ": " + text
		}
		d.out.Paragraph(fmt.Sprintf("[^%d]: %s", i+1, strings.ReplaceAll(text, "\n\n", "\n\n    ")))
		delete(d.notes, kind+id) // a note that mentions itself ends here
	}
}

// drawing adds a picture, and keeps text boxes and charts for after the paragraph.
func (d *docx) drawing(n *pack.Node, line *md.Inline) {
	if d.inCode() || d.inBoxes > 8 {
		return
	}
	for _, box := range outermost(n, "w:txbxContent") {
		fields := d.fields
		d.fields = nil
		d.inBoxes++
		d.boxes = append(d.boxes, d.render(func() { d.blocks(box) }))
		d.inBoxes--
		d.fields = fields
	}
	if outermost(n, "w:txbxContent") != nil {
		return
	}
	for _, kid := range outermost(n, "c:chart") {
		if r := d.rels[kid.Attr("r:id")]; r.Type == "chart" {
			d.boxes = append(d.boxes, chart(d.p, r.Target))
		}
	}
	for _, kid := range outermost(n, "dgm:relIds") {
		d.boxes = append(d.boxes, diagram(d.p, d.rels[kid.Attr("r:dm")].Target))
	}
	properties := n.Find("wp:docPr")
	alt := cmp.Or(properties.Attr("descr"), properties.Attr("title"))
	href := ""
	if click := properties.Child("a:hlinkClick"); click != nil && d.rels[click.Attr("r:id")].External {
		href = d.rels[click.Attr("r:id")].Target
	}
	blips := outermost(n, "a:blip")
	for _, blip := range blips {
		d.picture(line, alt, href, cmp.Or(blip.Attr("r:embed"), blip.Attr("r:link")))
	}
	for _, image := range outermost(n, "v:imagedata") {
		shape := n.Find("v:shape")
		d.picture(line, cmp.Or(shape.Attr("alt"), image.Attr("title")), href, image.Attr("r:id"))
	}
	if path := n.Find("v:textpath"); path != nil {
		line.Text(path.Attr("string"), 0)
	}
}

// picture adds a picture. One outside of the file is mentioned with its file name.
func (d *docx) picture(line *md.Inline, alt, href, id string) {
	r, ok := d.rels[id]
	if !ok {
		return
	}
	name := path.Base(strings.ReplaceAll(r.Target, `\`, "/"))
	if !r.External {
		name = d.pictures.add(r.Target, 1)
	}
	if name != "" {
		line.RawLink(md.Image(alt, name), cmp.Or(href, d.href()))
	}
}

// remarks returns remarks about omitted parts.
func (d *docx) remarks() []string {
	notes := append(d.pictures.notes(), md.Remarks(d.deleted, d.hidden, d.out.Full)...)
	if d.embedded {
		notes = append(notes, "A document that is embedded in another format was left out.")
	}
	return notes
}
