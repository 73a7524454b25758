package store

import (
	"fmt"
	"strings"
)

const (
	rowsOverNet = 100     // that are sent to PostgreSQL at a time
	rowsInside  = 8       // SQLite finds parameters by their names, one after the other
	maxParams   = 30000   // parameters of one statement: PostgreSQL takes 65535, SQLite 32766
	flushBytes  = 4 << 20 // of rows that are gathered
)

// An inserter writes rows of a table, many at a time.
type inserter struct {
	t     *Tx
	table Table
	size  int // rows at a time
	one   string
	many  string

	rows  int
	bytes int
	args  []any
}

func (t *Tx) inserter(table Table) *inserter {
	size := rowsInside
	if t.store.dialect.name == "postgres" {
		size = rowsOverNet
	}
	n := &inserter{t: t, table: table, size: max(1, min(size, maxParams/len(table.Columns)))}
	n.one, n.many = table.insert(1), table.insert(n.size)
	return n
}

// insert is a statement that writes some rows. There are two of a table, so
// that they can be kept. A transaction in which it fails has to be taken back.
func (t Table) insert(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT {{fail}}INTO " + quoted(t.Name) + " (" + t.columnList() + ") VALUES ")
	for row := range rows {
		marks := make([]string, len(t.Columns))
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", row*len(marks)+i+1)
		}
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + strings.Join(marks, ", ") + ")")
	}
	return b.String()
}

func (n *inserter) add(values []any, bytes int) error {
	n.args = append(n.args, values...)
	n.rows++
	n.bytes += bytes
	switch {
	case n.rows == n.size:
		_, err := n.t.Exec(n.many, n.args...)
		n.rows, n.bytes, n.args = 0, 0, n.args[:0]
		return err
	case n.bytes > flushBytes:
		return n.flush()
	}
	return nil
}

// flush writes what was gathered.
func (n *inserter) flush() error {
	width := len(n.table.Columns)
	for row := range n.rows {
		if _, err := n.t.Exec(n.one, n.args[row*width:(row+1)*width]...); err != nil {
			return err
		}
	}
	n.rows, n.bytes, n.args = 0, 0, n.args[:0]
	return nil
}
