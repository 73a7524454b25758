package telemetry

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
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

// metrics holds all numbers. Calls change them, and scrapes format them.
type metrics struct {
	version, commit string
	proc            fs.FS // /proc

	running    atomic.Int64
	queued     atomic.Int64
	sessions   atomic.Int64
	bytesOut   atomic.Uint64
	reloaded   atomic.Uint64
	unreloaded atomic.Uint64
	limited    counters
	redacted   counters
	wait       *histogram

	verdicts  labelValues
	outcomes  labelValues
	durations []time.Duration // the bounds of the histograms of all tools

	mu      sync.Mutex // held while tools is replaced
	tools   atomic.Pointer[map[string]*toolMetrics]
	unknown *toolMetrics
	models  map[string]*modelMetrics // does not change after the start
}

// toolMetrics are the numbers of one tool.
type toolMetrics struct {
	name     string
	duration *histogram
	calls    []atomic.Uint64 // by verdict and outcome: see slot
}

func newMetrics(c Config) *metrics {
	const ms, s = time.Millisecond, time.Second
	m := &metrics{
		version:  c.Version,
		commit:   c.Commit,
		proc:     os.DirFS("/proc"),
		limited:  newCounters(c.Labels.Reasons),
		redacted: newCounters(c.Labels.Secrets),
		verdicts: newLabelValues(c.Labels.Verdicts, noneLabel),
		outcomes: newLabelValues(c.Labels.Outcomes, noneLabel),
		wait: newHistogram([]time.Duration{
			ms, 10 * ms, 100 * ms, 500 * ms, s, 2500 * ms, 5 * s, 10 * s, 30 * s, 60 * s,
		}),
		durations: []time.Duration{
			ms, 2500 * time.Microsecond, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
			s, 2500 * ms, 5 * s, 10 * s, 30 * s, 60 * s, 120 * s, 300 * s,
		},
	}
	m.unknown = m.newTool(unknownTool)
	m.tools.Store(&map[string]*toolMetrics{})
	return m
}

func (m *metrics) newTool(name string) *toolMetrics {
	return &toolMetrics{
		name:     name,
		duration: newHistogram(m.durations),
		calls:    make([]atomic.Uint64, len(m.verdicts)*len(m.outcomes)),
	}
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

// slot returns the index of the counter for a verdict and an outcome.
func (m *metrics) slot(verdict, outcome int) int { return verdict*len(m.outcomes) + outcome }

// record counts a call after it has ended.
func (m *metrics) record(t *toolMetrics, e End) {
	verdict := m.verdicts.index(cmp.Or(e.Verdict, noneLabel))
	outcome := m.outcomes.index(cmp.Or(e.Outcome, noneLabel))
	t.calls[m.slot(verdict, outcome)].Add(1)
	t.duration.observe(e.Duration)
	m.wait.observe(e.QueueWait)
	if e.BytesOut > 0 {
		m.bytesOut.Add(uint64(e.BytesOut))
	}
	for kind, n := range e.Redactions {
		if n > 0 {
			m.redacted.of(kind).Add(uint64(n))
		}
	}
}
