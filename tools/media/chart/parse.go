package chart

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Parse reads the data of a chart of a kind. It is CSV with a line of names and a label
// at the begin of each other line, or JSON in one of the forms that models write:
//
//	{"labels": ["Jan"], "series": [{"name": "Sales", "values": [1]}]}
//	[{"month": "Jan", "Sales": 1}]
//	{"Jan": 1}
//
// The columns of a scatter chart are x, then a y for each series.
func Parse(kind Kind, data string) (Chart, error) {
	c := Chart{Kind: kind}
	data = strings.TrimSpace(strings.TrimPrefix(data, "\ufeff"))
	if data == "" {
		return c, errors.New("there is no data")
	}
	var t table
	var err error
	if data[0] == '{' || data[0] == '[' {
		t, err = readJSON([]byte(data))
	} else {
		t, err = readCSV(data)
	}
	if err != nil {
		return c, err
	}
	t.into(&c)
	return c, c.check()
}

// A table is data before the meaning of its columns is known.
type table struct {
	names []string   // of the columns
	rows  [][]string // as long as names, or shorter
}

// readCSV reads CSV with any of the usual separators.
func readCSV(data string) (t table, err error) {
	first, _, _ := strings.Cut(data, "\n")
	separator, most := ',', 0
	for _, c := range ",;\t|" {
		if n := strings.Count(first, string(c)); n > most {
			separator, most = c, n
		}
	}
	r := csv.NewReader(strings.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace, r.LazyQuotes = separator, -1, true, true
	rows, err := r.ReadAll()
	if err != nil {
		return t, fmt.Errorf("the data is not CSV: %w", err)
	}
	if separator != ',' {
		pointDecimals(rows)
	}
	if len(rows) == 0 {
		return t, errors.New("there is no data")
	}
	if headless(rows[0]) {
		rows = append([][]string{make([]string, len(rows[0]))}, rows...)
	}
	return table{rows[0], rows[1:]}, nil
}

// decimalComma is a number with a decimal comma, as 1.234,5. One such as 1,234 may have a
// comma between thousands instead.
var decimalComma = text.Pattern(`^[-+]?(\d+|\d{1,3}([. \x{a0}\x{202f}]\d{3})+),\d+$`)

// pointDecimals writes the numbers with a point where the data has decimal commas: at least one
// number can be nothing else, and no number has a decimal point.
func pointDecimals(rows [][]string) {
	bare := func(cell string) string { return strings.TrimFunc(cell, isUnit) }
	sure := false
	for _, row := range rows {
		for _, cell := range row {
			cell = bare(cell)
			switch _, err := strconv.ParseFloat(cell, 64); {
			case decimalComma().MatchString(cell):
				_, thousand := number(cell)
				sure = sure || !thousand
			case err == nil && strings.Contains(cell, "."):
				if whole, rest, _ := strings.Cut(cell, "."); len(rest) != 3 || len(strings.Trim(whole, "+-")) > 3 {
					return
				}
			}
		}
	}
	if !sure {
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			cell = bare(cell)
			whole, rest, _ := strings.Cut(cell, ",")
			grouped := strings.TrimLeft(whole, "+-")
			if !decimalComma().MatchString(cell) && (rest != "" || !decimalComma().MatchString(grouped+",0")) {
				continue
			}
			row[i] = strings.NewReplacer(".", "", " ", "", "\u00a0", "", "\u202f", "").Replace(whole)
			if rest != "" {
				row[i] += "." + rest
			}
		}
	}
}

// headless reports whether the first line of CSV has values instead of names. Years that
// follow each other are names.
func headless(first []string) bool {
	values, years := 0, 0
	last := 0.0
	for i, cell := range first {
		value, ok := number(cell)
		if !ok || i == 0 && len(first) > 1 {
			continue
		}
		values++
		if value >= 1900 && value <= 2100 && (years == 0 || value == last+1) {
			years++
		}
		last = value
	}
	return values > 0 && (years < 2 || years < len(first)-1)
}

// readJSON reads the forms of JSON.
func readJSON(data []byte) (t table, err error) {
	var form struct {
		Labels   []any
		X        []any
		Series   []jsonSeries
		Datasets []jsonSeries
		Data     json.RawMessage
	}
	if data[0] == '{' && json.Unmarshal(data, &form) == nil {
		all := append(form.Series, form.Datasets...)
		switch {
		case len(all) > 0:
			return fromSeries(append(form.Labels, form.X...), all), nil
		case len(form.Data) > 0 && (form.Data[0] == '{' || form.Data[0] == '['):
			return readJSON(form.Data)
		}
	}
	if data[0] == '[' {
		return readRows(data)
	}
	names, values, err := object(data)
	t.names = []string{"", ""}
	for i, name := range names {
		t.rows = append(t.rows, []string{name, values[i]})
	}
	return t, err
}

// A jsonSeries is a series in JSON, with the names that libraries for charts use.
type jsonSeries struct {
	Name, Label          string
	Values, Data, Points []any
	X                    []any
	Y                    []any
}

