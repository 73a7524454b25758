package write

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Limits of Excel.
const (
	maxRows      = 1_048_576
	maxColumns   = 16_384
	maxCell      = 32_767
	maxFormula   = 8_192
	maxSheets    = 100
	maxFormats   = 200
	maxSheetName = 31

	measuredRows = 200 // that decide about the widths of columns
)

const (
	headStyle  = 1
	dateStyle  = 2
	timeStyle  = 3
	firstStyle = 4 // of the formats that cells name
	firstCode  = 164
)

// dateFormats are the formats of dateStyle and timeStyle.
var dateFormats = []string{"yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"}

// A cell is the content of one cell. Text that begins with = is text: only Formula is one.
type cell struct {
	Value   any
	Formula string
	Format  string
}

// XLSX makes a workbook of rows: CSV; JSON rows, which are lists or objects; or JSON sheets by name. If the source has a
// workbook, that is changed instead.
func XLSX(ctx context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	if len(s.From) > 0 {
		return edit(ctx, s)
	}
	b := &book{ctx: ctx, p: newZip()}
	b.rowReader = rowReader{first: "Sheet1", sheet: b.newSheet}
	if err := b.read(s.Rows); err != nil {
		return nil, err
	}
	content, err := b.finish()
	if err == nil && b.computes {
		var notes []string
		content, notes = calculated(ctx, content)
		b.notes = append(b.notes, notes...)
	}
	return &document.Written{Content: content, Notes: b.notes}, err
}

func broken(format string, args ...any) error {
	return document.Errorf(document.ErrBroken, format, args...)
}

// book is a workbook that is being written, one row at a time.
type book struct {
	ctx     context.Context
	p       *zipped
	names   []string
	formats []string
	notes   []string

	rowReader
	out      *bufio.Writer
	widths   []int        // of columns, in characters
	measured func() error // writes the beginning of a sheet; nil after that
	// shields and computes report that there is text like a formula, and that there are formulas.
	shields, computes bool
}

// A rowReader reads rows of CSV or JSON, and passes them to a sheet.
type rowReader struct {
	first string // the name of a sheet without one
	// sheet begins a sheet; rows calls add for each row of it, and says whether the row is the head.
	sheet func(name string, rows func(add func([]cell, bool) error) error) error
	row   int
	keys  []string // of a sheet of objects
}

func (b *rowReader) read(rows string) error {
	rows = strings.TrimSpace(strings.TrimPrefix(rows, "\ufeff"))
	switch {
	case rows == "":
		return broken("there are no rows")
	case rows[0] == '[':
		return b.jsonSheet(b.first, json.NewDecoder(strings.NewReader(rows)))
	case rows[0] == '{':
		return b.jsonSheets(rows)
	}
	return b.csvSheet(rows)
}

