package console

import (
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
)

// A Series is a named row of values of a chart.
type Series struct {
	Name   string
	Values []float64
}

// A figure is a chart with its numbers.
type figure struct {
	Title  string
	SVG    template.HTML // "" if there is nothing to draw
	Labels []string
	Series []Series
}

// Cell returns a number of the table.
func (f figure) Cell(s Series, i int) string {
	if v := s.Values[i]; !math.IsNaN(v) {
		return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
	}
	return ""
}

type chartsData struct {
	Filter  callFilter
	Periods []period
	Figures []figure
	Full    bool
}

// maxNamed is how many agents have a series of their own.
const maxNamed = 6

func showCharts(r *Request) (any, error) {
	f := filterOf(r.URL.Query())
	rows, full, err := r.console.recent.read(r, f.Period.Length)
	if err != nil {
		return nil, err
	}
	b := newBuckets(f.Period, time.Now())
	durations := make([][]float64, len(b.labels))
	for i := range rows {
		row := &rows[i]
		if !f.shows(row, "") {
			continue
		}
		at := b.at(row.Time)
		if at < 0 {
			continue
		}
		if row.Kind == "" {
			b.add("calls", endOf(row), at, 1)
			durations[at] = append(durations[at], row.Duration)
		}
		who := row.Agent
		if who == "" {
			who = row.User
		}
		b.add("tokens", who, at, float64(row.Tokens))
		b.add("cost", who, at, row.Cost)
		if row.Outcome == "asked" || row.Approval != "" {
			b.add("questions", "asked", at, 1)
			if row.Approval != "" {
				b.add("questions", answerOf(row), at, 1)
			}
		}
	}
	d := chartsData{Filter: f, Periods: periods(), Full: full, Figures: []figure{
		{Title: "Calls", Labels: b.labels, Series: b.series("calls")},
		{Title: "Duration of calls in milliseconds", Labels: b.labels, Series: percentiles(durations)},
		{Title: "Tokens of language models, by agent", Labels: b.labels, Series: b.series("tokens")},
		{Title: "Cost of language models in dollars, by agent", Labels: b.labels, Series: b.series("cost")},
		{Title: "Questions about calls", Labels: b.labels, Series: b.series("questions")},
	}}
	for i := range d.Figures {
		one := &d.Figures[i]
		if len(one.Series) == 0 || r.console.Chart == nil {
			continue
		}
		kind := "bar"
		if i == 1 {
			kind = "line"
		}
		svg, err := r.console.Chart(kind, one.Labels, one.Series)
		if err != nil {
			return nil, err
		}
		one.SVG = template.HTML(svg) // the chart escapes its texts
	}
	return d, nil
}

// endOf returns the kind of outcome of a call.
func endOf(r *audit.Row) string {
	switch outcomeOf(r) {
	case "ok", "cached":
		return "ok"
	case "refused", "denied":
		return "refused"
	case "asked", "running":
		return "open"
	}
	return "failed"
}

// answerOf returns how a question was answered.
func answerOf(r *audit.Row) string {
	if strings.Contains(r.Approval, "den") {
		return "denied"
	}
	return "allowed"
}

// buckets count by steps of a period.
type buckets struct {
	from   time.Time
	step   time.Duration
	labels []string
	counts map[string]map[string][]float64 // by figure and series
}

func newBuckets(p period, now time.Time) *buckets {
	b := &buckets{step: p.Step, counts: map[string]map[string][]float64{}}
	n := int(p.Length / p.Step)
	b.from = now.Add(-p.Length)
	for i := range n {
		b.labels = append(b.labels, b.from.Add(time.Duration(i+1)*p.Step).Local().Format(p.Format))
	}
	return b
}

func (b *buckets) at(t time.Time) int {
	at := int(t.Sub(b.from) / b.step)
	if t.Before(b.from) || at >= len(b.labels) {
		return -1
	}
	return at
}

func (b *buckets) add(figure, series string, at int, n float64) {
	if n == 0 {
		return
	}
	if b.counts[figure] == nil {
		b.counts[figure] = map[string][]float64{}
	}
	if b.counts[figure][series] == nil {
		b.counts[figure][series] = make([]float64, len(b.labels))
	}
	b.counts[figure][series][at] += n
}

// series returns the series of a figure, the largest first; the small ones are one.
func (b *buckets) series(figure string) (list []Series) {
	sum := func(values []float64) (all float64) {
		for _, v := range values {
			all += v
		}
		return all
	}
	named := b.counts[figure]
	names := slices.SortedFunc(maps.Keys(named), func(x, y string) int {
		if sx, sy := sum(named[x]), sum(named[y]); sx != sy {
			return int(math.Copysign(1, sy-sx))
		}
		return strings.Compare(x, y)
	})
	for i, name := range names {
		if i < maxNamed {
			list = append(list, Series{name, named[name]})
			continue
		}
		if i == maxNamed {
			list = append(list, Series{"others", make([]float64, len(b.labels))})
		}
		for j, v := range named[name] {
			list[maxNamed].Values[j] += v
		}
	}
	return list
}

// percentiles returns the median and the 95th percentile of each step.
func percentiles(durations [][]float64) []Series {
	half, most := Series{Name: "half are faster"}, Series{Name: "95 of 100 are faster"}
	some := false
	for _, all := range durations {
		slices.Sort(all)
		x, y := math.NaN(), math.NaN()
		if n := len(all); n > 0 {
			some = true
			x, y = all[n/2], all[min(n*95/100, n-1)]
		}
		half.Values, most.Values = append(half.Values, x), append(most.Values, y)
	}
	if !some {
		return nil
	}
	return []Series{half, most}
}
