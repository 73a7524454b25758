package write

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// Lengths of slides, in the units of Office: 914,400 an inch.
const (
	slideWidth, slideHeight = 12192000, 6858000
	slideLeft, slideTop     = 640000, 1500000
	slideBody               = slideWidth - 2*slideLeft // width of the body
	slideFull               = slideHeight - slideTop - 450000
	emuPerPoint             = 12700
	rowHeight               = 380000
	maxSlideRows            = 12 // of a table on one slide
	maxSlides               = 500
)

// PPTX makes a presentation of Markdown, or fills in a template. Each heading of the first two levels begins a slide, and
// so does a rule. Comments and paragraphs that begin with "Notes:" are the notes of the speaker.
func PPTX(ctx context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	if len(s.From) > 0 {
		return fill(ctx, s, "pptx")
	}
	w, err := s.parse()
	if err != nil {
		return nil, err
	}
	d := &deck{writer: w, ctx: ctx, p: newZip(), media: map[string]string{}}
	if w.title != "" {
		d.begin(`<a:r><a:rPr lang="en-US"/><a:t>` + escape(w.title) + `</a:t></a:r>`)
		d.slide.first, d.slide.subtitle = true, w.author
	}
	for n := w.root.FirstChild(); n != nil && ctx.Err() == nil; n = n.NextSibling() {
		d.block(n, 0, 0)
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.count == 0 {
		return nil, broken("the Markdown has no heading and no text for a slide")
	}
	content, err := d.finish()
	return &document.Written{Content: content, Notes: w.notes}, err
}

// deck is a presentation that is being made.
type deck struct {
	*writer
	ctx    context.Context
	p      *zipped
	slide  *slide
	count  int // of slides
	noted  []int
	media  map[string]string // parts of pictures by destination
	failed error
}

// A slide is the content of a slide, or of several if it does not fit.
type slide struct {
	title, subtitle string // the title as runs
	first           bool   // it is the slide with the title of the presentation
	lines           []line
	tables          []*table.Table
	pictures        []*ast.Image
	notes           []string
	relations       []relation
}

// A line is a paragraph.
type line struct {
	properties, runs string
	width            int      // characters
	code             ast.Node // the block of code with it, or nil
}

func (d *deck) begin(title string) {
	if err := d.end(); err != nil && d.failed == nil {
		d.failed = err
	}
	d.slide = &slide{title: title}
}

// block adds a block to the slide; level is how deep it is in lists, from 0 for none.
func (d *deck) block(n ast.Node, level, number int) {
	if heading, ok := n.(*ast.Heading); ok && heading.Level <= 2 && level == 0 {
		d.begin("")
		d.slide.title = d.runs(n, runStyle{})
		return
	}
	if d.slide == nil {
		d.slide = &slide{}
	}
	switch n := n.(type) {
	case *ast.ThematicBreak:
		title := d.slide.title
		d.begin(title)
	case *ast.Heading:
		d.add(n, `<a:pPr marL="0" indent="0"><a:spcBef><a:spcPts val="1000"/></a:spcBef><a:buNone/></a:pPr>`, runStyle{bold: true})
	case *ast.Paragraph, *ast.TextBlock:
		if text := strings.TrimSpace(d.plain(n)); strings.HasPrefix(text, "Notes:") {
			d.slide.notes = append(d.slide.notes, strings.TrimSpace(strings.TrimPrefix(text, "Notes:")))
			return
		}
		left, bullet := 342900*level, `<a:buNone/>`
		indent := 0
		switch {
		case number < 0:
			indent, bullet = -342900, `<a:buFont typeface="Arial"/><a:buChar char="•"/>`
		case number > 0:
			indent, bullet = -342900, fmt.Sprintf(`<a:buFont typeface="+mj-lt"/><a:buAutoNum type="arabicPeriod" startAt="%d"/>`, number)
		}
		d.add(n, fmt.Sprintf(`<a:pPr marL="%d" lvl="%d" indent="%d">%s</a:pPr>`, left, max(0, min(level-1, 8)), indent, bullet), runStyle{})
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		for i := range n.Lines().Len() {
			segment := n.Lines().At(i)
			text := strings.ReplaceAll(strings.TrimRight(string(segment.Value(d.source)), "\r\n"), "\t", "    ")
			d.slide.lines = append(d.slide.lines, line{`<a:pPr marL="0" indent="0"><a:spcBef><a:spcPts val="0"/></a:spcBef><a:buNone/></a:pPr>`,
				run(text, runStyle{code: true}, ""), utf8.RuneCountInString(text), n})
		}
	case *ast.List:
		at := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			mark := -1
			if n.IsOrdered() {
				mark = max(1, n.Start)
				at++
			}
			for kid := item.FirstChild(); kid != nil; kid = kid.NextSibling() {
				d.block(kid, min(level+1, 8), mark)
				mark = 0
			}
		}
	case *table.FootnoteList:
		for note := n.FirstChild(); note != nil; note = note.NextSibling() {
			mark := fmt.Sprintf("[%d] ", note.(*table.Footnote).Index)
			for kid := note.FirstChild(); kid != nil; kid = kid.NextSibling() {
				d.slide.lines = append(d.slide.lines, line{`<a:pPr marL="0" indent="0"><a:buNone/></a:pPr>`,
					run(mark, runStyle{}, "") + d.runs(kid, runStyle{}), utf8.RuneCountInString(mark + d.plain(kid)), nil})
				mark = ""
			}
		}
	case *table.Table:
		d.slide.tables = append(d.slide.tables, n)
	case *ast.HTMLBlock:
		var b strings.Builder
		for i := range n.Lines().Len() {
			segment := n.Lines().At(i)
			b.Write(segment.Value(d.source))
		}
		if n.HasClosure() {
			b.Write(n.ClosureLine.Value(d.source))
		}
		text, comment := strings.CutPrefix(strings.TrimSpace(b.String()), "<!--")
		if text, _, _ = strings.Cut(text, "-->"); comment {
			d.slide.notes = append(d.slide.notes, strings.TrimSpace(text))
			return
		}
		d.note("raw HTML was left out")
	default:
		for kid := n.FirstChild(); kid != nil; kid = kid.NextSibling() {
			d.block(kid, level, number)
		}
	}
}

