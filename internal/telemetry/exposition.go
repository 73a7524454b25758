package telemetry

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// counters are the counters of one metric, one for each value of its label. All
// values are known in advance, so that all are exported from the start, as zero.
type counters struct {
	values labelValues
	counts []atomic.Uint64 // by value
}

func newCounters(declared []string) counters {
	w := newLabelValues(declared)
	return counters{values: w, counts: make([]atomic.Uint64, len(w))}
}

func (c counters) of(value string) *atomic.Uint64 { return &c.counts[c.values.index(value)] }

// labelValues are the sorted values of one label.
type labelValues []string

// newLabelValues returns the declared values, the value for all others, and more.
func newLabelValues(declared []string, more ...string) labelValues {
	w := slices.Concat(labelValues{otherLabel}, declared, more)
	slices.Sort(w)
	return slices.Compact(w)
}

// index returns the index of a value, or of the value for all others.
func (w labelValues) index(value string) int {
	i, found := slices.BinarySearch(w, value)
	if !found {
		i, _ = slices.BinarySearch(w, otherLabel)
	}
	return i
}

// A histogram counts durations in buckets. observe increments only one bucket, and
// reading adds up the shorter ones, because calls are frequent and scrapes are not. A
// scrape may see a duration counted that is not yet part of the sum.
type histogram struct {
	bounds []time.Duration // the upper bound of each bucket, ascending
	counts []atomic.Uint64 // one more than bounds: the last is for longer durations
	sum    atomic.Int64    // nanoseconds; enough for 292 years
}

func newHistogram(bounds []time.Duration) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// observe counts one duration. It searches from the start because most are short.
func (h *histogram) observe(d time.Duration) {
	d = max(d, 0) // a decreasing sum would look like a restart
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// The types of metrics in the exposition format.
const (
	counterType   = "counter"
	gaugeType     = "gauge"
	histogramType = "histogram"
)

// A page is the response to a scrape, in the text format of Prometheus. Samples
// belong to the family that was begun last.
type page struct {
	text   []byte
	family string
}

// pageType is the media type of a page.
const pageType = "text/plain; version=0.0.4; charset=utf-8"

// begin begins a family of metrics. help must be one line without backslashes.
func (p *page) begin(name, kind, help string) {
	p.family = name
	p.text = append(p.text, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// sample writes one number. labels alternates names and values.
func (p *page) sample(value float64, labels ...string) { p.line("", value, labels) }

// single writes a family of one number without labels.
func (p *page) single(name, kind, help string, value float64) {
	p.begin(name, kind, help)
	p.sample(value)
}

// counters writes a family with one label.
func (p *page) counters(name, help, label string, c counters) {
	p.begin(name, counterType, help)
	for i, value := range c.values {
		p.sample(float64(c.counts[i].Load()), label, value)
	}
}

// histogram writes the cumulative buckets of h. The count is the sum of the buckets, so
// that they agree even if calls are counted at the same time.
func (p *page) histogram(h *histogram, labels ...string) {
	bucket := slices.Concat(labels, []string{"le", ""})
	total := uint64(0)
	for i := range h.counts {
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i].Seconds(), 'f', -1, 64)
		}
		bucket[len(bucket)-1] = bound
		total += h.counts[i].Load()
		p.line("_bucket", float64(total), bucket)
	}
	p.line("_sum", time.Duration(h.sum.Load()).Seconds(), labels)
	p.line("_count", float64(total), labels)
}

func (p *page) line(suffix string, value float64, labels []string) {
	text := append(append(p.text, p.family...), suffix...)
	for i := 0; i < len(labels); i += 2 {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		text = append(append(append(text, separator), labels[i]...), `="`...)
		text = append(appendLabel(text, labels[i+1]), '"')
	}
	if len(labels) > 0 {
		text = append(text, '}')
	}
	text = strconv.AppendFloat(append(text, ' '), value, 'f', -1, 64)
	p.text = append(text, '\n')
}

// appendLabel appends the escaped value of a label. It replaces invalid UTF-8, which
// would make the page invalid.
func appendLabel(text []byte, value string) []byte {
	for _, r := range value {
		switch r {
		case '\\':
			text = append(text, `\\`...)
		case '"':
			text = append(text, `\"`...)
		case '\n':
			text = append(text, `\n`...)
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return text
}
