package write

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

const (
	margin      = 1247 // of a page, in twentieths of a point: 2.2 cm
	emuPerPixel = 9525
	emuPerTwip  = 635
	bullets     = 1 // the number of the list with bullets
)

// DOCX makes a Word document of Markdown, or fills in a template.
func DOCX(ctx context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	if len(s.From) > 0 {
		return fill(ctx, s, "docx")
	}
	return wordOf(ctx, s)
}

// wordOf makes a Word document of Markdown.
func wordOf(ctx context.Context, s Source) (*document.Written, error) {
	w, err := s.parse()
	if err != nil {
		return nil, err
	}
	d := &docx{writer: w, ctx: ctx, media: map[string]string{}, marked: map[int]bool{}}
	d.relate("styles", "styles.xml", false)
	d.relate("numbering", "numbering.xml", false)
	if w.title != "" {
		d.paragraph(`<w:pStyle w:val="Title"/>`, func() { d.text(w.title, runStyle{}) })
	}
	if w.author != "" {
		d.paragraph(`<w:pStyle w:val="Subtitle"/>`, func() { d.text(w.author, runStyle{}) })
	}
	d.blocks(w.root, place{})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	content, err := d.pack()
	return &document.Written{Content: content, Notes: w.notes}, err
}

// docx is a Word document that is being made.
type docx struct {
	*writer
	ctx       context.Context
	body      strings.Builder
	relations []relation
	media     map[string]string // ids of relations by destination
	parts     [][2]string       // pictures
	starts    []int             // first numbers of the numbered lists
	footnotes []string          // in their order
	marked    map[int]bool      // footnotes with a mark in the text
}

// A place is where a block is: in which list, and how deep in quotes.
type place struct {
	list, level int // number of the list, 0 for none; level from 1
	quote       int
	first       bool // the next paragraph has the mark of an item
	align       table.Alignment
}

func (d *docx) relate(kind, target string, external bool) string {
	id := strconv.Itoa(len(d.relations) + 1)
	d.relations = append(d.relations, relation{id,
		"http://schemas.openxmlformats.org/officeDocument/2006/relationships/" + kind, target, external})
	return id
}

func (d *docx) paragraph(properties string, content func()) {
	d.body.WriteString(`<w:p><w:pPr>` + properties + `</w:pPr>`)
	content()
	d.body.WriteString(`</w:p>`)
}

func (d *docx) blocks(parent ast.Node, at place) {
	for n := parent.FirstChild(); n != nil && d.ctx.Err() == nil; n = n.NextSibling() {
		d.block(n, at)
		at.first = false
	}
}

func (d *docx) block(n ast.Node, at place) {
	switch n := n.(type) {
	case *ast.Heading:
		d.paragraph(fmt.Sprintf(`<w:pStyle w:val="Heading%d"/>`, n.Level)+at.indent(), func() { d.inlines(n, runStyle{}) })
	case *ast.Paragraph, *ast.TextBlock:
		style := ""
		if at.quote > 0 {
			style = `<w:pStyle w:val="Quote"/>`
		}
		d.paragraph(style+at.indent(), func() { d.inlines(n, runStyle{}) })
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		d.paragraph(`<w:pStyle w:val="Code"/>`+at.under(), func() {
			var b strings.Builder
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(d.source))
			}
			for i, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
				if i > 0 {
					d.body.WriteString(`<w:r><w:br/></w:r>`)
				}
				d.text(line, runStyle{})
			}
		})
	case *ast.Blockquote:
		at.quote++
		d.blocks(n, at)
	case *ast.List:
		at.list = bullets
		if n.IsOrdered() {
			d.starts = append(d.starts, n.Start)
			at.list = bullets + len(d.starts)
		}
		at.level = min(at.level+1, 9)
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			at.first = true
			d.blocks(item, at)
		}
	case *ast.ThematicBreak:
		d.paragraph(`<w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="A0A0A0"/></w:pBdr>`, func() {})
	case *table.FootnoteList:
		d.readFootnotes(n)
	case *table.Table:
		d.table(n)
	case *ast.HTMLBlock:
		d.note("raw HTML was left out")
	default:
		d.blocks(n, at)
	}
}

