package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a time span, written as 1d12h, 30s or 250ms.
type Duration time.Duration

const durationPattern = `0|([0-9]{1,6}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?`

// UnmarshalText takes whole days, hours, minutes, seconds and milliseconds, in
// this order; 0 needs no unit.
func (d *Duration) UnmarshalText(text []byte) error {
	rest, sum := string(text), time.Duration(0)
	if rest == "" {
		return errors.New("not a duration")
	}
	if rest == "0" {
		*d = 0
		return nil
	}
	for _, unit := range durationUnits() {
		digits, after, found := cutUnit(rest, unit.name)
		if !found {
			continue
		}
		if len(digits) > unit.digits {
			break
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64((math.MaxInt64-sum)/unit.span) {
			return errors.New("too long a duration")
		}
		sum, rest = sum+time.Duration(n)*unit.span, after
	}
	if rest != "" {
		return errors.New("not a duration")
	}
	*d = Duration(sum)
	return nil
}

type durationUnit struct {
	name   string
	span   time.Duration
	digits int // the maximum, as in durationPattern
}

func durationUnits() []durationUnit {
	return []durationUnit{
		{"d", 24 * time.Hour, 6}, {"h", time.Hour, 9}, {"m", time.Minute, 9}, {"s", time.Second, 9},
		{"ms", time.Millisecond, 9},
	}
}

// cutUnit cuts the number before unit off text, if unit comes next.
func cutUnit(text, unit string) (digits, rest string, found bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 1 {
		return "", text, false
	}
	name := text[end:]
	if next := strings.IndexAny(name, "0123456789"); next > 0 {
		name = name[:next]
	}
	if name != unit {
		return "", text, false
	}
	return text[:end], text[end+len(unit):], true
}

// MarshalText writes the duration as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string {
	var text strings.Builder
	rest := time.Duration(d)
	for _, unit := range durationUnits() {
		if unit.span > time.Hour && rest%unit.span != 0 {
			continue // 36h reads better than 1d12h
		}
		if n := rest / unit.span; n > 0 {
			fmt.Fprintf(&text, "%d%s", n, unit.name)
			rest -= n * unit.span
		}
	}
	if text.Len() == 0 {
		return "0"
	}
	return text.String()
}

// A Size is a number of bytes, written as 512B, 100KiB, 5MiB, 1GiB or 1TiB.
type Size int64

const sizePattern = `[0-9]{1,18}(B|KiB|MiB|GiB|TiB)?`

const maxSizeDigits = 18 // as in sizePattern

// UnmarshalText takes a whole number with a binary unit, or without for bytes.
func (s *Size) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "BiKMGT")
	name, unit := string(text[len(digits):]), int64(0)
	for _, u := range sizeUnits() {
		if name == u.name {
			unit = u.span
		}
	}
	if name == "" {
		unit = 1
	}
	if unit == 0 || digits == "" || len(digits) > maxSizeDigits || strings.Trim(digits, "0123456789") != "" {
		return errors.New("not a size")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return errors.New("too large a size")
	}
	*s = Size(n * unit)
	return nil
}

type sizeUnit struct {
	name string
	span int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// MarshalText writes the size as UnmarshalText reads it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for _, unit := range sizeUnits() {
		if n := int64(s); n != 0 && n%unit.span == 0 {
			return strconv.FormatInt(n/unit.span, 10) + unit.name
		}
	}
	return "0"
}
