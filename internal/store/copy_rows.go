package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A row of a copy is a line with a JSON array. Equal rows of both engines have
// equal lines: no spaces, the fewest possible escapes, blobs in base64.

// maxRow is the maximum size of a row in bytes.
const maxRow = 256 << 20

// normalize returns the value that a column has in both engines. SQLite stores
// booleans as integers, accepts text that is not UTF-8, and has no negative zero.
func normalize(kind Kind, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		if kind == Text {
			return strings.ToValidUTF8(v, "\ufffd"), nil
		}
	case int64:
		if kind == Int {
			return v, nil
		}
		if kind == Bool && (v == 0 || v == 1) {
			return v == 1, nil
		}
	case bool:
		if kind == Bool {
			return v, nil
		}
	case float64:
		if kind == Float {
			return v + 0, nil
		}
	case []byte:
		if kind == Blob {
			return v, nil
		}
	}
	return nil, fmt.Errorf("a %T is not a %s", value, kind)
}

// formatRow returns normalized values as a line.
func formatRow(values []any) ([]byte, error) {
	line, err := json.Marshal(values)
	if err == nil && len(line) >= maxRow {
		err = fmt.Errorf("a row has %d bytes, the maximum is %d", len(line), maxRow)
	}
	return append(line, '\n'), err
}

// parseRow parses the result of formatRow.
func parseRow(line []byte, columns []Column) ([]any, error) {
	var cells []jsontext.Value
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

func parseValue(cell jsontext.Value, kind Kind) (any, error) {
	if cell.Kind() == 'n' {
		return nil, nil
	}
	switch kind {
	case Text:
		return parsed[string](cell)
	case Int:
		return parsed[int64](cell)
	case Bool:
		return parsed[bool](cell)
	case Float:
		return parsed[float64](cell)
	case Blob:
		return parsed[[]byte](cell)
	}
	return nil, fmt.Errorf("the kind %.40q is unknown", kind)
}

func parsed[T any](cell jsontext.Value) (any, error) {
	var v T
	err := json.Unmarshal(cell, &v)
	return v, err
}

// rows calls each with every row of a table in the order of its key, as a line
// and as values.
func (t *Tx) rows(table Table, each func(line []byte, values []any) error) error {
	key := make([]string, len(table.Key))
	for i, name := range table.Key {
		key[i] = quoted(name)
		if t.store.dialect.name == "postgres" && table.kind(name) == Text {
			key[i] += ` COLLATE "C"` // the order of SQLite
		}
	}
	text := "SELECT " + table.columnList() + " FROM " + quoted(table.Name) + table.copied() + " ORDER BY " + strings.Join(key, ", ")
	values := make([]any, len(table.Columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	return t.Each(text, nil, func(scan Scan) error {
		err := scan(into...)
		for i, c := range table.Columns {
			if err == nil {
				values[i], err = normalize(c.Kind, values[i])
			}
		}
		if err != nil {
			return err
		}
		line, err := formatRow(values)
		if err != nil {
			return err
		}
		return each(line, slices.Clone(values))
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
