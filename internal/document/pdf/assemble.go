package pdf

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

const (
	maxAssembled = 5_000    // pages of a file that is made
	maxSaved     = 64 << 20 // bytes of it

	fieldCheckbox = 2
	fieldRadio    = 3
	flagReadOnly  = 1

	saveWhole = 2 // FPDF_NO_INCREMENTAL
)

// An Assembly is a PDF file that is made of others.
type Assembly struct {
	Files  [][]byte          // joined in their order
	Pages  string            // that are kept, in their new order: 3,1-2,5@90, which turns page 5 clockwise; empty for all
	Values map[string]string // of the fields of a form, by their names
}

// Assemble fills in forms, and joins, selects and turns pages. A field that is not found is an error that names those of
// the form.
func Assemble(ctx context.Context, src document.Source, a Assembly) (*document.Written, error) {
	if len(a.Files) == 0 {
		return nil, document.Errorf(document.ErrBroken, "no PDF file is named")
	}
	src.Data, src.Size = bytes.NewReader(a.Files[0]), int64(len(a.Files[0]))
	p, err := openPDFium(ctx, src)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.make(ctx, a)
}

// make makes the file; the first one is open.
func (p *pdfium) make(ctx context.Context, a Assembly) (made *document.Written, err error) {
	made = &document.Written{}
	if len(a.Values) > 0 {
		if made.Notes, err = p.fill(ctx, a.Values); err != nil {
			return nil, err
		}
	}
	if len(a.Files) > 1 || strings.TrimSpace(a.Pages) != "" {
		notes, err := p.assemble(ctx, a)
		if err != nil {
			return nil, err
		}
		made.Notes = append(made.Notes, notes...)
	} else if len(a.Values) == 0 {
		return nil, document.Errorf(document.ErrBroken,
			`nothing is to be done with the PDF file; send "pages" such as "1-3,5@90", "values" of its form, or several files in "from"`)
	} else if p.call(ctx, "FPDFDoc_GetJavaScriptActionCount", p.doc) > 0 {
		made.Notes = append(made.Notes, "the form has scripts, which were kept and not run; totals that they calculate may be missing")
	}
	p.call(ctx, "FPDF_SaveAsCopy", p.doc, p.call(ctx, "FPDF_FILEWRITE_Create"), saveWhole)
	if err := p.failure(ctx); err != nil {
		return nil, err
	}
	if len(p.out) >= maxSaved {
		return nil, document.Errorf(document.ErrTooBig, "the file would have more than %d MB", maxSaved>>20)
	}
	made.Content = p.out
	return made, nil
}

// written is the callback with a part of the file that is saved: (writer, data, size) -> 1, or 0 to end it.
func (p *pdfium) written(module api.Module, stack []uint64) {
	data, size := uint32(stack[1]), uint32(stack[2])
	stack[0] = 0
	if part, ok := module.Memory().Read(data, size); ok && len(p.out)+len(part) < maxSaved {
		p.out = append(p.out, part...)
		stack[0] = 1
	}
}

// keep copies bytes into the memory of the module, where they stay.
func (p *pdfium) keep(ctx context.Context, data []byte) uint64 {
	at := p.call(ctx, "malloc", uint64(max(1, len(data))))
	if at != 0 && !p.module.Memory().Write(uint32(at), data) {
		return 0
	}
	return at
}

// wide returns a text as PDFium takes it.
func (p *pdfium) wide(ctx context.Context, text string) uint64 {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return p.keep(ctx, append(b, 0, 0))
}

// A wantedPage is a page of all files, counted from 1, and how far it is turned.
type wantedPage struct{ number, quarters int }

// parsePages reads 3,1-2,5@90.
func parsePages(text string, total int) ([]wantedPage, error) {
	if strings.TrimSpace(text) == "" {
		text = "1-"
	}
	var all []wantedPage
	for part := range strings.SplitSeq(text, ",") {
		span, turn, turned := strings.Cut(strings.TrimSpace(part), "@")
		degrees, err := strconv.Atoi(strings.TrimSpace(turn))
		if !turned {
			degrees, err = 0, nil
		}
		ranges, wrong := document.ParseRanges(span)
		if err != nil || degrees%90 != 0 || wrong != nil || len(ranges) != 1 {
			return nil, document.Errorf(document.ErrBroken, `%.40q names no pages; write for example "3,1-2,5@90", where @90 turns clockwise`, part)
		}
		r := ranges[0]
		if r.First > total || r.Last > total && r.Last != math.MaxInt {
			return nil, document.Errorf(document.ErrBroken, "there is no page %d; there are %d pages", min(max(r.First, total+1), r.Last), total)
		}
		for n := r.First; n <= min(r.Last, total); n++ {
			if all = append(all, wantedPage{n, (degrees/90%4 + 4) % 4}); len(all) > maxAssembled {
				return nil, document.Errorf(document.ErrTooBig, "a file that is made has at most %d pages", maxAssembled)
			}
		}
	}
	return all, nil
}

