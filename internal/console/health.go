package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/today"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// healthData has the findings of the checks; nil before a person has asked for them.
type healthData struct {
	Run      bool
	Findings []room.Finding
	Audit    *verified // nil: this console has not verified the audit log yet
	Replicas []peers.Sign
	Outage   string // why the replicas are not known
	Limits   []usedLimit
}

// A usedLimit is what is used of a limit.
type usedLimit struct{ Limit, Whose, Used, Of string }

const (
	// maxLimitRows limits the records that are read for the page, and maxLimits its rows.
	maxLimitRows = 25_000
	maxLimits    = 40
)

// limits returns what is used of the limits of calls, as the audit log has them, and of the budgets of models. The most
// used of each come first.
func (r *Request) limits(now time.Time) (list []usedLimit, err error) {
	l := r.console.Limits
	since := now.Add(-time.Minute)
	if hour := now.Truncate(time.Hour); l.Hour > 0 && hour.Before(since) {
		since = hour
	}
	minute, hour, running := map[string]int{}, map[string]int{}, map[string]int{}
	_, err = audit.NewDB(r.Store()).TailSince(r.Context(), maxLimitRows, since, func(row *audit.Row) bool {
		if row.Kind != "" || row.Phase == audit.Intent {
			return false
		}
		if now.Sub(row.Time) < time.Minute {
			minute[row.Session]++
		}
		if !row.Time.Before(now.Truncate(time.Hour)) {
			hour[strings.Trim(row.Agent+"/"+row.User, "/")]++
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if result, _, err := r.Call("activity", "today", map[string]any{"limit": 1}); err == nil {
		if day, ok := result.Data.(today.Day); ok {
			for _, one := range day.Running {
				if one.Kind == "call" {
					running[one.Session]++
				}
			}
		}
	}
	add := func(title string, used map[string]int, of int) {
		names := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
			return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b))
		})
		for _, name := range names[:min(len(names), maxLimits)] {
			if of > 0 {
				list = append(list, usedLimit{title, name, strconv.Itoa(used[name]), strconv.Itoa(of)})
			}
		}
	}
	add("calls of a session that run", running, l.Running)
	add("calls of a session in the last minute", minute, l.Minute)
	add("calls of a caller in this hour", hour, l.Hour)
	if _, _, err := r.verb("models", "budgets"); err != nil {
		return list, nil
	}
	result, _, err := r.Call("models", "budgets", nil)
	if table, ok := result.Data.(room.Table); ok && err == nil && len(table.Rows) > 1 {
		for _, row := range table.Rows[1:] {
			list = append(list, usedLimit{"budget of models: " + row[0], row[1], row[2], row[3]})
		}
	}
	return list, err
}

// verified is the result of the last verification of the audit log.
type verified struct {
	At     time.Time // all records up to then were read
	Result *note
}

// showHealth runs the checks when a person asks for them: some start programs. It verifies the audit log only then too,
// because that reads all of it.
func showHealth(r *Request) (any, error) {
	var d healthData
	var err error
	query := r.URL.Query()
	if d.Run = query.Get("run") != ""; d.Run || query.Get("verify") != "" {
		if !r.console.health.TryLock() {
			return nil, tool.Errorf(tool.Busy, "the checks run already, in another page").Try("load this page again in a moment")
		}
		defer r.console.health.Unlock()
	}
	if query.Get("verify") != "" {
		if err := r.verify(); err != nil {
			return nil, err
		}
	}
	d.Audit = r.console.audit.Load()
	if !r.Store().Missing() {
		if d.Limits, err = r.limits(time.Now()); err != nil {
			return nil, err
		}
		if d.Replicas, err = peers.Signs(r.Context(), r.Store()); err != nil {
			d.Outage = r.console.Scrub(message(err))
		}
	}
	switch {
	case !d.Run:
	case r.console.Health != nil:
		d.Findings = r.console.Health(r.Context())
	default:
		d.Findings = r.console.checks(r.Context())
	}
	return d, nil
}

// verify verifies the audit log, and keeps the result for this page.
func (r *Request) verify() error {
	at := time.Now()
	result, _, err := r.Call("audit", "verify", nil)
	if err != nil {
		return err
	}
	r.console.audit.Store(&verified{at, noteOf(result, false)})
	return nil
}

// checks runs the checks of the rooms.
func (c *Console) checks(ctx context.Context) (found []room.Finding) {
	for _, one := range c.API.Rooms {
		for _, check := range one.Checks {
			if !check.Stored || !c.API.Host.Store.Missing() {
				found = append(found, one.Find(ctx, check, c.API.Host)...)
			}
		}
	}
	return found
}
