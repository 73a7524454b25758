package automation

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// parse reads a moment in the forms that people and programs write. Those
// without an offset are meant in zone.
func parse(text string, zone *time.Location) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) >= 9 {
		return unix(n)
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC,
	} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, sane(at)
		}
	}
	return time.Time{}, false
}

// unix takes seconds or milliseconds, whichever gives a date of our age.
func unix(n int64) (time.Time, bool) {
	at := time.Unix(n, 0)
	if n > 99_999_999_999 || n < -99_999_999_999 {
		at = time.UnixMilli(n)
	}
	return at, sane(at)
}

// sane keeps to years that every format can write.
func sane(at time.Time) bool { return at.Year() > 0 && at.Year() < 10_000 }

// shift moves at by text, such as "3d" or "-1mo2h". Months and years keep the
// day if they can: a month after January 31 is the last of February.
func shift(at time.Time, text string) (time.Time, error) {
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
			return at, badShift(text)
		}
		rest = strings.TrimSpace(rest[digits+len(unit):])
		moved, ok := step(at, sign*n, strings.TrimSpace(strings.ToLower(unit)))
		if !ok || !sane(moved) {
			return at, badShift(text)
		}
		at = moved
	}
	return at, nil
}

func badShift(text string) error {
	return tool.Errorf(tool.Invalid, "%q is no shift in time", text).
		Try("write numbers with units s, m, h, d, w, mo or y, such as 90m, -2h30m or 1y2mo")
}

func step(at time.Time, n int, unit string) (time.Time, bool) {
	switch unit {
	case "s", "sec", "second", "seconds":
		return seconds(at, n, 1)
	case "m", "min", "minute", "minutes":
		return seconds(at, n, 60)
	case "h", "hour", "hours":
		return seconds(at, n, 3600)
	case "d", "day", "days":
		return at.AddDate(0, 0, n), n < 4_000_000 && n > -4_000_000
	case "w", "week", "weeks":
		return at.AddDate(0, 0, 7*n), n < 600_000 && n > -600_000
	case "mo", "mon", "month", "months":
		return months(at, n), n < 120_000 && n > -120_000
	case "y", "year", "years":
		return months(at, 12*n), n < 10_000 && n > -10_000
	}
	return at, false
}

// seconds moves at by n times each seconds, within what a Duration can hold.
func seconds(at time.Time, n, each int) (time.Time, bool) {
	const most = int64(math.MaxInt64 / time.Second)
	total := int64(n) * int64(each)
	return at.Add(time.Duration(total) * time.Second), total < most && total > -most
}

func months(at time.Time, n int) time.Time {
	moved := at.AddDate(0, n, 0)
	if moved.Day() != at.Day() { // it ran over into the next month
		moved = moved.AddDate(0, 0, -moved.Day())
	}
	return moved
}

// secondsBetween counts whole seconds. A Duration would end at 292 years.
func secondsBetween(from, to time.Time) int64 {
	n := to.Unix() - from.Unix()
	switch rest := to.Nanosecond() - from.Nanosecond(); { // towards zero, as Go divides
	case n > 0 && rest < 0:
		return n - 1
	case n < 0 && rest > 0:
		return n + 1
	}
	return n
}

// spell writes a number of seconds the way a person would say it.
func spell(seconds int64) string {
	if seconds < 0 {
		return spell(-seconds) + " ago"
	}
	const day = 24 * 60 * 60
	rest := time.Duration(seconds%day) * time.Second
	if days := seconds / day; days > 0 {
		return fmt.Sprintf("%dd %s", days, rest)
	}
	return rest.String()
}
