package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetry is what anything longer is taken for: nobody here waits a day.
const longestRetry = 24 * time.Hour

// RetryAfter reads the header of that name: seconds, with a fraction or without,
// or a date. It is false where the header has neither. What is over is 0, and
// nothing is longer than a day.
func RetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), longestRetry), true
	}
	if strings.Trim(header, "0123456789.") != "" {
		return 0, false // a sign, an exponent, a name of a number
	}
	seconds, err := strconv.ParseFloat(header, 64)
	switch {
	case seconds > longestRetry.Seconds(): // what no number can hold is infinite, and an error
		return longestRetry, true
	case err != nil:
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