// readFootnotes makes the footnotes, which are the last block of a document.
func (d *docx) readFootnotes(list ast.Node) {
	body := d.body.String()
	for n := list.FirstChild(); n != nil && d.ctx.Err() == nil; n = n.NextSibling() {
		d.body.Reset()
		d.blocks(n, place{})
		const mark = `</w:pPr><w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> </w:t></w:r>`
		d.footnotes = append(d.footnotes, fmt.Sprintf(`<w:footnote w:id="%d">%s</w:footnote>`, n.(*table.Footnote).Index,
			strings.Replace(d.body.String(), `</w:pPr>`, mark, 1)))
	}
	d.body.Reset()
	d.body.WriteString(body)
}

// footnotePart returns the part with the footnotes.
func (d *docx) footnotePart() string {
	rule := func(id int, kind string) string {
		return fmt.Sprintf(`<w:footnote w:type="%s" w:id="%d"><w:p><w:r><w:%[1]s/></w:r></w:p></w:footnote>`, kind, id)
	}
	return xml.Header + `<w:footnotes` + wordSpaces + `>` + rule(-1, "separator") + rule(0, "continuationSeparator") + strings.Join(d.footnotes, "") + `</w:footnotes>`
}

// indent returns the properties of a paragraph in a list.
func (at place) indent() string {
	if at.list > 0 && at.first {
		return fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>`, at.level-1, at.list)
	}
	return at.under()
}

// under returns the properties of a paragraph that continues an item.
func (at place) under() string {
	switch left := 360*at.level + 360*at.quote; {
	case at.align == table.AlignRight:
		return `<w:jc w:val="right"/>`
	case at.align == table.AlignCenter:
		return `<w:jc w:val="center"/>`
	case left > 0:
		return fmt.Sprintf(`<w:ind w:left="%d"/>`, left)
	}
	return ""
}

// widths returns the widths of the columns of a table: half of the page in equal parts, and half by the longest cells.
func (d *docx) widths(t *table.Table, columns int) []int {
	const longest = 60 // characters; longer cells are wrapped
	all, sum := make([]int, columns), 0
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		n := 0
		for cell := row.FirstChild(); cell != nil && n < columns; cell = cell.NextSibling() {
			all[n] = max(all[n], min(longest, utf8.RuneCountInString(d.plain(cell))))
			n++
		}
	}
	for _, w := range all {
		sum += w
	}
	half := (d.page.w - 2*margin) / 2
	for i, w := range all {
		all[i] = half/columns + half*w/max(1, sum)
	}
	return all
}

func (d *docx) table(t *table.Table) {
	columns := max(1, len(t.Alignments))
	d.body.WriteString(`<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/><w:tblW w:w="5000" w:type="pct"/><w:tblLook w:firstRow="1"/></w:tblPr><w:tblGrid>`)
	widths := d.widths(t, columns)
	for _, w := range widths {
		fmt.Fprintf(&d.body, `<w:gridCol w:w="%d"/>`, w)
	}
	d.body.WriteString(`</w:tblGrid>`)
	for row := t.FirstChild(); row != nil && d.ctx.Err() == nil; row = row.NextSibling() {
		_, head := row.(*table.TableHeader)
		properties := ""
		if head {
			properties = `<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>`
		}
		d.body.WriteString(`<w:tr>` + properties)
		n := 0
		for cell := row.FirstChild(); cell != nil && n < columns; cell = cell.NextSibling() {
			fmt.Fprintf(&d.body, `<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/></w:tcPr>`, widths[n])
			at := place{align: t.Alignments[n]}
			d.paragraph(`<w:pStyle w:val="Cell"/>`+at.under(), func() { d.inlines(cell, runStyle{}) })
			d.body.WriteString(`</w:tc>`)
			n++
		}
		for ; n < columns; n++ {
			d.body.WriteString(`<w:tc><w:tcPr/><w:p/></w:tc>`)
		}
		d.body.WriteString(`</w:tr>`)
	}
	d.body.WriteString(`</w:tbl><w:p><w:pPr><w:spacing w:before="0" w:after="60" w:line="120" w:lineRule="exact"/></w:pPr></w:p>`)
}

// A runStyle is how text looks.
type runStyle struct{ bold, italic, strike, code, link bool }

func (d *docx) inlines(parent ast.Node, s runStyle) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		d.inline(n, s)
	}
}

func (d *docx) inline(n ast.Node, s runStyle) {
	switch n := n.(type) {
	case *ast.Text:
		text := unescape(string(n.Segment.Value(d.source)), s.code || n.IsRaw())
		if n.SoftLineBreak() {
			text += " "
		}
		d.text(text, s)
		if n.HardLineBreak() {
			d.body.WriteString(`<w:r><w:br/></w:r>`)
		}
	case *ast.String:
		d.text(string(n.Value), s)
	case *ast.Emphasis:
		if n.Level == 2 {
			s.bold = true
		} else {
			s.italic = true
		}
		d.inlines(n, s)
	case *table.Strikethrough:
		s.strike = true
		d.inlines(n, s)
	case *table.FootnoteLink:
		d.body.WriteString(`<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr>`)
		if d.marked[n.Index] { // Word has one mark for a footnote
			d.body.WriteString(`<w:t>` + strconv.Itoa(n.Index) + `</w:t></w:r>`)
		} else {
			d.body.WriteString(`<w:footnoteReference w:id="` + strconv.Itoa(n.Index) + `"/></w:r>`)
		}
		d.marked[n.Index] = true
	case *table.FootnoteBacklink:
	case *table.TaskCheckBox:
		d.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked], s)
	case *ast.CodeSpan:
		s.code = true
		d.inlines(n, s)
	case *ast.Link:
		d.link(string(n.Destination), s, func(s runStyle) { d.inlines(n, s) })
	case *ast.AutoLink:
		target := string(n.URL(d.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(target, "mailto:") {
			target = "mailto:" + target
		}
		d.link(target, s, func(s runStyle) { d.text(string(n.Label(d.source)), s) })
	case *ast.Image:
		d.picture(string(n.Destination), d.plain(n), s)
	case *ast.RawHTML:
		if tag := strings.ToLower(string(n.Segments.Value(d.source))); strings.HasPrefix(tag, "<br") {
			d.body.WriteString(`<w:r><w:br/></w:r>`)
		} else {
			d.note("raw HTML was left out")
		}
	default:
		d.inlines(n, s)
	}
}

func (d *docx) link(target string, s runStyle, content func(runStyle)) {
	if !isAddress(target) || len(target) > 2000 {
		content(s)
		return
	}
	s.link = true
	fmt.Fprintf(&d.body, `<w:hyperlink r:id="rId%s">`, d.relate("hyperlink", target, true))
	content(s)
	d.body.WriteString(`</w:hyperlink>`)
}

func (d *docx) text(text string, s runStyle) {
	if text == "" {
		return
	}
	d.body.WriteString(`<w:r><w:rPr>`)
	if s.code {
		d.body.WriteString(`<w:rStyle w:val="CodeText"/>`)
	} else if s.link {
		d.body.WriteString(`<w:rStyle w:val="Hyperlink"/>`)
	}
	for _, p := range []struct {
		set  bool
		name string
	}{{s.bold, "b"}, {s.italic, "i"}, {s.strike, "strike"}} {
		if p.set {
			d.body.WriteString(`<w:` + p.name + `/>`)
		}
	}
	d.body.WriteString(`</w:rPr><w:t xml:space="preserve">` + escape(text) + `</w:t></w:r>`)
}

// picture writes a picture of the source, or its description.
func (d *docx) picture(target, description string, s runStyle) {
	data := d.pictures[target]
	size, kind, err := measure(data)
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		d.note("the picture %.100q is not a PNG, JPEG or GIF file of the workspace, so only its description was written", target)
		s.italic = true
		d.text(description, s)
		return
	}
	id, known := d.media[target]
	if !known {
		name := fmt.Sprintf("media/image%d.%s", len(d.parts)+1, kind)
		d.parts = append(d.parts, [2]string{"word/" + name, string(data)})
		id = d.relate("image", name, false)
		d.media[target] = id
	}
	w, h := float64(size.Width)*emuPerPixel, float64(size.Height)*emuPerPixel
	scale := min(1, float64(d.page.w-2*margin)*emuPerTwip/w, float64(d.page.h-2*margin)*emuPerTwip*0.8/h)
	cx, cy := max(1, int(w*scale)), max(1, int(h*scale))
	fmt.Fprintf(&d.body, `<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="%d" cy="%d"/>`+
		`<wp:docPr id="%s" name="Picture %s" descr="%s"/><a:graphic><a:graphicData `+
		`uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="%s" name="Picture %s" descr="%s"/>`+
		`<pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId%s"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill>`+
		`<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="%d" cy="%d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr>`+
		`</pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`,
		cx, cy, id, id, escape(description), id, id, escape(description), id, cx, cy)
}

