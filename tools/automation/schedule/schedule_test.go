package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

func at(t testing.TB, zone, text string) time.Time {
	t.Helper()
	location, err := schedule.Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := time.ParseInLocation("2006-01-02 15:04", text, location)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestChangesOfClocks has the changes of five zones: by an hour, by half an hour, on the southern half of the
// earth, at midnight, and a zone without any.
func TestChangesOfClocks(t *testing.T) {
	for _, test := range []struct{ name, zone, cron, after, want string }{
		{"skipped", "Europe/Berlin", "30 2 * * *", "2026-03-28 12:00",
			"2026-03-29T03:30:00+02:00 2026-03-30T02:30:00+02:00"},
		{"twice", "Europe/Berlin", "30 2 * * *", "2026-10-24 12:00",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"hours before, in and after the gap", "Europe/Berlin", "0 1-3 * * *", "2026-03-28 23:00",
			"2026-03-29T01:00:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T01:00:00+02:00"},
		{"minutes continue", "Europe/Berlin", "*/30 * * * *", "2026-10-25 01:20",
			"2026-10-25T01:30:00+02:00 2026-10-25T02:00:00+02:00 2026-10-25T02:30:00+02:00 " +
				"2026-10-25T02:00:00+01:00"},
		{"every hour over the gap", "Europe/Berlin", "15 * * * *", "2026-03-29 01:00",
			"2026-03-29T01:15:00+01:00 2026-03-29T03:15:00+02:00"},
		{"skipped", "America/New_York", "0 2 * * *", "2026-03-07 12:00",
			"2026-03-08T03:00:00-04:00 2026-03-09T02:00:00-04:00"},
		{"twice", "America/New_York", "45 1 * * 0", "2026-10-31 12:00",
			"2026-11-01T01:45:00-04:00 2026-11-08T01:45:00-05:00"},
		{"skipped half an hour", "Australia/Lord_Howe", "10 2 * * *", "2026-10-03 12:00",
			"2026-10-04T02:40:00+11:00 2026-10-05T02:10:00+11:00"},
		{"half an hour twice", "Australia/Lord_Howe", "40 1 * * *", "2026-04-04 12:00",
			"2026-04-05T01:40:00+11:00 2026-04-06T01:40:00+10:30"},
		{"midnight is skipped", "America/Santiago", "0 0 * * *", "2026-09-05 12:00",
			"2026-09-06T01:00:00-03:00 2026-09-07T00:00:00-03:00"},
		{"the hour before midnight twice", "America/Santiago", "30 23 * * *", "2026-04-04 12:00",
			"2026-04-04T23:30:00-03:00 2026-04-05T23:30:00-04:00"},
		{"no changes", "Asia/Kolkata", "30 2 * * 1-5", "2026-03-27 12:00",
			"2026-03-30T02:30:00+05:30 2026-03-31T02:30:00+05:30"},
		{"a leap day", "Asia/Kolkata", "0 9 29 2 *", "2026-01-01 00:00", "2028-02-29T09:00:00+05:30"},
	} {
		t.Run(test.zone+" "+test.name, func(t *testing.T) {
			s := schedule.Schedule{Cron: test.cron, Zone: test.zone}
			next := at(t, test.zone, test.after)
			if err := s.Check(next); err != nil {
				t.Fatal(err)
			}
			zone := next.Location()
			var got []string
			for range strings.Fields(test.want) {
				next = s.Next(next)
				got = append(got, next.In(zone).Format(time.RFC3339))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s after %s:\ngot  %s\nwant %s", test.cron, test.after, strings.Join(got, " "), test.want)
			}
		})
	}
}

// TestIntervals shows that intervals do not drift, whenever Next is called.
func TestIntervals(t *testing.T) {
	anchor := at(t, "UTC", "2026-01-01 00:10")
	s := schedule.Schedule{Every: time.Hour, Anchor: anchor, Zone: "UTC"}
	for after, want := range map[string]string{
		"2025-12-31 12:00": "2026-01-01 00:10", "2026-01-01 00:10": "2026-01-01 01:10",
		"2026-01-01 01:09": "2026-01-01 01:10", "2026-02-01 12:34": "2026-02-01 13:10",
	} {
		if got := s.Next(at(t, "UTC", after)); !got.Equal(at(t, "UTC", want)) {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	for every, want := range map[time.Duration]string{5 * time.Hour: "every 5h", 90 * time.Minute: "every 1h30m",
		10 * time.Second: "every 10s", 20 * time.Minute: "every 20m"} {
		if got := (schedule.Schedule{Every: every}).String(); got != want {
			t.Errorf("%s: %q, want %q", every, got, want)
		}
	}
	once := schedule.Schedule{At: anchor, Zone: "UTC"}
	if got := once.Next(anchor.Add(-time.Second)); !got.Equal(anchor) {
		t.Errorf("once: %s", got)
	}
	if got := once.Next(anchor); !got.IsZero() {
		t.Errorf("once, again: %s", got)
	}
	spread := schedule.Schedule{Cron: "0 9 * * *", Zone: "UTC", Spread: 90 * time.Second}
	first := spread.Next(at(t, "UTC", "2026-01-01 09:01"))
	if first.Format(time.TimeOnly) != "09:01:30" || spread.Next(first).Sub(first) != 24*time.Hour {
		t.Errorf("spread: %s, then %s", first, spread.Next(first))
	}
}

func TestCheck(t *testing.T) {
	now := at(t, "UTC", "2026-01-01 00:00")
	for text, s := range map[string]schedule.Schedule{
		"one of at":           {Zone: "UTC"},
		"has 2 of them":       {Zone: "UTC", Cron: "@daily", Every: time.Hour},
		"in the past":         {Zone: "UTC", At: now},
		"20 years away":       {Zone: "UTC", At: now.AddDate(30, 0, 0)},
		"at least 10s":        {Zone: "UTC", Every: time.Second},
		"five fields":         {Zone: "UTC", Cron: "* * *"},
		"no date matches":     {Zone: "UTC", Cron: "0 0 31 2 *"},
		"use timezone":        {Zone: "UTC", Cron: "CRON_TZ=Asia/Tokyo 0 0 * * *"},
		"and every":           {Zone: "UTC", Cron: "@every 1h"},
		`no time zone "CEST"`: {Zone: "CEST", Every: time.Hour},
		`no time zone ""`:     {Every: time.Hour},
	} {
		if err := s.Check(now); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %q", s, err, text)
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, expression := range []string{"* * * * *", "0 9 * * 1-5", "@monthly", "*/7 1,2,3 1-5/2 JAN-JUN SUN", "0 0 30 2 *"} {
		f.Add(expression, "America/Santiago", int64(1_780_000_000))
	}
	f.Fuzz(func(t *testing.T, expression, zone string, unix int64) {
		now := time.Unix(unix%4_000_000_000, 0)
		s := schedule.Schedule{Cron: expression, Zone: zone}
		if s.Check(now) != nil {
			return
		}
		for range 5 {
			next := s.Next(now)
			if next.IsZero() {
				return
			}
			if !next.After(now) {
				t.Fatalf("%q in %s: %s is not after %s", expression, zone, next, now)
			}
			now = next
		}
	})
}

// TestFields compares expressions with others that mean the same, and has some that mean nothing.
func TestFields(t *testing.T) {
	now := at(t, "UTC", "2026-05-04 12:00")
	for given, same := range map[string]string{
		"0 9 * * 7": "0 9 * * 0", "0 9 * * 5-7": "0 9 * * 5,6,0", "0 9 * * fri-sun": "0 9 * * 5,6,0",
		"0 9 * * 1-7/2": "0 9 * * 1,3,5,0", "0 9 * * 7,3": "0 9 * * 0,3", "0 9 * * 0-7": "0 9 * * 0-6",
		"0 9 * * 7-2": "0 9 * * 0-2", "0 9 * * Sun-Tue": "0 9 * * 0-2", "0 9 * jan-MAR *": "0 9 * 1-3 *",
		"*/5 9-17 1,15 * ?": "0/5 9-17 1,15 * *",
	} {
		a, b := schedule.Schedule{Cron: given, Zone: "UTC"}, schedule.Schedule{Cron: same, Zone: "UTC"}
		if err := a.Check(now); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		x, y := now, now
		for range 20 {
			if x, y = a.Next(x), b.Next(y); !x.Equal(y) {
				t.Errorf("%s is due at %s, %s at %s", given, x, same, y)
				break
			}
		}
	}
	for _, wrong := range []string{
		"*-5 * * * *", "1, * * * *", ",1 * * * *", "1,,2 * * * *", "+5 * * * *", "*/+5 * * * *", "1-2-3 * * * *",
		"1/2/3 * * * *", "0 9 * * 8", "0 9 * * 5-8", "0 9 * * sat-mon", "0 9 * * 7/0", "- * * * *", "5- * * * *", "0 9 * *",
	} {
		if err := (schedule.Schedule{Cron: wrong, Zone: "UTC"}).Check(now); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
