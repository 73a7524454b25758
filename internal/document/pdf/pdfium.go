package pdf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/pdf/wasm"
)

const (
	wasmPages   = 4096 // of 64 KB: 256 MB
	scratchSize = 64 << 10

	errorFile     = 2 // codes of FPDF_GetLastError
	errorPassword = 4

	objectText, objectImage, objectForm = 1, 3, 5

	bitmapGrey, bitmapBGR, bitmapBGRx, bitmapBGRA = 1, 2, 3, 4

	renderAnnotations, renderGrey = 1, 8

	maxObjects = 20_000 // of a page, that are searched for pictures
	maxForms   = 4      // forms within forms
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

// Prepare fills dir with PDFium in machine code. It takes seconds.
func Prepare(ctx context.Context, dir string) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	defer cache.Close(ctx)
	runtime := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(wasmPages).WithCompilationCache(cache))
	defer runtime.Close(ctx)
	code, err := wasm.Module()
	if err == nil {
		_, err = runtime.CompileModule(ctx, code)
	}
	return err
}

func runtimeConfig(pages uint32) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(pages)
}

// A machine is PDFium in machine code. Each file that it opens has an instance with its own memory.
type machine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	module  wazero.CompiledModule
	open    sync.Map // api.Module -> *pdfium
}

