package write

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

const (
	maxChanged    = 10_000  // cells of one call
	maxCalculated = 5_000   // formulas of a workbook that are calculated
	maxComputed   = 8 << 20 // bytes of a workbook with them
	calculating   = 10 * time.Second
	valuesLater   = "the values of formulas appear when a spreadsheet program opens the file"
)

// edit changes cells of a workbook, and appends rows to its sheets.
func edit(ctx context.Context, s Source) (*document.Written, error) {
	in, err := s.open(ctx, "xlsx")
	if err != nil {
		return nil, err
	}
	f, err := excelize.OpenReader(bytes.NewReader(in.content), excelize.Options{UnzipSizeLimit: maxInput, UnzipXMLSizeLimit: maxPart})
	if err != nil {
		return nil, broken("the workbook cannot be read: %v", err)
	}
	defer f.Close()
	e := &editor{ctx: ctx, f: f, ends: map[string]int{}}
	if kinds := in.foreign(); len(kinds) > 0 {
		e.notes = append(e.notes, "the workbook has links to other files or programs ("+strings.Join(kinds, ", ")+
			"); they were kept as they are, and not followed")
	}
	first := f.GetSheetName(f.GetActiveSheetIndex())
	if err := e.values(s.Values, first); err != nil {
		return nil, err
	}
	if s.Rows != "" {
		e.rowReader = rowReader{first: first, sheet: e.append}
		if err := e.read(s.Rows); err != nil {
			return nil, err
		}
	}
	if e.changed == 0 {
		return nil, broken(`nothing is to be changed; send cells in "values", such as {"B2":5}, or "rows" to append`)
	}
	if err := f.UpdateLinkedValue(); err != nil { // what formulas had before may be wrong now
		return nil, broken("the workbook cannot be read: %v", err)
	}
	if err := f.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: new(true)}); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := f.Write(&out); err != nil {
		return nil, broken("the workbook cannot be written: %v", err)
	}
	if note := stopped(out.Bytes(), e.ends); note != "" {
		e.notes = append(e.notes, note)
	}
	content, notes := calculated(ctx, out.Bytes())
	return &document.Written{Content: content, Notes: append(e.notes, notes...)}, nil
}

// editor changes a workbook.
type editor struct {
	rowReader
	ctx     context.Context
	f       *excelize.File
	notes   []string
	changed int
	ends    map[string]int // the last rows of sheets before rows were appended
}

// values changes the cells that an object names: B2, or Sheet!B2.
func (e *editor) values(raw json.RawMessage, first string) error {
	var cells map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &cells); err != nil {
			return broken(`the values of a workbook are an object, such as {"B2":5,"Sheet2!C3":{"formula":"=A1*2"}}`)
		}
	}
	if len(cells) > maxChanged {
		return document.Errorf(document.ErrTooBig, "one call changes at most %d cells; make several calls", maxChanged)
	}
	for name, raw := range cells {
		sheet, ref := first, strings.TrimSpace(name)
		if i := strings.LastIndexByte(name, '!'); i >= 0 {
			sheet, ref = strings.Trim(name[:i], "' "), strings.TrimSpace(name[i+1:])
		}
		sheet, known := e.sheetOf(sheet)
		if !known {
			return broken("the workbook has no sheet %.60q; its sheets are %.300q", sheet, e.f.GetSheetList())
		}
		ref = strings.ToUpper(strings.ReplaceAll(ref, "$", ""))
		if _, _, err := excelize.CellNameToCoordinates(ref); err != nil {
			return broken("%.60q is no cell; name cells as B2 or Sheet!B2", name)
		}
		c, err := cellOf(raw)
		if err != nil {
			return notJSON(err)
		}
		if err := e.set(sheet, ref, c); err != nil {
			return err
		}
	}
	return nil
}

