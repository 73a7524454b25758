package pdf

import "strings"

const (
	maxFields = 2000 // of a page

	subtypeText, subtypeLink, subtypeWidget, subtypePopup = 1, 2, 20, 16

	flagHidden    = 2
	flagPassword  = 1 << 13
	fieldCombo    = 4
	fieldList     = 5
	fieldText     = 6
	emptyUTF16    = 2 // bytes of an empty text
	formTextLimit = 10_000
)

// A field is the value of a field of a form, and where it stands.
type field struct {
	x, y, w, h float64
	text       string
}

// fields returns the values of the fields of a form on a page, and whether annotations of the
// page have a picture of their own.
func (p *pdfium) fields(handle uint64, v view) (all []field, drawn bool) {
	count := int(int32(p.quick("FPDFPage_GetAnnotCount", handle)))
	for i := 0; i < count && i < maxFields && p.failed == nil; i++ {
		annotation := p.quick("FPDFPage_GetAnnot", handle, uint64(i))
		if annotation == 0 {
			continue
		}
		subtype := p.quick("FPDFAnnot_GetSubtype", annotation)
		switch subtype {
		case subtypeText, subtypeLink, subtypePopup:
		default:
			drawn = drawn || p.quick("FPDFAnnot_GetAP", annotation, 0, 0, 0) > emptyUTF16
		}
		if subtype == subtypeWidget {
			if one, ok := p.field(annotation, v); ok {
				all = append(all, one)
			}
		}
		p.quick("FPDFPage_CloseAnnot", annotation)
	}
	return all, drawn
}

// field returns the text of a widget.
func (p *pdfium) field(annotation uint64, v view) (f field, ok bool) {
	if p.form == 0 {
		p.form = p.quick("FPDFDOC_InitFormFillEnvironment", p.doc, p.quick("FPDF_FORMFILLINFO_Create"))
	}
	if p.form == 0 || p.quick("FPDFAnnot_GetFlags", annotation)&flagHidden != 0 {
		return f, false
	}
	switch p.quick("FPDFAnnot_GetFormFieldType", p.form, annotation) {
	case fieldText, fieldCombo, fieldList:
	default:
		return f, false
	}
	if p.quick("FPDFAnnot_GetFormFieldFlags", p.form, annotation)&flagPassword != 0 {
		return f, false
	}
	f.text = p.utf16("FPDFAnnot_GetFormFieldValue", p.form, annotation)
	if strings.TrimSpace(f.text) == "" || len(f.text) > formTextLimit ||
		p.quick("FPDFAnnot_GetRect", annotation, p.at(0)) == 0 {
		return f, false
	}
	f.x, f.y, f.w, f.h = v.rect(p.float(0), p.float(1), p.float(2), p.float(3))
	return f, f.w > 0 && f.h > 0
}

// addFields adds the values of fields to a page where it has no text: many programs leave it to
// the reader to draw them.
func addFields(to *page, fields []field) {
	runs := to.runs
	for _, f := range fields {
		shown := false
		for _, r := range runs {
			x, y := r.x+r.w/2, r.y+r.h/2
			if shown = x > f.x && x < f.x+f.w && y > f.y && y < f.y+f.h; shown {
				break
			}
		}
		if shown {
			continue
		}
		lines := strings.FieldsFunc(f.text, func(r rune) bool { return r == '\r' || r == '\n' })
		step := min(f.h/float64(max(1, len(lines))), 12)
		for i, line := range lines {
			to.runs = append(to.runs, run{x: f.x, y: f.y + step*float64(i), w: f.w, h: step, size: step * 0.8, text: line})
		}
	}
}