// fromSeries makes a table of series, whose values may be pairs of x and y.
func fromSeries(labels []any, all []jsonSeries) table {
	t := table{names: []string{""}}
	row := func(i int) {
		for len(t.rows) <= i {
			t.rows = append(t.rows, make([]string, 1+len(all)))
		}
	}
	for i, label := range labels {
		row(i)
		t.rows[i][0] = plain(label)
	}
	next := len(labels)
	for k, s := range all {
		t.names = append(t.names, s.Name+s.Label)
		for i, v := range append(append(append(s.Values, s.Data...), s.Points...), s.Y...) {
			x, y, pair := pairOf(v)
			switch {
			case i < len(s.X):
				x, y, pair = plain(s.X[i]), plain(v), true
			case !pair:
				y = plain(v)
			}
			at := i
			if pair { // each pair has its own x, so it is a row of its own
				at = next
				next++
			}
			row(at)
			if pair {
				t.rows[at][0] = x
			}
			t.rows[at][1+k] = y
		}
	}
	return t
}

// pairOf returns the parts of [x, y] and {"x": x, "y": y}.
func pairOf(v any) (x, y string, ok bool) {
	switch v := v.(type) {
	case []any:
		if len(v) == 2 {
			return plain(v[0]), plain(v[1]), true
		}
	case map[string]any:
		return plain(v["x"]), plain(v["y"]), v["x"] != nil && v["y"] != nil
	}
	return "", "", false
}

// readRows reads a list of numbers, of lists or of objects.
func readRows(data []byte) (t table, err error) {
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		return t, fmt.Errorf("the data is not JSON: %w", err)
	}
	columns := map[string]int{}
	for i, row := range rows {
		switch row[0] {
		case '{':
			names, values, err := object(row)
			if err != nil {
				return t, err
			}
			for _, name := range names {
				if _, known := columns[name]; !known {
					columns[name] = len(t.names)
					t.names = append(t.names, name)
				}
			}
			cells := make([]string, len(t.names))
			for j, name := range names {
				cells[columns[name]] = values[j]
			}
			t.rows = append(t.rows, cells)
		case '[':
			var cells []any
			if err := json.Unmarshal(row, &cells); err != nil {
				return t, err
			}
			line := make([]string, len(cells))
			for j, cell := range cells {
				line[j] = plain(cell)
			}
			if i == 0 && !headless(line) {
				t.names = line
				continue
			}
			for len(t.names) < len(line) {
				t.names = append(t.names, "")
			}
			t.rows = append(t.rows, line)
		default:
			t.names = []string{"", ""}
			t.rows = append(t.rows, []string{strconv.Itoa(i + 1), string(row)})
		}
	}
	return t, nil
}

// object returns the members of an object in their order.
func object(data []byte) (names, values []string, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("the data is not JSON: %w", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("the data is not JSON: %w", err)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, nil, fmt.Errorf("the data is not JSON: %w", err)
		}
		text, _ := name.(string)
		names, values = append(names, text), append(values, plain(value))
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("the data is not JSON: %w", err)
	}
	return names, values, nil
}

// plain returns a JSON value as text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// into makes labels and series of the columns.
func (t table) into(c *Chart) {
	width := len(t.names)
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	if width == 0 {
		return
	}
	cell := func(row []string, i int) string {
		if i < len(row) {
			return row[i]
		}
		return ""
	}
	from := 1
	if width == 1 { // values without labels
		from = 0
	}
	for _, row := range t.rows {
		if from == 1 {
			c.Labels = append(c.Labels, cell(row, 0))
		}
	}
	for i := from; i < width; i++ {
		s := Series{Name: strings.TrimSpace(cell(t.names, i))}
		for j, row := range t.rows {
			y, ok := number(cell(row, i))
			if !ok {
				y = math.NaN()
			}
			if c.Kind != Scatter {
				s.Values = append(s.Values, y)
				continue
			}
			x, ok := float64(j+1), true
			if from == 1 {
				x, ok = number(cell(row, 0))
			}
			if ok && !math.IsNaN(y) {
				s.X, s.Values = append(s.X, x), append(s.Values, y)
			}
		}
		c.Series = append(c.Series, s)
	}
	if c.Kind == Scatter {
		c.Labels = nil
	}
	if c.XTitle == "" && from == 1 && c.Kind != Pie {
		c.XTitle = strings.TrimSpace(t.names[0])
	}
}

// isUnit reports whether a character stands around numbers: a space, a currency or a percent
// sign.
func isUnit(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Sc, r) || r == '%' }

// number reads a number as people write it: with separators of thousands, a currency or a
// percent sign.
func number(text string) (float64, bool) {
	text = strings.TrimFunc(text, isUnit)
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, !math.IsNaN(v)
	}
	groups := strings.Split(text, ",")
	for i, group := range groups[1:] {
		digits, _, _ := strings.Cut(group, ".")
		if len(digits) != 3 || i+2 < len(groups) && len(group) != 3 {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(strings.Join(groups, ""), 64)
	return v, err == nil && !math.IsNaN(v)
}
