package automation

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestOperatorVerbs pauses, resumes, runs and shows a job of an agent.
func TestOperatorVerbs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		r.answer = func(_ context.Context, c ScheduledCall) tool.Result {
			return tool.Text("did\u202e it as " + c.Grant.Caller.Agent)
		}
		j := r.put(t, "tidy", -time.Hour, func(*savedJob) {})
		host := &room.Host{Store: s}
		verb := func(name, id string) (tool.Result, error) {
			t.Helper()
			all := Room()
			v, _ := all.Verb(name)
			plan, err := all.Prepare(t.Context(), v, host, []byte(`{"id":"`+id+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			return plan.Run(t.Context())
		}
		say := func(name, want string) {
			t.Helper()
			if got, err := verb(name, j.ID); err != nil || !strings.Contains(got.Text(), want) {
				t.Errorf("%s says %q, %v, want %q", name, got.Text(), err, want)
			}
		}
		say("pause", "The job tidy is paused")
		if now := r.job(t, "tidy"); now.Enabled || now.Queued != "" || !now.Next.IsZero() {
			t.Errorf("a paused job is %+v", now)
		}
		say("show", "Paused")
		say("resume", "The job tidy runs next at")
		if now := r.job(t, "tidy"); !now.Enabled || now.Queued == "" || now.Next.IsZero() {
			t.Errorf("a job that continues is %+v", now)
		}
		say("run", "A server runs the job tidy as soon as it can")
		r.Start()
		r.history(t, "tidy", 1)
		got, err := verb("show", j.ID)
		written, failed := json.Marshal(got.Data)
		var shown JobDetail
		if json.Unmarshal(written, &shown) != nil || err != nil || failed != nil || len(shown.Runs) != 1 || shown.Last != "ok" ||
			len(shown.Times) != shownTimes || shown.Runs[0].Ended.IsZero() || !strings.Contains(shown.Runs[0].Output, "as a") {
			t.Errorf("shown is %s, %v", written, err)
		}
		if strings.Contains(got.Text(), "\u202e") || !strings.Contains(got.Text(), "Run: ") {
			t.Errorf("people see %q", got.Text())
		}
		for _, name := range []string{"show", "run", "pause", "resume", "remove"} {
			if _, err := verb(name, "none"); tool.AsError(err).Kind != tool.NotFound {
				t.Errorf("%s of no job: %v", name, err)
			}
		}
	})
}
