// Package epub reads books in the format EPUB 2 and 3: its chapters in the order of the
// spine, with the titles of its table of contents. Package page converts the chapters. It
// fetches nothing, and books with copy protection are refused. Begin with Read.
package epub

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// book is a book that is being read.
type book struct {
	p      *pack.Package
	src    document.Source
	root   *pack.Node // the package document
	dir    string     // of the package document
	items  map[string]item
	titles map[string]string // by part
}

type item struct{ part, kind, properties string }

// Read reads a book.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	b, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	doc := &document.Document{Title: b.metadata("dc:title"), Unit: "chapter"}
	left, isCut := src.Limits.Text, false
	for _, ref := range b.root.Child("opf:spine").Children("opf:itemref") {
		chapter := b.items[ref.Attr("idref")]
		if !b.p.Has(chapter.part) || !strings.Contains(chapter.kind, "html") || hasWord(chapter.properties, "nav") {
			continue
		}
		doc.Total++
		if !src.Pages.Has(doc.Total) || len(doc.Parts) >= src.Limits.Parts || left <= 0 {
			continue
		}
		part, cut, err := b.chapter(ctx, chapter.part, doc.Total)
		if err != nil {
			return nil, err
		}
		isCut = isCut || cut
		if doc.Total == 1 {
			part.Markdown = b.front(part.Markdown)
		}
		left -= len(part.Markdown)
		doc.Parts = append(doc.Parts, part)
	}
	if isCut || left <= 0 {
		doc.Notes = append(doc.Notes, "The book exceeds the maximum length; parts of it are missing.")
	}
	var note string
	if doc.Pictures, note = b.pictures(); note != "" {
		doc.Notes = append(doc.Notes, note)
	}
	return doc, nil
}

func open(ctx context.Context, src document.Source) (*book, error) {
	p, err := pack.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	container, err := p.Tree("META-INF/container.xml")
	if err != nil {
		return nil, err
	}
	name := pack.Join("", container.Find("container:rootfile").Attr("full-path"))
	root, err := p.Tree(name)
	if err != nil {
		return nil, err
	}
	b := &book{p: p, src: src, root: root, dir: path.Dir(name), items: map[string]item{}, titles: map[string]string{}}
	for _, n := range root.Child("opf:manifest").Children("opf:item") {
		b.items[n.Attr("id")] = item{b.resolve(b.dir, n.Attr("href")), n.Attr("media-type"), n.Attr("properties")}
	}
	if b.isProtected() {
		return nil, document.Errorf(document.ErrPassword, "the book has copy protection, so its text cannot be read")
	}
	b.readTitles()
	return b, nil
}

// resolve returns the part that an address in a part of directory dir means.
func (b *book) resolve(dir, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return pack.Join(dir, href)
}

// isProtected reports whether chapters are encrypted. Encrypted fonts do not count: they are
// common.
func (b *book) isProtected() bool {
	if !b.p.Has("META-INF/encryption.xml") {
		return false
	}
	root, err := b.p.Tree("META-INF/encryption.xml")
	if err != nil {
		return false
	}
	for _, n := range root.All("?:CipherReference") {
		part := b.resolve("", n.Attr("URI"))
		for _, item := range b.items {
			if item.part == part && strings.Contains(item.kind, "html") {
				return true
			}
		}
	}
	return false
}

// readTitles reads the table of contents: of EPUB 3, else of EPUB 2.
func (b *book) readTitles() {
	add := func(dir, href, title string) {
		part := b.resolve(dir, href)
		if title = md.OneLine(title); title != "" && b.titles[part] == "" {
			b.titles[part] = title
		}
	}
	for _, item := range b.items {
		if !hasWord(item.properties, "nav") {
			continue
		}
		root, err := b.p.Tree(item.part)
		if err != nil {
			continue
		}
		for _, nav := range root.All("html:nav") {
			if kind := nav.Attr("epub:type"); kind == "toc" || kind == "" {
				for _, a := range nav.All("html:a") {
					add(path.Dir(item.part), a.Attr("href"), a.Content())
				}
			}
		}
	}
	if len(b.titles) > 0 {
		return
	}
	ncx := b.items[b.root.Child("opf:spine").Attr("toc")].part
	if !b.p.Has(ncx) {
		return
	}
	if root, err := b.p.Tree(ncx); err == nil {
		for _, point := range root.All("ncx:navPoint") {
			add(path.Dir(ncx), point.Child("ncx:content").Attr("src"), point.Child("ncx:navLabel").Content())
		}
	}
}

func hasWord(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }

func (b *book) metadata(name string) string {
	return md.OneLine(b.root.Child("opf:metadata").Find(name).Content())
}

// front puts the facts about the book before the first chapter.
func (b *book) front(text string) string {
	var lines []string
	for _, one := range []struct{ label, name string }{
		{"Author", "dc:creator"}, {"Publisher", "dc:publisher"}, {"Date", "dc:date"}, {"Language", "dc:language"},
	} {
		if value := b.metadata(one.name); value != "" {
			lines = append(lines, one.label+": "+md.Sentence(value))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n") + "\n\n" + text)
}

// inside is a host that cannot exist: addresses within the book are resolved against it.
const inside = "http://book.invalid/"

func (b *book) chapter(ctx context.Context, part string, number int) (document.Part, bool, error) {
	body, err := b.p.Read(part)
	if err != nil {
		return document.Part{}, false, err
	}
	address, err := url.Parse(inside + (&url.URL{Path: part}).EscapedPath())
	if err != nil {
		return document.Part{}, false, err
	}
	converted, err := page.Read(ctx, body, page.Options{
		URL: address, Whole: true, ContentType: "application/xhtml+xml",
	})
	if err != nil {
		return document.Part{}, false, err
	}
	name := b.titles[part]
	if name == "" {
		name = md.OneLine(converted.Title)
	}
	text := strings.ReplaceAll(converted.Text, inside, "")
	return document.Part{Number: number, Name: name, Markdown: text}, converted.Cut, nil
}

// pictures returns the pictures of the book, named after their parts.
func (b *book) pictures() (all []document.Picture, note string) {
	const maxPictures = 2000
	var total int64
	for _, n := range b.root.Child("opf:manifest").Children("opf:item") {
		item := b.items[n.Attr("id")]
		if !strings.HasPrefix(item.kind, "image/") || !b.p.Has(item.part) || len(all) >= maxPictures {
			continue
		}
		one := document.Picture{Name: item.part, Type: item.kind, Size: b.p.Size(item.part)}
		if b.src.Pictures {
			if total += one.Size; total > b.src.Limits.Pictures {
				note = "Some pictures are missing, because all together are too large."
			} else if data, err := b.p.Read(item.part); err == nil {
				one.Data = data
			}
		}
		all = append(all, one)
	}
	return all, note
}
