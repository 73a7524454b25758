package telemetry

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The labels of what has no word. They begin with an underscore so that they
// cannot be mistaken for the name of a tool.
const (
	unknownTool = "_unknown" // a name that no tool has
	noWord      = "_none"    // the call did not get that far
	otherWord   = "_other"   // a word that nobody has declared
)

// maxTools bounds how many tools have a label of their own, because servers
// that are bridged to bring as many names as they like.
const maxTools = 2000

// metrics holds every number, and a handle to each that calls change often:
// finding one by its labels costs more than counting does.
type metrics struct {
	registry *prometheus.Registry

	calls      *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	wait       prometheus.Histogram
	running    prometheus.Gauge
	queued     prometheus.Gauge
	sessions   prometheus.Gauge
	bytesOut   prometheus.Counter
	limited    counters
	redacted   counters
	reloaded   prometheus.Counter
	unreloaded prometheus.Counter

	verdicts words
	outcomes words

	mu      sync.Mutex // held to change tools
	tools   atomic.Pointer[map[string]*toolMetrics]
	unknown *toolMetrics
}

// toolMetrics are the handles of one tool.
type toolMetrics struct {
	name     string
	duration prometheus.Observer
	calls    []atomic.Pointer[prometheus.Counter] // by verdict and outcome; made when first needed
}

func newMetrics(c Config) *metrics {
	r := prometheus.NewRegistry()
	m := &metrics{
		registry: r,
		verdicts: newWords(c.Words.Verdicts),
		outcomes: newWords(c.Words.Outcomes),
		wait: add(r, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "tool_queue_wait_seconds",
			Help:    "How long calls waited for a slot to run in.",
			Buckets: []float64{.001, .01, .1, .5, 1, 2.5, 5, 10, 30, 60},
		})),
		running:  gauge(r, "tool_calls_running", "Calls that run now."),
		queued:   gauge(r, "tool_calls_queued", "Calls that wait for a slot now."),
		sessions: gauge(r, "sessions", "Sessions that are open now."),
		bytesOut: add(r, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "result_bytes_total", Help: "Bytes of results sent to clients.",
		})),
		limited:  newCounters(r, "calls_limited_total", "Calls that were held back, by reason.", "reason", c.Words.Reasons),
		redacted: newCounters(r, "redactions_total", "Secrets taken out of what left, by kind.", "kind", c.Words.Secrets),
	}
	m.calls = add(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tool_calls_total", Help: "Calls, by tool, verdict of the policy, and outcome.",
	}, []string{"tool", "verdict", "outcome"}))
	m.duration = add(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tool_call_duration_seconds",
		Help:    "How long calls took from arrival to answer, refused ones included.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
	}, []string{"tool"}))
	reloads := add(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "config_reloads_total", Help: "Attempts to read the configuration again.",
	}, []string{"result"}))
	m.reloaded, m.unreloaded = reloads.WithLabelValues("ok"), reloads.WithLabelValues("failed")
	build := add(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "build_info", Help: "Always 1; the labels say what runs.",
	}, []string{"version", "commit", "goversion"}))
	build.WithLabelValues(c.Version, c.Commit, runtime.Version()).Set(1)
	add(r, collectors.NewGoCollector())
	add(r, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.unknown = m.newTool(unknownTool)
	m.tools.Store(&map[string]*toolMetrics{})
	return m
}

// add registers a collector. The registry is ours alone, so a name can only be
// taken by a mistake in this file, which the first test to run would show.
func add[C prometheus.Collector](r *prometheus.Registry, c C) C {
	r.MustRegister(c)
	return c
}

func gauge(r *prometheus.Registry, name, help string) prometheus.Gauge {
	return add(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func (m *metrics) newTool(name string) *toolMetrics {
	return &toolMetrics{
		name:     name,
		duration: m.duration.WithLabelValues(name),
		calls:    make([]atomic.Pointer[prometheus.Counter], len(m.verdicts)*len(m.outcomes)),
	}
}

// know adds tools. The map is replaced, not changed, so that calls read it
// without a lock.
func (m *metrics) know(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := maps.Clone(*m.tools.Load())
	for _, name := range names {
		if known[name] == nil && len(known) < maxTools && utf8.ValidString(name) { // a label must be valid
			known[name] = m.newTool(name)
		}
	}
	m.tools.Store(&known)
}

// tool returns the handles for a name that a client sent.
func (m *metrics) tool(name string) *toolMetrics {
	if t := (*m.tools.Load())[name]; t != nil {
		return t
	}
	return m.unknown
}

// record counts one call that has ended.
func (m *metrics) record(t *toolMetrics, e End) {
	m.count(t, m.verdicts.index(e.Verdict), m.outcomes.index(e.Outcome))
	t.duration.Observe(e.Duration.Seconds())
	m.wait.Observe(e.QueueWait.Seconds())
	if e.BytesOut > 0 {
		m.bytesOut.Add(float64(e.BytesOut))
	}
	for kind, n := range e.Redactions {
		if n > 0 {
			m.redacted.of(kind).Add(float64(n))
		}
	}
}

func (m *metrics) count(t *toolMetrics, verdict, outcome int) {
	slot := &t.calls[verdict*len(m.outcomes)+outcome]
	counter := slot.Load()
	if counter == nil {
		// Two goroutines that come here at once get the same counter.
		made := m.calls.WithLabelValues(t.name, m.verdicts[verdict], m.outcomes[outcome])
		counter = &made
		slot.Store(counter)
	}
	(*counter).Inc()
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// words are the values that one label may have: first the one for no word,
// then those that were declared, then the one for all others.
type words []string

func newWords(declared []string) words {
	return slices.Concat(words{noWord}, declared, words{otherWord})
}

// index finds a word. The lists are short enough to walk.
func (w words) index(word string) int {
	if word == "" {
		return 0
	}
	if i := slices.Index(w, word); i >= 0 {
		return i
	}
	return len(w) - 1
}

// counters is a counter with one label, whose values are all known beforehand
// and thus all shown from the start, at zero.
type counters struct {
	known map[string]prometheus.Counter
	other prometheus.Counter
}

func newCounters(r *prometheus.Registry, name, help, label string, declared []string) counters {
	vec := add(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label}))
	c := counters{known: make(map[string]prometheus.Counter, len(declared)), other: vec.WithLabelValues(otherWord)}
	for _, word := range declared {
		c.known[word] = vec.WithLabelValues(word)
	}
	return c
}

func (c counters) of(word string) prometheus.Counter {
	if counter, ok := c.known[word]; ok {
		return counter
	}
	return c.other
}
