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

// metrics holds every number as calls change it; scrapes give it its name.
type metrics struct {
	version, commit string
	proc            fs.FS // what the system says of processes

	running    atomic.Int64
	queued     atomic.Int64
	sessions   atomic.Int64
	bytesOut   atomic.Uint64
	reloaded   atomic.Uint64
	unreloaded atomic.Uint64
	limited    counters
	redacted   counters
	wait       *histogram

	verdicts  words
	outcomes  words
	durations []time.Duration // the bounds that the histograms of all tools share

	mu      sync.Mutex // held to change tools
	tools   atomic.Pointer[map[string]*toolMetrics]
	unknown *toolMetrics
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
		limited:  newCounters(c.Words.Reasons),
		redacted: newCounters(c.Words.Secrets),
		verdicts: newWords(c.Words.Verdicts, noWord),
		outcomes: newWords(c.Words.Outcomes, noWord),
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

// know adds tools. The map is replaced, not changed, so that calls read it
// without a lock.
func (m *metrics) know(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := maps.Clone(*m.tools.Load())
	for _, name := range names {
		if known[name] == nil && name != unknownTool && len(known) < maxTools && utf8.ValidString(name) { // a label must be valid
			known[name] = m.newTool(name)
		}
	}
	m.tools.Store(&known)
}

// tool returns the numbers for a name that a client sent.
func (m *metrics) tool(name string) *toolMetrics {
	if t := (*m.tools.Load())[name]; t != nil {
		return t
	}
	return m.unknown
}

// slot is where a tool counts calls with this verdict and outcome.
func (m *metrics) slot(verdict, outcome int) int { return verdict*len(m.outcomes) + outcome }

// record counts one call that has ended.
func (m *metrics) record(t *toolMetrics, e End) {
	verdict := m.verdicts.index(cmp.Or(e.Verdict, noWord))
	outcome := m.outcomes.index(cmp.Or(e.Outcome, noWord))
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
