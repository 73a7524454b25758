package automation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func fixedNow() time.Time { return time.Date(2026, 1, 31, 12, 30, 0, 0, time.UTC) }

func TestDatetime(t *testing.T) {
	for name, test := range map[string]struct {
		args datetimeArgs
		want string
	}{
		"now":                        {datetimeArgs{}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"a time zone":                {datetimeArgs{Timezone: "Asia/Tokyo"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","local":"2026-01-31T21:30:00+09:00","timezone":"Asia/Tokyo","utc_offset":"+09:00","dst":false}`},
		"the end of a month":         {datetimeArgs{Add: "1mo"}, `{"utc":"2026-02-28T12:30:00Z","unix_ms":1772281800000,"weekday":"Saturday","iso_week":"2026-W09"}`},
		"seconds":                    {datetimeArgs{At: "1769862600"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"milliseconds":               {datetimeArgs{At: "1769862600000"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05"}`},
		"local time without offset":  {datetimeArgs{At: "2026-07-01 09:00", Timezone: "Europe/Berlin"}, `{"utc":"2026-07-01T07:00:00Z","unix_ms":1782889200000,"weekday":"Wednesday","iso_week":"2026-W27","local":"2026-07-01T09:00:00+02:00","timezone":"Europe/Berlin","utc_offset":"+02:00","dst":true}`},
		"a day with a change to DST": {datetimeArgs{At: "2026-03-28T12:00", Timezone: "Europe/Berlin", Add: "1d"}, `{"utc":"2026-03-29T10:00:00Z","unix_ms":1774778400000,"weekday":"Sunday","iso_week":"2026-W13","local":"2026-03-29T12:00:00+02:00","timezone":"Europe/Berlin","utc_offset":"+02:00","dst":true}`},
		"until":                      {datetimeArgs{Until: "2026-02-02"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","until":"1d 11h30m0s","until_seconds":127800}`},
		"longer than a Duration":     {datetimeArgs{At: "0001-01-02", Until: "9999-01-01"}, `{"utc":"0001-01-02T00:00:00Z","unix_ms":-62135510400000,"weekday":"Tuesday","iso_week":"1-W01","until":"3651693d 0s","until_seconds":315506275200}`},
		"longer ago than a Duration": {datetimeArgs{At: "9999-01-01", Until: "0001-01-02"}, `{"utc":"9999-01-01T00:00:00Z","unix_ms":253370764800000,"weekday":"Friday","iso_week":"9998-W53","until":"3651693d 0s ago","until_seconds":-315506275200}`},
		"ago":                        {datetimeArgs{Until: "2026-01-31T12:00:00Z"}, `{"utc":"2026-01-31T12:30:00Z","unix_ms":1769862600000,"weekday":"Saturday","iso_week":"2026-W05","until":"30m0s ago","until_seconds":-1800}`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := datetime{fixedNow}.Do(t.Context(), test.args)
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
		res, err := datetime{fixedNow}.Do(t.Context(), args)
		if err == nil {
			t.Errorf("%+v gave %s", args, res.Text())
			continue
		}
		if e := tool.AsError(err); e.Kind != tool.Invalid || e.Next == "" {
			t.Errorf("%+v: %v", args, err)
		}
	}
}
