package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestManySessionsAreOneIdentity checks that opening many sessions does not raise the limit of an identity.
func TestManySessionsAreOneIdentity(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		c.Settings.Limits.PerMinute, c.Settings.Limits.Burst = 60, 2
	})
	ok := 0
	for i := range 100 {
		a := callTool(t, b, "echo", fmt.Sprintf(`{"n":%d}`, i), func(r *Request) {
			r.Identity = "id-1"
			r.Caller.Session = fmt.Sprintf("id-1/%d", i)
		})
		if a.Result.Kind != tool.Busy {
			ok++
		}
	}
	if most := 2*identityShare + 5; ok > most {
		t.Errorf("%d calls got through, at most %d should", ok, most)
	}
	for session, want := range map[string]string{"id-1/x": "id-1", "http-2": "http-2"} {
		if got := (Access{Identity: "id-1", Caller: tool.Caller{Session: session}}).queueKey().Line; got != want {
			t.Errorf("%s waits in lane %s, want %s", session, got, want)
		}
	}
}

// TestReplaysAreNotCountedAsRepeats sends an approval twice: that mistake of the client is not counted as a
// repeated call.
func TestReplaysAreNotCountedAsRepeats(t *testing.T) {
	b := newTestServer(t)
	for range 10 {
		callTool(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Input = &InputResponse{State: "made-up"} })
	}
	q := callTool(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Can = func(tool.Medium) bool { return true } })
	if q.InputRequest == nil {
		t.Errorf("the honest call got %q", q.Result.Text())
	}
}

// TestIdentitiesAreCountedElsewhere puts the count of an identity's calls where
// other processes count too, and then takes that away.
func TestIdentitiesAreCountedElsewhere(t *testing.T) {
	var asked []string
	wait, broken := time.Duration(0), error(nil)
	b := newTestServer(t, func(c *Config) {
		c.Settings.Limits.PerMinute, c.Settings.Limits.Burst = 60, 2
		c.Meter = func(_ context.Context, key string, r Rate) (time.Duration, error) {
			asked = append(asked, fmt.Sprint(key, r.Times, r.Burst))
			return wait, broken
		}
	})
	busy := func(session string) bool {
		a := callTool(t, b, "echo", `{}`, func(r *Request) { r.Identity, r.Caller.Session = "id-1", session })
		return a.Result.Kind == tool.Busy
	}
	if busy("id-1/a") || len(asked) != 1 || asked[0] != fmt.Sprint("id-1", 60*identityShare, 2*identityShare) {
		t.Errorf("asked %q", asked)
	}
	wait = time.Minute
	if !busy("id-1/b") {
		t.Error("what others have used up is there")
	}
	wait = 0
	for range 3 {
		busy("id-1/c")
	}
	if n := len(asked); n != 4 {
		t.Errorf("asked %d times; who has used up a session's share need not ask", n)
	}
	broken = errors.New("connection refused")
	before, ok := len(asked), 0
	for i := range 100 {
		if !busy(fmt.Sprint("id-1/", i)) {
			ok++
		}
	}
	if most := 2*identityShare + 5; ok == 0 || ok > most {
		t.Errorf("counted alone, %d calls got through, want some and at most %d", ok, most)
	}
	if n := len(asked) - before; n != 1 {
		t.Errorf("what does not answer was asked %d times", n)
	}
	// The end of a caller, for any cause, says nothing about the others' count.
	b.rates.countLocally(time.Time{})
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("the subagent took too long"))
	broken = context.Cause(ended)
	b.takeShared(ended, "key", "here", Rate{Times: 1, Per: time.Second, Burst: 1}, time.Now())
	if !b.rates.shared(time.Now()) {
		t.Error("a caller that ended switched the shared count off")
	}
	// A caller without sessions has the limit of one session on all servers together.
	asked, broken = nil, nil
	b.rates.countLocally(time.Time{})
	if busy("id-1"); len(asked) != 1 || asked[0] != fmt.Sprint("one session of id-1", 60, 2) {
		t.Errorf("asked %q about a caller without sessions", asked)
	}
	before = len(asked)
	// A Call from the command line has no identity.
	callTool(t, b, "echo", `{}`)
	if n := len(asked) - before; n != 0 {
		t.Errorf("asked about an empty identity")
	}
}

