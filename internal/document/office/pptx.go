package office

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// PPTX reads the slides of a presentation of PowerPoint.
func PPTX(ctx context.Context, src document.Source) (*document.Document, error) {
	p, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	main := mainPart(p)
	root, err := p.Tree(cmp.Or(main, "ppt/presentation.xml"))
	if err != nil {
		return nil, err
	}
	d := &pptx{p: p, pictures: newPictures(p, src), layouts: map[string]*pptxLayout{}}
	doc := &document.Document{Title: titleOf(p), Unit: "slide"}
	rels := p.Relations(main)
	left := src.Limits.Text
	for _, id := range root.Child("p:sldIdLst").Children("p:sldId") {
		target := rels[id.Attr("r:id")].Target
		if !p.Has(target) {
			continue
		}
		doc.Total++
		if !src.Pages.Has(doc.Total) || len(doc.Parts) >= src.Limits.Parts || left <= 0 {
			continue
		}
		part, err := d.slide(target, doc.Total)
		if err != nil {
			return nil, err
		}
		left -= len(part.Markdown)
		doc.Parts = append(doc.Parts, part)
		if doc.Title == "" && doc.Total == 1 {
			doc.Title = part.Name
		}
	}
	doc.Pictures, doc.Notes = d.pictures.list, d.pictures.notes()
	if left <= 0 {
		doc.Notes = append(doc.Notes, md.Cut)
	}
	return doc, nil
}

// pptx is a presentation that is being read.
type pptx struct {
	p        *pack.Package
	pictures *pictures
	layouts  map[string]*pptxLayout

	rels   map[string]pack.Relation // of the slide that is read
	layout *pptxLayout
	number int
	out    *md.Writer
}

// pptxLayout has the parts that a slide inherits.
type pptxLayout struct{ layout, master *pack.Node }

func (d *pptx) slide(name string, number int) (document.Part, error) {
	root, err := d.p.Tree(name)
	if err != nil {
		return document.Part{}, err
	}
	d.rels, d.number, d.out = d.p.Relations(name), number, &md.Writer{}
	d.layout = d.layoutOf(d.rels)
	part := document.Part{Number: number}
	if root.Attr("show") == "0" || root.Attr("show") == "false" {
		d.out.Paragraph("*This slide is hidden.*")
	}
	shapes := d.shapes(root.At("p:cSld", "p:spTree"), nil)
	for i, shape := range shapes {
		if isTitle(shape) {
			var line md.Inline
			for _, paragraph := range shape.Child("p:txBody").Children("a:p") {
				line.Text(" ", 0)
				d.text(paragraph, &line)
			}
			part.Name = md.OneLine(line.Plain())
			d.out.Heading(1, line.Without(md.Bold).Markdown())
			shapes = slices.Delete(shapes, i, i+1)
			break
		}
	}
	for _, shape := range shapes {
		d.shape(shape)
	}
	d.comments()
	d.speakerNotes()
	part.Markdown = d.out.String()
	return part, nil
}

func (d *pptx) layoutOf(rels map[string]pack.Relation) *pptxLayout {
	name := pack.Target(rels, "slideLayout")
	if known := d.layouts[name]; known != nil {
		return known
	}
	found := &pptxLayout{layout: tree(d.p, name)}
	found.master = tree(d.p, pack.Target(d.p.Relations(name), "slideMaster"))
	d.layouts[name] = found
	return found
}

// shapes returns the shapes of a tree in order, without their groups.
func (d *pptx) shapes(tree *pack.Node, all []*pack.Node) []*pack.Node {
	if tree == nil {
		return all
	}
	for _, n := range tree.Kids {
		switch n.Name {
		case "p:grpSp":
			all = d.shapes(n, all)
		case "mc:AlternateContent":
			all = d.shapes(choice(n), all)
		case "p:sp", "p:pic", "p:graphicFrame", "p:cxnSp":
			all = append(all, n)
		}
	}
	return all
}

func placeholder(shape *pack.Node) *pack.Node {
	for _, n := range shape.Kids {
		if ph := n.At("p:nvPr", "p:ph"); ph != nil {
			return ph
		}
	}
	return nil
}

func isTitle(shape *pack.Node) bool {
	kind := placeholder(shape).Attr("type")
	return kind == "title" || kind == "ctrTitle"
}

func (d *pptx) shape(n *pack.Node) {
	switch placeholder(n).Attr("type") {
	case "dt", "ftr", "sldNum", "hdr", "sldImg":
		return
	}
	var properties *pack.Node
	for _, kid := range n.Kids {
		properties = cmp.Or(properties, kid.Child("p:cNvPr"))
	}
	if hidden := properties.Attr("hidden"); hidden == "1" || hidden == "true" {
		return
	}
	switch n.Name {
	case "p:pic":
		d.picture(n, properties)
	case "p:graphicFrame":
		d.frame(n, properties)
	default:
		d.body(n.Child("p:txBody"), placeholder(n))
		if n.Find("a:blip") != nil {
			d.picture(n, properties)
		}
	}
}

