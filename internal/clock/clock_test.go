package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func january() time.Time { return time.Date(2026, 1, 31, 12, 30, 0, 0, time.UTC) }

func TestParse(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2026-01-31":                    "2026-01-30T23:00:00Z",
		" 2026-07-01 09:00 ":            "2026-07-01T07:00:00Z",
		"2026-01-31T12:30:00+02:00":     "2026-01-31T10:30:00Z",
		"Sat, 31 Jan 2026 12:30:00 GMT": "2026-01-31T12:30:00Z",
		"1769862600":                    "2026-01-31T12:30:00Z",
		"1769862600000":                 "2026-01-31T12:30:00Z",
	} {
		got, ok := Parse(text, berlin)
		if !ok || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "tomorrow-ish", "-1", "12", "2026-13-01", "99999-01-01"} {
		if got, ok := Parse(text, time.UTC); ok {
			t.Errorf("Parse(%q) = %v; want a failure", text, got)
		}
	}
}

func TestAdd(t *testing.T) {
	for text, want := range map[string]string{
		"":             "2026-01-31T12:30:00Z",
		"90m":          "2026-01-31T14:00:00Z",
		"-2h30m":       "2026-01-31T10:00:00Z",
		"+3d":          "2026-02-03T12:30:00Z",
		"1 week":       "2026-02-07T12:30:00Z",
		"1mo":          "2026-02-28T12:30:00Z",
		"-1mo":         "2025-12-31T12:30:00Z",
		"-2mo":         "2025-11-30T12:30:00Z",
		"1y2mo":        "2027-03-31T12:30:00Z",
		"1y1mo":        "2027-02-28T12:30:00Z",
		"2days 3hours": "2026-02-02T15:30:00Z",
		"45s":          "2026-01-31T12:30:45Z",
	} {
		got, err := Add(january(), text)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("Add(%q) = %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"3", "d", "3 fortnights", "9999999999y", "999999999w", "--3d", "1000000000h1000000000h"} {
		if got, err := Add(january(), text); err == nil {
			t.Errorf("Add(%q) = %v; want an error", text, got)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("Sleep returned %v after %v", err, time.Since(start))
		}
		cause := errors.New("closing")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := Sleep(ctx, time.Hour); !errors.Is(err, cause) {
			t.Errorf("Sleep with a cancelled context returned %v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"2026-01-31", "1769862600", "Sat, 31 Jan 2026 12:30:00 GMT", "9999-12-31T23:59:59+14:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := Parse(text, time.UTC); ok && !printable(at) {
			t.Errorf("%q became %v", text, at)
		}
	})
}

func FuzzAdd(f *testing.F) {
	for _, seed := range []string{"1d", "-1y2mo3w4d5h6m7s", "999999999999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := Add(january(), text)
		if err == nil && !printable(at) {
			t.Errorf("%q leads to %v", text, at)
		}
	})
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-01":           time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"2026-01-01T09:00:00Z": time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC),
		"90m":                  now.Add(-90 * time.Minute),
		"7d":                   now.Add(-7 * 24 * time.Hour),
	} {
		if got, err := Ago(now, text); err != nil || !got.Equal(want) {
			t.Errorf("%q is %s, want %s: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "soon", "-7d", "2026-13-01"} {
		if _, err := Ago(now, text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