// measure returns the size and the format of a picture. It decodes no more than its head.
func measure(data []byte) (size image.Config, kind string, err error) {
	kind = strings.TrimPrefix(http.DetectContentType(data), "image/")
	read := map[string]func(io.Reader) (image.Config, error){
		"png": png.DecodeConfig, "jpeg": jpeg.DecodeConfig, "gif": gif.DecodeConfig,
	}[kind]
	if read == nil {
		return size, kind, image.ErrFormat
	}
	size, err = read(bytes.NewReader(data))
	return size, kind, err
}

// pack returns the file.
func (d *docx) pack() ([]byte, error) {
	const types = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	p := newZip()
	notes := ""
	if len(d.footnotes) > 0 {
		links := relations(d.relations...) // of the links and pictures in footnotes, too
		d.relate("footnotes", "footnotes.xml", false)
		notes = `<Override PartName="/word/footnotes.xml" ContentType="` + types + `footnotes+xml"/>`
		d.parts = append(d.parts, [2]string{"word/footnotes.xml", d.footnotePart()}, [2]string{"word/_rels/footnotes.xml.rels", links})
	}
	err := p.office("word/document.xml", notes+
		`<Override PartName="/word/document.xml" ContentType="`+types+`document.main+xml"/>`+
		`<Override PartName="/word/styles.xml" ContentType="`+types+`styles+xml"/>`+
		`<Override PartName="/word/numbering.xml" ContentType="`+types+`numbering+xml"/>`, d.title, d.author)
	if err != nil {
		return nil, err
	}
	orient := ""
	if d.page.w > d.page.h {
		orient = ` w:orient="landscape"`
	}
	body := xml.Header + `<w:document` + wordSpaces + `><w:body>` + d.body.String() +
		fmt.Sprintf(`<w:sectPr><w:pgSz w:w="%d" w:h="%d"%s/><w:pgMar w:top="%[4]d" w:right="%[4]d" w:bottom="%[4]d" w:left="%[4]d" `+
			`w:header="600" w:footer="600" w:gutter="0"/></w:sectPr></w:body></w:document>`, d.page.w, d.page.h, orient, margin)
	parts := append([][2]string{
		{"word/document.xml", body}, {"word/_rels/document.xml.rels", relations(d.relations...)},
		{"word/styles.xml", wordStyles()}, {"word/numbering.xml", d.numbering()},
	}, d.parts...)
	for _, part := range parts {
		if err := p.add(part[0], part[1]); err != nil {
			return nil, err
		}
	}
	return p.bytes()
}