func (d *pptx) picture(n, properties *pack.Node) {
	r := d.rels[n.Find("a:blip").Attr("r:embed")]
	name := d.pictures.add(r.Target, d.number)
	if r.External || name == "" {
		name = path.Base(d.rels[n.Find("a:blip").Attr("r:link")].Target)
	}
	if name == "" || name == "." {
		return
	}
	var line md.Inline
	line.RawLink(md.Image(cmp.Or(properties.Attr("descr"), properties.Attr("title")), name), d.click(properties))
	d.out.Paragraph(line.Markdown())
}

// click returns the address that a click on something opens.
func (d *pptx) click(properties *pack.Node) string {
	if r := d.rels[properties.Child("a:hlinkClick").Attr("r:id")]; r.External {
		return r.Target
	}
	return ""
}

func (d *pptx) frame(n, properties *pack.Node) {
	if table := n.Find("a:tbl"); table != nil {
		d.table(table)
		return
	}
	if c := n.Find("c:chart"); c != nil {
		d.out.Paragraph(chart(d.p, d.rels[c.Attr("r:id")].Target))
		return
	}
	if ids := n.Find("dgm:relIds"); ids != nil {
		d.out.Paragraph(diagram(d.p, d.rels[ids.Attr("r:dm")].Target))
		return
	}
	if n.Find("a:blip") != nil {
		d.picture(n, properties)
	}
}

func (d *pptx) table(n *pack.Node) {
	var rows [][]string
	for _, row := range n.Children("a:tr") {
		var line []string
		for _, cell := range row.Children("a:tc") {
			text := ""
			if cell.Attr("hMerge") == "" && cell.Attr("vMerge") == "" {
				outer := d.out
				d.out = &md.Writer{}
				d.body(cell.Child("a:txBody"), nil)
				text, d.out = d.out.String(), outer
			}
			if line = append(line, text); len(line) >= maxColumns {
				break
			}
		}
		rows = append(rows, line)
	}
	d.out.Table(rows)
}

// body writes the paragraphs of a shape. Paragraphs of the body of a slide are items unless the
// slide, its layout or its master switches that off.
func (d *pptx) body(n, ph *pack.Node) {
	if n == nil {
		return
	}
	counts := map[int]int{}
	code, blank := false, 0 // the last paragraph with text is code, and so many without text follow it
	for _, paragraph := range n.Children("a:p") {
		var line md.Inline
		d.text(paragraph, &line)
		if line.Empty() {
			blank++
			continue
		}
		properties := paragraph.Child("a:pPr")
		level := min(max(number(properties.Attr("lvl"), 0), 0), 8)
		bullet := d.bullet(properties, n, ph, level)
		before := code
		if code = isCode(paragraph) && (bullet == nil || bullet.Name == "a:buNone"); code {
			if !before {
				blank = 0
			}
			d.out.Code(strings.Repeat("\n", blank) + codeOf(paragraph))
			blank = 0
			continue
		}
		blank = 0
		for deeper := range counts {
			if deeper > level || deeper == level && bullet == nil {
				delete(counts, deeper)
			}
		}
		switch {
		case bullet == nil || bullet.Name == "a:buNone":
			d.out.Paragraph(line.Markdown())
		case bullet.Name == "a:buAutoNum":
			if counts[level] == 0 {
				counts[level] = number(bullet.Attr("startAt"), 1) - 1
			}
			counts[level]++
			format, _, _ := strings.Cut(bullet.Attr("type"), "Period")
			format, _, _ = strings.Cut(format, "Paren")
			mark, rest := marker(ordinal(counts[level], pptxFormat(format)) + ".")
			d.out.Item(level, mark, rest+line.Markdown())
		default:
			d.out.Item(level, "-", line.Markdown())
		}
	}
}

// isCode reports whether all text of a paragraph is in a font for code.
func isCode(paragraph *pack.Node) bool {
	runs := paragraph.Children("a:r")
	for _, r := range runs {
		if !isCodeFont(r.At("a:rPr", "a:latin").Attr("typeface")) {
			return false
		}
	}
	return len(runs) > 0
}

// isCodeFont reports whether a font has letters of one width, as code is written.
func isCodeFont(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "consolas", "menlo", "monaco", "lucida console":
		return true
	}
	return strings.HasPrefix(name, "courier") || strings.HasSuffix(name, " mono") || strings.HasSuffix(name, " code")
}