// newMachine loads PDFium that [Prepare] has compiled into dir. An instance has at most pages of 64 KB.
func newMachine(ctx context.Context, dir string, pages uint32) (*machine, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	m := &machine{cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(pages).WithCompilationCache(cache))}
	if err := m.load(ctx); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) load(ctx context.Context) error {
	code, err := wasm.Module()
	if err != nil {
		return err
	}
	if m.module, err = m.runtime.CompileModule(ctx, code); err != nil {
		return err
	}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return err
	}
	env := m.runtime.NewHostModuleBuilder("env")
	exporter, err := emscripten.NewFunctionExporterForModule(m.module)
	if err != nil {
		return err
	}
	exporter.ExportFunctions(env)
	for _, f := range m.module.ImportedFunctions() {
		// Of the callbacks of PDFium only those for files are used.
		_, name, _ := f.Import()
		if !strings.HasSuffix(name, "_CB") {
			continue
		}
		var callback func(*pdfium, api.Module, []uint64)
		switch name {
		case "FPDF_FILEACCESS_CB":
			callback = (*pdfium).block
		case "FPDF_FILEWRITE_CB":
			callback = (*pdfium).written
		}
		env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, module api.Module, stack []uint64) {
			if p, ok := m.open.Load(module); ok && callback != nil {
				callback(p.(*pdfium), module, stack)
			} else if len(stack) > 0 {
				stack[0] = 0
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err = env.Instantiate(ctx)
	return err
}

func (m *machine) close() {
	ctx := context.Background()
	_ = m.runtime.Close(ctx)
	_ = m.cache.Close(ctx)
}

// block hands a part of the file to PDFium: (param, position, buffer, size) -> 1, or 0 for a failure.
func (p *pdfium) block(module api.Module, stack []uint64) {
	position, buffer, size := uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	stack[0] = 0
	memory, ok := module.Memory().Read(buffer, size)
	if !ok {
		return
	}
	if n, _ := p.data.ReadAt(memory, int64(position)); n == len(memory) {
		stack[0] = 1
	}
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

// collectors join characters to runs, separately for each direction of writing.
type collectors struct {
	page  *page
	links []link
	all   [slanted + 1]collector
	last  struct{ space bool } // there was one before the next character
}

func (c *collectors) count() (n int) {
	for i := range c.all {
		n += len(c.all[i].runs)
	}
	return n
}

// add adds a character with its box on the page.
func (c *collectors) add(r rune, x, y, w, h float64, o textObject) {
	o.size = cmp.Or(o.size, h*0.83)
	one := run{x: x, y: y, w: w, h: h, size: o.size, bold: o.bold, mono: o.mono, tag: o.tag, text: string(r)}
	for _, l := range c.links {
		if mx, my := x+w/2, y+h/2; mx > l.x && mx < l.x+l.w && my > l.y && my < l.y+l.h {
			one.href = l.href
			break
		}
	}
	switch o.turn {
	case 1:
		one.x, one.y, one.w, one.h = c.page.h-y-h, x, h, w
	case 2:
		one.x, one.y = c.page.w-x-w, c.page.h-y-h
	case 3:
		one.x, one.y, one.w, one.h = y, c.page.w-x-w, h, w
	}
	to := &c.all[o.turn]
	if o.turn == slanted {
		to.append(one, c.last.space)
	} else {
		to.add(one, r, c.last.space)
	}
	c.last.space = false
}

// finish gives the runs to the page. The direction of most characters is the direction of the
// page.
func (c *collectors) finish() {
	chars := func(i int) (n int) {
		for _, r := range c.all[i].runs {
			n += len(r.text)
		}
		return n
	}
	most := 0
	for i := range c.all {
		c.all[i].flush()
		if i < slanted && chars(i) > chars(most) {
			most = i
		}
	}
	w, h := c.page.w, c.page.h
	if most%2 == 1 {
		c.page.w, c.page.h = h, w
	}
	c.page.runs = c.all[most].runs
	for i := range c.all {
		if i == most || len(c.all[i].runs) == 0 {
			continue
		}
		other := page{number: c.page.number, w: w, h: h, runs: c.all[i].runs}
		if i%2 == 1 {
			other.w, other.h = h, w
		}
		c.page.turned = append(c.page.turned, other)
	}
}

// A collector joins the characters of one direction to runs.
type collector struct {
	runs  []run
	one   run
	chars []run // of one if it is read from the right
	box   run   // of the last character
}

// add adds a character; space reports that there is a space before it. A word that is read from
// the right is a run of its own, with the characters in the order of their places: files have
// them in either order, and PDFium exchanges the characters of a ligature.
func (c *collector) add(next run, r rune, space bool) {
	one := &c.one
	next.rtl = isRTL(r)
	em := next.size
	gap := next.x - (one.x + one.w)
	same := one.text != "" && one.size == next.size && one.bold == next.bold && one.mono == next.mono &&
		one.href == next.href && one.tag == next.tag && math.Abs(next.y+next.h-one.y-one.h) < 0.1*em
	switch neutral := !next.rtl && letters(next.text) == 0; {
	case !same:
	case one.rtl && (next.rtl || neutral):
		same = !space && max(gap, one.x-(next.x+next.w)) < softGap*em
	case next.x == c.box.x && next.w == c.box.w && next.w > 0 && one.rtl == next.rtl:
		gap = 0 // one glyph for several characters
	default:
		same = one.rtl == next.rtl && gap > -0.6*em && gap < softGap*em
	}
	c.box = next
	if !same {
		if space && one.text != "" && !one.rtl && gap <= wordGap*em {
			one.text += " " // greater gaps are seen by their width
		}
		c.flush()
		c.one = next
		if next.rtl {
			c.chars = append(c.chars[:0], next)
			if space {
				c.one.text = " " + next.text
			}
		}
		return
	}
	if one.rtl {
		c.chars = append(c.chars, next)
	} else if space || gap > wordGap*em {
		one.text += " "
	}
	one.text += next.text
	one.cover(next)
}

// ordered returns the characters of a word from the right to the left. A mark follows the letter
// that it stands at.
func ordered(chars []run) string {
	middle := func(r run) float64 { return r.x + r.w/2 }
	isMark := func(r run) bool {
		first, _ := utf8.DecodeRuneInString(r.text)
		return unicode.Is(unicode.Mn, first)
	}
	var letters, marks []run
	for _, r := range chars {
		if isMark(r) {
			marks = append(marks, r)
		} else {
			letters = append(letters, r)
		}
	}
	for i := 1; i < len(letters); i++ { // PDFium exchanges the parts of a ligature
		if a, b := letters[i-1], letters[i]; a.x == b.x && a.w == b.w && strings.Contains("اأإآ", a.text) && b.text == "ل" {
			letters[i-1], letters[i] = b, a
		}
	}
	slices.SortStableFunc(letters, func(a, b run) int { return cmp.Compare(middle(b), middle(a)) })
	for _, m := range marks {
		best := -1
		for i, l := range letters {
			if best < 0 || math.Abs(middle(l)-middle(m)) < math.Abs(middle(letters[best])-middle(m)) {
				best = i
			}
		}
		if best < 0 {
			letters = append(letters, m)
		} else {
			letters[best].text += m.text
		}
	}
	var b strings.Builder
	for _, l := range letters {
		b.WriteString(l.text)
	}
	return b.String()
}

// append adds a character to the only run.
func (c *collector) append(next run, space bool) {
	if c.one.text == "" {
		c.one = next
		return
	}
	if space {
		c.one.text += " "
	}
	c.one.text += next.text
	c.one.cover(next)
}

// cover extends the box of a run.
func (r *run) cover(next run) {
	right, bottom := max(r.x+r.w, next.x+next.w), max(r.y+r.h, next.y+next.h)
	r.x, r.y = min(r.x, next.x), min(r.y, next.y)
	r.w, r.h = right-r.x, bottom-r.y
}

func (c *collector) flush() {
	if c.one.text != "" {
		if c.one.rtl {
			blank := ""
			if strings.HasPrefix(c.one.text, " ") {
				blank = " "
			}
			c.one.text = blank + ordered(c.chars)
		}
		c.runs = append(c.runs, c.one)
	}
	c.one = run{}
}

// isRTL reports whether a character is written from right to left.
func isRTL(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) &&
		!unicode.IsDigit(r)
}

// eachImage calls visit for the picture objects of a loaded page until it returns false.
func (p *pdfium) eachImage(handle uint64, visit func(object uint64, scale float64) bool) {
	left := maxObjects
	var walk func(parent uint64, kind string, scale float64, depth int) bool
	walk = func(parent uint64, kind string, scale float64, depth int) bool {
		count := int(int32(p.quick(kind+"_CountObjects", parent)))
		for i := 0; i < count && left > 0 && p.failed == nil; i++ {
			left--
			object := p.quick(kind+"_GetObject", parent, uint64(i))
			switch p.quick("FPDFPageObj_GetType", object) {
			case objectImage:
				if !visit(object, scale) {
					return false
				}
			case objectForm:
				if depth == maxForms {
					continue
				}
				inner := scale
				if p.quick("FPDFPageObj_GetMatrix", object, p.at(0)) != 0 {
					inner *= math.Abs(p.float(0)*p.float(3) - p.float(1)*p.float(2))
				}
				if !walk(object, "FPDFFormObj", inner, depth+1) {
					return false
				}
			}
		}
		return true
	}
	walk(handle, "FPDFPage", 1, 0)
}

// listImages keeps the result of pictures for a page, so that the page is loaded once.
func (p *pdfium) listImages(handle uint64, number int) {
	var all []picture
	p.eachImage(handle, func(object uint64, scale float64) bool {
		one := picture{page: number, index: len(all) + 1}
		if p.quick("FPDFImageObj_GetImagePixelSize", object, p.at(0), p.at(1)) != 0 {
			one.w, one.h = int(int32(p.int(0))), int(int32(p.int(1)))
		}
		one.size = int64(p.quick("FPDFImageObj_GetImageDataRaw", object, 0, 0))
		one.object = fmt.Sprint(one.w, " ", one.h, " ", one.size)
		one.jpeg = p.isJPEG(object)
		if p.quick("FPDFPageObj_GetBounds", object, p.at(0), p.at(1), p.at(2), p.at(3)) != 0 {
			one.share = (p.float(2) - p.float(0)) * (p.float(3) - p.float(1)) * scale
		}
		all = append(all, one)
		return true
	})
	p.images[number] = all
}

// pictures returns the pictures of pages that have been read.
func (p *pdfium) pictures(first, last int) []picture {
	var all []picture
	for n := first; n <= last; n++ {
		all = append(all, p.images[n]...)
	}
	return all
}

func (p *pdfium) isJPEG(object uint64) bool {
	if p.quick("FPDFImageObj_GetImageFilterCount", object) != 1 {
		return false
	}
	n := p.quick("FPDFImageObj_GetImageFilter", object, 0, p.at(0), scratchSize)
	return string(bytes.TrimRight(p.bytes(n), "\x00")) == "DCTDecode"
}

// content returns the content of a picture as PNG, or as JPEG if it is stored so.
func (p *pdfium) content(ctx context.Context, wanted picture) (out []byte, err error) {
	handle := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(wanted.page-1))
	if handle == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDF_ClosePage", handle)
	index := 0
	p.eachImage(handle, func(object uint64, _ float64) bool {
		if index++; index < wanted.index {
			return true
		}
		if wanted.jpeg {
			n := p.quick("FPDFImageObj_GetImageDataRaw", object, 0, 0)
			buffer := p.quick("malloc", n)
			p.call(ctx, "FPDFImageObj_GetImageDataRaw", object, buffer, n)
			data, _ := p.module.Memory().Read(uint32(buffer), uint32(n))
			out = bytes.Clone(data)
			p.quick("free", buffer)
			return false
		}
		if bitmap := p.call(ctx, "FPDFImageObj_GetBitmap", object); bitmap != 0 {
			out, err = p.encode(bitmap, false)
			p.quick("FPDFBitmap_Destroy", bitmap)
		}
		return false
	})
	return out, errors.Join(err, p.failure(ctx))
}

