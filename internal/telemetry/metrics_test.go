package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testWords() Labels {
	return Labels{
		Verdicts: []string{"allow", "ask", "deny"},
		Outcomes: []string{"ok", "not_found", "timeout"},
		Reasons:  []string{"rate", "queue"},
		Secrets:  []string{"github", "jwt"},
	}
}

func testCalls(t testing.TB, c Config) *Calls {
	t.Helper()
	c.Labels, c.Metrics = testWords(), true
	calls, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := calls.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return calls
}

// scrape returns the lines of /metrics that begin with one of the prefixes.
func scrape(t *testing.T, c *Calls, prefixes ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the scrape answered %d: %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// TestOff checks that calls are observed without metrics and traces: most servers have no reader of them.
func TestOff(t *testing.T) {
	c, err := New(Config{Labels: testWords()})
	if err != nil {
		t.Fatal(err)
	}
	c.SetModels([]string{"m"})
	c.AddTools("exec")
	c.Running(1)
	c.Queued(1)
	c.Sessions(1)
	c.Limited("rate")
	c.Reload(true)
	c.Model(ModelUse{Model: "m"})
	ctx, end := c.Start(t.Context(), Begin{Tool: "exec"})
	end(End{Outcome: "ok"})
	if ctx != t.Context() {
		t.Error("the context of a call has changed")
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	c := testCalls(t, Config{Version: "1.2.3", Commit: "abc"})
	c.AddTools("read_file", "read_file", "exec")
	call := func(tool string, e End) {
		ctx, end := c.Start(t.Context(), Begin{Tool: tool})
		if ctx != t.Context() {
			t.Error("without traces the context is left as it is")
		}
		end(e)
	}
	call("read_file", End{Verdict: "allow", Outcome: "ok", Duration: 3 * time.Millisecond, BytesOut: 100})
	call("read_file", End{Verdict: "allow", Outcome: "ok", Duration: 2 * time.Second, QueueWait: time.Second, BytesOut: 11})
	call("exec", End{Verdict: "deny", Outcome: "not_found", Err: errors.New("no")})
	call("exec", End{Outcome: "exploded", Redactions: map[string]int{"github": 2, "jwt": 0, "made up": 3}})
	call("a stranger's\nname", End{Verdict: "perhaps", Outcome: "ok"})
	call("\xff", End{Verdict: "allow", Outcome: "ok"})
	c.Running(3)
	c.Running(2)
	c.Queued(7)
	c.Sessions(5)
	c.Limited("rate")
	c.Limited("whim")
	c.Reload(true)
	c.Reload(false)
	c.Reload(false)

	want := []string{
		`mcp_tools_call_duration_seconds_bucket{tool="read_file",le="0.005"} 1`,
		`mcp_tools_call_duration_seconds_bucket{tool="read_file",le="300"} 2`,
		`mcp_tools_call_duration_seconds_sum{tool="read_file"} 2.003`,
		`mcp_tools_calls_limited_total{reason="_other"} 1`,
		`mcp_tools_calls_limited_total{reason="queue"} 0`,
		`mcp_tools_calls_limited_total{reason="rate"} 1`,
		`mcp_tools_calls_queued 7`,
		`mcp_tools_calls_running 2`,
		`mcp_tools_calls_total{outcome="_other",tool="exec",verdict="_none"} 1`,
		`mcp_tools_calls_total{outcome="not_found",tool="exec",verdict="deny"} 1`,
		`mcp_tools_calls_total{outcome="ok",tool="_unknown",verdict="_other"} 1`,
		`mcp_tools_calls_total{outcome="ok",tool="_unknown",verdict="allow"} 1`,
		`mcp_tools_calls_total{outcome="ok",tool="read_file",verdict="allow"} 2`,
		`mcp_tools_config_reloads_total{result="failed"} 2`,
		`mcp_tools_config_reloads_total{result="ok"} 1`,
		`mcp_tools_queue_wait_seconds_sum 1`,
		`mcp_tools_queue_wait_seconds_count 6`,
		`mcp_tools_redactions_total{kind="_other"} 3`,
		`mcp_tools_redactions_total{kind="github"} 2`,
		`mcp_tools_redactions_total{kind="jwt"} 0`,
		`mcp_tools_result_bytes_total 111`,
		`mcp_tools_sessions 5`,
	}
	got := scrape(t, c, "mcp_tools_calls_", "mcp_tools_config", "mcp_tools_redactions", "mcp_tools_result",
		"mcp_tools_sessions", `mcp_tools_call_duration_seconds_bucket{tool="read_file",le="0.005"}`,
		`mcp_tools_call_duration_seconds_bucket{tool="read_file",le="300"}`,
		`mcp_tools_call_duration_seconds_sum{tool="read_file"}`, "mcp_tools_queue_wait_seconds_sum",
		"mcp_tools_queue_wait_seconds_count")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	info := regexp.MustCompile(`^mcp_tools_build_info\{commit="abc",goversion="go.+",version="1.2.3"\} 1$`)
	if got := scrape(t, c, "mcp_tools_build_info"); len(got) != 1 || !info.MatchString(got[0]) {
		t.Errorf("mcp_tools_build_info is %q", got)
	}
	if got := scrape(t, c, "go_goroutines ", "process_start_time_seconds "); len(got) < 1 {
		t.Error("there is nothing about the process itself")
	}
}

// TestLabelsAreBounded checks that names of tools from clients and bridged servers cannot fill the
// memory with labels.
func TestLabelsAreBounded(t *testing.T) {
	c := testCalls(t, Config{})
	c.AddTools("bad \xff")
	var names []string
	for i := range maxTools + 100 {
		names = append(names, fmt.Sprint("tool_", i))
	}
	c.AddTools(names...)
	for i := range 5000 {
		_, end := c.Start(t.Context(), Begin{Tool: fmt.Sprint("made_up_", i)})
		end(End{Verdict: fmt.Sprint(i), Outcome: fmt.Sprint(i), Redactions: map[string]int{fmt.Sprint(i): 1}})
	}
	if got := len(scrape(t, c, "mcp_tools_call_duration_seconds_count")); got != maxTools+1 {
		t.Errorf("%d tools have labels, want %d and one for the unknown", got, maxTools)
	}
	want := []string{
		`mcp_tools_calls_total{outcome="_other",tool="_unknown",verdict="_other"} 5000`,
		`mcp_tools_redactions_total{kind="_other"} 5000`,
		`mcp_tools_redactions_total{kind="github"} 0`,
		`mcp_tools_redactions_total{kind="jwt"} 0`,
	}
	got := scrape(t, c, "mcp_tools_redactions_total", "mcp_tools_calls_total")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := testCalls(t, Config{})
	const goroutines, each = 8, 200
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range each {
				c.AddTools(fmt.Sprint("tool_", j%5))
				_, end := c.Start(t.Context(), Begin{Tool: "tool_0"})
				c.Running(i)
				end(End{Verdict: "allow", Outcome: "ok"})
			}
		})
	}
	wg.Wait()
	want := []string{fmt.Sprintf(`mcp_tools_calls_total{outcome="ok",tool="tool_0",verdict="allow"} %d`, goroutines*each)}
	if diff := cmp.Diff(want, scrape(t, c, "mcp_tools_calls_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
