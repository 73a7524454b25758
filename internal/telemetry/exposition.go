package telemetry

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// counters is a counter with one label, whose values are all known beforehand
// and thus all shown from the start, at zero.
type counters struct {
	words  words
	counts []atomic.Uint64 // by word
}

func newCounters(declared []string) counters {
	w := newWords(declared)
	return counters{words: w, counts: make([]atomic.Uint64, len(w))}
}

func (c counters) of(word string) *atomic.Uint64 { return &c.counts[c.words.index(word)] }

// words are the values that one label may have, sorted.
type words []string

// newWords adds the word for all others to those that are declared.
func newWords(declared []string, more ...string) words {
	w := slices.Concat(words{otherWord}, declared, more)
	slices.Sort(w)
	return slices.Compact(w)
}

// index finds a word, or the one for all others.
func (w words) index(word string) int {
	i, found := slices.BinarySearch(w, word)
	if !found {
		i, _ = slices.BinarySearch(w, otherWord)
	}
	return i
}

// A histogram counts durations by size. Each is counted in one bucket only,
// and the buckets are added up when they are read, because calls are many and
// scrapes are few. A scrape in between may find a duration counted and not yet
// summed up.
type histogram struct {
	bounds []time.Duration // the longest of each bucket, rising
	counts []atomic.Uint64 // one more than bounds: the last is for all that is longer
	sum    atomic.Int64    // in nanoseconds, enough for 292 years
}

func newHistogram(bounds []time.Duration) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// observe counts one duration. Most are short, so it looks from below.
func (h *histogram) observe(d time.Duration) {
	d = max(d, 0) // a sum that went down would look like a restart
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// The types of metrics, as the format names them.
const (
	counterType   = "counter"
	gaugeType     = "gauge"
	histogramType = "histogram"
)

// A page is the answer to a scrape, in the text format of Prometheus. Samples
// belong to the family that was begun last.
type page struct {
	text   []byte
	family string
}

// pageType is the media type of a page.
const pageType = "text/plain; version=0.0.4; charset=utf-8"

// begin opens a family of metrics. The help is one line without backslashes.
func (p *page) begin(name, kind, help string) {
	p.family = name
	p.text = append(p.text, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// sample writes one number. The labels are names, each followed by its value.
func (p *page) sample(value float64, labels ...string) { p.line("", value, labels) }

// single writes a family of one number without labels.
func (p *page) single(name, kind, help string, value float64) {
	p.begin(name, kind, help)
	p.sample(value)
}

// counters writes a family with one label.
func (p *page) counters(name, help, label string, c counters) {
	p.begin(name, counterType, help)
	for i, word := range c.words {
		p.sample(float64(c.counts[i].Load()), label, word)
	}
}

// histogram writes the buckets of h, each with all shorter ones in it, and
// takes the count from them so that the two agree whatever is counted meanwhile.
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

// appendLabel appends the value of a label as it stands within quotes. Bytes
// that are no characters would spoil the page and are replaced.
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
