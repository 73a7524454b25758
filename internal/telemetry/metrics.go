package telemetry

import (
	"cmp"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Values of labels for unknown things. They begin with an underscore, so that they cannot
// be confused with the name of a tool.
const (
	unknownTool = "_unknown" // no tool has this name
	noneLabel   = "_none"    // the call was not processed that far
	otherLabel  = "_other"   // the value was not declared
)

// maxTools is the maximum number of tools with their own label. Bridged servers may have
// any number of tools.
const maxTools = 2000

const (
	maxScrapes    = 4                // at the same time; one Prometheus server needs one
	scrapeTimeout = 10 * time.Second // to send the page; Prometheus waits as long
)

// metrics holds all numbers. Labels have declared values only: clients must not be able to fill
// the memory with labels.
type metrics struct {
	registry *prometheus.Registry

	running, queued, sessions prometheus.Gauge
	bytesOut                  prometheus.Counter
	wait                      prometheus.Histogram
	calls                     *prometheus.CounterVec // by outcome, tool and verdict; only combinations that occurred
	durations                 *prometheus.HistogramVec
	reloads                   *prometheus.CounterVec
	limited, redacted         labelled
	verdicts, outcomes        map[string]bool

	mu      sync.Mutex // held while tools is replaced
	tools   atomic.Pointer[map[string]*toolMetrics]
	unknown *toolMetrics
	models  *modelMetrics // nil without models
}

// toolMetrics are the numbers of one tool.
type toolMetrics struct {
	name     string
	duration prometheus.Observer
}

// A labelled is the counters of one metric by the declared values of its label.
type labelled map[string]prometheus.Counter

func (l labelled) of(value string) prometheus.Counter {
	if c, ok := l[value]; ok {
		return c
	}
	return l[otherLabel]
}

func newMetrics(c Config) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		verdicts: setOf(c.Labels.Verdicts), outcomes: setOf(c.Labels.Outcomes),
	}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string) prometheus.Gauge {
		return register(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
	}
	m.running = gauge("mcp_tools_calls_running", "Calls that are running.")
	m.queued = gauge("mcp_tools_calls_queued", "Calls that are waiting for a slot.")
	m.sessions = gauge("mcp_tools_sessions", "Open sessions.")
	register(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mcp_tools_build_info", Help: "Always 1; the labels describe the program.",
		ConstLabels: prometheus.Labels{"commit": c.Commit, "goversion": runtime.Version(), "version": c.Version},
	})).Set(1)
	m.bytesOut = register(m, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mcp_tools_result_bytes_total", Help: "Bytes of results sent to clients.",
	}))
	m.wait = register(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mcp_tools_queue_wait_seconds", Help: "Time that calls waited for a slot.",
		Buckets: []float64{.001, .01, .1, .5, 1, 2.5, 5, 10, 30, 60},
	}))
	m.durations = register(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "mcp_tools_call_duration_seconds",
		Help:    "Time from the arrival of a call to its response, including refused calls.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
	}, []string{"tool"}))
	m.calls = m.counters("mcp_tools_calls_total", "Calls, by tool, verdict of the policy, and outcome.",
		"outcome", "tool", "verdict")
	m.reloads = m.counters("mcp_tools_config_reloads_total", "Attempts to reload the configuration.", "result")
	m.reloads.WithLabelValues("ok")
	m.reloads.WithLabelValues("failed")
	m.limited = m.declared(c.Labels.Reasons, "mcp_tools_calls_limited_total", "Calls rejected by a limit, by reason.", "reason")
	m.redacted = m.declared(c.Labels.Secrets, "mcp_tools_redactions_total", "Secrets removed from output, by kind.", "kind")
	m.unknown = m.newTool(unknownTool)
	m.tools.Store(&map[string]*toolMetrics{})
	return m
}

// register adds a collector to the registry and returns it.
func register[C prometheus.Collector](m *metrics, c C) C {
	m.registry.MustRegister(c)
	return c
}

