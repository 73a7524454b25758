package write

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// grow lets the tables of a sheet that ended in its last row end in another one, after rows were appended. It adds notes
// about formulas and names that end where the rows ended before: whether they mean the new rows is not known.
func (e *editor) grow(sheet string, before, after int) error {
	tables, err := e.f.GetTables(sheet)
	if err != nil {
		return broken("the tables of the sheet %.60q cannot be read: %v", sheet, err)
	}
	for _, t := range tables {
		first, last, _ := strings.Cut(t.Range, ":")
		col, row, err := excelize.CellNameToCoordinates(last)
		if err != nil || row != before {
			continue
		}
		name := reflect.ValueOf(t).FieldByName("tableXML").String() // excelize has no function that changes the range of a table
		loaded, ok := e.f.Pkg.Load(name)
		part, isPart := loaded.([]byte)
		if !ok || !isPart {
			continue
		}
		if totals().Match(part) {
			e.notes = append(e.notes, fmt.Sprintf("the table %.60q ends with a row of totals, so the new rows are below it and not in it", t.Name))
			continue
		}
		if bytes.Contains(part, []byte("<calculatedColumnFormula")) {
			e.notes = append(e.notes, fmt.Sprintf("the table %.60q has columns with a formula; the new rows have the cells that were sent", t.Name))
		}
		grown := first + ":" + column(col-1) + strconv.Itoa(after)
		e.f.Pkg.Store(name, bytes.ReplaceAll(part, []byte(`ref="`+t.Range+`"`), []byte(`ref="`+grown+`"`)))
		e.notes = append(e.notes, fmt.Sprintf("the table %.60q has the new rows", t.Name))
	}
	return nil
}

// totals finds the row of totals of a table.
var totals = text.Pattern(`\stotalsRowCount="[1-9]`)

// cellRange finds a range of cells in a formula, with the name of its sheet.
var cellRange = text.Pattern(`(?:('[^']+'|[\p{L}\p{N}_.]+)!)?\$?[A-Z]{1,3}\$?(\d{1,7}):\$?[A-Z]{1,3}\$?(\d{1,7})`)

// endsAt reports whether a formula in a sheet has a range of several rows that ends at a row of another one.
func endsAt(formula, in, sheet string, row int) bool {
	for _, m := range cellRange().FindAllStringSubmatch(formula, -1) {
		of := in
		if m[1] != "" {
			of = strings.Trim(m[1], "'")
		}
		if strings.EqualFold(of, sheet) && m[2] != m[3] && m[3] == strconv.Itoa(row) {
			return true
		}
	}
	return false
}

// stopped returns a note about the formulas and names of a workbook that end where the rows of a sheet ended before others
// were appended, "" for none.
func stopped(content []byte, ends map[string]int) string {
	if len(content) > maxComputed || len(ends) == 0 {
		return ""
	}
	f, err := excelize.OpenReader(bytes.NewReader(content), excelize.Options{UnzipSizeLimit: maxInput, UnzipXMLSizeLimit: maxPart})
	if err != nil {
		return ""
	}
	defer f.Close()
	var found []string
	for _, name := range f.GetDefinedName() {
		for sheet, row := range ends {
			if endsAt(name.RefersTo, name.Scope, sheet, row) {
				found = append(found, fmt.Sprintf("the name %.60s", name.Name))
			}
		}
	}
	for _, in := range f.GetSheetList() {
		for _, cell := range formulasOf(f, in) {
			ref, formula := cell.FieldByName("R").String(), cell.FieldByName("F").Elem().FieldByName("Content").String()
			for sheet, row := range ends {
				_, at, _ := excelize.CellNameToCoordinates(ref)
				below := in == sheet && at == row && endsAt(formula, in, sheet, row-1) // such as a sum in the last row
				if below || endsAt(formula, in, sheet, row) {
					found = append(found, in+"!"+ref)
				}
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	more := ""
	if n := len(found) - 10; n > 0 {
		found, more = found[:10], fmt.Sprintf(" and %d more", n)
	}
	return "these end where the rows ended before, and do not have the new rows: " + strings.Join(found, ", ") + more +
		`; to extend a formula send its cell in "values"`
}
