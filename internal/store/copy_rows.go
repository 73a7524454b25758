package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A row of a copy is a line with a JSON array. Equal rows of both engines have
// equal lines: no spaces, the fewest possible escapes, blobs in base64. Values
// that JSON cannot represent are objects: see rawText and specialFloat.

// maxRow is the maximum size of a row in bytes.
const maxRow = 256 << 20

// rawText is a text that is not valid UTF-8, which SQLite allows.
type rawText struct {
	Base64 *string `json:"base64"`
}

// specialFloat is NaN, +Inf or -Inf.
type specialFloat struct {
	Float *string `json:"float"`
}

// appendRow appends a row as a line.
func appendRow(line []byte, columns []Column, values []any) ([]byte, error) {
	line = append(line, '[')
	for i, c := range columns {
		if i > 0 {
			line = append(line, ',')
		}
		var err error
		if line, err = appendValue(line, c.Kind, values[i]); err != nil {
			return nil, fmt.Errorf("the column %s: %w", c.Name, err)
		}
	}
	line = append(line, ']', '\n')
	if len(line) > maxRow {
		return nil, fmt.Errorf("a row has %d bytes, the maximum is %d", len(line), maxRow)
	}
	return line, nil
}

func appendValue(line []byte, kind Kind, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(line, "null"...), nil
	case string:
		if kind == Text && utf8.ValidString(v) {
			return jsontext.AppendQuote(line, v)
		}
		if kind == Text {
			line = append(append(line, `{"base64":"`...), base64.StdEncoding.EncodeToString([]byte(v))...)
			return append(line, `"}`...), nil
		}
	case int64:
		if kind == Int {
			return strconv.AppendInt(line, v, 10), nil
		}
		if kind == Bool && (v == 0 || v == 1) { // SQLite stores booleans as integers
			return strconv.AppendBool(line, v == 1), nil
		}
	case bool:
		if kind == Bool {
			return strconv.AppendBool(line, v), nil
		}
	case float64:
		if kind == Float {
			return appendFloat(line, v), nil
		}
	case []byte:
		if kind == Blob {
			return append(base64.StdEncoding.AppendEncode(append(line, '"'), v), '"'), nil
		}
	}
	return nil, fmt.Errorf("a %T is not a %s", value, kind)
}

func appendFloat(line []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		line = strconv.AppendFloat(append(line, `{"float":"`...), v, 'g', -1, 64)
		return append(line, `"}`...)
	}
	if v == 0 {
		v = 0 // SQLite has no negative zero
	}
	return strconv.AppendFloat(line, v, 'g', -1, 64)
}

// parseRow parses the result of appendRow.
func parseRow(line []byte, columns []Column) ([]any, error) {
	var cells []json.RawMessage
	if err := json.Unmarshal(line, &cells); err != nil {
		return nil, err
	}
	if len(cells) != len(columns) {
		return nil, fmt.Errorf("a row has %d values, the table %d columns", len(cells), len(columns))
	}
	values := make([]any, len(cells))
	for i, cell := range cells {
		var err error
		if values[i], err = parseValue(cell, columns[i].Kind); err != nil {
			return nil, fmt.Errorf("the column %s: %w", columns[i].Name, err)
		}
	}
	return values, nil
}

func parseValue(cell json.RawMessage, kind Kind) (any, error) {
	if bytes.Equal(cell, []byte("null")) {
		return nil, nil
	}
	odd := len(cell) > 0 && cell[0] == '{'
	switch kind {
	case Text:
		if odd {
			return parseOddText(cell)
		}
		return parsed[string](cell)
	case Int:
		return parsed[int64](cell)
	case Bool:
		return parsed[bool](cell)
	case Float:
		if odd {
			return parseOddFloat(cell)
		}
		return parsed[float64](cell)
	case Blob:
		text, err := parsed[string](cell)
		if err != nil {
			return nil, err
		}
		blob, err := base64.StdEncoding.Strict().DecodeString(text.(string))
		if err != nil {
			return nil, err
		}
		return append([]byte{}, blob...), nil // not nil, which is NULL
	}
	return nil, fmt.Errorf("the kind %.40q is unknown", kind)
}

func parsed[T any](cell json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(cell, &v)
	return v, err
}

func parseOddText(cell json.RawMessage) (any, error) {
	var odd rawText
	if err := json.Unmarshal(cell, &odd); err != nil {
		return nil, err
	}
	if odd.Base64 == nil {
		return nil, fmt.Errorf("%.40s is not a text", cell)
	}
	text, err := base64.StdEncoding.Strict().DecodeString(*odd.Base64)
	return string(text), err
}

func parseOddFloat(cell json.RawMessage) (any, error) {
	var odd specialFloat
	if err := json.Unmarshal(cell, &odd); err != nil {
		return nil, err
	}
	if odd.Float == nil {
		return nil, fmt.Errorf("%.40s is not a number", cell)
	}
	return strconv.ParseFloat(*odd.Float, 64)
}

// rows calls each with every row of a table in the order of its key, as values
// and as a line, which is valid until each returns.
func (t *Tx) rows(table Table, each func(line []byte, values []any) error) error {
	key := make([]string, len(table.Key))
	for i, name := range table.Key {
		key[i] = quoted(name)
		if t.store.dialect.name == "postgres" && table.kind(name) == Text {
			key[i] += ` COLLATE "C"` // the order of SQLite
		}
	}
	text := "SELECT " + table.columnList() + " FROM " + quoted(table.Name) + " ORDER BY " + strings.Join(key, ", ")
	values := make([]any, len(table.Columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	var line []byte
	return t.Each(text, nil, func(scan func(...any) error) (err error) {
		if err := scan(into...); err != nil {
			return fmt.Errorf("the table %s: %w", table.Name, err)
		}
		for i, c := range table.Columns {
			if n, is := values[i].(int64); is && c.Kind == Bool && (n == 0 || n == 1) {
				values[i] = n == 1 // SQLite has integers instead of booleans
			}
		}
		if line, err = appendRow(line[:0], table.Columns, values); err != nil {
			return fmt.Errorf("the table %s: %w", table.Name, err)
		}
		return each(line, values)
	})
}

func (t Table) kind(column string) Kind {
	for _, c := range t.Columns {
		if c.Name == column {
			return c.Kind
		}
	}
	return ""
}

func (t Table) columnList() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = quoted(c.Name)
	}
	return strings.Join(names, ", ")
}

// quoted returns a quoted identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
