package automation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// TestJobsAreViewed makes and pauses jobs as a client with apps: each result shows all jobs of the caller, and only
// theirs, in the order of their next runs.
func TestJobsAreViewed(t *testing.T) {
	r := newRig(t, storetest.Open(t, t.TempDir()))
	one := tool.Prepared(cronTool{r.Scheduler})
	see := func(user, args string) (string, view.Jobs) {
		t.Helper()
		call, err := one.Bind(json.RawMessage(args), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		running := tool.RunningFrom(as(t, user))
		running.Apps = true
		res, err := call.Run(tool.With(t.Context(), &running))
		shown, ok := res.View.(view.Jobs)
		if err != nil || !ok || !one.Spec.Viewed {
			t.Fatalf("%s: %+v, %v", args, res, err)
		}
		var all []string
		for _, j := range shown.Jobs {
			all = append(all, fmt.Sprintf("%s %d %t", j.Name, len(j.Next), j.Paused))
		}
		return strings.Join(all, ", "), shown
	}
	for _, c := range []struct{ user, args, want string }{
		{"ann", `{"action":"add","id":"late","cron":"0 3 1 1 *","timezone":"Europe/Berlin","message":"a"}`, "late 3 false"},
		{"ann", `{"action":"add","id":"soon","every":"1h","message":"b"}`, "soon 3 false, late 3 false"},
		{"bob", `{"action":"list"}`, ""},
		{"ann", `{"action":"pause","id":"soon"}`, "late 3 false, soon 0 true"},
		{"ann", `{"action":"resume","id":"soon"}`, "soon 3 false, late 3 false"},
		{"ann", `{"action":"remove","id":"soon"}`, "late 3 false"},
	} {
		got, shown := see(c.user, c.args)
		if got != c.want {
			t.Errorf("after %s the jobs are %q, want %q", c.args, got, c.want)
		}
		for _, j := range shown.Jobs {
			if j.Name == "late" && (j.Zone != "Europe/Berlin" || j.Work != `message "a"`) {
				t.Errorf("%+v", j)
			}
		}
	}
	call, err := one.Bind(json.RawMessage(`{"action":"list"}`), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if res, err := call.Run(as(t, "ann")); err != nil || res.View != nil {
		t.Errorf("a client without apps gets %+v, %v", res.View, err)
	}
}
