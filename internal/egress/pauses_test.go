package egress

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func mustLink(t testing.TB, text string) link {
	t.Helper()
	l, err := parseLink(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func answered(status int, after string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns pauses
		a := mustLink(t, "http://a.example.org/")
		began := time.Now()
		wait := func() (time.Duration, error) {
			began = time.Now()
			err := turns.wait(t.Context(), a)
			return time.Since(began), err
		}
		for _, calm := range []*http.Response{answered(200, "4"), answered(429, ""), answered(429, "soon"),
			answered(503, "-1"), answered(503, began.Add(-time.Hour).UTC().Format(http.TimeFormat))} {
			turns.note(t.Context(), a, calm)
		}
		if took, err := wait(); took != 0 || err != nil {
			t.Errorf("nothing was asked for: %s, %v", took, err)
		}
		turns.note(t.Context(), a, answered(429, "4"))
		turns.note(t.Context(), a, answered(429, "1")) // a shorter time changes nothing
		if took, err := wait(); took != 4*time.Second || err != nil {
			t.Errorf("%s, %v", took, err)
		}
		turns.note(t.Context(), a, answered(503,
			time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat)))
		if took, err := wait(); took != 0 || kindOf(err) != tool.Busy || !strings.Contains(err.Error(), "1m30s") {
			t.Errorf("%s, %v", took, err)
		}
		time.Sleep(86 * time.Second)
		if took, err := wait(); took != 4*time.Second || err != nil {
			t.Errorf("%s, %v", took, err)
		}
		turns.note(t.Context(), a, answered(429, "99999999"))
		time.Sleep(maxRetryAfter)
		if took, err := wait(); took != 0 || err != nil {
			t.Errorf("for ever: %s, %v", took, err)
		}
	})
}

func TestPausesAreBounded(t *testing.T) {
	var turns pauses
	for i := range 3 * maxPauses {
		turns.note(t.Context(), mustLink(t, fmt.Sprintf("http://h%d.example.org/", i)), answered(429, "100"))
	}
	if len(turns.until) > maxPauses {
		t.Errorf("%d hosts", len(turns.until))
	}
}

func TestCallersHaveTheirOwnPauses(t *testing.T) {
	var turns pauses
	at := mustLink(t, "https://example.com/")
	as := func(user string) context.Context {
		return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: user}})
	}
	turns.note(as("ann"), at, answered(429, "3600"))
	if err := turns.wait(as("ann"), at); kindOf(err) != tool.Busy {
		t.Errorf("the caller itself: %v", err)
	}
	if err := turns.wait(as("bob"), at); err != nil {
		t.Errorf("one caller keeps another from a host: %v", err)
	}
}
