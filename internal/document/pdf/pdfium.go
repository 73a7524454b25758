package pdf

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

const (
	wasmPages   = 4096 // of 64 KB: 256 MB
	scratchSize = 64 << 10

	errorFile     = 2 // codes of FPDF_GetLastError
	errorPassword = 4
)

// A pdfium reads a file with PDFium. It calls the module directly: the functions of go-pdfium
// take three times as long, since they allocate memory for each character.
type pdfium struct {
	machine  *machine
	own      bool // the machine is closed with the file
	module   api.Module
	data     io.ReaderAt
	funcs    map[string]api.Function
	images   map[int][]picture // of the pages that have been read
	stack    [8]uint64
	scratch  uint32 // memory of the module for results
	doc      uint64
	form     uint64 // the environment of forms; 0 until a field is read
	password bool
	maxRuns  int   // of a page
	failed   error // of a call; all later calls do nothing
	out      []byte
}

// openPDFium opens a file. The error is document.ErrNotPrepared if PDFium has to be compiled.
func openPDFium(ctx context.Context, src document.Source) (*pdfium, error) {
	if src.Prepared == "" {
		return nil, document.Errorf(document.ErrNotPrepared, "PDFium is not compiled")
	}
	m, err := newMachine(ctx, src.Prepared, wasmPages)
	if err != nil {
		return nil, err
	}
	p, err := m.start(ctx, src)
	if err != nil {
		m.close()
		return nil, err
	}
	p.own = true
	return p, nil
}

// start opens a file.
func (m *machine) start(ctx context.Context, src document.Source) (*pdfium, error) {
	if src.Size > math.MaxInt32 {
		return nil, document.Errorf(document.ErrTooBig, "the file is larger than 2 GB")
	}
	module, err := m.runtime.InstantiateModule(ctx, m.module, wazero.NewModuleConfig().WithStartFunctions("_initialize").WithName(""))
	if err != nil {
		return nil, err
	}
	p := &pdfium{
		machine: m, module: module, data: src.Data,
		funcs: map[string]api.Function{}, images: map[int][]picture{}, password: src.Password != "", maxRuns: maxRuns,
	}
	m.open.Store(module, p)
	if err := p.load(ctx, src); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pdfium) load(ctx context.Context, src document.Source) error {
	p.call(ctx, "FPDF_InitLibrary")
	p.scratch = uint32(p.call(ctx, "malloc", scratchSize))
	access := p.call(ctx, "FPDF_FILEACCESS_Create", uint64(src.Size), uint64(p.scratch))
	p.doc = p.call(ctx, "FPDF_LoadCustomDocument", access, p.text(src.Password))
	if err := p.failure(ctx); err != nil {
		return err
	}
	if p.doc == 0 {
		if p.call(ctx, "FPDF_GetLastError") == errorPassword {
			return errPassword(p.password)
		}
		return errBroken()
	}
	return nil
}

func (p *pdfium) close() {
	p.machine.open.Delete(p.module)
	_ = p.module.Close(context.Background())
	if p.own {
		p.machine.close()
	}
}

// call calls a function of PDFium. After a failure it returns 0; failure returns the error.
// A context that can end costs a goroutine in each call, so short calls get none.
func (p *pdfium) call(ctx context.Context, name string, args ...uint64) uint64 {
	if p.failed != nil {
		return 0
	}
	f := p.funcs[name]
	if f == nil {
		if f = p.module.ExportedFunction(name); f == nil {
			p.failed = fmt.Errorf("PDFium has no %s", name)
			return 0
		}
		p.funcs[name] = f
	}
	stack := p.stack[:max(len(args), 1)]
	copy(stack, args)
	if err := f.CallWithStack(ctx, stack); err != nil {
		p.failed = err
		return 0
	}
	return stack[0]
}

// quick calls a function that returns at once.
func (p *pdfium) quick(name string, args ...uint64) uint64 {
	return p.call(context.Background(), name, args...)
}

// failure returns the error of a call before.
func (p *pdfium) failure(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.failed != nil:
		return document.Errorf(document.ErrBroken, "the file is damaged, or it needs more than 256 MB of memory")
	}
	return nil
}

// text writes a string into the scratch memory, where it stays until the next result.
func (p *pdfium) text(s string) uint64 {
	if len(s) >= scratchSize-1024 {
		s = s[:scratchSize-1024]
	}
	at := p.scratch + 1024
	if s == "" || !p.module.Memory().Write(at, append([]byte(s), 0)) {
		return 0
	}
	return uint64(at)
}

func (p *pdfium) float(at int) float64 {
	f, _ := p.module.Memory().ReadFloat32Le(p.scratch + uint32(4*at))
	if math.IsNaN(float64(f)) || math.Abs(float64(f)) > 1e7 {
		return 0
	}
	return float64(f)
}

func (p *pdfium) double(at int) float64 {
	f, _ := p.module.Memory().ReadFloat64Le(p.scratch + uint32(4*at))
	if math.IsNaN(f) || math.Abs(f) > 1e7 {
		return 0
	}
	return f
}

