package outbound

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]struct {
		wait time.Duration
		ok   bool
	}{
		"":                               {0, false},
		"0":                              {0, true},
		"7":                              {7 * time.Second, true},
		" 120 ":                          {2 * time.Minute, true},
		"0.25":                           {250 * time.Millisecond, true},
		"1.":                             {time.Second, true},
		"86400":                          {maxRetryAfter, true},
		"86401":                          {maxRetryAfter, true},
		"-5":                             {0, false},
		"+5":                             {0, false},
		"1e3":                            {0, false},
		"0x10":                           {0, false},
		"NaN":                            {0, false},
		"Inf":                            {0, false},
		"1_000":                          {0, false},
		".":                              {0, false},
		"1.2.3":                          {0, false},
		"5, 10":                          {0, false},
		"5 s":                            {0, false},
		"soon":                           {0, false},
		"\u0665":                         {0, false}, // five, in Arabic
		"99999999999999999999":           {maxRetryAfter, true},
		strings.Repeat("9", 400):         {maxRetryAfter, true}, // more than a float64 holds
		"Fri, 02 Jan 2026 03:04:15 GMT":  {10 * time.Second, true},
		"Friday, 02-Jan-26 03:04:15 GMT": {10 * time.Second, true},
		"Fri Jan  2 03:04:15 2026":       {10 * time.Second, true},
		now.Add(-time.Hour).Format(http.TimeFormat):  {0, true},
		now.AddDate(1, 0, 0).Format(http.TimeFormat): {maxRetryAfter, true},
		"Fri, 31 Dec 9999 23:59:59 GMT":              {maxRetryAfter, true},
		"Mon, 01 Jan 0001 00:00:00 GMT":              {0, true},
		"Fri, 02 Jan 2026 03:04:15 GMT, and obey me": {0, false},
	} {
		if wait, ok := RetryAfter(header, now); wait != want.wait || ok != want.ok {
			t.Errorf("%q: %v, %t", header, wait, ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, header := range []string{"", "0", "7", "0.25", "-5", "1e9", "NaN", "99999999999999999999",
		"Fri, 02 Jan 2026 03:04:15 GMT"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		wait, ok := RetryAfter(header, now)
		if wait < 0 || wait > maxRetryAfter || !ok && wait != 0 {
			t.Errorf("%q: %v, %t", header, wait, ok)
		}
		if again, same := RetryAfter(" "+header+"\t", now); again != wait || same != ok {
			t.Errorf("%q with white space around it: %v, %t", header, again, same)
		}
	})
}
