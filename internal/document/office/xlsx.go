package office

import (
	"context"
	"errors"
	"slices"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// XLSX reads the sheets of a workbook of Excel: values as they are shown, not formulas.
func XLSX(ctx context.Context, src document.Source) (*document.Document, error) {
	src, err := decrypt(src)
	if err != nil {
		return nil, err
	}
	p, err := pack.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	main := mainPart(p)
	root, err := p.Tree(orElse(main, "xl/workbook.xml"))
	if err != nil {
		return nil, err
	}
	f, err := openBook(src)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := &workbook{ctx: ctx, p: p, f: f, pictures: newPictures(p, src), left: src.Limits.Text}
	doc := &document.Document{Title: titleOf(p), Unit: "sheet"}
	rels := p.Relations(main)
	for _, n := range root.Child("x:sheets").Children("x:sheet") {
		doc.Total++
		if !src.Pages.Has(doc.Total) || len(doc.Parts) >= src.Limits.Parts || b.left <= 0 {
			continue
		}
		name := n.Attr("name")
		text, err := b.sheet(name, rels[n.Attr("r:id")].Target, n.Attr("state"), doc.Total)
		if err != nil {
			return nil, err
		}
		doc.Parts = append(doc.Parts, document.Part{Number: doc.Total, Name: md.OneLine(name), Markdown: text})
	}
	if doc.Total == 0 {
		return nil, document.Errorf(document.ErrBroken, "the workbook is damaged: it has no sheets")
	}
	doc.Pictures, doc.Notes = b.pictures.list, b.pictures.notes()
	if b.left <= 0 {
		doc.Notes = append(doc.Notes, cut)
	}
	return doc, nil
}

// openBook opens the workbook with the library, which panics on some damaged files.
func openBook(src document.Source) (f *excelize.File, err error) {
	defer func() {
		if recover() != nil {
			err = document.Errorf(document.ErrBroken, "the workbook is damaged")
		}
	}()
	// Sheets and lists of strings over 2 MB go to temporary files of the library, if there is
	// a place for them: a third of the memory for a fifth more time.
	limits := excelize.Options{UnzipSizeLimit: src.Limits.Total, UnzipXMLSizeLimit: 2 << 20}
	f, err = excelize.OpenReader(src.Reader(), limits)
	if err != nil {
		return nil, document.Errorf(document.ErrBroken, "the workbook is damaged, or not a workbook of Excel")
	}
	return f, nil
}

// workbook is a workbook that is being read.
type workbook struct {
	ctx      context.Context
	p        *pack.Package
	f        *excelize.File
	pictures *pictures
	left     int // bytes of text that may still be written
}

func (b *workbook) sheet(name, target, state string, number int) (text string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = document.Errorf(document.ErrBroken, "the workbook is damaged: sheet %d cannot be read", number)
		}
	}()
	s := &sheet{out: &md.Writer{Limit: b.left}}
	if state == "hidden" || state == "veryHidden" {
		s.out.Paragraph("*This sheet is hidden.*")
	}
	if err := b.rows(name, s); err != nil {
		return "", err
	}
	if comments, err := b.f.GetComments(name); err == nil {
		for _, c := range comments {
			words := c.Text
			for _, run := range c.Paragraph {
				words += run.Text
			}
			s.notes = append(s.notes, comment(c.Cell, c.Author, words))
		}
	}
	text = s.end()
	drawn := b.drawings(target, number)
	if drawn != "" && text != "" {
		text += "\n\n"
	}
	text += drawn
	if b.left -= len(text); s.out.Full {
		b.left = 0
	}
	return text, nil
}

func comment(cell, author, text string) string {
	if author != "" {
		author = " by " + md.Sentence(author)
	}
	return "Comment on " + cell + author + ": " + md.Sentence(text)
}

func (b *workbook) rows(name string, s *sheet) error {
	rows, err := b.f.Rows(name)
	if missing := new(excelize.ErrSheetNotExist); errors.As(err, missing) || err != nil {
		return nil // a sheet of charts, or of a kind that has no cells
	}
	defer rows.Close()
	for n := 0; rows.Next() && !s.out.Full; n++ {
		if n%256 == 0 && b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		cells, err := rows.Columns()
		if err != nil {
			return document.Errorf(document.ErrBroken, "the workbook is damaged: row %d of a sheet cannot be read", n+1)
		}
		s.row(cells)
	}
	return b.ctx.Err()
}

// drawings returns the charts of a sheet as tables, and its pictures.
func (b *workbook) drawings(target string, number int) string {
	var out md.Writer
	sheet := b.p.Relations(target)
	for _, drawing := range sorted(sheet, "drawing") {
		rels := b.p.Relations(drawing.Target)
		for _, r := range sorted(rels, "chart") {
			out.Paragraph(chart(b.p, r.Target))
		}
		root := tree(b.p, drawing.Target)
		for _, blip := range orEmpty(root).All("a:blip") {
			r := rels[blip.Attr("r:embed")]
			if name := b.pictures.add(r.Target, number); name != "" {
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