// codeOf returns the text of a paragraph of code, with its blanks.
func codeOf(paragraph *pack.Node) string {
	var b strings.Builder
	for _, n := range paragraph.Kids {
		switch n.Name {
		case "a:r":
			b.WriteString(strings.ReplaceAll(n.Child("a:t").Content(), "\v", "\n"))
		case "a:br":
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func pptxFormat(name string) string {
	switch name {
	case "alphaLc":
		return "lowerLetter"
	case "alphaUc":
		return "upperLetter"
	case "romanLc":
		return "lowerRoman"
	case "romanUc":
		return "upperRoman"
	}
	return "decimal"
}

// bullet returns the element with the bullet of a paragraph: its own, or the one in the list
// styles of its shape, the layout, the master. It returns nil if there is none.
func (d *pptx) bullet(properties, body, ph *pack.Node, level int) *pack.Node {
	find := func(properties *pack.Node) *pack.Node {
		if properties != nil {
			for _, kid := range properties.Kids {
				switch kid.Name {
				case "a:buNone", "a:buAutoNum", "a:buChar", "a:buBlip":
					return kid
				}
			}
		}
		return nil
	}
	if own := find(properties); own != nil {
		return own
	}
	style := "a:lvl" + string(rune('1'+level)) + "pPr"
	candidates := []*pack.Node{body.Child("a:lstStyle").Child(style)}
	if ph != nil {
		for _, source := range []*pack.Node{d.layout.layout, d.layout.master} {
			if same := samePlaceholder(source, ph); same != nil {
				candidates = append(candidates, same.At("p:txBody", "a:lstStyle", style))
			}
		}
		kind := "p:bodyStyle"
		if t := ph.Attr("type"); t == "title" || t == "ctrTitle" {
			kind = "p:titleStyle"
		}
		candidates = append(candidates, d.layout.master.At("p:txStyles", kind, style))
	}
	for _, candidate := range candidates {
		if found := find(candidate); found != nil {
			return found
		}
	}
	return nil
}

// samePlaceholder returns the shape of a layout or master that a placeholder inherits from.
func samePlaceholder(source, ph *pack.Node) *pack.Node {
	if source == nil {
		return nil
	}
	kind := func(ph *pack.Node) string { return cmp.Or(ph.Attr("type"), "obj") }
	var byType *pack.Node
	for _, shape := range source.All("p:sp") {
		other := placeholder(shape)
		if other == nil {
			continue
		}
		if ph.Attr("idx") != "" && other.Attr("idx") == ph.Attr("idx") {
			return shape
		}
		if byType == nil && (kind(other) == kind(ph) || kind(other) == "body" && kind(ph) == "obj") {
			byType = shape
		}
	}
	return byType
}

// text adds the text of a paragraph to a line.
func (d *pptx) text(paragraph *pack.Node, line *md.Inline) {
	for _, n := range paragraph.Kids {
		switch n.Name {
		case "a:r", "a:fld":
			properties := n.Child("a:rPr")
			if n.Name == "a:fld" && n.Attr("type") == "slidenum" {
				continue
			}
			line.Link(strings.ReplaceAll(n.Child("a:t").Content(), "\v", "\n"), pptxStyle(properties),
				d.click(properties))
		case "a:br":
			line.Text("\n", 0)
		case "mc:AlternateContent":
			if chosen := choice(n); chosen != nil {
				d.text(chosen, line)
			}
		default:
			if formula := n.Find("m:oMath"); formula != nil {
				line.Raw("$" + latex(formula) + "$")
			}
		}
	}
}

func pptxStyle(properties *pack.Node) md.Style {
	style := md.Style(0)
	if properties == nil {
		return 0
	}
	if v := properties.Attr("b"); v == "1" || v == "true" {
		style |= md.Bold
	}
	if v := properties.Attr("i"); v == "1" || v == "true" {
		style |= md.Italic
	}
	if v := properties.Attr("strike"); v == "sngStrike" || v == "dblStrike" {
		style |= md.Strike
	}
	switch baseline := number(strings.TrimSuffix(properties.Attr("baseline"), "%"), 0); {
	case baseline > 0:
		style |= md.Super
	case baseline < 0:
		style |= md.Sub
	}
	return style
}

// speakerNotes writes the notes of the slide as a quote.
func (d *pptx) speakerNotes() {
	root := tree(d.p, pack.Target(d.rels, "notesSlide"))
	if root == nil {
		return
	}
	slide, rels := d.out, d.rels
	d.out, d.rels = &md.Writer{}, d.p.Relations(pack.Target(d.rels, "notesSlide"))
	for _, shape := range d.shapes(root.At("p:cSld", "p:spTree"), nil) {
		if placeholder(shape).Attr("type") == "body" {
			d.body(shape.Child("p:txBody"), nil)
		}
	}
	text := d.out.String()
	d.out, d.rels = slide, rels
	if text != "" {
		d.out.Quote("Notes: " + text)
	}
}

// comments writes the comments on the slide.
func (d *pptx) comments() {
	for _, r := range sorted(d.rels, "comments") {
		for _, comment := range orEmpty(tree(d.p, r.Target)).Kids {
			text := comment.Child("p:text").Content()
			if text == "" {
				text = chartText(comment)
			}
			if text = md.Sentence(text); text != "" {
				d.out.Quote("Comment: " + text)
			}
		}
	}
}
