package teams

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// TestBoardIsViewed follows tasks over the board as a client with apps sees it.
func TestBoardIsViewed(t *testing.T) {
	w := newCrew(t, storetest.Open(t, t.TempDir()), Options{}, Settings{})
	set, err := tool.NewSet(Tools(w.Teams)...)
	w.must(err)
	one, _ := set.Lookup("team_tasks")
	see := func(agent, args string) string {
		t.Helper()
		bound, err := one.Bind(json.RawMessage(args), tool.DefaultLimits())
		w.must(err)
		running := tool.RunningFrom(w.as(agent))
		running.Apps = true
		res, err := bound.Run(tool.With(t.Context(), &running))
		w.must(err)
		shown, ok := res.View.(view.Board)
		if !ok || !one.Spec.Viewed || shown.Title != "Tasks of the team crew" {
			t.Fatalf("%s: the view is %+v", args, res.View)
		}
		var all []string
		for _, c := range shown.Columns {
			for _, k := range c.Cards {
				all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%s: %s %s %d%% %t", c.Name, k.Title, k.Label, k.Percent, k.Now)), " "))
			}
		}
		return strings.Join(all, "; ")
	}
	see("lead", `{"action":"create","subject":"first","assignee":"ann"}`)
	first := w.create("second", `,"assignee":"bob"`)
	for _, c := range []struct{ agent, args, want string }{
		{"ann", `{"action":"claim"}`, "To do: second pending 0% false; In progress: first 0% true"},
		{"ann", `{"action":"progress","percent":40,"text":"half"}`, "To do: second pending 0% false; In progress: first 40% true"},
		{"ann", `{"action":"search","text":"second"}`, "To do: second pending 0% false"},
		{"lead", `{"action":"cancel","task_id":"` + first + `","text":"no"}`, "In progress: first 40% false; Done: second cancelled 0% true"},
		{"lead", `{"action":"list"}`, "In progress: first 40% false"},
	} {
		if got := see(c.agent, c.args); got != c.want {
			t.Errorf("after %s the board is %q, want %q", c.args, got, c.want)
		}
	}
	if text := w.tasks("lead", `{"action":"list"}`); !strings.HasPrefix(text, `{"count":1`) {
		t.Errorf("the text is %s", text)
	}
}
