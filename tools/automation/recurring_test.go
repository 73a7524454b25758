package automation

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestRecurringEntries makes the schedules of entries that recur.
func TestRecurringEntries(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, try := range []struct{ next, repeat, cron, every, wrong string }{
		{"2026-03-02 09:30", "daily", "30 9 * * *", "", ""},
		{"2026-03-10 09:30", "daily", "", "24h", ""},
		{"2026-03-02 09:30", "weekly", "30 9 * * 1", "", ""},
		{"2026-03-20 09:30", "weekly", "", "168h", ""},
		{"2026-03-02 09:30", "every 3 days", "", "72h", ""},
		{"2026-03-02 09:30", "every 1 hour", "", "1h", ""},
		{"2026-03-02 09:30", "every 0 days", "", "", "repeat is"},
		{"2026-03-02 09:30", "now and then", "", "", "repeat is"},
		{"soon", "daily", "", "", "next is"},
		{"", "daily", "", "", "next is"},
	} {
		c, err := todoUpdateArgs{Content: "x", Next: try.next, Repeat: try.repeat, Zone: "UTC"}.job(now)
		if try.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), try.wrong) {
				t.Errorf("%+v: %v", try, err)
			}
			continue
		}
		if err != nil || c.Cron != try.cron || c.Every != try.every || (c.Anchor != "") != (try.every != "") {
			t.Errorf("%+v: cron %q every %q anchor %q, %v", try, c.Cron, c.Every, c.Anchor, err)
		}
	}
}

// TestRecurringEntriesAreJobs adds an entry that recurs, and refuses it to those who may not make jobs.
func TestRecurringEntriesAreJobs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		x := todoUpdate{now: time.Now, jobs: r.Scheduler}
		a := todoUpdateArgs{Action: actionRecurring, Content: "water the plants", People: []string{"$AGENT"},
			Next: time.Now().UTC().Add(time.Hour).Format("2006-01-02 15:04"), Repeat: "daily", Zone: "UTC"}
		running := tool.RunningFrom(r.ctx)
		usable := running.Usable
		with := func(tools ...tool.Tool) {
			running.Usable = func() []tool.Tool { return append(usable(), tools...) }
		}
		with(tool.New(x))
		res, err := x.Do(tool.With(t.Context(), &running), a)
		if err != nil || !strings.Contains(res.Text(), "is scheduled: todo_update") {
			t.Fatalf("%q, %v", res.Text(), err)
		}
		if got := r.cron(r.ctx, t, `{"action":"list"}`); !strings.Contains(got, "todo: water the plants") ||
			!strings.Contains(got, `"action":"add"`) {
			t.Errorf("the jobs: %q", got)
		}
		running.Caller.Channel = "cron"
		if _, err := x.Do(tool.With(t.Context(), &running), a); tool.AsError(err).Kind != tool.Refused {
			t.Errorf("a job makes a job: %v", err)
		}
		running.Caller.Channel = "stdio"
		running.Usable = func() []tool.Tool { return []tool.Tool{tool.New(x)} }
		if _, err := x.Do(tool.With(t.Context(), &running), a); tool.AsError(err).Kind != tool.Refused {
			t.Errorf("without cron: %v", err)
		}
	})
}