// newSheet writes a sheet; rows calls add for each row.
func (b *book) newSheet(name string, rows func(add func([]cell, bool) error) error) error {
	name = strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]:*?/\`, r) || r < ' ' {
			return '_'
		}
		return r
	}, name), "'")
	if utf8.RuneCountInString(name) > maxSheetName {
		name = string([]rune(name)[:maxSheetName])
	}
	same := func(other string) bool { return strings.EqualFold(other, name) }
	switch {
	case name == "":
		return broken("a sheet has no name")
	case slices.ContainsFunc(b.names, same):
		return broken("two sheets are named %.40q", name)
	case len(b.names) >= maxSheets:
		return document.Errorf(document.ErrTooBig, "a workbook has at most %d sheets", maxSheets)
	}
	b.names = append(b.names, name)
	part, err := b.p.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", len(b.names)))
	if err != nil {
		return err
	}
	var first bytes.Buffer // rows, until the widths of the columns are known
	b.out, b.row, b.keys, b.widths = bufio.NewWriter(&first), 0, nil, nil
	begin := func() error {
		if err := b.out.Flush(); err != nil {
			return err
		}
		b.out = bufio.NewWriterSize(part, 64<<10)
		b.begin()
		_, err := b.out.Write(first.Bytes())
		b.measured = nil
		return err
	}
	b.measured = begin
	if err := rows(b.add); err != nil {
		return err
	}
	if b.measured != nil {
		if err := begin(); err != nil {
			return err
		}
	}
	b.out.WriteString(`</sheetData></worksheet>`)
	return b.out.Flush()
}

// begin writes the parts of a sheet before its rows.
func (b *book) begin() {
	b.out.WriteString(xml.Header + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews>` +
		`<sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>` +
		`<sheetFormatPr defaultRowHeight="15" defaultColWidth="14"/>`)
	if len(b.widths) > 0 {
		b.out.WriteString(`<cols>`)
		for i, width := range b.widths {
			fmt.Fprintf(b.out, `<col min="%d" max="%[1]d" width="%d" customWidth="1"/>`, i+1, min(max(width+3, 9), 60))
		}
		b.out.WriteString(`</cols>`)
	}
	b.out.WriteString(`<sheetData>`)
}