// add adds a paragraph. Its pictures stand beside the text.
func (d *deck) add(n ast.Node, properties string, s runStyle) {
	if runs := d.runs(n, s); runs != "" {
		d.slide.lines = append(d.slide.lines, line{properties, runs, utf8.RuneCountInString(d.plain(n)), nil})
	}
}

// runs returns the text in a node.
func (d *deck) runs(parent ast.Node, s runStyle) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(d.run(n, s, ""))
	}
	return b.String()
}

func (d *deck) run(n ast.Node, s runStyle, link string) string {
	switch n := n.(type) {
	case *ast.Text:
		text := unescape(string(n.Segment.Value(d.source)), s.code || n.IsRaw())
		if n.SoftLineBreak() {
			text += " "
		}
		made := run(text, s, link)
		if n.HardLineBreak() {
			made += `<a:br/>`
		}
		return made
	case *ast.String:
		return run(string(n.Value), s, link)
	case *ast.Emphasis:
		s.bold, s.italic = s.bold || n.Level == 2, s.italic || n.Level != 2
	case *table.Strikethrough:
		s.strike = true
	case *table.TaskCheckBox:
		return run(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked], s, link)
	case *table.FootnoteLink:
		return run(fmt.Sprintf("[%d]", n.Index), s, link)
	case *ast.CodeSpan:
		s.code = true
	case *ast.Link:
		link = d.link(string(n.Destination))
	case *ast.AutoLink:
		target := string(n.URL(d.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(target, "mailto:") {
			target = "mailto:" + target
		}
		return run(string(n.Label(d.source)), s, d.link(target))
	case *ast.Image:
		if size, _, err := measure(d.pictures[string(n.Destination)]); err == nil && size.Width > 0 && size.Height > 0 {
			d.slide.pictures = append(d.slide.pictures, n)
			return ""
		}
		d.note("the picture %.100q is not a PNG, JPEG or GIF file of the workspace, so only its description was written", n.Destination)
		return run(d.plain(n), runStyle{italic: true}, "")
	case *ast.RawHTML:
		d.note("raw HTML was left out")
		return ""
	}
	var b strings.Builder
	for kid := n.FirstChild(); kid != nil; kid = kid.NextSibling() {
		b.WriteString(d.run(kid, s, link))
	}
	return b.String()
}

// link returns the id of the relation to an address, "" if a link may not lead there.
func (d *deck) link(target string) string {
	if !isAddress(target) || len(target) > 2000 {
		return ""
	}
	return d.slide.relate("hyperlink", target, true)
}

func (s *slide) relate(kind, target string, external bool) string {
	id := strconv.Itoa(len(s.relations) + 2) // 1 is the layout
	s.relations = append(s.relations, relation{id, officeRelation + kind, target, external})
	return id
}

const officeRelation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

func run(text string, s runStyle, link string) string {
	if text == "" {
		return ""
	}
	marks, inside := "", `<a:latin typeface="+mn-lt"/>`
	for _, m := range []struct {
		set  bool
		mark string
	}{{s.bold, ` b="1"`}, {s.italic, ` i="1"`}, {s.strike, ` strike="sngStrike"`}} {
		if m.set {
			marks += m.mark
		}
	}
	if s.code {
		inside = `<a:latin typeface="Consolas"/><a:cs typeface="Consolas"/>`
	}
	if link != "" {
		inside += `<a:hlinkClick r:id="rId` + link + `"/>`
	}
	return `<a:r><a:rPr lang="en-US"` + marks + `>` + inside + `</a:rPr><a:t>` + escape(text) + `</a:t></a:r>`
}

// end writes the slide, and more of them for what does not fit.
func (d *deck) end() error {
	s := d.slide
	if d.slide = nil; d.failed != nil || s == nil {
		return d.failed
	}
	tables := []*rowsOf{}
	for _, t := range s.tables {
		d.slide = s // links in cells belong to it
		tables = append(tables, d.split(t)...)
		d.slide = nil
	}
	for first := true; first || len(s.lines) > 0 || len(tables) > 0 || len(s.pictures) > 0; first = false {
		if d.count++; d.count > maxSlides {
			return document.Errorf(document.ErrTooBig, "a presentation has at most %d slides", maxSlides)
		}
		next := slide{title: s.title, first: s.first && first, subtitle: s.subtitle, relations: s.relations}
		if first {
			next.notes = s.notes
		}
		body := d.lay(s, &next, &tables)
		if err := d.write(&next, body); err != nil {
			return err
		}
	}
	return nil
}

// lay takes from s as much as fits on a slide, and returns its shapes. Pictures stand right of the text, tables below it.
func (d *deck) lay(s, next *slide, tables *[]*rowsOf) string {
	var b strings.Builder
	width, top, left := slideBody, slideTop, slideFull
	if len(s.pictures) > 0 && len(s.lines) > 0 {
		width = slideBody*11/20 - 200000
	}
	reserved := 0
	if len(*tables) > 0 && len(s.lines) > 0 {
		reserved = min(slideFull/2, (*tables)[0].height())
	}
	if len(s.lines) > 0 {
		wide, size, fits, used := placed(s.lines, width, left, reserved)
		fmt.Fprintf(&b, `<p:sp><p:nvSpPr><p:cNvPr id="3" name="Content"/><p:cNvSpPr/><p:nvPr><p:ph idx="1"/></p:nvPr></p:nvSpPr><p:spPr>`+
			`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>`, slideLeft, top, wide, used)
		for _, l := range s.lines[:fits] {
			points := size
			if l.code != nil {
				points = size - 4
			}
			b.WriteString(`<a:p>` + l.properties + strings.ReplaceAll(l.runs, `lang="en-US"`, fmt.Sprintf(`lang="en-US" sz="%d"`, points*100)) + `</a:p>`)
		}
		b.WriteString(`</p:txBody></p:sp>`)
		if s.lines = s.lines[fits:]; len(s.lines) > 0 || wide > width {
			return b.String() // the rest, and all that stands beside or below it, is on the next one
		}
		if width == slideBody {
			top, left = top+used+150000, left-used-150000
		}
	}
	if len(s.pictures) > 0 {
		x, w := slideLeft, slideBody
		if width < slideBody {
			x, w = slideLeft+width+200000, slideBody-width-200000
		}
		n := min(len(s.pictures), 2)
		high := (left - 100000*(n-1)) / n
		if len(*tables) > 0 {
			high /= 2
		}
		for i, pic := range s.pictures[:n] {
			b.WriteString(d.picture(next, pic, x, top+i*(high+100000), w, high))
		}
		if s.pictures = s.pictures[n:]; len(*tables) > 0 {
			top, left = top+n*(high+100000), left-n*(high+100000)
		}
	}
	if len(*tables) > 0 && (left >= (*tables)[0].height() || top == slideTop) {
		b.WriteString((*tables)[0].shape(top))
		*tables = (*tables)[1:]
	}
	return b.String()
}

// placed returns the number of lines for a slide, with their width, height and the size of their font. Space for a table is
// reserved, if all lines fit above it. A block of code that fits on a slide is not split.
func placed(lines []line, width, height, reserved int) (wide, size, fits, used int) {
	size, fits, used = fit(lines, width, height-reserved)
	if fits < len(lines) {
		size, fits, used = fit(lines, width, height)
	}
	if fits == len(lines) || lines[fits].code == nil || lines[fits-1].code != lines[fits].code {
		return width, size, fits, used
	}
	first, end := fits, fits
	for first > 0 && lines[first-1].code == lines[fits].code {
		first--
	}
	for end < len(lines) && lines[end].code == lines[fits].code {
		end++
	}
	if _, n, _ := fit(lines[first:end], slideBody, height); n < end-first {
		return width, size, fits, used
	}
	if first == 0 { // pictures are on the next slide
		size, fits, used = fit(lines[:end], slideBody, height)
		return slideBody, size, fits, used
	}
	size, fits, used = fit(lines[:first], width, height)
	return width, size, fits, used
}

// fit returns the size of the font, the number of lines that fit into a box, and the height that they take.
func fit(lines []line, width, height int) (size, fits, used int) {
	for _, size = range []int{20, 18, 16, 14} {
		used, fits = 0, 0
		for _, l := range lines {
			across := max(1, int(float64(width)/(float64(size)*emuPerPoint*0.5)))
			rows := max(1, (l.width+across-1)/across)
			tall := int(float64(rows*size*emuPerPoint)*1.2) + 7*emuPerPoint
			if used+tall > height && fits > 0 {
				break
			}
			used, fits = used+tall, fits+1
		}
		if fits == len(lines) {
			break
		}
	}
	return size, fits, min(used+120000, height)
}

func (d *deck) picture(s *slide, n *ast.Image, x, y, w, h int) string {
	target := string(n.Destination)
	data := d.pictures[target]
	size, kind, _ := measure(data) // run has measured it
	part, known := d.media[target]
	if !known {
		part = fmt.Sprintf("media/image%d.%s", len(d.media)+1, kind)
		d.media[target] = part
		if err := d.p.add("ppt/"+part, string(data)); err != nil && d.failed == nil {
			d.failed = err
		}
	}
	id := s.relate("image", "../"+part, false)
	scale := min(float64(w)/float64(size.Width), float64(h)/float64(size.Height), 3*emuPerPixel)
	cx, cy := max(1, int(float64(size.Width)*scale)), max(1, int(float64(size.Height)*scale))
	text := escape(d.plain(n))
	return fmt.Sprintf(`<p:pic><p:nvPicPr><p:cNvPr id="%d" name="Picture %s" descr="%s"/><p:cNvPicPr><a:picLocks noChangeAspect="1"/></p:cNvPicPr><p:nvPr/></p:nvPicPr>`+
		`<p:blipFill><a:blip r:embed="rId%s"/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr><a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`+
		`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:pic>`, 10+len(s.relations), id, text, id, x+(w-cx)/2, y, cx, cy)
}

// rowsOf are rows of a table that stand on one slide. The first one is the head.
type rowsOf struct {
	columns int
	rows    []string
}

func (r *rowsOf) height() int { return len(r.rows) * rowHeight }

// split returns a table as tables that fit on slides.
func (d *deck) split(t *table.Table) (all []*rowsOf) {
	columns := max(1, len(t.Alignments))
	var head string
	for row := t.FirstChild(); row != nil && d.ctx.Err() == nil; row = row.NextSibling() {
		_, isHead := row.(*table.TableHeader)
		var b strings.Builder
		fmt.Fprintf(&b, `<a:tr h="%d">`, rowHeight)
		cell := row.FirstChild()
		for i := range columns {
			align, runs := "l", ""
			if cell != nil {
				runs = strings.ReplaceAll(d.runs(cell, runStyle{}), `lang="en-US"`, `lang="en-US" sz="1400"`)
				cell = cell.NextSibling()
			}
			if i < len(t.Alignments) {
				align = map[table.Alignment]string{table.AlignRight: "r", table.AlignCenter: "ctr"}[t.Alignments[i]]
			}
			if align == "" {
				align = "l"
			}
			b.WriteString(`<a:tc><a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:pPr algn="` + align + `"/>` + runs + `</a:p></a:txBody><a:tcPr>` + cellLines + map[bool]string{true: cellFill}[isHead] + `</a:tcPr></a:tc>`)
		}
		b.WriteString(`</a:tr>`)
		if isHead {
			head = b.String()
			all = append(all, &rowsOf{columns, []string{head}})
			continue
		}
		if len(all[len(all)-1].rows) >= maxSlideRows {
			all = append(all, &rowsOf{columns, []string{head}})
		}
		last := all[len(all)-1]
		last.rows = append(last.rows, b.String())
	}
	return all
}

// cellLines and cellFill are the lines of all cells, and the fill of the head.
var cellLines, cellFill = func() (lines, fill string) {
	for _, side := range []string{"L", "R", "T", "B"} {
		lines += `<a:ln` + side + ` w="6350"><a:solidFill><a:srgbClr val="B0B8C0"/></a:solidFill></a:ln` + side + `>`
	}
	return lines, `<a:solidFill><a:schemeClr val="bg2"/></a:solidFill>`
}()

// shape returns the table as a shape of a slide.
func (r *rowsOf) shape(top int) string {
	grid := strings.Repeat(fmt.Sprintf(`<a:gridCol w="%d"/>`, slideBody/r.columns), r.columns)
	return fmt.Sprintf(`<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="4" name="Table"/><p:cNvGraphicFramePr><a:graphicFrameLocks noGrp="1"/></p:cNvGraphicFramePr>`+
		`<p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></p:xfrm><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table">`+
		`<a:tbl><a:tblPr firstRow="1"/><a:tblGrid>%s</a:tblGrid>%s</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`,
		slideLeft, top, slideBody, r.height(), grid, strings.Join(r.rows, ""))
}

const slideSpaces = ` xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
	`xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

const emptyGroup = `<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>`

// holder returns a placeholder with a text; place is its xfrm, "" for the place that the layout gives it.
func holder(id int, kind, place, paragraphs string) string {
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Text %[1]d"/><p:cNvSpPr/><p:nvPr><p:ph %s/></p:nvPr></p:nvSpPr><p:spPr>%s</p:spPr>`+
		`<p:txBody><a:bodyPr/><a:lstStyle/>%s</p:txBody></p:sp>`, id, kind, place, paragraphs)
}