// wordSpaces are the namespaces of parts with text.
const wordSpaces = ` xmlns:w="` + wordSpace + `" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
	`xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ` +
	`xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"`

const wordSpace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

// numbering returns the part with the lists: bullets, and each numbered list with its first number.
func (d *docx) numbering() string {
	var b strings.Builder
	b.WriteString(xml.Header + `<w:numbering xmlns:w="` + wordSpace + `">`)
	for kind, form := range []string{"bullet", "decimal"} {
		fmt.Fprintf(&b, `<w:abstractNum w:abstractNumId="%d"><w:multiLevelType w:val="multilevel"/>`, kind)
		for level := range 9 {
			mark := []string{"•", "◦", "▪"}[level%3]
			if form == "decimal" {
				mark = fmt.Sprintf("%%%d.", level+1)
			}
			fmt.Fprintf(&b, `<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/><w:lvlJc w:val="left"/>`+
				`<w:pPr><w:ind w:left="%d" w:hanging="360"/></w:pPr></w:lvl>`, level, form, mark, 360*(level+1))
		}
		b.WriteString(`</w:abstractNum>`)
	}
	fmt.Fprintf(&b, `<w:num w:numId="%d"><w:abstractNumId w:val="0"/></w:num>`, bullets)
	for i, start := range d.starts {
		fmt.Fprintf(&b, `<w:num w:numId="%d"><w:abstractNumId w:val="1"/>`, bullets+1+i)
		for level := range 9 {
			fmt.Fprintf(&b, `<w:lvlOverride w:ilvl="%d"><w:startOverride w:val="%d"/></w:lvlOverride>`, level, start)
		}
		b.WriteString(`</w:num>`)
	}
	b.WriteString(`</w:numbering>`)
	return b.String()
}