func (p *pdfium) int(at int) uint64 {
	n, _ := p.module.Memory().ReadUint32Le(p.scratch + uint32(4*at))
	return uint64(n)
}

// bytes returns n bytes of the scratch memory.
func (p *pdfium) bytes(n uint64) []byte {
	b, _ := p.module.Memory().Read(p.scratch, uint32(min(n, scratchSize)))
	return bytes.Clone(b)
}

// at is the place of a result in the scratch memory, counted in words of 4 bytes.
func (p *pdfium) at(word int) uint64 { return uint64(p.scratch) + uint64(4*word) }

// info returns the title and the number of pages.
func (p *pdfium) info(ctx context.Context) (string, int, error) {
	pages := int(int32(p.call(ctx, "FPDF_GetPageCount", p.doc)))
	key := p.text("Title")
	raw := make([]byte, 0)
	if n := p.call(ctx, "FPDF_GetMetaText", p.doc, key, 0, 0); n > 2 && n < scratchSize/2 {
		p.call(ctx, "FPDF_GetMetaText", p.doc, p.text("Title"), p.at(scratchSize/8), n)
		b, _ := p.module.Memory().Read(p.scratch+scratchSize/2, uint32(n-2))
		raw = bytes.Clone(b)
	}
	if err := p.failure(ctx); err != nil {
		return "", 0, err
	}
	if pages < 1 {
		return "", 0, errBroken()
	}
	return strings.TrimSpace(decodeUTF16(raw)), pages, nil
}

// A view converts coordinates of a page to coordinates of its picture: turned, y downwards.
type view struct {
	turn                     uint64 // quarters, clockwise
	left, top, right, bottom float64
}

func (v view) rect(left, top, right, bottom float64) (x, y, w, h float64) {
	if left > right {
		left, right = right, left
	}
	if bottom > top {
		bottom, top = top, bottom
	}
	switch v.turn {
	case 1:
		return bottom - v.bottom, left - v.left, top - bottom, right - left
	case 2:
		return v.right - right, bottom - v.bottom, right - left, top - bottom
	case 3:
		return v.top - top, v.right - right, top - bottom, right - left
	}
	return left - v.left, v.top - top, right - left, top - bottom
}

// pages calls visit for all pages from first to last, in order. It returns an error of visit.
func (p *pdfium) pages(ctx context.Context, first, last int, visit func(page) error) error {
	for n := first; n <= last; n++ {
		one := page{number: n}
		if handle := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(n-1)); handle != 0 {
			v := p.viewOf(handle)
			links := p.links(handle, v)
			fields, drawn := p.fields(handle, v)
			if drawn {
				// The content of annotations becomes text of the page.
				p.call(ctx, "FPDFPage_Flatten", handle, 0)
				p.quick("FPDF_ClosePage", handle)
				handle = p.call(ctx, "FPDF_LoadPage", p.doc, uint64(n-1))
			}
			p.read(ctx, handle, v, links, &one)
			addFields(&one, fields)
			p.listImages(handle, n)
			p.quick("FPDF_ClosePage", handle)
		}
		if err := p.failure(ctx); err != nil {
			return err
		}
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}

// viewOf returns the view of a page.
func (p *pdfium) viewOf(handle uint64) view {
	p.quick("FPDF_GetPageBoundingBox", handle, p.at(0))
	return view{p.quick("FPDFPage_GetRotation", handle) & 3, p.float(0), p.float(1), p.float(2), p.float(3)}
}

// A link is the place of a link on a page.
type link struct {
	x, y, w, h float64
	href       string
}

// A textObject is a text object of a page.
type textObject struct {
	font
	tag   *tag
	tight bool // its font has no height, so that boxes are the boxes of the shapes
}

