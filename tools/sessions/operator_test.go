package sessions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestOperatorSeesSessions lists the sessions of all agents, also those whose process was killed, and shows one.
func TestOperatorSeesSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		dir := t.TempDir()
		process := func() *Sessions {
			s := open(st, Self)
			s.Dir = dir
			return s
		}
		killed, lives := process(), process()
		one, two, three := caller("coder", "ada", "1"), caller("writer", "bob", "2"), caller("writer", "ada", "1")
		join(t, killed, one)
		join(t, lives, two, three)
		defer lives.unhold()
		killed.release() // as the system does
		if _, err := lives.Inbox.Send(t.Context(), toOf(one), inbox.Event{
			ID: "m1", Kind: inbox.Message, From: "writer", Text: "hello\u202e there",
		}); err != nil {
			t.Fatal(err)
		}
		verb := func(name, args string) (tool.Result, error) {
			t.Helper()
			r := Room(func(*room.Host) (*Sessions, error) { return process(), nil })
			v, _ := r.Verb(name)
			plan, err := r.Prepare(t.Context(), v, &room.Host{Store: st}, []byte(args))
			if err != nil {
				t.Fatal(err)
			}
			return plan.Run(t.Context())
		}
		for args, want := range map[string][]string{
			`{}`: {"coder ada ended", "writer ada open", "writer bob open"}, `{"open":true,"user":"bob"}`: {"writer bob open"},
			`{"agent":"coder"}`: {"coder ada ended"}, `{"agent":"coder","open":true}`: nil,
		} {
			got, err := verb("list", args)
			table, _ := got.Data.(room.Table)
			list, _ := table.Items.([]Summary)
			var lines []string
			for _, s := range list {
				lines = append(lines, fmt.Sprint(s.Agent, " ", s.User, " ", s.state()))
			}
			if slices.Sort(lines); err != nil || !slices.Equal(lines, want) {
				t.Errorf("%s lists %q, %v, want %q", args, lines, err, want)
			}
		}
		if got, err := verb("list", `{"limit":1}`); err != nil || len(got.Data.(room.Table).Rows) != 2 {
			t.Errorf("of several %+v are listed, %v", got, err)
		}
		key, _ := json.Marshal(one.Key())
		got, err := verb("show", fmt.Sprintf(`{"key":%s,"agent":"coder"}`, key))
		d, _ := got.Data.(Detail)
		if err != nil || d.Open || d.Calls != 1 || len(d.Messages) != 1 || !strings.Contains(got.Text(), "State: ended\n") ||
			strings.Contains(got.Text(), "\u202e") || !strings.Contains(got.Text(), "1 call, 0 failed, 10 tokens") {
			t.Errorf("shown is %q, %+v, %v", got.Text(), d, err)
		}
		for args, want := range map[string]tool.Kind{
			`{"key":"none"}`: tool.NotFound, fmt.Sprintf(`{"key":%s,"user":"bob"}`, key): tool.NotFound,
		} {
			if _, err := verb("show", args); tool.AsError(err).Kind != want {
				t.Errorf("%s: %v, want %s", args, err, want)
			}
		}
	})
}