func at(x, y, w, h int) string {
	return fmt.Sprintf(`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`, x, y, w, h)
}

// write writes a slide and its notes.
func (d *deck) write(s *slide, body string) error {
	layout, title := "2", holder(2, `type="title"`, "", `<a:p>`+s.title+`</a:p>`)
	if s.first {
		layout = "1"
		title = holder(2, `type="ctrTitle"`, "", `<a:p>`+s.title+`</a:p>`)
		if s.subtitle != "" {
			title += holder(5, `type="subTitle" idx="2"`, "", `<a:p><a:pPr marL="0" indent="0"><a:buNone/></a:pPr>`+run(s.subtitle, runStyle{}, "")+`</a:p>`)
		}
	} else if s.title == "" {
		title = ""
	}
	n := strconv.Itoa(d.count)
	all := append([]relation{{"1", officeRelation + "slideLayout", "../slideLayouts/slideLayout" + layout + ".xml", false}}, s.relations...)
	if len(s.notes) > 0 {
		d.noted = append(d.noted, d.count)
		all = append(all, relation{strconv.Itoa(len(all) + 1), officeRelation + "notesSlide", "../notesSlides/notesSlide" + n + ".xml", false})
		var b strings.Builder
		for _, text := range s.notes {
			for l := range strings.SplitSeq(text, "\n") {
				b.WriteString(`<a:p>` + run(strings.TrimSpace(l), runStyle{}, "") + `</a:p>`)
			}
		}
		if err := d.p.add("ppt/notesSlides/notesSlide"+n+".xml", xml.Header+`<p:notes`+slideSpaces+`><p:cSld><p:spTree>`+emptyGroup+
			holder(2, `type="body" idx="1"`, "", b.String())+`</p:spTree></p:cSld></p:notes>`); err != nil {
			return err
		}
		if err := d.p.add("ppt/notesSlides/_rels/notesSlide"+n+".xml.rels", relations(
			relation{"1", officeRelation + "notesMaster", "../notesMasters/notesMaster1.xml", false},
			relation{"2", officeRelation + "slide", "../slides/slide" + n + ".xml", false})); err != nil {
			return err
		}
	}
	if err := d.p.add("ppt/slides/slide"+n+".xml", xml.Header+`<p:sld`+slideSpaces+`><p:cSld><p:spTree>`+emptyGroup+title+body+`</p:spTree></p:cSld></p:sld>`); err != nil {
		return err
	}
	return d.p.add("ppt/slides/_rels/slide"+n+".xml.rels", relations(all...))
}