func (m *metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return register(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// declared returns the counters for the declared values of a label and for all others. All are exported
// from the start, as zero.
func (m *metrics) declared(values []string, name, help, label string) labelled {
	all := m.counters(name, help, label)
	l := labelled{}
	for _, value := range append([]string{otherLabel}, values...) {
		l[value] = all.WithLabelValues(value)
	}
	return l
}

func setOf(values []string) map[string]bool {
	set := map[string]bool{noneLabel: true}
	for _, value := range values {
		set[value] = true
	}
	return set
}

func (m *metrics) newTool(name string) *toolMetrics {
	return &toolMetrics{name: name, duration: m.durations.WithLabelValues(name)}
}

// addTools adds tools. It replaces the map instead of changing it, so that calls can read it
// without a lock.
func (m *metrics) addTools(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := maps.Clone(*m.tools.Load())
	for _, name := range names {
		valid := name != unknownTool && utf8.ValidString(name)
		if known[name] == nil && valid && len(known) < maxTools {
			known[name] = m.newTool(name)
		}
	}
	m.tools.Store(&known)
}

// tool returns the numbers for a tool name from a client.
func (m *metrics) tool(name string) *toolMetrics {
	if t := (*m.tools.Load())[name]; t != nil {
		return t
	}
	return m.unknown
}

// record counts a call after it has ended.
func (m *metrics) record(t *toolMetrics, e End) {
	m.calls.WithLabelValues(among(m.outcomes, e.Outcome), t.name, among(m.verdicts, e.Verdict)).Inc()
	t.duration.Observe(max(e.Duration, 0).Seconds()) // a decreasing sum would look like a restart
	m.wait.Observe(max(e.QueueWait, 0).Seconds())
	m.bytesOut.Add(float64(max(e.BytesOut, 0)))
	for kind, n := range e.Redactions {
		m.redacted.of(kind).Add(float64(max(n, 0)))
	}
}

// among returns the label for a value: itself if it was declared.
func among(declared map[string]bool, value string) string {
	value = cmp.Or(value, noneLabel)
	if declared[value] {
		return value
	}
	return otherLabel
}

// handler answers scrapes.
func (m *metrics) handler() http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// If deadlines are not supported, the server's timeouts apply.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout))
		scrape.ServeHTTP(w, r)
	})
}

// modelMetrics are the numbers of language models, by the names that are configured.
type modelMetrics struct {
	names                  []string
	cost, requests, tokens *prometheus.CounterVec
}

// A ModelUse is a request to a language model that has ended.
type ModelUse struct {
	Model                                string
	Failed                               bool
	Input, Output, CacheRead, CacheWrite int
	Cost                                 int64 // millionths of a dollar
}

// SetModels sets the models that are counted. It is called once, before the first
// [Calls.Model].
func (c *Calls) SetModels(names []string) {
	m := c.metrics
	if m == nil || len(names) == 0 {
		return
	}
	m.models = &modelMetrics{
		names: names,
		cost:  m.counters("mcp_tools_model_cost_dollars_total", "Price of requests to language models.", "model"),
		requests: m.counters("mcp_tools_model_requests_total", "Requests to language models, by outcome.",
			"model", "outcome"),
		tokens: m.counters("mcp_tools_model_tokens_total", "Tokens of requests to language models, by kind.",
			"kind", "model"),
	}
	for _, name := range names {
		m.models.count(ModelUse{Model: name}, 0)
		m.models.count(ModelUse{Model: name, Failed: true}, 0)
	}
}

// Model counts a request to a model.
func (c *Calls) Model(u ModelUse) {
	if c.metrics == nil {
		return
	}
	if m := c.metrics.models; m != nil && slices.Contains(m.names, u.Model) {
		m.count(u, 1)
	}
}

func (m *modelMetrics) count(u ModelUse, requests float64) {
	outcome := "ok"
	if u.Failed {
		outcome = "failed"
	}
	m.requests.WithLabelValues(u.Model, outcome).Add(requests)
	for kind, n := range map[string]int{
		"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite,
	} {
		m.tokens.WithLabelValues(kind, u.Model).Add(float64(max(n, 0)))
	}
	m.cost.WithLabelValues(u.Model).Add(float64(max(u.Cost, 0)) / 1e6)
}