// assemble replaces the document with one that has the wanted pages of all files and nothing else, so that no page that
// was left out stays in the file.
func (p *pdfium) assemble(ctx context.Context, a Assembly) (notes []string, err error) {
	docs := []uint64{p.doc}
	for i, file := range a.Files[1:] {
		doc := p.call(ctx, "FPDF_LoadMemDocument64", p.keep(ctx, file), uint64(len(file)), 0)
		if err := p.failure(ctx); err != nil {
			return nil, err
		}
		if doc == 0 {
			why := "is damaged"
			if p.call(ctx, "FPDF_GetLastError") == errorPassword {
				why = "has a password"
			}
			return nil, document.Errorf(document.ErrBroken, "file %d of those to join %s", i+2, why)
		}
		docs = append(docs, doc)
	}
	var starts []int
	total := 0
	for _, doc := range docs {
		starts = append(starts, total)
		total += max(0, int(int32(p.call(ctx, "FPDF_GetPageCount", doc))))
		if p.quick("FPDF_GetFormType", doc) != 0 {
			notes = append(notes, "form fields can no longer be filled in; their values are shown")
		}
		if p.quick("FPDFBookmark_GetFirstChild", doc, 0) != 0 {
			notes = append(notes, "bookmarks were left out")
		}
	}
	slices.Sort(notes)
	notes = slices.Compact(notes)
	wanted, err := parsePages(a.Pages, total)
	if err != nil {
		return nil, err
	}
	made := p.call(ctx, "FPDF_CreateNewDocument")
	for i, w := range wanted {
		from := len(docs) - 1
		for starts[from] >= w.number {
			from--
		}
		index := p.keep(ctx, binary.LittleEndian.AppendUint32(nil, uint32(w.number-1-starts[from])))
		ok := p.call(ctx, "FPDF_ImportPagesByIndex", made, docs[from], index, 1, uint64(i))
		p.quick("free", index)
		if ok == 0 && p.failed == nil {
			return nil, document.Errorf(document.ErrBroken, "page %d is damaged", w.number)
		}
		if w.quarters > 0 {
			page := p.call(ctx, "FPDF_LoadPage", made, uint64(i))
			p.quick("FPDFPage_SetRotation", page, (p.quick("FPDFPage_GetRotation", page)+uint64(w.quarters))&3)
			p.quick("FPDF_ClosePage", page)
		}
		if err := p.failure(ctx); err != nil {
			return nil, err
		}
	}
	p.doc = made
	return notes, nil
}

// fill fills in the fields of the form, as a person would who types and clicks.
func (p *pdfium) fill(ctx context.Context, values map[string]string) (notes []string, err error) {
	if p.form = p.call(ctx, "FPDFDOC_InitFormFillEnvironment", p.doc, p.call(ctx, "FPDF_FORMFILLINFO_Create")); p.form == 0 {
		return nil, errBroken()
	}
	if p.quick("FPDF_GetFormType", p.doc) > 1 {
		notes = append(notes, "the form has another form in XFA, which some programs show instead of the fields that were filled in")
	}
	f := filler{pdfium: p, values: values, known: map[string]bool{}, wrong: map[string]string{}}
	pages := int(int32(p.call(ctx, "FPDF_GetPageCount", p.doc)))
	for n := 0; n < min(pages, maxAssembled) && p.failed == nil; n++ {
		page := p.call(ctx, "FPDF_LoadPage", p.doc, uint64(n))
		if page == 0 {
			continue
		}
		p.call(ctx, "FORM_OnAfterLoadPage", page, p.form)
		f.page(ctx, page)
		p.call(ctx, "FORM_ForceToKillFocus", p.form)
		p.call(ctx, "FORM_OnBeforeClosePage", page, p.form)
		p.quick("FPDF_ClosePage", page)
	}
	if err := p.failure(ctx); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !f.known[name] {
			return nil, document.Errorf(document.ErrBroken, "the form has no field %.60q; its fields are %.800q", name, slices.Sorted(maps.Keys(f.known)))
		}
		if why := f.wrong[name]; why != "" {
			return nil, document.Errorf(document.ErrBroken, "the field %.60q %s", name, why)
		}
	}
	return append(notes, f.notes...), nil
}