// TestSessionAndIdentityOfOneName has a caller without sessions: its calls and its sessions have different
// buckets under the same name.
func TestSessionAndIdentityOfOneName(t *testing.T) {
	s := &Server{rates: newRates()}
	a := Access{Identity: "ann", Caller: tool.Caller{Session: "ann"}}
	now := time.Now()
	for i := range 5 {
		if wait, _ := s.takeAll(t.Context(), a, Limits{PerMinute: 1, Burst: 5}, now); wait > 0 {
			t.Fatalf("call %d of 5 has to wait %s", i+1, wait)
		}
	}
	if wait, _ := s.takeAll(t.Context(), a, Limits{PerMinute: 1, Burst: 5}, now); wait == 0 {
		t.Error("there is no limit")
	}
}

// TestHourlyBudget has several sessions of two people, in two servers with one count.
func TestHourlyBudget(t *testing.T) {
	counted := make(map[string]int)
	one := func() *testServer {
		return newTestServer(t, func(c *Config) {
			c.Settings.Limits.PerHour = 3
			c.Meter = func(_ context.Context, key string, r Rate) (time.Duration, error) {
				hour, who, _ := strings.Cut(key, " of ") // the next hour may begin during the test
				if !strings.HasPrefix(hour, "hour ") {
					return 0, nil
				}
				if counted[who]++; counted[who] > r.Burst {
					return 17 * time.Minute, nil
				}
				return 0, nil
			}
		})
	}
	servers := []*testServer{one(), one()}
	call := func(n int, user string) string {
		return callTool(t, servers[n%2], "echo", `{"text":"x"}`, func(r *Request) {
			r.Caller.User, r.Caller.Session = user, fmt.Sprint("s", n)
		}).Result.Text()
	}
	for n := range 3 {
		if got := call(n, "ann"); got != "x0" {
			t.Fatalf("call %d: %s", n, got)
		}
	}
	const want = "busy: the budget of 3 calls an hour is used up; wait "
	if got := call(3, "ann"); !strings.HasPrefix(got, want) {
		t.Errorf("the fourth call: %s", got)
	}
	if got := call(4, "bob"); got != "x0" {
		t.Errorf("another person: %s", got)
	}
}

// TestHourlyBudgetIsOfTheClock takes as many calls as it can in each quarter of some hours.
func TestHourlyBudgetIsOfTheClock(t *testing.T) {
	for _, perHour := range []int{1, 3, 20, 250} {
		s := newTestServer(t, func(c *Config) { c.Settings.Limits.PerHour = perHour })
		begin := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		l := s.settings().Limits
		l.PerMinute, l.Burst = 1_000_000, 1_000_000
		for hour := range 3 {
			taken := 0
			for quarter := range 4 {
				now := begin.Add(time.Duration(hour)*time.Hour + time.Duration(quarter)*15*time.Minute)
				for {
					wait, _ := s.takeAll(t.Context(), Access{Caller: tool.Caller{Agent: "a", Session: "s"}}, l, now)
					if wait > 0 {
						if next := now.Add(wait); next != begin.Add(time.Duration(hour+1)*time.Hour) {
							t.Errorf("wait until %s", next)
						}
						break
					}
					taken++
				}
			}
			if taken > perHour || taken < perHour-perHour/hourlyRegain {
				t.Errorf("%d calls in an hour of %d", taken, perHour)
			}
		}
	}
}

// TestOneUserDoesNotStopOthers has a user whose sessions take every slot that they get, and 200
// that wait without one.
func TestOneUserDoesNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestServer(t)
		as := func(user, session string) func(*Request) {
			return func(r *Request) { r.Caller.User, r.Caller.Session = user, session }
		}
		var all sync.WaitGroup
		slow := func(n int, args string) {
			for i := range n {
				all.Go(func() { callTool(t, b, "slow", args, as("ann", fmt.Sprint(args, i))) })
			}
			synctest.Wait()
		}
		slow(200, `{"n":1}`)
		if n := len(b.started); n != 200 {
			t.Errorf("%d of 200 calls wait at once", n)
		}
		if got := callTool(t, b, "echo", `{}`, as("ann", "another")).Result.Text(); got != "0" {
			t.Errorf("beside calls that wait: %q", got)
		}
		slow(100, `{"n":0}`)
		if n := len(b.started) - 200; n != 32 {
			t.Errorf("%d calls of one user run, want half of 64", n)
		}
		if got := callTool(t, b, "echo", `{}`, as("bob", "s")).Result.Text(); got != "0" {
			t.Errorf("another user: %q", got)
		}
		close(b.release)
		all.Wait()
		if got := callTool(t, b, "echo", `{}`, as("ann", "s")).Result.Text(); got != "0" {
			t.Errorf("at the end: %q", got)
		}
	})
}
