package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// TestOperatorVerbs searches, shows, sets and forgets memories of one owner, without an index.
func TestOperatorVerbs(t *testing.T) {
	eachRows(t, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		m := memory.New(memory.Options{Rows: rows})
		remember(t, as(t, "a", "ann"), m, "boat", "The boat is blue.\nIt has a red sail.")
		remember(t, as(t, "a", "ann"), m, "car", "The car\u202e is blue.")
		remember(t, as(t, "a", "bob"), m, "boat", "The boat of bob is sunk.")
		remember(t, as(t, "a", ""), m, "boat", "All know the boat.")
		remember(t, as(t, "a", ""), m, "pier", "The boat lies at the pier.")
		verb := func(name, args string) (tool.Result, error) {
			t.Helper()
			r := memory.Room(func(*room.Host) (*memory.Memory, error) { return m, nil })
			v, _ := r.Verb(name)
			plan, err := r.Prepare(t.Context(), v, &room.Host{Store: s}, []byte(args))
			if err != nil {
				t.Fatal(err)
			}
			return plan.Run(t.Context())
		}
		for args, want := range map[string][]string{
			`{"query":"blue boat","agent":"a","user":"ann"}`: {"memory/boat.md", "memory/car.md", "memory/pier.md"},
			`{"query":"sail","agent":"a","user":"ann"}`:      {"memory/boat.md"},
			`{"query":"sunk","agent":"a","user":"ann"}`:      nil,
			`{"query":"sunk","agent":"a","user":"bob"}`:      {"memory/boat.md"},
			`{"query":"boat","agent":"b","user":"ann"}`:      nil,
			`{"query":"","agent":"a","user":"ann"}`:          nil,
		} {
			got, err := verb("search", args)
			list, _ := got.Data.([]memory.Match)
			var found []string
			for _, one := range list {
				found = append(found, one.Path)
				if one.Score <= 0 || one.Score > 1 || one.Snippet == "" {
					t.Errorf("%s: %+v", args, one)
				}
			}
			if slices.Sort(found); err != nil || !slices.Equal(found, want) || strings.Contains(got.Text(), "\u202e") {
				t.Errorf("%s finds %q, %v: %q", args, found, err, got.Text())
			}
		}
		const ann = `"agent":"a","user":"ann"`
		set, err := verb("set", fmt.Sprintf(`{"path":"boat","file":"The boat is green.",%s}`, ann))
		if err != nil || set.Text() != "stored memory/boat.md, version 2" {
			t.Errorf("%q, %v", set.Text(), err)
		}
		got, err := verb("show", fmt.Sprintf(`{"path":"memory/boat.md",%s}`, ann))
		if d, _ := got.Data.(memory.Shown); err != nil || d.Text != "The boat is green." || d.Version != 2 || d.Shared {
			t.Errorf("shown is %+v, %v", got.Data, err)
		}
		if got, err := verb("show", fmt.Sprintf(`{"path":"car",%s}`, ann)); err != nil || strings.Contains(got.Text(), "\u202e") {
			t.Errorf("people see %q, %v", got.Text(), err)
		}
		if _, err := verb("forget", fmt.Sprintf(`{"path":"boat",%s}`, ann)); err != nil {
			t.Error(err)
		}
		got, err = verb("show", fmt.Sprintf(`{"path":"boat",%s}`, ann)) // now the shared one
		if d, _ := got.Data.(memory.Shown); err != nil || !d.Shared {
			t.Errorf("shown is %+v, %v", got.Data, err)
		}
		for args, want := range map[string]tool.Kind{
			fmt.Sprintf(`{"path":"boat",%s}`, ann): tool.Refused, `{"path":"boat","agent":"b","user":"x"}`: tool.NotFound,
			`{"path":"boat"}`: tool.Refused,
		} {
			if _, err := verb("forget", args); kind(err) != want {
				t.Errorf("forget %s: %v, want %s", args, err, want)
			}
		}
	})
}