// A filler fills in one form.
type filler struct {
	*pdfium
	values map[string]string
	known  map[string]bool
	wrong  map[string]string // reasons why a field has not the wanted value
	notes  []string
}

// page fills in the fields of a page.
func (f *filler) page(ctx context.Context, page uint64) {
	count := int(int32(f.quick("FPDFPage_GetAnnotCount", page)))
	for i := 0; i < count && i < maxFields && f.failed == nil; i++ {
		annotation := f.quick("FPDFPage_GetAnnot", page, uint64(i))
		if annotation == 0 {
			continue
		}
		if f.quick("FPDFAnnot_GetSubtype", annotation) == subtypeWidget {
			name := f.utf16("FPDFAnnot_GetFormFieldName", f.form, annotation)
			f.known[name] = f.known[name] || name != ""
			if value, ok := f.values[name]; ok {
				f.field(ctx, page, annotation, name, value)
			}
		}
		f.quick("FPDFPage_CloseAnnot", annotation)
	}
}

func (f *filler) field(ctx context.Context, page, annotation uint64, name, value string) {
	if f.quick("FPDFAnnot_GetFormFieldFlags", f.form, annotation)&flagReadOnly != 0 {
		f.wrong[name] = "is read-only"
		return
	}
	kind := f.quick("FPDFAnnot_GetFormFieldType", f.form, annotation)
	switch kind {
	case fieldText, fieldCombo, fieldList:
		f.call(ctx, "FORM_SetFocusedAnnot", f.form, annotation)
		option, labels := f.option(annotation, value)
		switch {
		case option >= 0:
			f.call(ctx, "FORM_SetIndexSelected", f.form, page, uint64(option), 1)
		case kind == fieldList || kind == fieldCombo && f.quick("FPDFAnnot_GetFormFieldFlags", f.form, annotation)&(1<<18) == 0:
			f.wrong[name] = fmt.Sprintf("has no option %.60q; its options are %.400q", value, labels)
			return
		default:
			text := f.wide(ctx, strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\n", "\r"))
			f.call(ctx, "FORM_SelectAllText", f.form, page)
			f.call(ctx, "FORM_ReplaceSelection", f.form, page, text)
			f.quick("free", text)
		}
		f.call(ctx, "FORM_ForceToKillFocus", f.form)
		got := f.utf16("FPDFAnnot_GetFormFieldValue", f.form, annotation)
		if kind == fieldText && strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(value), " ") {
			f.notes = append(f.notes, fmt.Sprintf("the field %.60q has only %.100q: it is too short, or its font lacks characters", name, got))
		}
	case fieldCheckbox, fieldRadio:
		on := f.utf16("FPDFAnnot_GetFormFieldExportValue", f.form, annotation)
		wanted := value == on || kind == fieldCheckbox && slices.Contains([]string{"true", "yes", "on", "x", "1"}, strings.ToLower(value))
		isOn := f.quick("FPDFAnnot_IsChecked", f.form, annotation) != 0
		if off := slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(value)); !wanted && !off {
			if why, seen := f.wrong[name]; !seen || why != "" {
				f.wrong[name] = fmt.Sprintf("has no option %.60q; one of its options is %.60q", value, on)
			}
		} else {
			f.wrong[name] = ""
		}
		if wanted != isOn && (wanted || kind == fieldCheckbox) && f.quick("FPDFAnnot_GetRect", annotation, f.at(0)) != 0 {
			x, y := api.EncodeF64((f.float(0)+f.float(2))/2), api.EncodeF64((f.float(1)+f.float(3))/2)
			f.call(ctx, "FORM_OnLButtonDown", f.form, page, 0, x, y)
			f.call(ctx, "FORM_OnLButtonUp", f.form, page, 0, x, y)
		}
	default:
		f.wrong[name] = "is a button or a signature, which cannot be filled in here"
	}
}

// option returns the index of an option, or -1, and the labels of all.
func (f *filler) option(annotation uint64, value string) (int, []string) {
	count := int(int32(f.quick("FPDFAnnot_GetOptionCount", f.form, annotation)))
	var labels []string
	for i := 0; i < count && i < maxFields; i++ {
		labels = append(labels, f.utf16("FPDFAnnot_GetOptionLabel", f.form, annotation, uint64(i)))
	}
	return slices.Index(labels, value), labels
}
