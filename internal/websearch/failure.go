package websearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A failure is why an engine has not answered. Its words are ours: what an
// engine says of it is not repeated, for it may hold anything, a key included.
type failure struct {
	kind  tool.Kind
	what  string        // goes on after the engine's name
	left  time.Duration // how long the engine is not asked; 0: it needs no rest
	cause error         // for the log; may be nil
}

// How long engines rest after what went wrong.
const (
	shortRest = 30 * time.Second // it may have been a hiccup
	keyRest   = time.Minute      // somebody has to mend it
	blockRest = 10 * time.Minute // asking on makes it worse
	quotaRest = 15 * time.Minute
	mostRest  = time.Hour
)

func (f *failure) String() string {
	if f.left > 0 {
		return fmt.Sprintf("%s, and rests for %s", f.what, shown(f.left))
	}
	return f.what
}

// shown is a time as it is told, never 0.
func shown(d time.Duration) string {
	if d > 2*time.Minute {
		return fmt.Sprintf("%d minutes", (d+time.Minute-1)/time.Minute)
	}
	return fmt.Sprintf("%d s", max(1, (d+time.Second-1)/time.Second))
}

func failed(kind tool.Kind, rest time.Duration, format string, args ...any) *failure {
	return &failure{kind: kind, left: rest, what: fmt.Sprintf(format, args...)}
}

// unreadable is an answer that is none.
func unreadable(format string, args ...any) *failure {
	return failed(tool.Unavailable, shortRest, "is unreadable: "+format, args...)
}

func blocked(status int) *failure {
	return failed(tool.Unavailable, blockRest, "takes us for a robot and blocks the search (%d)", status)
}

// unsent is a request that has had no answer, or not all of one. What the client
// says of it may name hosts of the operator's: it goes to the log.
func unsent(err error) *failure {
	f := failed(tool.Unavailable, shortRest, "cannot be reached")
	switch known := tool.AsError(err); {
	case errors.Is(err, outbound.ErrTooLong) || known.Kind == tool.TooLarge:
		f = unreadable("it answers with more than %d MiB", mostBody>>20)
	case known.Kind == tool.Timeout || errors.Is(err, context.DeadlineExceeded):
		f = failed(tool.Timeout, shortRest, "has not answered in time")
	case known.Kind == tool.Refused: // to this caller; others may reach it
		f = failed(tool.Refused, 0, "may not be reached")
	case known.Kind == tool.Busy:
		f = failed(tool.Busy, shortRest, "is asked too often")
	}
	f.cause = err
	return f
}

// statusFailure says what a status means that is not 200.
func statusFailure(status int, header http.Header, hasKey bool) *failure {
	switch {
	case status == http.StatusTooManyRequests:
		rest := restAfter(header)
		if rest >= mostRest {
			return failed(tool.Busy, mostRest, "has no searches left for now (429)")
		}
		return failed(tool.Busy, rest, "is asked too often (429)")
	case status == http.StatusPaymentRequired, status == 432, status == 433: // the last two are Tavily's
		return failed(tool.Unavailable, quotaRest, "has no searches left (%d)", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden && hasKey:
		return failed(tool.Unavailable, keyRest, "does not accept its key (%d); the operator has to see to it", status)
	case status == http.StatusForbidden:
		return failed(tool.Unavailable, keyRest, "refuses to answer (403)")
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return failed(tool.Invalid, 0, "does not understand this search (%d)", status)
	case status >= 300 && status < 400:
		return failed(tool.Unavailable, keyRest, "has moved (%d); the operator has to see to its URL", status)
	case status >= 500 && header.Get("Retry-After") != "":
		return failed(tool.Unavailable, restAfter(header), "is out of order (%d)", status)
	case status >= 500:
		return failed(tool.Unavailable, shortRest, "is out of order (%d)", status)
	}
	return failed(tool.Unavailable, shortRest, "answers with status %d", status)
}

// restAfter is how long an engine wants to be left alone: as Retry-After says,
// or until the last of those windows begins anew of which nothing remains. It is
// at least a second and at most mostRest.
func restAfter(header http.Header) time.Duration {
	rest := time.Minute
	if wait, said := outbound.RetryAfter(header.Get("Retry-After"), time.Now()); said {
		rest = wait
	} else {
		remaining := strings.Split(header.Get("X-RateLimit-Remaining"), ",")
		for i, reset := range strings.Split(header.Get("X-RateLimit-Reset"), ",") {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(reset), 64)
			if err != nil || i >= len(remaining) || strings.TrimSpace(remaining[i]) != "0" {
				continue
			}
			if d := duration(seconds); i == 0 || d > rest {
				rest = d
			}
		}
	}
	return min(max(rest, time.Second), mostRest)
}

// duration is so many seconds, however many they are said to be.
func duration(seconds float64) time.Duration {
	if !(seconds < mostRest.Seconds()) { // NaN too
		return mostRest
	}
	return time.Duration(max(seconds, 0) * float64(time.Second))
}
