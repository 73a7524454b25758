package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Table is one of the store's tables, and what a copy of it has.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	Key     []string `json:"key"` // the columns by which rows are ordered
	Rows    int64    `json:"rows"`
	SHA256  string   `json:"sha256"` // of its rows as lines

	needs []string // the tables that its rows refer to
}

// A Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// A Kind is what a column holds, whatever an engine calls it.
type Kind string

// The kinds.
const (
	Text  Kind = "text"
	Int   Kind = "int"
	Float Kind = "float"
	Bool  Kind = "bool"
	Blob  Kind = "blob"
)

// kindOf knows the words for types that migrations may use.
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

// feedTable and identityTable mean something in one store only: who follows
// the feed of another one must not find its place in it.
const (
	feedTable     = "change"
	identityTable = "store_identity"
)

// copiedTables are the tables whose rows mean the same in every store. A question that
// waits does not: whoever asked waits for the word in the store where it asked,
// and in a copy of former days a yes would be one that was taken long ago.
func copiedTables(tables []Table) []Table {
	staying := []string{feedTable, identityTable, latchTable, "approval", "approval_owner", "approval_look"}
	return slices.DeleteFunc(slices.Clone(tables), func(t Table) bool { return slices.Contains(staying, t.Name) })
}

// latestStep is the migration that this program knows last.
func latestStep() (int, error) {
	list, err := steps()
	return len(list), err
}

// tablesAt returns the tables that there are after a migration, each after
// those that its rows refer to. They are those of a database in memory, on which
// the migrations are run: a store in PostgreSQL may share its schema with tables
// of others, which are none of our business.
func tablesAt(ctx context.Context, step int) (tables []Table, err error) {
	list, err := steps()
	if err != nil {
		return nil, err
	}
	if step < 1 || step > len(list) {
		return nil, fmt.Errorf("step %d of the store's tables is unknown; this mcp-tools knows %d", step, len(list))
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	scratch := &Store{dialect: sqliteDialect(), write: db, location: "in memory"}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	_, err = scratch.update(ctx, func(t *Tx) error {
		for i, text := range list[:step] {
			if _, err := t.Exec(text); err != nil {
				return fmt.Errorf("step %d of the store's tables: %w", i+1, err)
			}
		}
		tables, err = t.declared()
		return err
	})
	if err != nil {
		return nil, err
	}
	return inOrder(tables)
}

// declared reads the tables from SQLite's catalogue.
func (t *Tx) declared() (tables []Table, err error) {
	keys := map[string]map[int]string{}
	err = t.Each(`SELECT m.name, c.name, c.type, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY m.name, c.cid`, nil, func(scan func(...any) error) error {
		var name, column, declared string
		var part int
		if err := scan(&name, &column, &declared, &part); err != nil {
			return err
		}
		kind, known := kindOf(declared)
		if !known {
			return fmt.Errorf("%s.%s is a %s, which copies of the store do not know", name, column, declared)
		}
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables = append(tables, Table{Name: name})
			keys[name] = map[int]string{}
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, Column{column, kind})
		if part > 0 {
			keys[name][part] = column
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range tables {
		if err := t.complete(&tables[i], keys[tables[i].Name]); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// complete adds to a table what its rows are ordered by and refer to.
func (t *Tx) complete(table *Table, key map[int]string) error {
	if len(key) == 0 {
		return fmt.Errorf("the table %s has no primary key, by which its rows could be ordered", table.Name)
	}
	for part := range len(key) {
		table.Key = append(table.Key, key[part+1])
	}
	return t.Each(`SELECT DISTINCT "table" FROM pragma_foreign_key_list($1) ORDER BY 1`, []any{table.Name}, func(scan func(...any) error) error {
		var needed string
		if err := scan(&needed); err != nil {
			return err
		}
		table.needs = append(table.needs, needed)
		return nil
	})
}

// inOrder puts every table after those that its rows refer to.
func inOrder(tables []Table) (ordered []Table, err error) {
	there := map[string]bool{}
	for len(ordered) < len(tables) {
		before := len(ordered)
		for _, t := range tables {
			if there[t.Name] || slices.ContainsFunc(t.needs, func(name string) bool { return !there[name] }) {
				continue
			}
			there[t.Name] = true
			ordered = append(ordered, t)
		}
		if len(ordered) == before {
			return nil, errors.New("rows of the store's tables refer to each other in a circle: there is no order in which they can be copied")
		}
	}
	return ordered, nil
}

// sameShape compares the tables of a copy with those that are to be filled.
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
			return fmt.Errorf("the table %s has other columns than it had in the store of its time", t.Name)
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("there are %d tables, and %d in a store of its time", len(have), len(want))
	}
	return nil
}
