package telemetry

import (
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// linux is a /proc with a process that has a name that is hard to parse.
func linux() fstest.MapFS {
	return fstest.MapFS{
		"stat":      {Data: []byte("cpu  1 2 3\nintr 5 btime 6\nbtime 1700000000\nprocesses 7\n")},
		"self/stat": {Data: []byte("42 (a) S 1 (b\n) R 1 2 3 4 -1 5 6 7 8 9 150 75 12 13 20 0 1 0 674050 3133440 407 18446744073709551615 1\n")},
		"self/fd/0": {}, "self/fd/1": {}, "self/fd/2": {}, "self/fd/3": {},
	}
}

func readPage(t *testing.T, c *Calls) parsed {
	t.Helper()
	var p page
	c.metrics.write(&p)
	read, err := parsePage(string(p.text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, p.text)
	}
	return read
}

func TestPageIsWellFormed(t *testing.T) {
	c := testCalls(t, Config{Version: `1.2.3 "quoted"`, Commit: "two\nlines"})
	c.metrics.proc = linux()
	names := []string{"read_file", `a "quoted" name`, `back\slash\n`, "two\nlines", "", "é€😀", unknownTool, `{x="y"} 1`}
	c.AddTools(names...)
	for i, name := range append(names, "a stranger's") {
		_, end := c.Start(t.Context(), Begin{Tool: name})
		end(End{
			Verdict: "allow", Outcome: "ok",
			Duration: time.Duration(i) * time.Minute, QueueWait: time.Duration(i) * time.Millisecond,
		})
	}
	got := readPage(t, c)

	want := map[string]string{
		"mcp_tools_build_info": "gauge", "mcp_tools_calls_limited_total": "counter", "mcp_tools_config_reloads_total": "counter",
		"go_goroutines": "gauge", "go_memstats_heap_alloc_bytes": "gauge",
		"process_cpu_seconds_total": "counter", "process_open_fds": "gauge",
		"process_resident_memory_bytes": "gauge", "process_start_time_seconds": "gauge",
		"mcp_tools_redactions_total": "counter", "mcp_tools_result_bytes_total": "counter", "mcp_tools_sessions": "gauge",
		"mcp_tools_call_duration_seconds": "histogram", "mcp_tools_calls_queued": "gauge", "mcp_tools_calls_running": "gauge",
		"mcp_tools_calls_total": "counter", "mcp_tools_queue_wait_seconds": "histogram",
	}
	if diff := cmp.Diff(want, got.types); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	for _, name := range names {
		calls := 1.0
		if name == unknownTool {
			calls = 2 // that name, sent by a client, and the unknown one
		}
		key := seriesKey("mcp_tools_calls_total",
			[2]string{"outcome", "ok"}, [2]string{"tool", name}, [2]string{"verdict", "allow"})
		if got.series[key] != calls {
			t.Errorf("%s is %v, want %v", key, got.series[key], calls)
		}
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

func TestHistogram(t *testing.T) {
	h := newHistogram([]time.Duration{2500 * time.Microsecond, time.Second})
	const bound = 2500 * time.Microsecond
	for _, d := range []time.Duration{-time.Hour, 0, bound, bound + 1, time.Second, time.Second + 1, time.Hour} {
		h.observe(d)
	}
	p := page{family: "h"}
	p.histogram(h, "tool", "x")
	want := `h_bucket{tool="x",le="0.0025"} 3
h_bucket{tool="x",le="1"} 5
h_bucket{tool="x",le="+Inf"} 7
h_sum{tool="x"} 3602.005000002
h_count{tool="x"} 7
`
	if diff := cmp.Diff(want, string(p.text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNumbers checks that large numbers have no exponent.
func TestNumbers(t *testing.T) {
	for want, value := range map[string]float64{
		"0": 0, "12345678901": 12345678901, "0.001": .001, "1700000000.25": 1700000000.25,
	} {
		p := page{family: "n"}
		p.sample(value)
		if got := string(p.text); got != "n "+want+"\n" {
			t.Errorf("%v is written %q", value, got)
		}
	}
}

func TestLabelValuesAreSortedAndUnique(t *testing.T) {
	c := newCounters([]string{"z", "a", otherLabel, "z"})
	for _, word := range []string{"z", "a", "a", "", "stranger", otherLabel} {
		c.of(word).Add(1)
	}
	p := page{}
	p.counters("c", "Help.", "k", c)
	want := "# HELP c Help.\n# TYPE c counter\nc{k=\"_other\"} 3\nc{k=\"a\"} 2\nc{k=\"z\"} 1\n"
	if diff := cmp.Diff(want, string(p.text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestScrapesDuringCalls checks that pages are valid, and that no counter decreases, while calls
// are counted.
func TestScrapesDuringCalls(t *testing.T) {
	c := testCalls(t, Config{})
	done := make(chan struct{})
	var callers, scrapers sync.WaitGroup
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
	for range 2 {
		scrapers.Go(func() {
			last := map[string]float64{}
			for running := true; running; {
				select {
				case <-done:
					running = false // one more page, with all calls
				default:
				}
				var p page
				c.metrics.write(&p)
				page, err := parsePage(string(p.text))
				if err != nil {
					t.Error(err)
					return
				}
				for key, value := range page.series {
					if strings.HasPrefix(key, "mcp_tools_call") && value < last[key] {
						t.Errorf("%s went from %v to %v", key, last[key], value)
					}
				}
				last = maps.Clone(page.series)
			}
			if n := last[seriesKey("mcp_tools_queue_wait_seconds_count")]; n != 1200 {
				t.Errorf("%v calls were counted, want 1200", n)
			}
		})
	}
	callers.Wait()
	close(done)
	scrapers.Wait()
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

func FuzzLabel(f *testing.F) {
	for _, seed := range []string{"", "plain", `"`, `\`, "\n", `\n`, `\\n`, "\r\n", "\x00", "\xff", "a\xe2\x82", "\u2028", `",le="+Inf"} 1`, "#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var p page
		p.begin("m", gaugeType, "Help.")
		p.sample(1, "a", value, "b", value)
		read, err := parsePage(string(p.text))
		if err != nil {
			t.Fatalf("%q: %v", p.text, err)
		}
		want := string([]rune(value)) // each invalid byte is replaced
		if read.series[seriesKey("m", [2]string{"a", want}, [2]string{"b", want})] != 1 || len(read.series) != 1 {
			t.Errorf("%q is read as %v", value, read.series)
		}
	})
}
