package server

import (
	"fmt"
	"testing"

	"github.com/mcp-tools/mcp-tools/tools"
)

// A session costs nothing to begin, so beginning many must not lift the limit.
func TestManySessionsAreOneIdentity(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		c.Settings.Limits.PerMinute, c.Settings.Limits.Burst = 60, 2
	})
	ok := 0
	for i := range 100 {
		a := call(t, b, "echo", fmt.Sprintf(`{"n":%d}`, i), func(r *Request) {
			r.Identity = "id-1"
			r.Caller.Session = fmt.Sprintf("id-1/%d", i)
		})
		if a.Result.Kind != tools.Busy {
			ok++
		}
	}
	if most := 2*identityShare + 5; ok > most {
		t.Errorf("%d calls got through, at most %d should", ok, most)
	}
	for session, want := range map[string]string{"id-1/x": "id-1", "http-2": "http-2"} {
		if got := (Access{Identity: "id-1", Caller: tools.Caller{Session: session}}).lane(); got != want {
			t.Errorf("%s waits in lane %s, want %s", session, got, want)
		}
	}
}

// An approval that was used before is the client's mistake; trying it again
// must not use up the patience with the honest call.
func TestReplaysAreNoLaps(t *testing.T) {
	b := newTestServer(t)
	for range 10 {
		call(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Reply = &Reply{State: "made-up"} })
	}
	q := call(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Can = func(tools.Medium) bool { return true } })
	if q.Ask == nil {
		t.Errorf("the honest call got %q", q.Result.Text())
	}
}
