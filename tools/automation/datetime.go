package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// datetime is the tool that returns times and calculates with them. Models get such
// calculations wrong.
type datetime struct {
	now func() time.Time
}

type datetimeArgs struct {
	At       string `json:"at,omitempty" jsonschema:"RFC 3339 time, date, or Unix time in s or ms" alias:"time,parse,datetime"`
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone, such as Europe/Berlin" alias:"tz,time_zone"`
	Add      string `json:"add,omitempty" jsonschema:"duration to add, such as 1y2mo or -2h30m"`
	Until    string `json:"until,omitempty" jsonschema:"return how long until this time" alias:"to"`
}

func (datetime) Spec() tool.Spec {
	return tool.Spec{
		Name: "datetime", Group: group, Title: "Date, time", Risk: tool.Reads,
		Doc: `Returns a time as JSON, with UTC, Unix and local time, and weekday.
Use it for calculations with dates.`,
		Also:    []string{"get_current_time", "current_time"},
		Repeats: true,
		Output:  description{},
		Keywords: "now clock today current date time timezone zone convert day of the week weekday calendar " +
			"deadline until how long days christmas",
	}
}

// A description is the result of the tool.
type description struct {
	UTC       string `json:"utc"`
	UnixMS    int64  `json:"unix_ms"`
	Weekday   string `json:"weekday"`
	ISOWeek   string `json:"iso_week"`
	Local     string `json:"local,omitempty"`
	Timezone  string `json:"timezone,omitempty"`
	Offset    string `json:"utc_offset,omitempty"`
	DST       *bool  `json:"dst,omitempty"`
	Until     string `json:"until,omitempty"`
	UntilSecs *int64 `json:"until_seconds,omitempty"`
}

func (d datetime) Do(_ context.Context, a datetimeArgs) (tool.Result, error) {
	zone := time.UTC
	if a.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(a.Timezone); err != nil || a.Timezone == "Local" {
			return tool.Result{}, tool.Errorf(tool.Invalid, "there is no time zone %q", a.Timezone).
				Try("use an IANA name such as Europe/Berlin or America/New_York")
		}
	}
	now := d.now()
	at, err := parseOrNow(a.At, now, zone)
	if err != nil {
		return tool.Result{}, err
	}
	if at, err = clock.Add(at.In(zone), a.Add); err != nil {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%w", err).Try("write add like 90m, -2h30m or 1y2mo")
	}
	result := describe(at, zone, a.Timezone)
	if a.Until != "" {
		until, err := parseOrNow(a.Until, now, zone)
		if err != nil {
			return tool.Result{}, err
		}
		seconds := secondsBetween(at, until)
		result.Until, result.UntilSecs = formatSeconds(seconds), &seconds
	}
	encoded, err := json.Marshal(result)
	return tool.Text(string(encoded)).With(result), err
}

func describe(at time.Time, zone *time.Location, name string) description {
	year, week := at.ISOWeek()
	d := description{
		UTC: at.UTC().Format(time.RFC3339), UnixMS: at.UnixMilli(),
		Weekday: at.In(zone).Weekday().String(), ISOWeek: fmt.Sprintf("%d-W%02d", year, week),
	}
	if name != "" {
		local, dst := at.In(zone), at.In(zone).IsDST()
		d.Local, d.Timezone, d.Offset, d.DST = local.Format(time.RFC3339), name, local.Format("-07:00"), &dst
	}
	return d
}

// parseOrNow parses a time in zone; "" and "now" are now.
func parseOrNow(given string, now time.Time, zone *time.Location) (time.Time, error) {
	if given == "" || given == "now" {
		return now, nil
	}
	at, ok := clock.Parse(given, zone)
	if !ok {
		return at, tool.Errorf(tool.Invalid, "cannot read %q as a date or time", given).
			Try("use RFC 3339 (2026-01-31T09:00:00Z), a date (2026-01-31) or Unix seconds or milliseconds")
	}
	return at, nil
}

// secondsBetween returns the number of whole seconds, rounded towards zero. A time.Duration would overflow after 292
// years.
func secondsBetween(from, to time.Time) int64 {
	n := to.Unix() - from.Unix()
	switch rest := to.Nanosecond() - from.Nanosecond(); {
	case n > 0 && rest < 0:
		return n - 1
	case n < 0 && rest > 0:
		return n + 1
	}
	return n
}

// formatSeconds returns a number of seconds in days, hours, minutes and seconds.
func formatSeconds(seconds int64) string {
	if seconds < 0 {
		return formatSeconds(-seconds) + " ago"
	}
	const day = 24 * 60 * 60
	rest := time.Duration(seconds%day) * time.Second
	if days := seconds / day; days > 0 {
		return fmt.Sprintf("%dd %s", days, rest)
	}
	return rest.String()
}