// draw returns a page as PNG, or, in grey, as PGM: PGM is faster.
func (p *pdfium) draw(ctx context.Context, number int, dpi float64, grey bool) ([]byte, error) {
	handle := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(number-1))
	if handle == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDF_ClosePage", handle)
	w := float64(api.DecodeF32(p.quick("FPDF_GetPageWidthF", handle)))
	h := float64(api.DecodeF32(p.quick("FPDF_GetPageHeightF", handle)))
	dpi = boundDPI(dpi, w, h)
	width, height := uint64(max(1, w*dpi/pointsPerInch)), uint64(max(1, h*dpi/pointsPerInch))
	bitmap := p.call(ctx, "FPDFBitmap_CreateEx", width, height, bitmapBGRx, 0, 0)
	if bitmap == 0 {
		return nil, errors.Join(p.failure(ctx), errBroken())
	}
	defer p.quick("FPDFBitmap_Destroy", bitmap)
	p.quick("FPDFBitmap_FillRect", bitmap, 0, 0, width, height, 0xFFFFFFFF)
	flags := uint64(renderAnnotations)
	if grey {
		flags |= renderGrey
	}
	p.call(ctx, "FPDF_RenderPageBitmap", bitmap, handle, 0, 0, width, height, 0, flags)
	if err := p.failure(ctx); err != nil {
		return nil, err
	}
	return p.encode(bitmap, grey)
}