// read reads the text of a page.
func (p *pdfium) read(ctx context.Context, handle uint64, v view, links []link, to *page) {
	to.w = float64(api.DecodeF32(p.quick("FPDF_GetPageWidthF", handle)))
	to.h = float64(api.DecodeF32(p.quick("FPDF_GetPageHeightF", handle)))
	text := p.quick("FPDFText_LoadPage", handle)
	if text == 0 {
		return
	}
	defer p.quick("FPDFText_ClosePage", text)
	tags := p.tagsOf(ctx, handle)
	all := collectors{page: to, links: links}
	objects := map[uint64]textObject{}
	count := int(int32(p.quick("FPDFText_CountChars", text)))
	known, unknown := 0, 0
	for i := 0; i < count && p.failed == nil; i++ {
		if i%2048 == 0 && ctx.Err() != nil {
			return
		}
		if all.count() >= p.maxRuns {
			to.cut = true
			break
		}
		r := rune(p.quick("FPDFText_GetUnicode", text, uint64(i)))
		if unicode.IsSpace(r) {
			all.last.space = all.last.space || p.quick("FPDFText_IsGenerated", text, uint64(i)) == 0
			continue
		}
		if r == 0 || p.quick("FPDFText_GetLooseCharBox", text, uint64(i), p.at(0)) == 0 {
			continue
		}
		x, y, w, h := v.rect(p.float(0), p.float(1), p.float(2), p.float(3))
		handle := p.quick("FPDFText_GetTextObject", text, uint64(i))
		object, ok := objects[handle]
		if !ok {
			object.font = p.font(text, i, handle, v)
			object.tight = object.turn == 0 && v.turn == 0 && p.isTight(text, i, h)
			if tags != nil && handle != 0 {
				object.tag = tags[int(int32(p.quick("FPDFPageObj_GetMarkedContentID", handle)))]
			}
			objects[handle] = object
		}
		if p.quick("FPDFText_HasUnicodeMapError", text, uint64(i)) == 1 || unicode.Is(unicode.Co, r) {
			unknown++
		} else {
			known++
		}
		if object.tight && p.quick("FPDFText_GetCharOrigin", text, uint64(i), p.at(0), p.at(2)) != 0 {
			_, base, _, _ := v.rect(p.double(0), p.double(2), p.double(0), p.double(2))
			y, h = base-0.85*object.size, 1.1*object.size
		}
		all.add(r, x, y, w, h, object)
	}
	all.finish()
	to.nameless = unknown > 2*fewWords && unknown > 2*known
}

// A font is the font of a text object.
type font struct {
	size       float64
	bold, mono bool
	turn       int // quarters that the text is turned by, against the clock; slanted for others
}

const (
	quarters = 4
	slanted  = 4
)

// isTight reports whether the box of a character of the given height is the box of its shape.
// Fonts without a height have such boxes, and a line of them is not even. It examines upright
// text only.
func (p *pdfium) isTight(text uint64, char int, height float64) bool {
	if p.quick("FPDFText_GetCharBox", text, uint64(char), p.at(0), p.at(2), p.at(4), p.at(6)) == 0 {
		return false
	}
	return math.Abs(p.double(6)-p.double(4)-height) < 0.01
}

// font returns the font of a text object, with its size on the page.
func (p *pdfium) font(text uint64, char int, object uint64, v view) font {
	var f font
	size := api.DecodeF64(p.quick("FPDFText_GetFontSize", text, uint64(char)))
	if p.quick("FPDFText_GetMatrix", text, uint64(char), p.at(0)) != 0 {
		size *= math.Hypot(p.float(2), p.float(3))
		angle := math.Atan2(p.float(1), p.float(0)) / (math.Pi / 2)
		f.turn = (int(math.Round(angle)) - int(v.turn) + 2*quarters) % quarters
		if math.Abs(angle-math.Round(angle)) > 0.1 {
			f.turn = slanted
		}
	}
	if size > 0 && size < 10_000 {
		f.size = math.Round(size*4) / 4
	}
	if handle := p.quick("FPDFTextObj_GetFont", object); handle != 0 {
		n := p.quick("FPDFFont_GetBaseFontName", handle, p.at(0), scratchSize)
		f.bold, f.mono = fontStyle(string(bytes.TrimRight(p.bytes(n), "\x00")))
	}
	return f
}

func (p *pdfium) links(handle uint64, v view) []link {
	var all []link
	p.module.Memory().WriteUint32Le(p.scratch, 0)
	for len(all) < 5000 && p.quick("FPDFLink_Enumerate", handle, p.at(0), p.at(1)) != 0 {
		next, found := p.int(0), p.int(1)
		if p.quick("FPDFLink_GetAnnotRect", found, p.at(0)) != 0 {
			x, y, w, h := v.rect(p.float(0), p.float(1), p.float(2), p.float(3))
			if action := p.quick("FPDFLink_GetAction", found); action != 0 {
				n := p.quick("FPDFAction_GetURIPath", p.doc, action, p.at(0), scratchSize)
				if n > 1 && n <= scratchSize {
					if href := outside(string(p.bytes(n - 1))); href != "" {
						all = append(all, link{x, y, w, h, href})
					}
				}
			}
		}
		p.module.Memory().WriteUint32Le(p.scratch, uint32(next))
	}
	return all
}

// outside returns a link if it leads out of the file.
func outside(href string) string {
	for _, scheme := range []string{"http:", "https:", "mailto:", "ftp:"} {
		if len(href) > len(scheme) && strings.EqualFold(href[:len(scheme)], scheme) {
			return href
		}
	}
	return ""
}

// fontStyle derives from the name of a font whether it is bold and monospaced.
func fontStyle(name string) (bold, mono bool) {
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	name = strings.ToLower(name)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	bold = has("bold", "black", "heavy", "semibold", "demi", "cmbx", "sfbx", "cmssbx") ||
		strings.HasSuffix(name, "-medi") || strings.HasSuffix(name, "-bd")
	mono = has("mono", "courier", "consol", "typewriter", "cmtt", "cmsltt", "sftt", "ectt", "menlo", "inconsolata",
		"nimbusmon", "lettergothic", "beramono", "source code", "sourcecode", "txtt")
	return bold, mono
}
