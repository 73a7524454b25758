package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Table describes a table of the store in a [Manifest].
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	Key     []string `json:"key"` // the primary key; it orders the rows
	Rows    int64    `json:"rows"`
	SHA256  string   `json:"sha256"` // of the rows as lines
}

// A Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// A Kind is the type of a column in both engines.
type Kind string

// The kinds of columns.
const (
	Text  Kind = "text"
	Int   Kind = "int"
	Float Kind = "float"
	Bool  Kind = "bool"
	Blob  Kind = "blob"
)

// kindOf returns the kind of a type that migrations may use.
func kindOf(declared string) (Kind, bool) {
	switch strings.ToUpper(declared) {
	case "TEXT":
		return Text, true
	case "INTEGER", "BIGINT":
		return Int, true
	case "DOUBLE PRECISION":
		return Float, true
	case "BOOLEAN":
		return Bool, true
	case "BLOB":
		return Blob, true
	}
	return "", false
}

// feedTable and identityTable belong to one store: positions in its feed must not
// be valid in a copy.
const (
	feedTable     = "change"
	identityTable = "store_identity"
)

// askTable has questions, also of processes: the owner of a process's question is not "". These are not copied:
// the process waits for the answer in the old store, and an old copy could contain approvals that were used
// since.
const askTable = "ask"

// copiedTables returns the tables that a copy contains. Older copies have approvals in tables of their own. Those are
// left out for the same reason as rows of askTable.
func copiedTables(tables []Table) []Table {
	staying := []string{feedTable, identityTable, latchTable, "approval", "approval_owner", "approval_look"}
	return slices.DeleteFunc(slices.Clone(tables), func(t Table) bool { return slices.Contains(staying, t.Name) })
}

// copied returns the condition for the rows of a table that a copy contains.
func (t Table) copied() string {
	if t.Name == askTable {
		return " WHERE owner = ''"
	}
	return ""
}

// latestStep returns the number of the last migration.
func latestStep() (int, error) {
	list, err := steps()
	return len(list), err
}

// tablesAt returns the tables after a migration in the order of their creation,
// so that foreign keys refer to earlier tables: PostgreSQL accepts no others. It
// runs the migrations in an SQLite database in memory, because the schema of a
// PostgreSQL database may have tables of other programs.
func tablesAt(ctx context.Context, step int) ([]Table, error) {
	list, err := steps()
	if err != nil {
		return nil, err
	}
	if step < 1 || step > len(list) {
		return nil, fmt.Errorf("migration %d of the store is unknown; this mcp-tools has %d", step, len(list))
	}
	if step < len(list) {
		return tablesAfter(ctx, list[:step])
	}
	tables, err := latestTables()
	return slices.Clone(tables), err
}

// latestTables returns the tables after the last migration. Every copy asks for them several times.
var latestTables = sync.OnceValues(func() ([]Table, error) {
	list, err := steps()
	if err != nil {
		return nil, err
	}
	return tablesAfter(context.Background(), list)
})

// tablesAfter returns the tables after migrations.
func tablesAfter(ctx context.Context, list []string) (tables []Table, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have another database
	scratch := &Store{dialect: sqliteDialect(), write: db, location: "in memory"}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	_, err = scratch.update(ctx, func(t *Tx) error {
		for i, text := range list {
			if _, err := t.Exec(text); err != nil {
				return fmt.Errorf("migration %d of the store: %w", i+1, err)
			}
		}
		tables, err = t.declared()
		return err
	})
	return tables, err
}

// declared reads the tables of an SQLite database.
func (t *Tx) declared() (tables []Table, err error) {
	err = t.Each(`SELECT m.name, c.name, c.type, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite^_%' ESCAPE '^'
		ORDER BY m.rowid, c.cid`, nil, func(scan Scan) error {
		var name, column, declared string
		var part int
		if err := scan(&name, &column, &declared, &part); err != nil {
			return err
		}
		kind, known := kindOf(declared)
		if !known {
			return fmt.Errorf("%s.%s has type %s, which copies of the store do not support", name, column, declared)
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables = append(tables, Table{Name: name})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, Column{column, kind})
		if part > 0 { // the place of the column in the primary key, from 1
			last.Key = append(last.Key, make([]string, max(0, part-len(last.Key)))...)
			last.Key[part-1] = column
		}
		return nil
	})
	for _, table := range tables {
		if err == nil && len(table.Key) == 0 {
			err = fmt.Errorf("the table %s has no primary key", table.Name)
		}
	}
	return tables, err
}

// sameShape returns an error if the tables of a copy are not the wanted ones.
func sameShape(have, want []Table) error {
	byName := map[string]Table{}
	for _, t := range have {
		byName[t.Name] = t
	}
	for _, t := range want {
		other, there := byName[t.Name]
		switch {
		case !there:
			return fmt.Errorf("the table %s is missing", t.Name)
		case !slices.Equal(other.Columns, t.Columns) || !slices.Equal(other.Key, t.Key):
			return fmt.Errorf("the table %s does not have the columns of its migration", t.Name)
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("there are %d tables, want %d", len(have), len(want))
	}
	return nil
}