const colourMap = `<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/>`

// finish writes the parts of the whole presentation and returns the file.
func (d *deck) finish() ([]byte, error) {
	const types = "application/vnd.openxmlformats-officedocument.presentationml."
	kinds := ""
	override := func(part, kind string) {
		kinds += `<Override PartName="/ppt/` + part + `" ContentType="` + kind + `+xml"/>`
	}
	override("presentation.xml", types+"presentation.main")
	override("slideMasters/slideMaster1.xml", types+"slideMaster")
	override("theme/theme1.xml", "application/vnd.openxmlformats-officedocument.theme")
	rels := []relation{{"1", officeRelation + "slideMaster", "slideMasters/slideMaster1.xml", false}}
	slides, notes := "", ""
	for i := range d.count {
		n := strconv.Itoa(i + 1)
		override("slides/slide"+n+".xml", types+"slide")
		id := strconv.Itoa(len(rels) + 1)
		rels = append(rels, relation{id, officeRelation + "slide", "slides/slide" + n + ".xml", false})
		slides += fmt.Sprintf(`<p:sldId id="%d" r:id="rId%s"/>`, 256+i, id)
	}
	parts := [][2]string{{"theme/theme1.xml", theme}}
	if len(d.noted) > 0 {
		for _, n := range d.noted {
			override(fmt.Sprintf("notesSlides/notesSlide%d.xml", n), types+"notesSlide")
		}
		override("notesMasters/notesMaster1.xml", types+"notesMaster")
		override("theme/theme2.xml", "application/vnd.openxmlformats-officedocument.theme")
		id := strconv.Itoa(len(rels) + 1)
		rels = append(rels, relation{id, officeRelation + "notesMaster", "notesMasters/notesMaster1.xml", false})
		notes = `<p:notesMasterIdLst><p:notesMasterId r:id="rId` + id + `"/></p:notesMasterIdLst>`
		parts = append(parts, [2]string{"theme/theme2.xml", theme},
			[2]string{"notesMasters/notesMaster1.xml", xml.Header + `<p:notesMaster` + slideSpaces + `><p:cSld><p:spTree>` + emptyGroup +
				holder(2, `type="body" idx="1"`, at(685800, 4400000, 5486400, 4100000), `<a:p/>`) + `</p:spTree></p:cSld>` + colourMap + `</p:notesMaster>`},
			[2]string{"notesMasters/_rels/notesMaster1.xml.rels", relations(relation{"1", officeRelation + "theme", "../theme/theme2.xml", false})})
	}
	layout := func(n, kind, shapes string) {
		override("slideLayouts/slideLayout"+n+".xml", types+"slideLayout")
		parts = append(parts, [2]string{"slideLayouts/slideLayout" + n + ".xml", xml.Header + `<p:sldLayout` + slideSpaces + ` type="` + kind + `"><p:cSld><p:spTree>` + emptyGroup + shapes +
			`</p:spTree></p:cSld></p:sldLayout>`},
			[2]string{"slideLayouts/_rels/slideLayout" + n + ".xml.rels", relations(relation{"1", officeRelation + "slideMaster", "../slideMasters/slideMaster1.xml", false})})
	}
	layout("1", "title", holder(2, `type="ctrTitle"`, at(slideLeft, 2100000, slideBody, 1400000), `<a:p/>`)+
		holder(3, `type="subTitle" idx="2"`, at(slideLeft, 3650000, slideBody, 800000), `<a:p/>`))
	layout("2", "obj", holder(2, `type="title"`, "", `<a:p/>`)+holder(3, `idx="1"`, "", `<a:p/>`))
	body := ""
	for level := 1; level <= 9; level++ {
		body += fmt.Sprintf(`<a:lvl%dpPr marL="%d" indent="-342900"><a:spcBef><a:spcPts val="600"/></a:spcBef><a:buFont typeface="Arial"/><a:buChar char="•"/><a:defRPr sz="2000">`+
			`<a:solidFill><a:schemeClr val="tx1"/></a:solidFill></a:defRPr></a:lvl%[1]dpPr>`, level, 342900*level)
	}
	parts = append(parts, [2]string{"slideMasters/slideMaster1.xml", xml.Header + `<p:sldMaster` + slideSpaces + `><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr val="bg1"/></a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>` +
		emptyGroup + holder(2, `type="title"`, at(slideLeft, 420000, slideBody, 900000), `<a:p/>`) + holder(3, `type="body" idx="1"`, at(slideLeft, slideTop, slideBody, slideFull), `<a:p/>`) +
		`</p:spTree></p:cSld>` + colourMap + `<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/><p:sldLayoutId id="2147483650" r:id="rId2"/></p:sldLayoutIdLst>` +
		`<p:txStyles><p:titleStyle><a:lvl1pPr><a:defRPr sz="3200" b="1"><a:solidFill><a:schemeClr val="tx2"/></a:solidFill></a:defRPr></a:lvl1pPr></p:titleStyle>` +
		`<p:bodyStyle>` + body + `</p:bodyStyle><p:otherStyle/></p:txStyles></p:sldMaster>`},
		[2]string{"slideMasters/_rels/slideMaster1.xml.rels", relations(relation{"1", officeRelation + "slideLayout", "../slideLayouts/slideLayout1.xml", false},
			relation{"2", officeRelation + "slideLayout", "../slideLayouts/slideLayout2.xml", false}, relation{"3", officeRelation + "theme", "../theme/theme1.xml", false})},
		[2]string{"presentation.xml", xml.Header + `<p:presentation` + slideSpaces + `><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst>` + notes +
			`<p:sldIdLst>` + slides + `</p:sldIdLst>` + fmt.Sprintf(`<p:sldSz cx="%d" cy="%d"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>`, slideWidth, slideHeight)},
		[2]string{"_rels/presentation.xml.rels", relations(rels...)})
	for _, part := range parts {
		if err := d.p.add("ppt/"+part[0], part[1]); err != nil {
			return nil, err
		}
	}
	if err := d.p.office("ppt/presentation.xml", kinds, d.title, d.author); err != nil {
		return nil, err
	}
	return d.p.bytes()
}

