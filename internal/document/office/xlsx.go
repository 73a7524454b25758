package office

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// XLSX reads the sheets of a workbook of Excel: values as they are shown, not formulas. The
// rows are read one at a time.
func XLSX(ctx context.Context, src document.Source) (*document.Document, error) {
	p, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	main := cmp.Or(mainPart(p), "xl/workbook.xml")
	root, err := p.Tree(main)
	if err != nil {
		return nil, err
	}
	rels := p.Relations(main)
	b := &workbook{p: p, pictures: newPictures(p, src), left: src.Limits.Text}
	b.is1904 = isOn(root.Child("x:workbookPr"), "date1904") && root.Child("x:workbookPr").Attr("date1904") != ""
	b.readFormats(tree(p, pack.Target(rels, "styles")))
	if err := b.readStrings(pack.Target(rels, "sharedStrings")); err != nil {
		return nil, err
	}
	doc := &document.Document{Title: titleOf(p), Unit: "sheet"}
	for _, n := range root.Child("x:sheets").Children("x:sheet") {
		doc.Total++
		if !src.Pages.Has(doc.Total) || len(doc.Parts) >= src.Limits.Parts || b.left <= 0 {
			continue
		}
		text, err := b.sheet(rels[n.Attr("r:id")].Target, n.Attr("state"), doc.Total)
		if err != nil {
			return nil, err
		}
		doc.Parts = append(doc.Parts, document.Part{Number: doc.Total, Name: md.OneLine(n.Attr("name")),
			Markdown: text})
	}
	if doc.Total == 0 {
		return nil, document.Errorf(document.ErrBroken, "the workbook is damaged: it has no sheets")
	}
	doc.Pictures, doc.Notes = b.pictures.list, b.pictures.notes()
	if b.left <= 0 {
		doc.Notes = append(doc.Notes, md.Cut)
	}
	return doc, nil
}

// workbook is a workbook that is being read.
type workbook struct {
	p        *pack.Package
	pictures *pictures
	left     int // bytes of text that may still be written
	strings  []string
	formats  []*numberFormat // by the style of a cell
	is1904   bool
}

// readFormats reads how cells show numbers.
func (b *workbook) readFormats(styles *pack.Node) {
	codes := map[int]string{}
	for _, n := range styles.Child("x:numFmts").Children("x:numFmt") {
		codes[number(n.Attr("numFmtId"), 0)] = n.Attr("formatCode")
	}
	known := map[int]*numberFormat{}
	for _, n := range styles.Child("x:cellXfs").Children("x:xf") {
		id := number(n.Attr("numFmtId"), 0)
		format, ok := known[id]
		if !ok {
			format = parseFormat(cmp.Or(codes[id], builtins[id]))
			known[id] = format
		}
		b.formats = append(b.formats, format)
	}
}

// readStrings reads the texts that cells refer to.
func (b *workbook) readStrings(name string) error {
	if name == "" || !b.p.Has(name) {
		return nil
	}
	return b.p.Stream(name, func(n *pack.Node) bool { return n.Name == "x:sst" }, func(n *pack.Node) error {
		if n.Name == "x:si" {
			b.strings = append(b.strings, richText(n))
		}
		return nil
	})
}

// richText returns a text that may consist of parts with formats. Marks for the pronunciation
// are left out.
func richText(n *pack.Node) string {
	if n == nil {
		return ""
	}
	text := n.Child("x:t").Content()
	for _, run := range n.Children("x:r") {
		text += run.Child("x:t").Content()
	}
	return text
}

func (b *workbook) sheet(target, state string, number int) (string, error) {
	s := &sheet{out: &md.Writer{Limit: b.left}}
	if state == "hidden" || state == "veryHidden" {
		s.out.Paragraph("*This sheet is hidden.*")
	}
	if err := b.rows(target, s); err != nil {
		return "", err
	}
	rels := b.p.Relations(target)
	s.notes = b.comments(tree(b.p, pack.Target(rels, "comments")))
	text := s.end()
	drawn := b.drawings(rels, number)
	if drawn != "" && text != "" {
		text += "\n\n"
	}
	text += drawn
	if b.left -= len(text); s.out.Full {
		b.left = 0
	}
	return text, nil
}

