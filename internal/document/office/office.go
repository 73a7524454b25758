// Package office reads the documents of office programs: docx, pptx and xlsx, odt, odp and ods.
// It knows their XML, and writes the view of a person on paper or screen as Markdown, with
// formulas, footnotes, comments, charts as tables and descriptions of pictures. Text that was
// deleted or is hidden is left out. It fetches nothing: a picture that is not in the file is
// only mentioned. Begin with DOCX; pack has the zip files and their XML.
//
// github.com/xuri/excelize v2.11.1 shows other numbers than Excel: 0.5 as [>=100]"big";"small" is
// "big", 0 as 0;-0;"none" is 0, 1.005 as 0.00 is 1.00, and ##0.0E+0 has no effect. For 200,000 rows with
// shared strings it takes 1.4 times our processor time and 138 MB instead of 73, and its package variables
// take 3 to 8 ms of each start. Its parser of codes, github.com/xuri/nfp, takes digits in quotes for places.
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

// open opens the package of a document of Office, with the password if it has one.
func open(ctx context.Context, src document.Source) (*pack.Package, error) {
	src, err := decrypt(ctx, src)
	if err != nil {
		return nil, err
	}
	return pack.Open(ctx, src)
}

// Encrypted reads a docx, pptx or xlsx with a password, whichever it is.
func Encrypted(ctx context.Context, src document.Source) (*document.Document, error) {
	src, err := decrypt(ctx, src)
	if err != nil {
		return nil, err
	}
	p, err := pack.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	switch main := mainPart(p); {
	case strings.HasPrefix(main, "ppt/"):
		return PPTX(ctx, src)
	case strings.HasPrefix(main, "xl/"):
		return XLSX(ctx, src)
	}
	return DOCX(ctx, src)
}

// mainPart returns the name of the part that a document of Office begins with.
func mainPart(p *pack.Package) string {
	if main := pack.Target(p.Relations(""), "officeDocument"); main != "" && p.Has(main) {
		return main
	}
	for _, name := range []string{"word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"} {
		if p.Has(name) {
			return name
		}
	}
	return ""
}

// tree returns the root of a part, nil if it is missing or damaged.
func tree(p *pack.Package, name string) *pack.Node {
	if name == "" || !p.Has(name) {
		return nil
	}
	root, err := p.Tree(name)
	if err != nil {
		return nil
	}
	return root
}

// titleOf returns the title in the properties of a document of Office.
func titleOf(p *pack.Package) string {
	root := tree(p, pack.Target(p.Relations(""), "core-properties"))
	return md.OneLine(root.Child("dc:title").Content())
}

// pictures collects the pictures of a document.
type pictures struct {
	pack  *pack.Package
	src   document.Source
	list  []document.Picture
	names map[string]string // by part
	used  map[string]bool
	bytes int64
	full  bool
}

func newPictures(p *pack.Package, src document.Source) *pictures {
	return &pictures{pack: p, src: src, names: map[string]string{}, used: map[string]bool{}}
}

// maxPictures limits the pictures that are listed.
const maxPictures = 2000

// add returns the name of the picture in a part, or "" if there is no such part.
func (p *pictures) add(part string, page int) string {
	if name, ok := p.names[part]; ok {
		return name
	}
	if part == "" || !p.pack.Has(part) || len(p.list) >= maxPictures {
		return ""
	}
	name := md.OneLine(path.Base(part))
	for n := 2; p.used[name]; n++ {
		name = strings.TrimSuffix(path.Base(part), path.Ext(part)) + "-" + strconv.Itoa(n) + path.Ext(part)
	}
	one := document.Picture{
		Name: name, Type: cmp.Or(pictureTypes[strings.ToLower(path.Ext(name))], "application/octet-stream"),
		Size: p.pack.Size(part), Page: page,
	}
	if p.src.Pictures {
		if p.bytes += one.Size; p.bytes > p.src.Limits.Pictures {
			p.full = true
		} else if data, err := p.pack.Read(part); err == nil {
			one.Data = data
		}
	}
	p.names[part], p.used[name] = name, true
	p.list = append(p.list, one)
	return name
}

// notes returns the remarks about the pictures.
func (p *pictures) notes() []string {
	if !p.full {
		return nil
	}
	return []string{"Some pictures are missing: all together have over " +
		strconv.FormatInt(p.src.Limits.Pictures>>20, 10) + " MB."}
}

// pictureTypes are the types of pictures by their extensions.
var pictureTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".jpe": "image/jpeg", ".jfif": "image/jpeg",
	".gif": "image/gif", ".svg": "image/svg+xml", ".tif": "image/tiff", ".tiff": "image/tiff", ".bmp": "image/bmp",
	".dib": "image/bmp", ".webp": "image/webp", ".emf": "image/emf", ".wmf": "image/wmf",
}

// choice returns the content of an mc:AlternateContent that a current program would show.
func choice(n *pack.Node) *pack.Node {
	if c := n.Child("mc:Choice"); c != nil {
		return c
	}
	return n.Child("mc:Fallback")
}

// outermost returns the descendants with a name that are not within another such, and of
// alternatives only the first.
func outermost(n *pack.Node, name string) []*pack.Node {
	var found []*pack.Node
	if n == nil {
		return nil
	}
	for _, kid := range n.Kids {
		switch kid.Name {
		case name:
			found = append(found, kid)
		case "mc:AlternateContent":
			found = append(found, outermost(choice(kid), name)...)
		default:
			found = append(found, outermost(kid, name)...)
		}
	}
	return found
}

// single returns a document without parts.
func single(title, text string) *document.Document {
	return &document.Document{Title: title, Total: 1, Parts: []document.Part{{Number: 1, Markdown: text}}}
}

// isOn reports whether a switch such as w:b is on: it is there and not set to off.
func isOn(n *pack.Node, attr string) bool {
	switch n.Attr(attr) {
	case "0", "false", "off", "none":
		return false
	}
	return n != nil
}

func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}
