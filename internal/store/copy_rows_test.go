package store

import (
	"bytes"
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func everyKind() []Column {
	return []Column{{"a", Text}, {"b", Int}, {"c", Float}, {"d", Bool}, {"e", Blob}}
}

func TestRowEncoding(t *testing.T) {
	for _, test := range []struct {
		values []any
		line   string
	}{
		{[]any{nil, nil, nil, nil, nil}, `[null,null,null,null,null]`},
		{[]any{"", int64(0), 0.0, false, []byte{}}, `["",0,0,false,""]`},
		{[]any{"a\"\\\n\x01<é\u2028😀", int64(math.MinInt64), 0.1, true, []byte{0, 255}}, `["a\"\\\n\u0001<é` +
			"\u2028" + `😀",-9223372036854775808,0.1,true,"AP8="]`},
		{[]any{"x\x00y", int64(math.MaxInt64), math.Inf(-1), true, []byte("a")},
			`["x\u0000y",9223372036854775807,{"float":"-Inf"},true,"YQ=="]`},
		{[]any{"\xff", int64(1), math.MaxFloat64, int64(1), []byte("a")},
			`[{"base64":"/w=="},1,1.7976931348623157e+308,true,"YQ=="]`},
		{[]any{"{}", int64(1), math.Copysign(0, -1), false, []byte("a")}, `["{}",1,0,false,"YQ=="]`},
	} {
		line, err := appendRow(nil, everyKind(), test.values)
		if err != nil || string(line) != test.line+"\n" {
			t.Errorf("%v is %s, %v; want %s", test.values, line, err, test.line)
			continue
		}
		values, err := parseRow(line, everyKind())
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if again, err := appendRow(nil, everyKind(), values); err != nil || !bytes.Equal(line, again) {
			t.Errorf("%s became %s, %v", line, again, err)
		}
	}
	for _, values := range [][]any{
		{int64(1), nil, nil, nil, nil}, {nil, "1", nil, nil, nil}, {nil, 1.5, nil, nil, nil},
		{nil, nil, nil, int64(2), nil}, {nil, nil, nil, nil, "x"},
	} {
		if line, err := appendRow(nil, everyKind(), values); err == nil {
			t.Errorf("%v is %s", values, line)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, line := range []string{`[null,null,null,null,null]`, `["a",1,2.5,true,"AP8="]`,
		`[{"base64":"/w=="},1,{"float":"NaN"},false,""]`, `[]`, `{}`, `[1,2,3,4,5]`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		values, err := parseRow(line, everyKind())
		if err != nil {
			return
		}
		once, err := appendRow(nil, everyKind(), values)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", line, err)
		}
		values, err = parseRow(once, everyKind())
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := appendRow(nil, everyKind(), values); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
		if bytes.Count(once, []byte("\n")) != 1 {
			t.Fatalf("%q is no line", once)
		}
	})
}

// TestEveryTableIsCopied fails for a migration that makes a table which
// copies of the store cannot have, at any step.
func TestEveryTableIsCopied(t *testing.T) {
	latest, err := latestStep()
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= latest; step++ {
		tables, err := tablesAt(t.Context(), step)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		there := map[string]bool{}
		for _, table := range tables {
			for _, needed := range table.needs {
				if !there[needed] {
					t.Errorf("%s comes before %s, which it needs", table.Name, needed)
				}
			}
			there[table.Name] = true
			if table.kind("xid") != "" && table.Name != feedTable {
				t.Errorf("%s has a number of a transaction, which means something in one store only", table.Name)
			}
		}
		left := slices.DeleteFunc(slices.Collect(maps.Keys(there)), func(name string) bool {
			return slices.ContainsFunc(copiedTables(tables), func(t Table) bool { return t.Name == name })
		})
		slices.Sort(left)
		if want := []string{"approval", "approval_look", "approval_owner", "change", "latch",
			"store_identity"}; step == latest && !slices.Equal(left, want) {
			t.Errorf("%v are left out, want %v", left, want)
		}
	}
	for _, step := range []int{0, latest + 1} {
		if _, err := tablesAt(t.Context(), step); err == nil {
			t.Errorf("there are tables at step %d", step)
		}
	}
}

func TestTablesWithCircularKeys(t *testing.T) {
	tables := []Table{{Name: "a", needs: []string{"b"}}, {Name: "b", needs: []string{"c"}}, {Name: "c"},
		{Name: "d", needs: []string{"d"}}}
	if _, err := inOrder(tables); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("the error is %v", err)
	}
	ordered, err := inOrder(tables[:3])
	if err != nil || ordered[0].Name != "c" || ordered[2].Name != "a" {
		t.Errorf("the order is %v, %v", ordered, err)
	}
}

// TestInvalidUTF8 are kept by SQLite, and have to come through.
func TestInvalidUTF8(t *testing.T) {
	open := func() *Store {
		s, err := Open(t.Context(), Options{DSN: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	from, to, want := open(), open(), "a\xff\x00b"
	err := from.Update(context.Background(), func(tx *Tx) error {
		_, _, err := tx.Enqueue(NewJob{Kind: "k", Payload: want})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.zip")
	if _, err := from.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Restore(t.Context(), file, false); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := to.View(t.Context(), func(tx *Tx) error {
		return tx.Row("SELECT payload FROM job", nil,
			&got)
	}); err != nil || got != want {
		t.Errorf("%q became %q, %v", want, got, err)
	}
}
