package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

// addRecurring makes a job that adds an entry at times. It refuses callers that may not make
// jobs.
func (x todoUpdate) addRecurring(ctx context.Context, a todoUpdateArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	may := running.Usable != nil && slices.ContainsFunc(running.Usable(), func(t tool.Tool) bool {
		return t.Spec.Name == "cron"
	})
	if x.jobs == nil || !may || running.Caller.Channel == channel {
		return tool.Result{}, tool.Errorf(tool.Refused, "this call cannot make entries that recur").
			Try("add one entry")
	}
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	job, err := a.job(x.now())
	if err != nil {
		return tool.Result{}, err
	}
	return cronTool{x.jobs}.add(ctx, owner, job)
}

// job returns the job that adds the entry.
func (a todoUpdateArgs) job(now time.Time) (c cronArgs, err error) {
	entry := map[string]any{"action": "add", "content": a.Content, "people": a.People}
	if a.ChatID != "" {
		entry["chat_id"] = a.ChatID
	}
	c = cronArgs{ID: "todo: " + text.Clip(a.Content, 50), Timezone: a.Zone, Tool: "todo_update", Args: entry}
	name := a.Zone
	if name == "" {
		name = localZone()
	}
	zone, err := schedule.Zone(name)
	if err != nil {
		return c, invalid(err)
	}
	next, ok := clock.Parse(a.Next, zone)
	if a.Next == "" || !ok {
		return c, tool.Errorf(tool.Invalid, "next is %q, it must be the first time", text.Clip(a.Next, 50)).
			Try("write next as 2026-01-31 09:00, and repeat as daily, weekly, every N days or every N hours")
	}
	next = next.In(zone)
	const day = 24 * time.Hour
	words := strings.Fields(strings.ToLower(a.Repeat))
	switch {
	case slices.Equal(words, []string{"daily"}) && next.Sub(now) <= day:
		c.Cron = fmt.Sprintf("%d %d * * *", next.Minute(), next.Hour())
		return c, nil
	case slices.Equal(words, []string{"weekly"}) && next.Sub(now) <= 7*day:
		c.Cron = fmt.Sprintf("%d %d * * %d", next.Minute(), next.Hour(), next.Weekday())
		return c, nil
	case slices.Equal(words, []string{"daily"}):
		words = []string{"every", "1", "days"}
	case slices.Equal(words, []string{"weekly"}):
		words = []string{"every", "7", "days"}
	}
	n := 0
	if len(words) == 3 && words[0] == "every" {
		n, _ = strconv.Atoi(words[1])
	}
	unit := ""
	if len(words) == 3 {
		unit = strings.TrimSuffix(words[2], "s")
	}
	if n < 1 || n > 1000 || unit != "day" && unit != "hour" {
		return c, tool.Errorf(tool.Invalid, "repeat is %q", text.Clip(a.Repeat, 50)).
			Try("use daily, weekly, every N days or every N hours")
	}
	if unit == "day" {
		n *= 24
	}
	c.Every, c.Anchor = fmt.Sprintf("%dh", n), next.Format(time.RFC3339)
	return c, nil
}

// recurring is the part of the result about an entry that recurs.
func recurring(res tool.Result) (tool.Result, error) {
	encoded, err := json.Marshal(map[string]any{"ok": true, "action": actionRecurring, "job": res.Text()})
	return tool.Text(string(encoded)), err
}
