package store

import (
	"bytes"
	"maps"
	"math"
	"slices"
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
		{[]any{"x\x00y", int64(math.MaxInt64), 0.5, true, []byte("a")}, `["x\u0000y",9223372036854775807,0.5,true,"YQ=="]`},
		{[]any{"\xff", int64(1), math.MaxFloat64, int64(1), []byte("a")},
			`["` + "\ufffd" + `",1,1.7976931348623157e+308,true,"YQ=="]`},
		{[]any{"{}", int64(1), math.Copysign(0, -1), false, []byte("a")}, `["{}",1,0,false,"YQ=="]`},
	} {
		line, err := formatted(test.values)
		if err != nil || string(line) != test.line+"\n" {
			t.Errorf("%v is %s, %v; want %s", test.values, line, err, test.line)
			continue
		}
		values, err := parseRow(line, everyKind())
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if again, err := formatted(values); err != nil || !bytes.Equal(line, again) {
			t.Errorf("%s became %s, %v", line, again, err)
		}
	}
	for _, values := range [][]any{
		{int64(1), nil, nil, nil, nil}, {nil, "1", nil, nil, nil}, {nil, 1.5, nil, nil, nil},
		{nil, nil, nil, int64(2), nil}, {nil, nil, nil, nil, "x"}, {nil, nil, math.Inf(1), nil, nil},
	} {
		if line, err := formatted(values); err == nil {
			t.Errorf("%v is %s", values, line)
		}
	}
}

// formatted returns the line of values of every kind.
func formatted(values []any) ([]byte, error) {
	values = slices.Clone(values)
	for i, c := range everyKind() {
		var err error
		if values[i], err = normalize(c.Kind, values[i]); err != nil {
			return nil, err
		}
	}
	return formatRow(values)
}

func FuzzRow(f *testing.F) {
	for _, line := range []string{`[null,null,null,null,null]`, `["a",1,2.5,true,"AP8="]`,
		`["",1,-0.0,false,""]`, `[]`, `{}`, `[1,2,3,4,5]`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		values, err := parseRow(line, everyKind())
		if err != nil {
			return
		}
		once, err := formatted(values)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", line, err)
		}
		values, err = parseRow(once, everyKind())
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := formatted(values); err != nil || !bytes.Equal(once, twice) {
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
			there[table.Name] = true
			if table.kind("xid") != "" && table.Name != feedTable {
				t.Errorf("%s has a number of a transaction, which means something in one store only", table.Name)
			}
		}
		left := slices.DeleteFunc(slices.Collect(maps.Keys(there)), func(name string) bool {
			return slices.ContainsFunc(copiedTables(tables), func(t Table) bool { return t.Name == name })
		})
		slices.Sort(left)
		if want := []string{"approval_look", "change", "latch", "store_identity"}; step == latest && !slices.Equal(left, want) {
			t.Errorf("%v are left out, want %v", left, want)
		}
	}
	for _, step := range []int{0, latest + 1} {
		if _, err := tablesAt(t.Context(), step); err == nil {
			t.Errorf("there are tables at step %d", step)
		}
	}
}
