package knowledge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestOperatorVerbs lists, shows and removes the knowledge of one owner, without an index.
func TestOperatorVerbs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		verb := func(name, args string) (tool.Result, error) {
			t.Helper()
			r := Room()
			v, _ := r.Verb(name)
			plan, err := r.Prepare(t.Context(), v, &room.Host{Store: w.store}, []byte(args))
			if err != nil {
				t.Fatal(err)
			}
			return plan.Run(t.Context())
		}
		if got, err := verb("list", `{"agent":"a","user":"ann"}`); err != nil || got.Text() != "There are no entities." {
			t.Errorf("%q, %v", got.Text(), err)
		}
		ctx := of{Agent: "a", User: "ann"}.caller(t.Context())
		call, err := w.tools["knowledge_graph_add"].Bind([]byte(`{"entities":[{"name":"Ann","type":"person"},`+
			`{"name":"Boat","type":"product","description":"a\u202e <b>"}],`+
			`"relations":[{"from":"Ann","type":"owns","to":"Boat"}]}`), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := call.Prepare(ctx); err != nil {
			t.Fatal(err)
		} else if _, err := plan.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]int{
			`{"agent":"a","user":"ann"}`: 2, `{"agent":"a","user":"bob"}`: 0, `{"agent":"a","user":"ann","type":"person"}`: 1,
			`{"agent":"a","user":"ann","limit":1}`: 1, `{"agent":"a","user":"ann","offset":2}`: 0,
		} {
			got, err := verb("list", args)
			table, _ := got.Data.(room.Table)
			if list, _ := table.Items.([]foundEntity); err != nil || len(list) != want {
				t.Errorf("%s lists %+v, %v, want %d", args, list, err, want)
			}
		}
		got, err := verb("show", `{"agent":"a","user":"ann","name":"boat"}`)
		data, _ := got.Data.(foundGraph)
		if err != nil || len(data.Entities) != 2 || len(data.Relations) != 1 || !strings.Contains(got.Text(), "Ann [person]") ||
			strings.Contains(got.Text(), "\u202e") {
			t.Errorf("shown is %q, %+v, %v", got.Text(), data, err)
		}
		for args, want := range map[string]string{
			`{"agent":"a","user":"ann","name":"boatss"}`: "no entity is called", `{"agent":"a","user":"bob","name":"boat"}`: "knowledge list",
			`{"agent":"a","user":"ann","name":""}`: "",
		} {
			for _, name := range []string{"show", "remove"} {
				if _, err := verb(name, args); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s %s: %v, want %q", name, args, err, want)
				}
			}
		}
		removed, err := verb("remove", `{"agent":"a","user":"ann","name":"Ann"}`)
		if err != nil || removed.Text() != "removed ann and 1 relation" {
			t.Errorf("%q, %v", removed.Text(), err)
		}
		if got, err := verb("list", `{"agent":"a","user":"ann"}`); err != nil || len(got.Data.(room.Table).Rows) != 2 {
			t.Errorf("left are %s, %v", fmt.Sprint(got.Data), err)
		}
	})
}
