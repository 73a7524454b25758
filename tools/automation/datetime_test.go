package automation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func clock() time.Time { return time.Date(2026, 1, 31, 12, 30, 0, 0, time.UTC) }

func TestDatetime(t *testing.T) {
	for name, test := range map[string]struct {
		args datetimeArgs
		want string
	}{
		"now":                                 {datetimeArgs{}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"elsewhere":                           {datetimeArgs{Timezone: "Asia/Tokyo"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","local":"2026-01-31T21:30:00+09:00","timezone":"Asia/Tokyo","utc_offset":"+09:00","dst":false}`},
		"the last of a month":                 {datetimeArgs{Add: "1mo"}, `{"utc":"2026-02-28T12:30:00Z","unix_ms":1772281800000,"weekday":"Saturday","iso_week":"2026-W09"}`},
		"seconds":                             {datetimeArgs{At: "1769862600"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"milliseconds":                        {datetimeArgs{At: "1769862600000"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"local time is meant":                 {datetimeArgs{At: "2026-07-01 09:00", Timezone: "Europe/Berlin"}, `{"utc":"2026-07-01T07:00:00Z","unix_ms":1782889200000,"weekday":"Wednesday","iso_week":"2026-W27","local":"2026-07-01T09:00:00+02:00","timezone":"Europe/Berlin","utc_offset":"+02:00","dst":true}`},
		"a day over the change of the clocks": {datetimeArgs{At: "2026-03-28T12:00", Timezone: "Europe/Berlin", Add: "1d"}, `{"utc":"2026-03-29T10:00:00Z","unix_ms":1774778400000,"weekday":"Sunday","iso_week":"2026-W13","local":"2026-03-29T12:00:00+02:00","timezone":"Europe/Berlin","utc_offset":"+02:00","dst":true}`},
		"until":                               {datetimeArgs{Until: "2026-02-02"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","until":"1d 11h30m0s","until_seconds":127800}`},
		"longer than a Duration":              {datetimeArgs{At: "0001-01-02", Until: "9999-01-01"}, `{"utc":"0001-01-02T00:00:00Z","unix_ms":-62135510400000,"weekday":"Tuesday","iso_week":"1-W01","until":"3651693d 0s","until_seconds":315506275200}`},
		"longer ago than a Duration":          {datetimeArgs{At: "9999-01-01", Until: "0001-01-02"}, `{"utc":"9999-01-01T00:00:00Z","unix_ms":253370764800000,"weekday":"Friday","iso_week":"9998-W53","until":"3651693d 0s ago","until_seconds":-315506275200}`},
		"ago":                                 {datetimeArgs{Until: "2026-01-31T12:00:00Z"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","until":"30m0s ago","until_seconds":-1800}`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := datetime{clock}.Do(t.Context(), test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Text()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDatetimeExplainsMistakes(t *testing.T) {
	for _, args := range []datetimeArgs{
		{Timezone: "Berlin"}, {Timezone: "Local"}, {Timezone: "../../etc/passwd"}, {At: "tomorrow-ish"}, {At: "-1"},
		{Add: "3"}, {Add: "d"}, {Add: "3 fortnights"}, {Add: "9999999999y"}, {Add: "999999999w"}, {Add: "--3d"}, {Until: "x"},
		{Add: "1000000000h1000000000h"},
	} {
		res, err := datetime{clock}.Do(t.Context(), args)
		if err == nil {
			t.Errorf("%+v gave %s", args, res.Text())
			continue
		}
		if e := tool.AsError(err); e.Kind != tool.Invalid || e.Next == "" {
			t.Errorf("%+v: %v", args, err)
		}
	}
}

func TestShift(t *testing.T) {
	for text, want := range map[string]string{
		"":             "2026-01-31T12:30:00Z",
		"90m":          "2026-01-31T14:00:00Z",
		"-2h30m":       "2026-01-31T10:00:00Z",
		"+3d":          "2026-02-03T12:30:00Z",
		"1 week":       "2026-02-07T12:30:00Z",
		"-1mo":         "2025-12-31T12:30:00Z",
		"-2mo":         "2025-11-30T12:30:00Z",
		"1y2mo":        "2027-03-31T12:30:00Z",
		"1y1mo":        "2027-02-28T12:30:00Z",
		"2days 3hours": "2026-02-02T15:30:00Z",
		"45s":          "2026-01-31T12:30:45Z",
	} {
		got, err := shift(clock(), text)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("shift(%q) = %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"2026-01-31", "1769862600", "Sat, 31 Jan 2026 12:30:00 GMT", "9999-12-31T23:59:59+14:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := parse(text, time.UTC); ok && !strings.HasSuffix(describe(at, time.UTC, "").UTC, "Z") {
			t.Errorf("%q became %v", text, at)
		}
	})
}

func FuzzShift(f *testing.F) {
	for _, seed := range []string{"1d", "-1y2mo3w4d5h6m7s", "999999999999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := shift(clock(), text)
		if err == nil && !sane(at) {
			t.Errorf("%q leads to %v", text, at)
		}
	})
}
