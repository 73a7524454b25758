// Package schedule calculates when a job is due: once, in equal intervals, or by a cron
// expression in a time zone. It reads no clock and keeps nothing. Begin with [Schedule].
package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule is when something is due. Exactly one of At, Every and Cron is set.
type Schedule struct {
	At     time.Time     `json:"at,omitzero"`      // once
	Every  time.Duration `json:"every,omitempty"`  // in intervals since Anchor
	Anchor time.Time     `json:"anchor,omitzero"`  // of Every
	Since  time.Time     `json:"since,omitzero"`   // the time that At was counted from, or zero for a time of the calendar
	Cron   string        `json:"cron,omitempty"`   // an expression with five fields, or a word such as @daily
	Zone   string        `json:"zone"`             // the IANA time zone of Cron and of times in the output
	Spread time.Duration `json:"spread,omitempty"` // added to each time of Cron
}

// MinEvery is the shortest interval.
const MinEvery = 10 * time.Second

// maxDue is how far in the future something can be due.
const maxDue = 20 * 365 * 24 * time.Hour

// Check returns the error in s, in words for a model. now is the time of its beginning.
func (s Schedule) Check(now time.Time) error {
	if _, err := Zone(s.Zone); err != nil {
		return err
	}
	set := 0
	for _, one := range []bool{!s.At.IsZero(), s.Every != 0, s.Cron != ""} {
		if one {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("a schedule has one of at, after, every and cron; this one has %d of them", set)
	case !s.At.IsZero() && !s.At.After(now):
		return fmt.Errorf("%s is in the past; it is %s now", s.At.Format(time.RFC3339), now.Format(time.RFC3339))
	case s.At.After(now.Add(maxDue)):
		return fmt.Errorf("%s is more than 20 years away", s.At.Format(time.RFC3339))
	case s.Every != 0 && (s.Every < MinEvery || s.Every > maxDue):
		return fmt.Errorf("an interval is at least %s and at most 20 years", MinEvery)
	case s.Cron != "":
		if _, err := s.spec(); err != nil {
			return err
		}
		if s.Next(now).IsZero() {
			return fmt.Errorf("no date matches the expression %q", s.Cron)
		}
	}
	return nil
}

// Zone returns a time zone by its IANA name.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("there is no time zone %q; use an IANA name such as Europe/Berlin", name)
	}
	return zone, nil
}

func (s Schedule) spec() (*cron.SpecSchedule, error) {
	if strings.Contains(s.Cron, "TZ=") || strings.HasPrefix(s.Cron, "@every") {
		return nil, fmt.Errorf("the expression %.60q has a zone or an interval; use timezone and every", s.Cron)
	}
	expression, err := standard(s.Cron)
	var parsed cron.Schedule
	if err == nil {
		parsed, err = cron.ParseStandard(expression)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the cron expression %.60q: %w; "+
			"it has five fields: minute, hour, day of the month, month, day of the week", s.Cron, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("the expression %.60q is not a schedule of days and times", s.Cron)
	}
	return spec, nil
}

// standard checks the form of an expression more strictly than the parser (it ignores parts that it does not
// expect), and writes a range of days that ends with a Sunday, 7 or sun, as a list.
func standard(expression string) (string, error) {
	fields := strings.Fields(expression)
	if strings.HasPrefix(expression, "@") || len(fields) != 5 {
		return expression, nil // the parser knows the words, and counts the fields
	}
	for i, field := range fields {
		items := strings.Split(field, ",")
		for k, item := range items {
			base, step, stepped := strings.Cut(item, "/")
			low, high, ranged := strings.Cut(base, "-")
			star := base == "*" || base == "?"
			if !star && !isValue(low) || ranged && !isValue(high) || stepped && !isNumber(step) {
				return "", fmt.Errorf("%q is not *, a value, a range such as 1-5 or one of these with a step such as */5",
					item)
			}
			if i == 4 && !star {
				items[k] = weekdays(item, low, high, step)
			}
		}
		fields[i] = strings.Join(items, ",")
	}
	return strings.Join(fields, " "), nil
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// isValue reports whether text is a number or a name.
func isValue(text string) bool {
	return isNumber(text) || text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz") == ""
}

// weekdays returns an item of the days of the week without 7. An item without a Sunday at its end stays as it is.
func weekdays(item, low, high, step string) string {
	from, to := weekday(low), weekday(high)
	switch {
	case high == "" && from == 7 && step == "":
		return "0"
	case from == 7:
		from = 0
	}
	if strings.EqualFold(high, "sun") && from > 0 {
		to = 7
	}
	every := 1
	if step != "" {
		every, _ = strconv.Atoi(step) // of digits; too many of them become 0, and the parser refuses that
	}
	if from < 0 || to < 0 || from > to || every < 1 || to != 7 && low != "7" {
		return item
	}
	var days []string
	for day := from; day <= min(to, 7); day += every {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// weekday returns the number of a day as it was written, and -1 for another text.
func weekday(text string) int {
	if i := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(text)); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// Next returns the first time after a time, or the zero time if there is none.
func (s Schedule) Next(after time.Time) time.Time {
	switch {
	case !s.At.IsZero():
		if s.At.After(after) {
			return s.At
		}
		return time.Time{}
	case s.Every > 0:
		if after.Before(s.Anchor) {
			return s.Anchor
		}
		return s.Anchor.Add((after.Sub(s.Anchor)/s.Every + 1) * s.Every)
	}
	spec, err := s.spec()
	zone, zoneErr := Zone(s.Zone)
	if err != nil || zoneErr != nil {
		return time.Time{}
	}
	at := nextIn(spec, zone, after.Add(-s.Spread).Truncate(time.Second))
	if at.IsZero() {
		return at
	}
	return at.Add(s.Spread)
}

// everyHour has the bits of a cron expression that holds in each hour.
const everyHour = 1<<24 - 1

// nextIn returns the first time after a time that a cron expression means in a zone. A
// local time that a change of the clocks skips is the time as much later, and one that
// comes twice is its first occurrence. Expressions for every hour follow the elapsed
// time instead: they lose and repeat nothing when the clocks change.
func nextIn(spec *cron.SpecSchedule, zone *time.Location, after time.Time) time.Time {
	if spec.Hour&everyHour == everyHour {
		spec.Location = zone
		return spec.Next(after.In(zone))
	}
	spec.Location = time.UTC
	// A clock that is never changed reads like the local one.
	reading := asUTC(after.In(zone)).Add(-25 * time.Hour)
	for {
		if reading = spec.Next(reading); reading.IsZero() {
			return reading
		}
		if at := atReading(reading, zone); at.After(after) {
			return at
		}
	}
}

// asUTC returns the UTC time with the clock reading of t in its zone.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// atReading returns the first time in zone with the clock reading that reading has in UTC. For
// a skipped reading it uses the offset before the change.
func atReading(reading time.Time, zone *time.Location) time.Time {
	_, before := reading.Add(-24 * time.Hour).In(zone).Zone()
	_, later := reading.Add(24 * time.Hour).In(zone).Zone()
	first := reading.Add(-time.Duration(before) * time.Second).In(zone)
	if second := reading.Add(-time.Duration(later) * time.Second).In(zone); before != later &&
		!asUTC(first).Equal(reading) && asUTC(second).Equal(reading) {
		return second
	}
	return first
}

// String describes s.
func (s Schedule) String() string {
	switch {
	case !s.At.IsZero():
		return "once"
	case s.Every > 0:
		text := s.Every.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return "every " + text
	}
	return fmt.Sprintf("by %q in %s", s.Cron, s.Zone)
}
