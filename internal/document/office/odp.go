package office

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// ODP reads the slides of a presentation.
func ODP(ctx context.Context, src document.Source) (*document.Document, error) {
	d, err := openODF(ctx, src)
	if err != nil {
		return nil, err
	}
	var parts []document.Part
	total, left := 0, src.Limits.Text
	err = d.stream(func(n *pack.Node) bool { return n.Name == "office:presentation" }, func(n *pack.Node) {
		if n.Name != "drawing:page" {
			return
		}
		if total++; src.Pages.Has(total) && len(parts) < src.Limits.Parts && left > 0 {
			d.number = total
			part := d.slide(n)
			left -= len(part.Markdown)
			parts = append(parts, part)
		}
	})
	if err != nil {
		return nil, err
	}
	d.out.Full = d.out.Full || left <= 0
	doc := d.document("slide")
	doc.Total, doc.Parts = total, parts
	if doc.Title == "" && len(parts) > 0 {
		doc.Title = parts[0].Name
	}
	return doc, nil
}

func (d *odf) slide(n *pack.Node) document.Part {
	part := document.Part{Number: d.number}
	part.Markdown = d.render(func() {
		if d.styles["drawing-page/"+n.Attr("drawing:style-name")].hidden {
			d.out.Paragraph("*This slide is hidden.*")
		}
		for _, shape := range n.Kids {
			if shape.Attr("presentation:class") == "title" && part.Name == "" {
				part.Name = md.OneLine(d.render(func() { d.frame(shape, true) }))
				d.out.Heading(1, part.Name)
			}
		}
		for _, shape := range n.Kids {
			switch shape.Attr("presentation:class") {
			case "title", "date-time", "header", "footer", "page-number":
			default:
				if shape.Name == "office:annotation" {
					d.notes = append(d.notes, shape)
				} else if shape.Name != "presentation:notes" && strings.HasPrefix(shape.Name, "drawing:") {
					d.frame(shape, false)
				}
			}
		}
		d.writeNotes()
		for _, frame := range n.Child("presentation:notes").All("drawing:frame") {
			if frame.Attr("presentation:class") == "notes" {
				if text := d.render(func() { d.frame(frame, true) }); text != "" {
					d.out.Quote("Notes: " + text)
				}
			}
		}
	})
	return part
}

// frame writes a shape of a slide. Its text is written as it is if inCell is set, without
// headings.
func (d *odf) frame(n *pack.Node, inCell bool) {
	if inCell {
		d.cells++
		defer func() { d.cells-- }()
	}
	if table := n.Child("table:table"); table != nil {
		d.table(table)
		return
	}
	if n.Attr("presentation:placeholder") == "true" {
		return
	}
	line := &md.Inline{}
	d.shape(n, line, "")
	d.out.Paragraph(line.Markdown())
	d.writeFrames()
}

// ODS reads the sheets of a spreadsheet: values as they are shown, not formulas.
func ODS(ctx context.Context, src document.Source) (*document.Document, error) {
	d, err := openODF(ctx, src)
	if err != nil {
		return nil, err
	}
	r := &odsReader{odf: d, left: src.Limits.Text}
	d.cells++
	err = d.stream(r.within, r.each)
	if err != nil {
		return nil, err
	}
	r.end()
	d.out.Full = d.out.Full || r.left <= 0
	doc := d.document("sheet")
	doc.Total, doc.Parts = r.total, r.parts
	return doc, nil
}

// odsReader reads sheets row by row.
type odsReader struct {
	*odf
	sheet *sheet // nil while a sheet is not wanted
	parts []document.Part
	total int
	row   int
	left  int
	drawn []string
}

func (r *odsReader) within(n *pack.Node) bool {
	switch n.Name {
	case "table:table":
		r.end()
		r.total++
		r.number, r.row = r.total, 0
		if r.src.Pages.Has(r.total) && len(r.parts) < r.src.Limits.Parts && r.left > 0 {
			r.sheet = &sheet{out: &md.Writer{Limit: r.left}}
			if r.styles["table/"+n.Attr("table:style-name")].hidden {
				r.sheet.out.Paragraph("*This sheet is hidden.*")
			}
			r.parts = append(r.parts, document.Part{Number: r.total, Name: md.OneLine(n.Attr("table:name"))})
		}
		return true
	case "office:spreadsheet", "table:table-header-rows", "table:table-rows", "table:table-row-group":
		return true
	}
	return false
}

func (r *odsReader) each(n *pack.Node) {
	switch {
	case r.sheet == nil:
	case n.Name == "table:shapes":
		for _, shape := range n.Kids {
			r.drawn = append(r.drawn, r.render(func() { r.odf.frame(shape, false) }))
		}
	case n.Name == "table:table-row":
		repeat := max(number(n.Attr("table:number-rows-repeated"), 1), 1)
		cells := rowOf(n, r.value)
		for range min(repeat, maxRepeat) {
			r.sheet.row(cells)
			if len(cells) == 0 {
				break
			}
		}
		r.row += repeat
	}
}

// value returns the value of a cell as it is shown.
func (r *odsReader) value(cell *pack.Node, column int) string {
	var lines []string
	for _, kid := range cell.Kids {
		switch {
		case kid.Name == "text:p":
			line := &md.Inline{}
			r.inline(kid, line, 0, "")
			lines = append(lines, line.Plain())
		case kid.Name == "office:annotation":
			var words []string
			for _, p := range kid.All("text:p") {
				words = append(words, p.Content())
			}
			r.sheet.notes = append(r.sheet.notes, comment(cellName(column, r.row+1), kid.Child("dc:creator").Content(),
				strings.Join(words, " ")))
		case strings.HasPrefix(kid.Name, "drawing:"):
			r.drawn = append(r.drawn, r.render(func() { r.odf.frame(kid, false) }))
		}
	}
	if len(lines) == 0 {
		for _, name := range []string{
			"office:string-value", "office:date-value", "office:time-value", "office:boolean-value", "office:value",
		} {
			if value := cell.Attr(name); value != "" {
				return value
			}
		}
	}
	return strings.Join(lines, "\n")
}

// end completes the sheet that is read.
func (r *odsReader) end() {
	if r.sheet == nil {
		return
	}
	var out md.Writer
	out.Paragraph(r.sheet.end())
	for _, text := range r.drawn {
		out.Paragraph(text)
	}
	last := &r.parts[len(r.parts)-1]
	last.Markdown = out.String()
	if r.left -= len(last.Markdown); r.sheet.out.Full {
		r.left = 0
	}
	r.sheet, r.drawn, r.notes = nil, nil, nil
}