// wordStyles returns the part with the styles.
func wordStyles() string {
	var b strings.Builder
	b.WriteString(xml.Header + `<w:styles xmlns:w="` + wordSpace + `"><w:docDefaults><w:rPrDefault><w:rPr>` +
		`<w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:eastAsia="Calibri" w:cs="Calibri"/><w:sz w:val="22"/></w:rPr></w:rPrDefault>` +
		`<w:pPrDefault><w:pPr><w:spacing w:after="120" w:line="264" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>` +
		`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>`)
	style := func(id, name, paragraph, run string) {
		fmt.Fprintf(&b, `<w:style w:type="paragraph" w:styleId="%s"><w:name w:val="%s"/><w:basedOn w:val="Normal"/>`+
			`<w:pPr>%s</w:pPr><w:rPr>%s</w:rPr></w:style>`, id, name, paragraph, run)
	}
	style("Title", "Title", `<w:spacing w:after="120"/>`, `<w:b/><w:sz w:val="48"/>`)
	style("Subtitle", "Subtitle", `<w:spacing w:after="240"/>`, `<w:color w:val="606060"/><w:sz w:val="24"/>`)
	for i, size := range []int{36, 30, 26, 24, 22, 22} {
		style(fmt.Sprintf("Heading%d", i+1), fmt.Sprintf("heading %d", i+1), fmt.Sprintf(
			`<w:keepNext/><w:keepLines/><w:spacing w:before="%d" w:after="100"/><w:outlineLvl w:val="%d"/>`, 320-40*i, i),
			fmt.Sprintf(`<w:b/><w:color w:val="1F3A5F"/><w:sz w:val="%d"/>`, size))
	}
	style("Quote", "Quote", `<w:pBdr><w:left w:val="single" w:sz="18" w:space="8" w:color="C0C8D0"/></w:pBdr>`,
		`<w:i/><w:color w:val="505050"/>`)
	style("Code", "Source Code", `<w:shd w:val="clear" w:color="auto" w:fill="F4F5F7"/><w:spacing w:after="160" w:line="240" w:lineRule="auto"/>`,
		`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/><w:sz w:val="19"/>`)
	style("Cell", "Table Text", `<w:spacing w:before="30" w:after="30" w:line="240" w:lineRule="auto"/>`, `<w:sz w:val="20"/>`)
	b.WriteString(`<w:style w:type="character" w:styleId="FootnoteReference"><w:name w:val="footnote reference"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>` +
		`<w:style w:type="character" w:styleId="CodeText"><w:name w:val="Verbatim Char"/><w:rPr>` +
		`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/><w:sz w:val="20"/></w:rPr></w:style>` +
		`<w:style w:type="character" w:styleId="Hyperlink"><w:name w:val="Hyperlink"/><w:rPr><w:color w:val="0B57D0"/><w:u w:val="single"/></w:rPr></w:style>` +
		`<w:style w:type="table" w:styleId="Grid"><w:name w:val="Table Grid"/><w:tblPr><w:tblBorders>`)
	for _, side := range []string{"top", "left", "bottom", "right", "insideH", "insideV"} {
		b.WriteString(`<w:` + side + ` w:val="single" w:sz="4" w:space="0" w:color="B0B8C0"/>`)
	}
	b.WriteString(`</w:tblBorders><w:tblCellMar><w:left w:w="100" w:type="dxa"/><w:right w:w="100" w:type="dxa"/></w:tblCellMar></w:tblPr>` +
		`<w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr><w:tcPr><w:shd w:val="clear" w:color="auto" w:fill="E8ECF1"/></w:tcPr></w:tblStylePr></w:style></w:styles>`)
	return b.String()
}