// encode returns a bitmap as PNG, or as PGM if it is to be grey.
func (p *pdfium) encode(bitmap uint64, grey bool) ([]byte, error) {
	width, height := int(p.quick("FPDFBitmap_GetWidth", bitmap)), int(p.quick("FPDFBitmap_GetHeight", bitmap))
	stride := int(p.quick("FPDFBitmap_GetStride", bitmap))
	format := p.quick("FPDFBitmap_GetFormat", bitmap)
	step := map[uint64]int{bitmapGrey: 1, bitmapBGR: 3, bitmapBGRx: 4, bitmapBGRA: 4}[format]
	data, ok := p.module.Memory().Read(uint32(p.quick("FPDFBitmap_GetBuffer", bitmap)), uint32(stride*height))
	if p.failed != nil || !ok || step == 0 || width*step > stride {
		return nil, errBroken()
	}
	if grey {
		out := fmt.Appendf(make([]byte, 0, width*height+32), "P5 %d %d 255\n", width, height)
		for y := range height {
			for x := range width {
				out = append(out, data[y*stride+x*step])
			}
		}
		return out, nil
	}
	var img image.Image
	if format == bitmapGrey {
		img = &image.Gray{Pix: data, Stride: stride, Rect: image.Rect(0, 0, width, height)}
	} else {
		to := image.NewNRGBA(image.Rect(0, 0, width, height))
		for y := range height {
			for x := range width {
				b := data[y*stride+x*step:]
				c := color.NRGBA{R: b[2], G: b[1], B: b[0], A: 255}
				if format == bitmapBGRA {
					c.A = b[3]
				}
				to.SetNRGBA(x, y, c)
			}
		}
		img = to
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, img); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// boundDPI lowers the resolution for pages that are large.
func boundDPI(dpi, w, h float64) float64 {
	area := w * h / pointsPerInch / pointsPerInch
	if area*dpi*dpi <= maxPixels {
		return dpi
	}
	return math.Sqrt(maxPixels / area)
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
