package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// datetime tells the time and does the arithmetic that models get wrong.
type datetime struct {
	now func() time.Time
}

type datetimeArgs struct {
	At       string `json:"at,omitempty" jsonschema:"RFC 3339, date, unix s or ms" alias:"time,parse,datetime"`
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA name" alias:"tz,time_zone"`
	Add      string `json:"add,omitempty" jsonschema:"shift: -2h30m, 3d, 1y2mo"`
	Until    string `json:"until,omitempty" jsonschema:"moment to count to" alias:"to"`
}

func (datetime) Spec() tool.Spec {
	return tool.Spec{
		Name: "datetime", Group: group, Title: "Date, time", Risk: tool.Reads,
		Doc:     "A moment as JSON: UTC, unix ms, weekday, ISO week, local, DST. Use it for all date arithmetic.",
		Also:    []string{"get_current_time", "current_time"},
		Repeats: true,
	}
}

// moment is what the tool answers.
type moment struct {
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
			return tool.Result{}, tool.Errorf(tool.Invalid, "%q is no timezone", a.Timezone).
				Try("use an IANA name such as Europe/Berlin or America/New_York")
		}
	}
	now := d.now()
	at, err := momentOr(a.At, now, zone)
	if err != nil {
		return tool.Result{}, err
	}
	if at, err = shift(at.In(zone), a.Add); err != nil {
		return tool.Result{}, err
	}
	m := describe(at, zone, a.Timezone)
	if a.Until != "" {
		until, err := momentOr(a.Until, now, zone)
		if err != nil {
			return tool.Result{}, err
		}
		seconds := secondsBetween(at, until)
		m.Until, m.UntilSecs = spell(seconds), &seconds
	}
	text, err := json.Marshal(m)
	return tool.Text(string(text)), err
}

func describe(at time.Time, zone *time.Location, name string) moment {
	year, week := at.ISOWeek()
	m := moment{
		UTC: at.UTC().Format(time.RFC3339), UnixMS: at.UnixMilli(),
		Weekday: at.In(zone).Weekday().String(), ISOWeek: fmt.Sprintf("%d-W%02d", year, week),
	}
	if name != "" {
		local, dst := at.In(zone), at.In(zone).IsDST()
		m.Local, m.Timezone, m.Offset, m.DST = local.Format(time.RFC3339), name, local.Format("-07:00"), &dst
	}
	return m
}

func momentOr(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" || text == "now" {
		return now, nil
	}
	at, ok := parse(text, zone)
	if !ok {
		return at, tool.Errorf(tool.Invalid, "%q is no moment", text).
			Try("use RFC 3339 (2026-01-31T09:00:00Z), a date (2026-01-31) or unix seconds or milliseconds")
	}
	return at, nil
}
