// Package schedule calculates when a job is due: once, in equal intervals, or by a cron
// expression in a time zone. It reads no clock and keeps nothing. Begin with [Schedule].
package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule is when something is due. Exactly one of At, Every and Cron is set.
type Schedule struct {
	At     time.Time     `json:"at,omitzero"`      // once
	Every  time.Duration `json:"every,omitempty"`  // in intervals since Anchor
	Anchor time.Time     `json:"anchor,omitzero"`  // of Every
	Cron   string        `json:"cron,omitempty"`   // an expression with five fields, or a word such as @daily
	Zone   string        `json:"zone"`             // the IANA time zone of Cron, and in which times are shown
	Spread time.Duration `json:"spread,omitempty"` // added to each time of Cron
}

// MinEvery is the shortest interval.
const MinEvery = 10 * time.Second

// maxDue is how far in the future something can be due.
const maxDue = 20 * 365 * 24 * time.Hour

// Check returns what is wrong with s, in words for a model. now is the time at which it begins.
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
	parsed, err := cron.ParseStandard(s.Cron)
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

// asUTC returns the time at which a clock in UTC reads what t does in its zone.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// atReading returns the first time at which a clock in zone reads as reading does in UTC. A
// reading that is skipped is taken by the offset before the change.
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
