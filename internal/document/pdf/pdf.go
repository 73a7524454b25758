// Package pdf reads PDF files. It knows how to get text with its positions from PDFium, how to
// find headings, columns, tables and lists in it, and how to read scans with tesseract. It does
// not know the other formats. Begin with Read.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

const (
	maxPages      = 200_000    // of a file; a file with more is an attack on its reader
	maxRuns       = 200_000    // of a page
	maxTotalRuns  = 4_000_000  // of all wanted pages
	maxOCRPages   = 10         // of a call
	fragments     = 8          // pictures of a page; of more, small ones are parts of a drawing and not named
	fewWords      = 20         // a page with fewer may be a scan
	minPicture    = 32         // pixels of the shorter side; smaller ones are ornaments
	maxPicture    = 50_000_000 // pixels of one picture
	maxPixels     = 12_000_000 // of a drawn page
	pageDPI       = 110        // of pages for the eyes of a model
	ocrDPI        = 200
	pointsPerInch = 72
)

// A run is a piece of text in one font. Lengths are in points; y grows downwards.
type run struct {
	x, y, w, h float64
	size       float64 // of the font
	bold, mono bool
	rtl        bool // it is written from right to left; the text is in the order of reading
	against    bool // it is written against the direction of its page
	href       string
	text       string
	tag        *tag      // nil for text without one
	block      *tagBlock // that stands here; nil for text
}

// A page is the content of a page, as PDFium finds it.
type page struct {
	number   int
	w, h     float64
	runs     []run
	turned   []page // text that is drawn sideways, as pages of their own that are upright
	cut      bool   // there was more text than maxRuns
	nameless bool   // most characters are only shapes: the fonts do not tell their meaning
}

// A picture is one within a page.
type picture struct {
	page, index int // from 1
	w, h        int // pixels
	share       float64
	size        int64 // of the stored picture; 0 if unknown
	jpeg        bool
	object      string // the same for a picture that is drawn again
}

func (p picture) name() string {
	if p.jpeg {
		return fmt.Sprintf("page-%d-%d.jpg", p.page, p.index)
	}
	return fmt.Sprintf("page-%d-%d.png", p.page, p.index)
}

// Read reads a PDF file. It is a document.Reader.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	e, err := openPDFium(ctx, src)
	if err != nil {
		return nil, err
	}
	defer e.close()
	return read(ctx, e, src)
}

// A reading is a file that is being read.
type reading struct {
	*pdfium
	src  document.Source
	doc  *document.Document
	left int64 // bytes that all pictures may still have
}

func read(ctx context.Context, e *pdfium, src document.Source) (*document.Document, error) {
	title, total, err := e.info(ctx)
	if err != nil {
		return nil, err
	}
	if total > maxPages {
		return nil, document.Errorf(document.ErrTooBig, "the file says that it has %d pages; the max is %d", total,
			maxPages)
	}
	r := reading{
		pdfium: e, src: src, left: src.Limits.Pictures,
		doc: &document.Document{Title: title, Unit: "page", Total: total},
	}
	pages, err := r.wantedPages(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.convert(ctx, pages); err != nil {
		return nil, err
	}
	return r.doc, nil
}

func (r *reading) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.doc.Notes, n) {
		r.doc.Notes = append(r.doc.Notes, n)
	}
}

// spans returns the wanted pages as ranges within the document, in order.
func (r *reading) spans() []document.Range {
	var all []document.Range
	for n, count := 1, 0; n <= r.src.Pages.Last(r.doc.Total); n++ {
		if !r.src.Pages.Has(n) {
			continue
		}
		if count++; count > r.src.Limits.Parts {
			r.note("Only %d pages were read; ask for the others by their numbers.", r.src.Limits.Parts)
			break
		}
		if k := len(all) - 1; k >= 0 && all[k].Last == n-1 {
			all[k].Last = n
		} else {
			all = append(all, document.Range{First: n, Last: n})
		}
	}
	return all
}

var errEnough = errors.New("enough")