// add writes a row.
func (b *book) add(cells []cell, head bool) error {
	if b.row++; b.row > maxRows {
		return document.Errorf(document.ErrTooBig, "a sheet has at most %d rows; split them", maxRows)
	}
	if len(cells) > maxColumns {
		return document.Errorf(document.ErrTooBig, "row %d has more than %d cells", b.row, maxColumns)
	}
	if b.row%1000 == 0 && b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	if b.measured != nil {
		b.measure(cells)
		if b.row > measuredRows {
			if err := b.measured(); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(b.out, `<row r="%d">`, b.row)
	for i, c := range cells {
		if err := b.cell(column(i)+strconv.Itoa(b.row), c, head); err != nil {
			return err
		}
	}
	_, err := b.out.WriteString(`</row>`)
	return err
}

// measure notes how wide the columns have to be.
func (b *book) measure(cells []cell) {
	for i, c := range cells {
		if i == len(b.widths) {
			b.widths = append(b.widths, 0)
		}
		shown := fmt.Sprint(c.Value)
		if c.Formula != "" {
			shown = "1,234,567.89"
		}
		longest := 0
		for l := range strings.SplitSeq(shown, "\n") {
			longest = max(longest, utf8.RuneCountInString(l))
		}
		b.widths[i] = max(b.widths[i], longest)
	}
}

// isDate and isTime recognize dates that are written as in ISO 8601.
var (
	isDate = text.Pattern(`^\d{4}-\d\d-\d\d$`)
	isTime = text.Pattern(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d$`)
)

func (b *book) cell(at string, c cell, head bool) error {
	style := 0
	if head {
		style = headStyle
	}
	if c.Format != "" {
		i := slices.Index(b.formats, c.Format)
		if i < 0 {
			if i = len(b.formats); i >= maxFormats || len(c.Format) > 255 {
				return broken("cell %s: a workbook has at most %d formats of 255 characters", at, maxFormats)
			}
			b.formats = append(b.formats, c.Format)
		}
		style = firstStyle + i
	}
	if c.Formula != "" {
		if err := checkFormula(at, c.Formula); err != nil {
			return err
		}
		b.computes = true
		fmt.Fprintf(b.out, `<c r="%s" s="%d"><f>%s</f></c>`, at, style, escape(strings.TrimPrefix(c.Formula, "=")))
		return nil
	}
	switch v := c.Value.(type) {
	case nil:
	case bool:
		n := 0
		if v {
			n = 1
		}
		fmt.Fprintf(b.out, `<c r="%s" s="%d" t="b"><v>%d</v></c>`, at, style, n)
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return broken("cell %s: the number %.40q is too large", at, v)
		}
		fmt.Fprintf(b.out, `<c r="%s" s="%d"><v>%s</v></c>`, at, style, v)
	case string:
		if utf8.RuneCountInString(v) > maxCell {
			return document.Errorf(document.ErrTooBig, "cell %s has more than %d characters", at, maxCell)
		}
		if n, dated := serial(v); dated != 0 && !head {
			if style == 0 {
				style = dated
			}
			fmt.Fprintf(b.out, `<c r="%s" s="%d"><v>%s</v></c>`, at, style, n)
			return nil
		}
		if v != "" && v[0] == '=' && !b.shields {
			b.shields = true
			b.notes = append(b.notes, `text that begins with = was written as text; for a formula send {"formula":"=SUM(A1:A3)"} as the cell`)
		}
		fmt.Fprintf(b.out, `<c r="%s" s="%d" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>`, at, style, escape(v))
	default:
		return errNoValue(at)
	}
	return nil
}

func errNoValue(at string) error {
	return broken(`cell %s is not a value; send text, a number, true, false, null, {"formula":"=..."} or {"value":...,"format":"0.00"}`, at)
}

// serial returns a date as Excel counts it, and its style; 0 if the text is no date.
func serial(shown string) (number string, style int) {
	layout := time.DateOnly
	switch {
	case isDate().MatchString(shown):
		style = dateStyle
	case isTime().MatchString(shown):
		layout, style = "2006-01-02T15:04:05", timeStyle
		shown = strings.Replace(shown, " ", "T", 1)
	default:
		return "", 0
	}
	t, err := time.Parse(layout, shown)
	first := time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC) // Excel counts a 29 February 1900 before it
	if err != nil || t.Before(first) {
		return "", 0
	}
	seconds := t.Unix() - time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	return strconv.FormatFloat(float64(seconds)/86400, 'f', -1, 64), style
}

// column returns the name of a column, counting from 0.
func column(i int) string {
	name := ""
	for i++; i > 0; i = (i - 1) / 26 {
		name = string(rune('A'+(i-1)%26)) + name
	}
	return name
}

// isNumber recognizes numbers in CSV; 007 is a text.
var isNumber = text.Pattern(`^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$`)

func (b *rowReader) csvSheet(rows string) error {
	line, _, _ := strings.Cut(rows, "\n")
	r := csv.NewReader(strings.NewReader(rows))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	for _, comma := range ";\t" {
		if strings.Count(line, string(comma)) > strings.Count(line, string(r.Comma)) {
			r.Comma = comma
		}
	}
	return b.sheet(b.first, func(add func([]cell, bool) error) error {
		for head := true; ; head = false {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return broken("the rows are not CSV: %v", err)
			}
			cells := make([]cell, len(record))
			for i, field := range record {
				cells[i].Value = field
				if isNumber().MatchString(field) {
					cells[i].Value = json.Number(field)
				}
			}
			if err := add(cells, head); err != nil {
				return err
			}
		}
	})
}

func (b *rowReader) jsonSheets(rows string) error {
	d := json.NewDecoder(strings.NewReader(rows))
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		if err := b.jsonSheet(fmt.Sprint(name), d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return notJSON(err)
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return broken(`the rows are not JSON: %v; send [["name","value"],["a",1]], [{"name":"a"}], or {"SHEET":[...]}`, err)
}

// jsonSheet writes a list of rows.
func (b *rowReader) jsonSheet(name string, d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return notJSON(cmp.Or(err, errors.New("a sheet is a list of rows")))
	}
	err := b.sheet(name, func(add func([]cell, bool) error) error {
		for head := true; d.More(); head = false {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return notJSON(err)
			}
			if raw[0] == '{' {
				if err := b.object(raw, add); err != nil {
					return err
				}
				continue
			}
			var values []json.RawMessage
			if err := json.Unmarshal(raw, &values); err != nil {
				return notJSON(fmt.Errorf("row %d is neither a list nor an object", b.row+1))
			}
			cells := make([]cell, len(values))
			for i, v := range values {
				var err error
				if cells[i], err = cellOf(v); err != nil {
					return notJSON(err)
				}
			}
			if err := add(cells, head); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = d.Token()
	return notJSON(err)
}

// object writes an object as a row; the keys of the first one are the columns.
func (b *rowReader) object(raw json.RawMessage, add func([]cell, bool) error) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return notJSON(err)
	}
	if b.keys == nil {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		_, _ = d.Token()
		var head []cell
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return notJSON(err)
			}
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return notJSON(err)
			}
			b.keys, head = append(b.keys, fmt.Sprint(key)), append(head, cell{Value: key})
		}
		if err := add(head, true); err != nil {
			return err
		}
	}
	cells := make([]cell, len(b.keys))
	for i, key := range b.keys {
		if v, ok := values[key]; ok {
			var err error
			if cells[i], err = cellOf(v); err != nil {
				return notJSON(err)
			}
			delete(values, key)
		}
	}
	if len(values) > 0 {
		for key := range values {
			return broken("row %d has the key %.40q, which the first row lacks; give all rows the same keys", b.row+1, key)
		}
	}
	return add(cells, false)
}

// cellOf returns a cell of JSON.
func cellOf(raw json.RawMessage) (c cell, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if raw[0] == '{' {
		d.DisallowUnknownFields()
		err = d.Decode(&c)
		return c, err
	}
	err = d.Decode(&c.Value)
	return c, err
}

// finish writes the parts of the whole workbook and returns the file.
func (b *book) finish() ([]byte, error) {
	const types = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	var kinds, sheets, codes, styles strings.Builder
	rels := []relation{}
	kinds.WriteString(`<Override PartName="/xl/workbook.xml" ContentType="` + types + `sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="` + types + `styles+xml"/>`)
	for i, name := range b.names {
		n := strconv.Itoa(i + 1)
		kinds.WriteString(`<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="` + types + `worksheet+xml"/>`)
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%s" r:id="rId%s"/>`, escape(name), n, n)
		rels = append(rels, relation{n, office + "/worksheet", "worksheets/sheet" + n + ".xml", false})
	}
	rels = append(rels, relation{strconv.Itoa(len(rels) + 1), office + "/styles", "styles.xml", false})
	for i, code := range append(slices.Clone(dateFormats), b.formats...) {
		fmt.Fprintf(&codes, `<numFmt numFmtId="%d" formatCode="%s"/>`, firstCode+i, escape(code))
		fmt.Fprintf(&styles, `<xf numFmtId="%d" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`, firstCode+i)
	}
	if err := b.p.office("xl/workbook.xml", kinds.String(), "", ""); err != nil {
		return nil, err
	}
	const space = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	for _, part := range [][2]string{
		{"xl/workbook.xml", xml.Header + `<workbook ` + space + ` xmlns:r="` + office + `"><sheets>` + sheets.String() +
			`</sheets><calcPr calcId="0" fullCalcOnLoad="1"/></workbook>`},
		{"xl/_rels/workbook.xml.rels", relations(rels...)},
		{"xl/styles.xml", xml.Header + `<styleSheet ` + space + `><numFmts count="` + strconv.Itoa(2+len(b.formats)) + `">` + codes.String() +
			`</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
			`<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
			`<fill><patternFill patternType="solid"><fgColor rgb="FFE8ECF1"/></patternFill></fill></fills><borders count="1"><border/></borders>` +
			`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="` +
			strconv.Itoa(firstStyle+len(b.formats)) + `"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
			`<xf numFmtId="0" fontId="1" fillId="2" borderId="0" xfId="0" applyFont="1" applyFill="1"/>` + styles.String() + `</cellXfs></styleSheet>`},
	} {
		if err := b.p.add(part[0], part[1]); err != nil {
			return nil, err
		}
	}
	return b.p.bytes()
}
