package telemetry

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxScrapes    = 4                // at the same time; one Prometheus server needs one
	scrapeTimeout = 10 * time.Second // to send the page; Prometheus waits as long
)

// handler answers scrapes. Each needs memory for a whole page, so it limits how many run at the
// same time.
func (m *metrics) handler() http.Handler {
	slots := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many scrapes at once; try again later", http.StatusServiceUnavailable)
			return
		}
		var p page
		m.write(&p)
		// If deadlines are not supported, the server's timeouts apply.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout))
		w.Header().Set("Content-Type", pageType)
		w.Header().Set("Content-Length", strconv.Itoa(len(p.text)))
		_, _ = w.Write(p.text) // an error means that the client has disconnected
	})
}

// write writes all metrics, sorted by name and labels, so that two pages differ only in their
// numbers.
func (m *metrics) write(p *page) {
	p.goRuntime()
	p.begin("mcp_tools_build_info", gaugeType, "Always 1; the labels describe the program.")
	p.sample(1, "commit", m.commit, "goversion", runtime.Version(), "version", m.version)
	p.begin("mcp_tools_call_duration_seconds", histogramType,
		"Time from the arrival of a call to its response, including refused calls.")
	tools := append(slices.Collect(maps.Values(*m.tools.Load())), m.unknown)
	slices.SortFunc(tools, func(a, b *toolMetrics) int { return strings.Compare(a.name, b.name) })
	for _, t := range tools {
		p.histogram(t.duration, "tool", t.name)
	}
	p.counters("mcp_tools_calls_limited_total", "Calls rejected by a limit, by reason.", "reason", m.limited)
	p.single("mcp_tools_calls_queued", gaugeType, "Calls that are waiting for a slot.", float64(m.queued.Load()))
	p.single("mcp_tools_calls_running", gaugeType, "Calls that are running.", float64(m.running.Load()))
	m.writeCalls(p, tools)
	p.begin("mcp_tools_config_reloads_total", counterType, "Attempts to reload the configuration.")
	p.sample(float64(m.unreloaded.Load()), "result", "failed")
	p.sample(float64(m.reloaded.Load()), "result", "ok")
	m.writeModels(p)
	p.begin("mcp_tools_queue_wait_seconds", histogramType, "Time that calls waited for a slot.")
	p.histogram(m.wait)
	p.counters("mcp_tools_redactions_total", "Secrets removed from output, by kind.", "kind", m.redacted)
	p.single("mcp_tools_result_bytes_total", counterType, "Bytes of results sent to clients.",
		float64(m.bytesOut.Load()))
	p.single("mcp_tools_sessions", gaugeType, "Open sessions.", float64(m.sessions.Load()))
	p.process(m.proc)
}

func (m *metrics) writeCalls(p *page, tools []*toolMetrics) {
	p.begin("mcp_tools_calls_total", counterType, "Calls, by tool, verdict of the policy, and outcome.")
	for o, outcome := range m.outcomes {
		for _, t := range tools {
			for v, verdict := range m.verdicts {
				// Most combinations never occur and would only make the page longer.
				if n := t.calls[m.slot(v, o)].Load(); n > 0 {
					p.sample(float64(n), "outcome", outcome, "tool", t.name, "verdict", verdict)
				}
			}
		}
	}
}
