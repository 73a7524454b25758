package store_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// rowsOf are the digests of all tables.
func rowsOf(m store.Manifest) map[string]string {
	all := map[string]string{}
	for _, t := range m.Tables {
		all[t.Name] = fmt.Sprintf("%d rows %s", t.Rows, t.SHA256)
	}
	return all
}

func backup(t testing.TB, s *store.Store, file string) store.Manifest {
	t.Helper()
	m, err := s.Backup(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// same expects a store to hold what a manifest says.
func same(t testing.TB, want store.Manifest, s *store.Store) {
	t.Helper()
	got := backup(t, s, filepath.Join(t.TempDir(), "same.zip"))
	if diff := cmp.Diff(rowsOf(want), rowsOf(got)); diff != "" {
		t.Fatalf("%s is another one: %s", s.Engine(), diff)
	}
}

// A filler fills all tables of a store in SQLite with rows that mean nothing.
type filler struct {
	*rand.Rand
	n int
}

func (f *filler) fill(t testing.TB, s *store.Store, most int) {
	t.Helper()
	m := backup(t, s, filepath.Join(t.TempDir(), "tables.zip"))
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for _, table := range m.Tables {
			for range 1 + f.IntN(most) {
				if err := f.row(tx, table); err != nil {
					return fmt.Errorf("%s: %w", table.Name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *filler) row(tx *store.Tx, table store.Table) error {
	values := map[string]any{}
	const columns = `SELECT name, type, "notnull", EXISTS (
		SELECT 1 FROM pragma_index_list($1) l JOIN pragma_index_info(l.name) i WHERE i.name = c.name)
		FROM pragma_table_info($1) c`
	err := tx.Each(columns, []any{table.Name}, func(scan func(...any) error) error {
		var name, declared string
		var needed, indexed bool
		if err := scan(&name, &declared, &needed, &indexed); err != nil {
			return err
		}
		value := f.value(declared, needed || slices.Contains(table.Key, name))
		if text, ok := value.(string); ok && !indexed && f.IntN(1000) == 0 {
			value = text + strings.Repeat("語", 100_000)
		}
		values[name] = value
		return nil
	})
	if err != nil {
		return err
	}
	if table.Name == "ask" { // the questions of processes are not copied
		values["owner"] = ""
	}
	if err := f.refer(tx, table.Name, values); err != nil {
		return err
	}
	var names, marks []string
	var args []any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		args = append(args, values[name])
		names, marks = append(names, `"`+name+`"`), append(marks, fmt.Sprintf("$%d", len(args)))
	}
	_, err = tx.Exec("INSERT INTO "+table.Name+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(marks,
		", ")+")", args...)
	return err
}

// refer lets what refers to another table name a row that is there.
func (f *filler) refer(tx *store.Tx, table string, values map[string]any) error {
	type reference struct{ table, from, to string }
	var all []reference
	err := tx.Each(`SELECT "table", "from", "to" FROM pragma_foreign_key_list($1) ORDER BY id, seq`, []any{table},
		func(scan func(...any) error) error {
			var r reference
			if err := scan(&r.table, &r.from, &r.to); err != nil {
				return err
			}
			all = append(all, r)
			return nil
		})
	if err != nil {
		return err
	}
	place := f.Int() // the same row for all columns of a reference
	for _, r := range all {
		var value any
		text := fmt.Sprintf("SELECT %s FROM %[2]s ORDER BY rowid LIMIT 1 OFFSET $1 %% (SELECT count(*) FROM %[2]s)",
			r.to, r.table)
		if err := tx.Row(text, []any{place}, &value); err != nil {
			return err
		}
		values[r.from] = value
	}
	return nil
}

func (f *filler) value(declared string, needed bool) any {
	if !needed && f.IntN(3) == 0 {
		return nil
	}
	pick := func(list ...any) any { return list[f.IntN(len(list))] }
	switch declared {
	case "TEXT":
		f.n++
		return f.text() + fmt.Sprint("-", f.n)
	case "BIGINT":
		f.n++
		return pick(int64(f.n), int64(f.n)<<32, -int64(f.n), math.MinInt64+int64(f.n), math.MaxInt64-int64(f.n))
	case "INTEGER":
		return pick(int64(0), int64(1), int64(math.MaxInt32), int64(math.MinInt32))
	case "DOUBLE PRECISION":
		return pick(0.0, 1.0, -0.1, 1e300, 5e-324, math.Copysign(0, -1), f.Float64())
	case "BOOLEAN":
		return f.IntN(2) == 0
	case "BLOB":
		blob := make([]byte, pick(0, 1, 100, 20_000).(int))
		for i := range blob {
			blob[i] = byte(f.Uint32())
		}
		return blob
	}
	panic("a test does not know the type " + declared)
}

func (f *filler) text() string {
	pieces := []string{"", "a", "\"", "\\", "'", "\n", "\r", "\t", "\x01", "\x7f", "\u0080", "é", "\u2028", "\ufeff",
		"\ufffd", "😀", "\U0010ffff", "ن", "<&>", "{{now}}", "$1"}
	var b strings.Builder
	for range f.IntN(8) {
		b.WriteString(pieces[f.IntN(len(pieces))])
	}
	return b.String()
}

// TestCopyToAndRestore takes rows of all tables from SQLite to PostgreSQL and
// back, by files and directly.
func TestCopyToAndRestore(t *testing.T) {
	pg := storetest.Open(t, storetest.Database(t))
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			lite := storetest.Open(t, t.TempDir())
			(&filler{Rand: rand.New(rand.NewPCG(seed, 1))}).fill(t, lite, 50)
			first := filepath.Join(dir, "a.zip")
			want := backup(t, lite, first)
			for _, table := range want.Tables {
				if table.Rows == 0 {
					t.Errorf("the test has no rows of %s", table.Name)
				}
			}
			restored, err := pg.Restore(t.Context(), first, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rowsOf(want), rowsOf(restored)); diff != "" {
				t.Error(diff)
			}
			same(t, want, pg)
			back := storetest.Open(t, t.TempDir())
			m, moved, err := pg.CopyTo(t.Context(), back)
			if err != nil || moved {
				t.Fatal(moved, err)
			}
			if diff := cmp.Diff(rowsOf(want), rowsOf(m)); diff != "" {
				t.Error(diff)
			}
			same(t, want, back)
			same(t, want, pg)
			same(t, want, lite)
		})
	}
}

// TestSequencesAfterCopy writes to a store into which rows were copied, on an engine where
// PostgreSQL numbers new rows.
func TestSequencesAfterCopy(t *testing.T) {
	from := storetest.Open(t, t.TempDir())
	for i := range 20 {
		change(t, from, "x", fmt.Sprint(i))
	}
	storetest.Each(t, func(t *testing.T, to *store.Store) {
		if _, _, err := from.CopyTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			change(t, to, "x", "new")
		}
		list, err := to.Changes(t.Context(), store.Cursor{}, 10)
		if err != nil || len(list) != 4 || list[0].Topic != "store" || list[1].Cursor.Seq <= list[0].Cursor.Seq {
			t.Errorf("the feed is %v, %v", list, err)
		}
		_, _, err = from.CopyTo(t.Context(), to)
		if err != nil {
			t.Errorf("a store with a feed only is not empty: %v", err)
		}
		err = to.Update(t.Context(), func(tx *store.Tx) error {
			return tx.Insert("rate (key, tat)", [][]any{{"a", 1}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = from.CopyTo(t.Context(), to); err == nil || !strings.Contains(err.Error(), "has rows in rate") {
			t.Errorf("a store with rows was filled: %v", err)
		}
	})
	if _, _, err := from.CopyTo(t.Context(), from); err == nil {
		t.Error("a store was copied to itself")
	}
}

// TestRestoreInvalidatesPositions has readers of the feed from before a restore, of this
// process and another, who have to read everything anew.
func TestRestoreInvalidatesPositions(t *testing.T) {
	two := func(t *testing.T, dsn string) {
		s, other := storetest.Open(t, dsn), storetest.Open(t, dsn)
		for i := range 5 {
			change(t, s, "x", fmt.Sprint(i))
		}
		feeds := []*store.Store{s, other}
		places := make([]string, len(feeds))
		follow := func(f *store.Store, place string) (string, bool, int) {
			n, missed := 0, false
			// While other databases of the server have transactions, there is more to come.
			for more := true; more; time.Sleep(time.Millisecond) {
				var lost bool
				var err error
				place, lost, more, err = f.Follow(t.Context(), place, 100, []string{"x"}, func(string, string) { n++ })
				if err != nil {
					t.Fatal(err)
				}
				missed = missed || lost
			}
			return place, missed, n
		}
		for i, f := range feeds {
			places[i], _, _ = follow(f, "")
		}
		file := filepath.Join(t.TempDir(), "a.zip")
		backup(t, s, file)
		for range 2 {
			before := slices.Clone(places)
			if _, err := s.Restore(t.Context(), file, true); err != nil {
				t.Fatal(err)
			}
			for i, f := range append(feeds, storetest.Open(t, dsn)) {
				place, lost, _ := follow(f, before[i%2])
				if !lost {
					t.Errorf("reader %d found its place", i)
				}
				change(t, s, "x", "new")
				next, lost, n := follow(f, place)
				if lost || n != 1 {
					t.Errorf("reader %d saw %d changes, lost %v", i, n, lost)
				}
				places[i%2] = next
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { two(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { two(t, storetest.Database(t)) })
}
