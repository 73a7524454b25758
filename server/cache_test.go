package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// cachingServer has a tool fetch, whose results are kept, and which returns how often it ran.
func cachingServer(t *testing.T) (*testServer, *atomic.Int64) {
	var runs atomic.Int64
	fetch := newTool("fetch", tool.Reads, func(_ context.Context, a textArgs) (tool.Result, error) {
		n := runs.Add(1)
		if a.Text == "broken" {
			return tool.Result{}, tool.Errorf(tool.Unavailable, "it is down")
		}
		return tool.Textf("%s %d %s", a.Text, n, plantedKey()), nil
	})
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(append(slices.Collect(c.Tools.All()), fetch)...)
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
		c.Settings.Cache = Cache{For: map[string]time.Duration{"fetch": time.Hour, "change": time.Hour}, Bytes: 1 << 20}
	})
	return b, &runs
}

// TestEqualCallsGetTheKeptResult makes calls that may and may not get the result of an earlier one.
func TestEqualCallsGetTheKeptResult(t *testing.T) {

	plain := func(*Request) {}
	for name, try := range map[string]struct {
		before string // another call, between the two
		args   string // of the second call
		change func(*Request)
		kept   bool
	}{
		"an equal call":             {"", `{"text":"a"}`, plain, true},
		"equal arguments":           {"", `{"n":0, "text":"a"}`, plain, true},
		"other arguments":           {"", `{"text":"b"}`, plain, false},
		"another session":           {"", `{"text":"a"}`, func(r *Request) { r.Caller.Session = "s2" }, true},
		"another agent":             {"", `{"text":"a"}`, func(r *Request) { r.Caller.Agent = "other" }, false},
		"another user":              {"", `{"text":"a"}`, func(r *Request) { r.Caller.User = "other" }, false},
		"another workspace":         {"", `{"text":"a"}`, func(r *Request) { r.Caller.Workspace = "/other" }, false},
		"other structured content":  {"", `{"text":"a"}`, func(r *Request) { r.Structured = !r.Structured }, false},
		"after a call that reads":   {"echo", `{"text":"a"}`, plain, true},
		"after a call that changes": {"change", `{"text":"a"}`, plain, false},
		"after a failure":           {"", `{"text":"broken"}`, plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, runs := cachingServer(t)
			first := callTool(t, b, "fetch", `{"text":"a"}`)
			if try.args == `{"text":"broken"}` {
				first = callTool(t, b, "fetch", try.args)
			}
			if strings.Contains(first.Result.Text(), "cache") {
				t.Fatalf("the first call got %q", first.Result.Text())
			}
			if try.before != "" {
				callTool(t, b, try.before, `{}`)
			}
			ran := runs.Load()
			second := callTool(t, b, "fetch", try.args, try.change)
			kept := runs.Load() == ran
			if kept != try.kept || strings.Contains(second.Result.Text(), "[from the result cache, ") != try.kept {
				t.Errorf("kept %v, got %q", kept, second.Result.Text())
			}
			if strings.Contains(second.Result.Text(), plantedKey()) {
				t.Error("the kept result has a secret")
			}
			all := b.audit.all()
			if last := all[len(all)-1]; (last.Outcome == "cached") != try.kept {
				t.Errorf("the audit log has %+v", last)
			}
		})
	}
}

// TestChangesDuringACall does not keep what was read while the caller changed something.
func TestChangesDuringACall(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		c.Settings.Cache = Cache{For: map[string]time.Duration{"slow": time.Hour}, Bytes: 1 << 20}
	})
	ended := make(chan Response, 1)
	go func() { ended <- callTool(t, b, "slow", `{"text":"a"}`) }()
	<-b.started
	callTool(t, b, "change", `{}`)
	close(b.release)
	<-ended
	callTool(t, b, "slow", `{"text":"a"}`)
	select {
	case <-b.started:
	default:
		t.Error("the result of before the change was kept")
	}
}

// TestChangingCallsAreNotKept names a tool that changes something, which runs each time.
func TestChangingCallsAreNotKept(t *testing.T) {
	b, _ := cachingServer(t)
	for range 2 {
		if got := callTool(t, b, "change", `{"text":"a"}`).Result.Text(); got != "changed a" {
			t.Errorf("got %q", got)
		}
	}
}

// TestScriptsGetTheResultAlone makes nested calls, whose results are computed with.
func TestScriptsGetTheResultAlone(t *testing.T) {
	b, runs := cachingServer(t)
	for range 2 {
		got := callTool(t, b, "fetch", `{"text":"a"}`, func(r *Request) { r.Nested, r.Parent = true, "outer" })
		if got.Result.Text() != "a 1 [REDACTED]" {
			t.Errorf("got %q", got.Result.Text())
		}
	}
	if runs.Load() != 1 {
		t.Errorf("it ran %d times", runs.Load())
	}
}

// TestKeptResultsEnd bounds the age and the size of what is kept, and drops it when the settings change.
func TestKeptResultsEnd(t *testing.T) {
	r := newResultCache(Cache{For: map[string]time.Duration{"fetch": time.Minute}, Bytes: 10_000})
	key := func(n int) cacheKey { return cacheKey{call: sum(fmt.Sprint(n))} }
	began := time.Now()
	r.put(key(1), tool.Text("x"), began)
	if _, age, ok := r.get(key(1), "fetch", began.Add(59*time.Second)); !ok || age != 59*time.Second {
		t.Errorf("age %s, kept %v", age, ok)
	}
	if _, _, ok := r.get(key(1), "fetch", began.Add(time.Minute)); ok {
		t.Error("it is kept for too long")
	}
	for n := range 100 {
		r.put(key(n), tool.Text(strings.Repeat("x", 1000)), began)
	}
	if _, _, ok := r.get(key(1), "fetch", began); ok {
		t.Error("more is kept than has room")
	}
	b, runs := cachingServer(t)
	callTool(t, b, "fetch", `{"text":"a"}`)
	if err := b.Apply(b.settings().Settings); err != nil {
		t.Fatal(err)
	}
	callTool(t, b, "fetch", `{"text":"a"}`)
	if runs.Load() != 2 {
		t.Errorf("it ran %d times", runs.Load())
	}
}