func (b *workbook) comments(root *pack.Node) (notes []string) {
	authors := root.Child("x:authors").Children("x:author")
	for _, n := range root.Child("x:commentList").Children("x:comment") {
		author := ""
		if id := number(n.Attr("authorId"), -1); id >= 0 && id < len(authors) {
			author = authors[id].Content()
		}
		notes = append(notes, comment(n.Attr("ref"), author, richText(n.Child("x:text"))))
	}
	return notes
}

func comment(cell, author, text string) string {
	if author != "" {
		author = " by " + md.Sentence(author)
	}
	return "Comment on " + md.Sentence(cell) + author + ": " + md.Sentence(text)
}

// rows reads the cells of a sheet. A sheet of charts has none.
func (b *workbook) rows(target string, s *sheet) error {
	if !b.p.Has(target) {
		return nil
	}
	var line []string
	return b.p.Stream(target, func(n *pack.Node) bool {
		return n.Name == "x:worksheet" || n.Name == "x:sheetData"
	}, func(n *pack.Node) error {
		if n.Name != "x:row" || s.out.Full {
			return nil
		}
		line = line[:0]
		for _, cell := range n.Kids {
			if cell.Name != "x:c" {
				continue
			}
			column := columnOf(cell.Attr("r"), len(line))
			if column >= maxColumns {
				continue
			}
			for len(line) <= column {
				line = append(line, "")
			}
			line[column] = b.value(cell)
		}
		s.row(line)
		return nil
	})
}

// columnOf returns the column of a cell from its name, such as B3; the first one is 0.
func columnOf(name string, next int) int {
	column := 0
	for i := 0; i < len(name) && i < 4 && name[i] >= 'A' && name[i] <= 'Z'; i++ {
		column = column*26 + int(name[i]-'A') + 1
	}
	if column == 0 {
		return next
	}
	return column - 1
}

// value returns the value of a cell as it is shown.
func (b *workbook) value(cell *pack.Node) string {
	text := cell.Child("x:v").Content()
	switch cell.Attr("t") {
	case "s":
		if i := number(strings.TrimSpace(text), -1); i >= 0 && i < len(b.strings) {
			return b.strings[i]
		}
		return ""
	case "inlineStr":
		return richText(cell.Child("x:is"))
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[text]
	case "str", "e":
		return text
	case "d":
		if when, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(text, "Z")); err == nil {
			if when.Equal(when.Truncate(24 * time.Hour)) {
				return when.Format("2006-01-02")
			}
			return when.Format("2006-01-02 15:04:05")
		}
		return text
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return text
	}
	if style := number(cell.Attr("s"), -1); style >= 0 && style < len(b.formats) && b.formats[style] != nil {
		return b.formats[style].show(value, b.is1904)
	}
	return general(value)
}

// drawings returns the charts of a sheet as tables, and its pictures.
func (b *workbook) drawings(sheet map[string]pack.Relation, number int) string {
	var out md.Writer
	for _, drawing := range sorted(sheet, "drawing") {
		rels := b.p.Relations(drawing.Target)
		for _, r := range sorted(rels, "chart") {
			out.Paragraph(chart(b.p, r.Target))
		}
		root := tree(b.p, drawing.Target)
		for _, blip := range root.All("a:blip") {
			r := rels[blip.Attr("r:embed")]
			if r.External {
				out.Paragraph(md.Image("", path.Base(r.Target)))
			} else if name := b.pictures.add(r.Target, number); name != "" {
				out.Paragraph(md.Image("", name))
			}
		}
	}
	return out.String()
}

// sorted returns the relations of a type in the order of their ids.
func sorted(relations map[string]pack.Relation, kind string) []pack.Relation {
	var ids []string
	for id, r := range relations {
		if r.Type == kind && !r.External {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	all := make([]pack.Relation, len(ids))
	for i, id := range ids {
		all[i] = relations[id]
	}
	return all
}