// wantedPages reads the text of the wanted pages.
func (r *reading) wantedPages(ctx context.Context) ([]page, error) {
	var all []page
	runs, text := 0, 0
	for _, s := range r.spans() {
		err := r.pages(ctx, s.First, s.Last, func(p page) error {
			for _, one := range p.runs {
				text += len(one.text)
			}
			if runs += len(p.runs); runs > maxTotalRuns || text > r.src.Limits.Text {
				r.note("There is too much text; page %d and those after it were not read. "+
					"Ask for them by their numbers.", p.number)
				return errEnough
			}
			if p.cut {
				r.note("Page %d has too much text; only its beginning was read.", p.number)
			}
			all = append(all, p)
			return nil
		})
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// convert adds the parts and the pictures.
func (r *reading) convert(ctx context.Context, pages []page) error {
	pictures := r.picturesOf(pages)
	ocr := &ocr{}
	for i, text := range layOut(pages) {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := pages[i]
		part := document.Part{Number: p.number, Markdown: text}
		scan := isScan(p, pictures[p.number])
		if r.src.OCR == document.OCROn || scan && r.src.OCR != document.OCROff {
			if err := r.recognize(ctx, ocr, &part); err != nil {
				return err
			}
		}
		if scan || r.src.Pictures {
			if err := r.addPage(ctx, p.number); err != nil {
				return err
			}
		}
		if scan {
			part.Markdown = joinBlocks(part.Markdown, "![](page-"+strconv.Itoa(p.number)+".png)")
		}
		for _, pic := range pictures[p.number] {
			if scan && pic.share > 0.5 {
				continue // the page itself
			}
			if err := r.addPicture(ctx, pic); err != nil {
				return err
			}
			if len(pictures[p.number]) <= fragments || pic.share > 0.02 {
				part.Markdown = joinBlocks(part.Markdown, "![]("+pic.name()+")")
			}
		}
		r.doc.Parts = append(r.doc.Parts, part)
	}
	if ocr.skipped > 0 {
		r.note("%d more scanned pages have no text; at most %d are recognized in one call, and fewer if "+
			"that takes long. Ask for them by their numbers.", ocr.skipped, maxOCRPages)
	}
	return nil
}

// isScan reports whether the text of a page can only be seen: it is a picture with next to no text, or
// its characters are only shapes.
func isScan(p page, pictures []picture) bool {
	words := 0
	for _, one := range p.runs {
		words += len(strings.Fields(one.text))
	}
	large := func(pic picture) bool { return pic.share > 0.5 }
	if p.nameless {
		return true
	}
	return words < fewWords && slices.ContainsFunc(pictures, large)
}

// picturesOf returns the pictures of each page that are worth a name: large enough, and
// not drawn before.
func (r *reading) picturesOf(pages []page) map[int][]picture {
	all := map[int][]picture{}
	seen := map[string]bool{}
	for first := 0; first < len(pages); {
		last := first
		for last+1 < len(pages) && pages[last+1].number == pages[last].number+1 {
			last++
		}
		for _, p := range r.pictures(pages[first].number, pages[last].number) {
			if at := first + p.page - pages[first].number; at >= first && at <= last && pages[at].w > 0 {
				p.share /= pages[at].w * pages[at].h
			}
			again := p.object != "" && seen[p.object] && p.share <= 0.5
			if seen[p.object] = true; !again && min(p.w, p.h) >= minPicture {
				all[p.page] = append(all[p.page], p)
			}
		}
		first = last + 1
	}
	return all
}

func (r *reading) addPicture(ctx context.Context, p picture) error {
	made := document.Picture{Name: p.name(), Type: "image/png", Size: p.size, Page: p.page}
	if p.jpeg {
		made.Type = "image/jpeg"
	}
	switch {
	case !r.src.Pictures:
	case p.w*p.h > maxPicture || r.left <= 0:
		r.noteTooLarge(p.name())
	default:
		data, err := r.content(ctx, p)
		if err != nil {
			return err
		}
		r.fill(&made, data)
	}
	r.doc.Pictures = append(r.doc.Pictures, made)
	return nil
}

// addPage adds a picture of a whole page.
func (r *reading) addPage(ctx context.Context, number int) error {
	made := document.Picture{Name: fmt.Sprintf("page-%d.png", number), Type: "image/png", Page: number}
	if r.src.Pictures && r.left > 0 {
		data, err := r.draw(ctx, number, pageDPI, false)
		if err != nil {
			return err
		}
		r.fill(&made, data)
	} else if r.src.Pictures {
		r.noteTooLarge(made.Name)
	}
	r.doc.Pictures = append(r.doc.Pictures, made)
	return nil
}

func (r *reading) noteTooLarge(name string) {
	r.note("Picture %s is too large and was left out.", name)
}

func (r *reading) fill(p *document.Picture, data []byte) {
	if r.left -= int64(len(data)); r.left < 0 || len(data) == 0 {
		r.noteTooLarge(p.Name)
		return
	}
	p.Data, p.Size = data, int64(len(data))
}

func errPassword(given bool) error {
	if given {
		return document.Errorf(document.ErrPassword, "the password is wrong")
	}
	return document.Errorf(document.ErrPassword, "the file is encrypted; give its password")
}

func errBroken() error {
	return document.Errorf(document.ErrBroken, "the file is damaged: it has no pages that can be read")
}
