// Package clock reads times as people and programs write them, adds durations
// by the calendar, and sleeps until a context ends. It reads no clock: callers
// pass the current time.
//
// Begin with [Parse] for points in time and [Add] for durations.
package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts are the accepted forms of a point in time.
var layouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
	time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC,
}

// Parse reads a point in time: RFC 3339 and its common variants, a date, an
// HTTP date, or Unix seconds or milliseconds of at least nine digits. Text
// without an offset is read in zone. Years outside 1 to 9999 are rejected.
func Parse(text string, zone *time.Location) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) >= 9 {
		return parseUnix(n)
	}
	for _, layout := range layouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, printable(at)
		}
	}
	return time.Time{}, false
}

// parseUnix reads n as seconds, or as milliseconds if seconds would be
// thousands of years away.
func parseUnix(n int64) (time.Time, bool) {
	at := time.Unix(n, 0)
	if n > 99_999_999_999 || n < -99_999_999_999 {
		at = time.UnixMilli(n)
	}
	return at, printable(at)
}

// printable reports whether every format can write the year of at.
func printable(at time.Time) bool { return at.Year() > 0 && at.Year() < 10_000 }

// Add adds a duration such as "90m", "3 days", "-2h30m" or "1y2mo" to at. The
// empty text adds nothing. Days, weeks, months and years follow the calendar
// of at's location; a month after January 31 is the last day of February.
func Add(at time.Time, text string) (time.Time, error) {
	rest, sign := strings.TrimSpace(text), 1
	if strings.HasPrefix(rest, "-") {
		rest, sign = rest[1:], -1
	}
	rest = strings.TrimPrefix(rest, "+")
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		unit := rest[digits:]
		if next := strings.IndexAny(unit, "0123456789"); next >= 0 {
			unit = unit[:next]
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > 1_000_000_000 || unit == "" {
			return at, durationError(text)
		}
		rest = strings.TrimSpace(rest[digits+len(unit):])
		moved, ok := addUnits(at, sign*n, strings.TrimSpace(strings.ToLower(unit)))
		if !ok || !printable(moved) {
			return at, durationError(text)
		}
		at = moved
	}
	return at, nil
}

func durationError(text string) error {
	return fmt.Errorf("cannot read %.40q as a duration; "+
		"write numbers with the units s, m, h, d, w, mo or y, such as 90m, 2h30m or 1y2mo", text)
}

func addUnits(at time.Time, n int, unit string) (time.Time, bool) {
	switch unit {
	case "s", "sec", "second", "seconds":
		return addSeconds(at, n, 1)
	case "m", "min", "minute", "minutes":
		return addSeconds(at, n, 60)
	case "h", "hour", "hours":
		return addSeconds(at, n, 3600)
	case "d", "day", "days":
		return at.AddDate(0, 0, n), n < 4_000_000 && n > -4_000_000
	case "w", "week", "weeks":
		return at.AddDate(0, 0, 7*n), n < 600_000 && n > -600_000
	case "mo", "mon", "month", "months":
		return addMonths(at, n), n < 120_000 && n > -120_000
	case "y", "year", "years":
		return addMonths(at, 12*n), n < 10_000 && n > -10_000
	}
	return at, false
}

// addSeconds adds n times each seconds, if a time.Duration can hold them.
func addSeconds(at time.Time, n, each int) (time.Time, bool) {
	const limit = int64(math.MaxInt64 / time.Second)
	total := int64(n) * int64(each)
	return at.Add(time.Duration(total) * time.Second), total < limit && total > -limit
}

func addMonths(at time.Time, n int) time.Time {
	moved := at.AddDate(0, n, 0)
	if moved.Day() != at.Day() { // AddDate carried the missing days into the next month
		moved = moved.AddDate(0, 0, -moved.Day())
	}
	return moved
}

// Until reads the end of something: a point in time, as Parse reads it in UTC, or a
// duration from now on, as Add reads it.
func Until(now time.Time, text string) (time.Time, error) {
	return read(text, func() (time.Time, error) { return Add(now, text) })
}

// Ago is Until for the past: a duration is one before now.
func Ago(now time.Time, text string) (time.Time, error) {
	return read(text, func() (time.Time, error) {
		at, err := Add(now, text)
		if err == nil && at.Before(now) {
			err = errors.New("it is in the future")
		}
		return now.Add(-at.Sub(now)), err
	})
}

func read(text string, duration func() (time.Time, error)) (time.Time, error) {
	if at, ok := Parse(text, time.UTC); ok {
		return at, nil
	}
	at, err := duration()
	if err != nil || strings.TrimSpace(text) == "" {
		return at, errors.New("it must be a date (2026-01-31), a time (2026-01-31T09:00:00Z) or a duration (12h, 30d)")
	}
	return at, nil
}

// Sleep waits for d, or until ctx ends; then it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
