package managed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestOperator lists workspaces and removes one. The replica that had it last then begins with an empty one.
func TestOperator(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		a := m.replica("a")
		a.fine(a.write("dir/notes.txt", "some text"))
		a.fine(a.write("other.txt", "more"))
		r := Room()
		call := func(verb, name string) (string, error) {
			t.Helper()
			v, ok := r.Verb(verb)
			if !ok {
				t.Fatalf("there is no verb %s", verb)
			}
			args, err := json.Marshal(map[string]string{"workspace": name})
			if err != nil || verb == "list" {
				args = []byte("{}")
			}
			plan, err := r.Prepare(t.Context(), v, &room.Host{Store: s}, args)
			if err != nil {
				return "", err
			}
			res, err := plan.Run(room.As(t.Context(), room.Person{Name: "op"}))
			if table, ok := res.Data.(room.Table); ok {
				return strings.Join(table.Rows[len(table.Rows)-1], "|"), err
			}
			return plan.Ask + "; " + res.Text(), err
		}
		if got, err := call("list", ""); err != nil || !strings.HasPrefix(got, "ann|user ann|2|13 bytes|") || !strings.Contains(got, "|a|") {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := call("remove", "ann"); tool.AsError(err).Kind != tool.Conflict {
			t.Errorf("a workspace in use: %v", err)
		}
		if _, err := call("remove", "ben"); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("no workspace: %v", err)
		}
		if !a.GiveUp(t.Context(), "ann") {
			t.Fatal("the workspace was not given up")
		}
		if got, err := call("list", ""); err != nil || !strings.HasSuffix(got, "|-|-") {
			t.Errorf("%s, %v", got, err)
		}
		if got, err := call("remove", "ann"); err != nil || got !=
			`removes the workspace "ann" of user ann with 2 files (13 bytes); The workspace "ann" was removed, with 2 files (13 bytes).` {
			t.Errorf("%s, %v", got, err)
		}
		var left int
		if err := s.Row(t.Context(), "SELECT count(*) FROM kept", nil, &left); err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
		a.fine(a.write("new.txt", "new"))
		a.has("new.txt=new")
	})
}