// sheetOf returns the name of a sheet as the workbook writes it.
func (e *editor) sheetOf(name string) (string, bool) {
	for _, known := range e.f.GetSheetList() {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return name, false
}

// set changes a cell. Its format stays, unless the cell has another one.
func (e *editor) set(sheet, ref string, c cell) error {
	if e.changed++; e.changed%1000 == 0 && e.ctx.Err() != nil {
		return e.ctx.Err()
	}
	format := c.Format
	var err error
	switch v := c.Value.(type) {
	case nil:
		if err = e.f.SetCellValue(sheet, ref, nil); err == nil && c.Formula != "" {
			if err := checkFormula(ref, c.Formula); err != nil {
				return err
			}
			err = e.f.SetCellFormula(sheet, ref, strings.TrimPrefix(c.Formula, "="))
		}
	case bool:
		err = e.f.SetCellBool(sheet, ref, v)
	case json.Number:
		var number float64
		if number, err = v.Float64(); err != nil {
			return broken("cell %s: the number %.40q is too large", ref, v)
		}
		err = e.f.SetCellFloat(sheet, ref, number, -1, 64)
	case string:
		if utf8.RuneCountInString(v) > maxCell {
			return document.Errorf(document.ErrTooBig, "cell %s has more than %d characters", ref, maxCell)
		}
		number, dated := serial(v)
		if dated == 0 {
			err = e.f.SetCellStr(sheet, ref, readable(v))
			break
		}
		days, _ := strconv.ParseFloat(number, 64) // serial has written it
		if err = e.f.SetCellFloat(sheet, ref, days, -1, 64); err == nil && format == "" && e.isGeneral(sheet, ref) {
			format = dateFormats[dated-dateStyle]
		}
	default:
		return errNoValue(ref)
	}
	if err == nil && format != "" {
		err = e.format(sheet, ref, format)
	}
	if err != nil {
		return broken("cell %s of %.40q cannot be changed: %v", ref, sheet, err)
	}
	return nil
}

func (e *editor) isGeneral(sheet, ref string) bool {
	id, err := e.f.GetCellStyle(sheet, ref)
	if err != nil {
		return false
	}
	style, err := e.f.GetStyle(id)
	return err == nil && style.NumFmt == 0 && style.CustomNumFmt == nil
}

// format gives a cell a number format. Its fonts, colours and borders stay.
func (e *editor) format(sheet, ref, code string) error {
	if len(code) > 255 {
		return broken("a format has at most 255 characters")
	}
	id, err := e.f.GetCellStyle(sheet, ref)
	if err != nil {
		return err
	}
	style, err := e.f.GetStyle(id)
	if err != nil {
		return err
	}
	style.NumFmt, style.CustomNumFmt = 0, &code
	if id, err = e.f.NewStyle(style); err != nil {
		return err
	}
	return e.f.SetCellStyle(sheet, ref, ref, id)
}

// append adds rows below the last row of a sheet that has values, with the formats of that row. A sheet that does not
// exist is made. The keys of rows that are objects are the names in the first row.
func (e *editor) append(name string, rows func(add func([]cell, bool) error) error) error {
	name, known := e.sheetOf(name)
	if !known {
		if _, err := e.f.NewSheet(name); err != nil {
			return broken("the sheet %.60q cannot be made: %v", name, err)
		}
	}
	last, head, err := e.lastRow(name)
	if err != nil {
		return err
	}
	at := last
	if last > 0 {
		e.keys = head
	}
	err = rows(func(cells []cell, _ bool) error {
		if at++; at > maxRows || len(cells) > maxColumns {
			return document.Errorf(document.ErrTooBig, "a sheet has at most %d rows of %d cells", maxRows, maxColumns)
		}
		if e.changed > maxChanged*10 {
			return document.Errorf(document.ErrTooBig, "one call appends at most %d cells; make several calls", maxChanged*10)
		}
		for i, c := range cells {
			ref := column(i) + strconv.Itoa(at)
			if last > 1 {
				id, err := e.f.GetCellStyle(name, column(i)+strconv.Itoa(last))
				if err == nil && id != 0 {
					err = e.f.SetCellStyle(name, ref, ref, id)
				}
				if err != nil {
					return broken("row %d cannot be written: %v", at, err)
				}
			}
			if err := e.set(name, ref, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && last > 0 && at > last {
		e.ends[name] = last
		err = e.grow(name, last, at)
	}
	return err
}

// lastRow returns the number of the last row with a value or a formula, and the texts of the first row.
func (e *editor) lastRow(sheet string) (last int, head []string, err error) {
	rows, err := e.f.Rows(sheet)
	if err != nil {
		return 0, nil, broken("the sheet %.60q cannot be read: %v", sheet, err)
	}
	defer rows.Close()
	for n := 1; rows.Next(); n++ {
		values, err := rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return 0, nil, broken("the sheet %.60q cannot be read: %v", sheet, err)
		}
		if n == 1 {
			head = values
		}
		if slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
			last = n
		}
	}
	return last, head, rows.Error()
}

// calculated returns the workbook with the values of its formulas, as far as excelize can calculate them, and a note
// about the others. What takes too long is left to the program that opens the workbook.
func calculated(ctx context.Context, content []byte) ([]byte, []string) {
	if len(content) > maxComputed {
		return content, []string{valuesLater}
	}
	type result struct {
		content []byte
		left    int
		err     error
	}
	ctx, cancel := context.WithTimeout(ctx, calculating)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if cause := recover(); cause != nil {
				r.err = fmt.Errorf("calculating: %v", cause)
			}
			done <- r
		}()
		r.content, r.left, r.err = calculate(ctx, content)
	}()
	select {
	case r := <-done:
		if r.err == nil && r.left == 0 {
			return r.content, nil
		}
		if r.err == nil {
			return r.content, []string{fmt.Sprintf("the values of %d formulas appear when a spreadsheet program opens the file", r.left)}
		}
	case <-ctx.Done():
	}
	return content, []string{valuesLater}
}

// calculate sets the values of all formulas. left is the number of formulas without a value.
func calculate(ctx context.Context, content []byte) (_ []byte, left int, err error) {
	f, err := excelize.OpenReader(bytes.NewReader(content), excelize.Options{UnzipSizeLimit: maxInput, UnzipXMLSizeLimit: maxPart})
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	type formula struct {
		cell  reflect.Value
		value string
	}
	var found []formula
	for _, sheet := range f.GetSheetList() {
		for _, cell := range formulasOf(f, sheet) {
			if len(found) == maxCalculated || ctx.Err() != nil {
				left++
				continue
			}
			value, err := f.CalcCellValue(sheet, cell.FieldByName("R").String(), excelize.Options{RawCellValue: true})
			if err != nil && !strings.HasPrefix(value, "#") || len(value) > maxCell {
				left++
				continue
			}
			found = append(found, formula{cell, value})
		}
	}
	for _, one := range found { // a cell that has a value is not calculated again, so all are set at the end
		one.cell.FieldByName("T").SetString(typeOf(one.value))
		value := one.value
		if value == "TRUE" || value == "FALSE" {
			value = map[string]string{"TRUE": "1", "FALSE": "0"}[value]
		}
		one.cell.FieldByName("V").SetString(value)
	}
	var out bytes.Buffer
	err = f.Write(&out)
	return out.Bytes(), left, cmp.Or(err, ctx.Err())
}

// formulasOf returns the cells of a sheet that have formulas, as values of the types of excelize, which has no function
// that sets the value of a formula.
func formulasOf(f *excelize.File, sheet string) (cells []reflect.Value) {
	before := map[any]bool{}
	f.Sheet.Range(func(part, _ any) bool { before[part] = true; return true })
	if _, err := f.GetCellFormula(sheet, "A1"); err != nil { // it loads the sheet
		return nil
	}
	f.Sheet.Range(func(part, loaded any) bool {
		if before[part] {
			return true
		}
		rows := reflect.ValueOf(loaded).Elem().FieldByName("SheetData").FieldByName("Row")
		for i := range rows.Len() {
			row := rows.Index(i).FieldByName("C")
			for j := range row.Len() {
				if cell := row.Index(j); !cell.FieldByName("F").IsNil() {
					cells = append(cells, cell)
				}
			}
		}
		return true
	})
	return cells
}

// typeOf returns the type of a value that a formula has.
func typeOf(value string) string {
	switch _, err := strconv.ParseFloat(value, 64); {
	case value == "TRUE", value == "FALSE":
		return "b"
	case err == nil && !strings.ContainsAny(value, "xXpPnN_"):
		return "" // a number
	case strings.HasPrefix(value, "#") && (strings.HasSuffix(value, "!") || strings.HasSuffix(value, "?") || value == "#N/A"):
		return "e"
	}
	return "str"
}
