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

func TestPoliteRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newThrottle(2)
		a, b := mustLink(t, "http://a.example.org/"), mustLink(t, "http://b.example.org/")
		first, err := turns.acquire(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turns.acquire(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if leave, err := turns.acquire(t.Context(), b); err != nil {
			t.Error("another host waits for the first one")
		} else {
			leave()
		}
		got := make(chan error)
		go func() {
			_, err := turns.acquire(t.Context(), a)
			got <- err
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Error("a third has its turn")
		default:
		}
		first()
		first() // does nothing
		if err := <-got; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, &timeoutError{time.Second})
		defer cancel()
		if _, err := turns.acquire(ctx, a); kindOf(err) != tool.Busy {
			t.Error(err)
		}
		gone, end := context.WithCancel(t.Context())
		end()
		if _, err := turns.acquire(gone, a); kindOf(err) != tool.Cancelled {
			t.Error(err)
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newThrottle(2)
		a := mustLink(t, "http://a.example.org/")
		began := time.Now()
		wait := func() (time.Duration, error) {
			began = time.Now()
			leave, err := turns.acquire(t.Context(), a)
			if err == nil {
				leave()
			}
			return time.Since(began), err
		}
		for _, calm := range []*http.Response{answered(200, "4"), answered(429, ""), answered(429, "soon"),
			answered(503, "-1"), answered(503, began.Add(-time.Hour).UTC().Format(http.TimeFormat))} {
			turns.noteRetryAfter(t.Context(), a, calm)
		}
		if took, err := wait(); took != 0 || err != nil {
			t.Errorf("nothing was asked for: %s, %v", took, err)
		}
		turns.noteRetryAfter(t.Context(), a, answered(429, "4"))
		turns.noteRetryAfter(t.Context(), a, answered(429, "1")) // a shorter time changes nothing
		if took, err := wait(); took != 4*time.Second || err != nil {
			t.Errorf("%s, %v", took, err)
		}
		turns.noteRetryAfter(t.Context(), a, answered(503,
			time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat)))
		if took, err := wait(); took != 0 || kindOf(err) != tool.Busy || !strings.Contains(err.Error(), "1m30s") {
			t.Errorf("%s, %v", took, err)
		}
		time.Sleep(86 * time.Second)
		if took, err := wait(); took != 4*time.Second || err != nil {
			t.Errorf("%s, %v", took, err)
		}
		turns.noteRetryAfter(t.Context(), a, answered(429, "99999999"))
		time.Sleep(maxRetryAfter)
		if took, err := wait(); took != 0 || err != nil {
			t.Errorf("for ever: %s, %v", took, err)
		}
	})
}

func TestThrottleStateIsBounded(t *testing.T) {
	turns := newThrottle(2)
	held := mustLink(t, "http://held.example.org/")
	leave, err := turns.acquire(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxHosts {
		l := mustLink(t, fmt.Sprintf("http://h%d.example.org/", i))
		turns.noteRetryAfter(t.Context(), l, answered(429, "100"))
	}
	if len(turns.hosts) > maxHosts || turns.hosts[hostKeyFor(t.Context(), held)] == nil {
		t.Errorf("%d hosts", len(turns.hosts))
	}
	leave()
}

func TestCallersAreThrottledSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newThrottle(1)
		at := link{target: Target{Host: "example.com", Port: 443}}
		as := func(user string) context.Context {
			return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: user}})
		}
		if _, err := turns.acquire(as("ann"), at); err != nil { // and does not leave
			t.Fatal(err)
		}
		turns.noteRetryAfter(as("ann"), at, answered(429, "3600"))
		leave, err := turns.acquire(as("bob"), at)
		if err != nil {
			t.Fatalf("one caller keeps another from a host: %v", err)
		}
		leave()
	})
}