// theme has the colours and fonts of slides. Office wants all of its parts.
var theme = xml.Header + `<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="Plain"><a:themeElements><a:clrScheme name="Plain">` +
	`<a:dk1><a:srgbClr val="1C1F23"/></a:dk1><a:lt1><a:srgbClr val="FFFFFF"/></a:lt1><a:dk2><a:srgbClr val="1F3A5F"/></a:dk2><a:lt2><a:srgbClr val="E8ECF1"/></a:lt2>` +
	`<a:accent1><a:srgbClr val="2F5D8C"/></a:accent1><a:accent2><a:srgbClr val="D1742F"/></a:accent2><a:accent3><a:srgbClr val="5B8C5A"/></a:accent3>` +
	`<a:accent4><a:srgbClr val="C9A227"/></a:accent4><a:accent5><a:srgbClr val="7A5C8E"/></a:accent5><a:accent6><a:srgbClr val="5C6670"/></a:accent6>` +
	`<a:hlink><a:srgbClr val="0B57D0"/></a:hlink><a:folHlink><a:srgbClr val="7A5C8E"/></a:folHlink></a:clrScheme><a:fontScheme name="Plain">` +
	`<a:majorFont><a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/></a:majorFont><a:minorFont><a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/></a:minorFont>` +
	`</a:fontScheme><a:fmtScheme name="Plain"><a:fillStyleLst>` + strings.Repeat(themeFill, 3) + `</a:fillStyleLst><a:lnStyleLst>` +
	strings.Repeat(`<a:ln w="9525">`+themeFill+`</a:ln>`, 3) + `</a:lnStyleLst><a:effectStyleLst>` + strings.Repeat(`<a:effectStyle><a:effectLst/></a:effectStyle>`, 3) +
	`</a:effectStyleLst><a:bgFillStyleLst>` + strings.Repeat(themeFill, 3) + `</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>`

const themeFill = `<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>`
