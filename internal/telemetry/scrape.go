package telemetry

import (
	"compress/gzip"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxScrapes    = 4                // at once; one Prometheus needs one
	scrapeTimeout = 10 * time.Second // for a client to take the page, as long as Prometheus waits for it
)

// handler answers scrapes. Each needs memory for a whole page, so those that
// are too many are sent away.
func (m *metrics) handler() http.Handler {
	slots := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many scrapes at once; try again later", http.StatusServiceUnavailable)
			return
		}
		var p page
		m.write(&p)
		// Where there are no deadlines the server has to have its own.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout))
		p.send(w, acceptsGzip(r.Header))
	})
}

// send answers with the page. An error means that the client has gone.
func (p *page) send(w http.ResponseWriter, zip bool) {
	w.Header().Set("Content-Type", pageType)
	w.Header().Set("Vary", "Accept-Encoding")
	if !zip {
		w.Header().Set("Content-Length", strconv.Itoa(len(p.text)))
		_, _ = w.Write(p.text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write(p.text)
	_ = z.Close()
}

// acceptsGzip says whether a request asks for gzip by name.
func acceptsGzip(h http.Header) bool {
	for _, header := range h.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(header, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			_, q, weighted := strings.Cut(weight, "=")
			n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !weighted || err == nil && n > 0
		}
	}
	return false
}

// write puts all metrics on a page, sorted by name, and the samples of each by
// their labels, so that two pages differ only where the numbers do.
func (m *metrics) write(p *page) {
	p.begin("build_info", gaugeType, "Always 1; the labels say what runs.")
	p.sample(1, "commit", m.commit, "goversion", runtime.Version(), "version", m.version)
	p.counters("calls_limited_total", "Calls that were held back, by reason.", "reason", m.limited)
	p.begin("config_reloads_total", counterType, "Attempts to read the configuration again.")
	p.sample(float64(m.unreloaded.Load()), "result", "failed")
	p.sample(float64(m.reloaded.Load()), "result", "ok")
	p.goRuntime()
	p.process(m.proc)
	p.counters("redactions_total", "Secrets taken out of what left, by kind.", "kind", m.redacted)
	p.single("result_bytes_total", counterType, "Bytes of results sent to clients.", float64(m.bytesOut.Load()))
	p.single("sessions", gaugeType, "Sessions that are open now.", float64(m.sessions.Load()))
	m.writeTools(p)
	p.begin("tool_queue_wait_seconds", histogramType, "How long calls waited for a slot to run in.")
	p.histogram(m.wait)
}

func (m *metrics) writeTools(p *page) {
	known := *m.tools.Load()
	tools := append(slices.Collect(maps.Values(known)), m.unknown)
	slices.SortFunc(tools, func(a, b *toolMetrics) int { return strings.Compare(a.name, b.name) })

	p.begin("tool_call_duration_seconds", histogramType, "How long calls took from arrival to answer, refused ones included.")
	for _, t := range tools {
		p.histogram(t.duration, "tool", t.name)
	}
	p.single("tool_calls_queued", gaugeType, "Calls that wait for a slot now.", float64(m.queued.Load()))
	p.single("tool_calls_running", gaugeType, "Calls that run now.", float64(m.running.Load()))
	p.begin("tool_calls_total", counterType, "Calls, by tool, verdict of the policy, and outcome.")
	for o, outcome := range m.outcomes {
		for _, t := range tools {
			for v, verdict := range m.verdicts {
				// Most combinations never happen and would only make the page long.
				if n := t.calls[m.slot(v, o)].Load(); n > 0 {
					p.sample(float64(n), "outcome", outcome, "tool", t.name, "verdict", verdict)
				}
			}
		}
	}
}
