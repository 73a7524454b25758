package telemetry

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestNamesOfToolsAreLabels has names that are hard to write in the text format.
func TestNamesOfToolsAreLabels(t *testing.T) {
	c := testCalls(t, Config{Version: `1.2.3 "quoted"`, Commit: "two\nlines"})
	names := []string{"read_file", `a "quoted" name`, `back\slash\n`, "two\nlines", "", "é€😀", unknownTool, `{x="y"} 1`}
	c.AddTools(names...)
	for _, name := range append(names, "made up") {
		_, end := c.Start(t.Context(), Begin{Tool: name})
		end(End{Verdict: "allow", Outcome: "ok"})
	}
	for _, name := range names {
		want := 1.0
		if name == unknownTool {
			want = 2 // that name, sent by a client, and the unknown one
		}
		if got := testutil.ToFloat64(c.metrics.calls.WithLabelValues("ok", name, "allow")); got != want {
			t.Errorf("%q was called %v times", name, got)
		}
	}
	problems, err := testutil.GatherAndLint(c.metrics.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestPagesWithoutChangesAreEqual(t *testing.T) {
	c := testCalls(t, Config{})
	c.AddTools("b", "a", "d", "c")
	first := scrape(t, c, "mcp_tools_", "#")
	second := scrape(t, c, "mcp_tools_", "#")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// TestScrapesDuringCalls checks that pages can be made while calls are counted.
func TestScrapesDuringCalls(t *testing.T) {
	c := testCalls(t, Config{})
	var callers, scrapers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			for i := range 300 {
				name := strings.Repeat("x", i%10)
				c.AddTools(name)
				_, end := c.Start(t.Context(), Begin{Tool: name})
				end(End{
					Verdict: "allow", Outcome: "ok",
					Duration: time.Duration(i) * time.Millisecond, Redactions: map[string]int{"jwt": 1},
				})
			}
		})
	}
	scrapers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := c.metrics.registry.Gather(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	callers.Wait()
	close(done)
	scrapers.Wait()
	if got := scrape(t, c, "mcp_tools_queue_wait_seconds_count"); len(got) != 1 || !strings.HasSuffix(got[0], " 1200") {
		t.Errorf("%q calls were counted, want 1200", got)
	}
}

func TestCallCostsOneAllocation(t *testing.T) {
	c := testCalls(t, Config{})
	c.AddTools("read_file")
	if n := testing.AllocsPerRun(100, func() {
		_, end := c.Start(t.Context(), Begin{Tool: "read_file"})
		end(End{Verdict: "allow", Outcome: "ok", Duration: time.Second, BytesOut: 10})
	}); n > 1 {
		t.Errorf("%v allocations, want the function that ends the call and no more", n)
	}
}
