package console

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A callFilter selects calls of the audit log, as the query of the page has it.
type callFilter struct {
	Tool, Agent, User, Session, Outcome, Kind, Text string
	Slower                                          int // milliseconds
	Period                                          period
	Page                                            int
}

// A period is how far back the calls go, and how charts divide it.
type period struct {
	Name   string
	Title  string
	Length time.Duration
	Step   time.Duration
	Format string // of a step
}

func periods() []period {
	return []period{
		{"1h", "the last hour", time.Hour, 5 * time.Minute, "15:04"},
		{"24h", "the last 24 hours", 24 * time.Hour, time.Hour, "15h"},
		{"7d", "the last 7 days", 7 * 24 * time.Hour, 24 * time.Hour, "Jan 2"},
		{"30d", "the last 30 days", 30 * 24 * time.Hour, 24 * time.Hour, "Jan 2"},
	}
}

func filterOf(q url.Values) callFilter {
	f := callFilter{
		Tool: q.Get("tool"), Agent: q.Get("agent"), User: q.Get("user"), Session: q.Get("session"),
		Outcome: q.Get("outcome"), Kind: q.Get("kind"), Text: strings.TrimSpace(q.Get("text")), Period: periods()[1],
	}
	f.Slower, _ = strconv.Atoi(q.Get("slower")) // 0 for a text that is no number
	f.Page, _ = strconv.Atoi(q.Get("page"))
	f.Page = max(f.Page, 1)
	for _, p := range periods() {
		if p.Name == q.Get("period") {
			f.Period = p
		}
	}
	return f
}

// shows reports whether a call is shown. but is the facet that does not count: its own numbers
// show the result of a click on one of its values.
func (f callFilter) shows(r *audit.Row, but string) bool {
	is := func(name, want, got string) bool { return want == "" || name == but || want == got }
	return is("tool", f.Tool, r.Tool) && is("agent", f.Agent, r.Agent) && is("user", f.User, r.User) &&
		is("outcome", f.Outcome, outcomeOf(r)) && is("kind", f.Kind, r.Kind) && (f.Session == "" || f.Session == r.Session) &&
		r.Duration >= float64(f.Slower) && (f.Text == "" || f.matches(r))
}

func (f callFilter) matches(r *audit.Row) bool {
	text := strings.ToLower(f.Text)
	for _, part := range []string{r.About, r.Tool, r.Error, r.Session, r.Call, r.ArgsShape} {
		if strings.Contains(strings.ToLower(part), text) {
			return true
		}
	}
	return false
}

// outcomeOf returns the outcome, "running" for a call without one.
func outcomeOf(r *audit.Row) string {
	if r.Phase == audit.Intent {
		return "running"
	}
	return r.Outcome
}

// callsData is the list of calls.
type callsData struct {
	Filter      callFilter
	Periods     []period
	Facets      []facet
	Rows        []audit.Row
	From, To, N int // of all that the filter shows
	All         int // of the period
	More        bool
	Full        bool // the period has more calls than are read
	Query       url.Values
}

// A facet is a field with its values, the most frequent first.
type facet struct {
	Name, Title, Now string
	Values           []facetValue
}

type facetValue struct {
	Value string
	Count int
}

const (
	// maxRead is how many records a page of calls reads. A call has one or two.
	maxRead   = 25_000
	pageSize  = 100
	maxFacets = 50
)

// With returns the query of the page with another value of a field.
func (d callsData) With(name string, value any) template.URL {
	q := maps.Clone(d.Query)
	if q == nil {
		q = url.Values{}
	}
	q.Del("note")
	q.Set(name, toText(value))
	if name != "page" {
		q.Del("page")
	}
	return template.URL(q.Encode()) // all of it is escaped
}

func toText(value any) string {
	switch v := value.(type) {
	case int:
		return strconv.Itoa(v)
	case string:
		return v
	}
	return ""
}

func showCalls(r *Request) (any, error) {
	f := filterOf(r.URL.Query())
	rows, full, err := r.console.recent.read(r, f.Period.Length)
	if err != nil {
		return nil, err
	}
	d := callsData{Filter: f, Periods: periods(), All: len(rows), Full: full, Query: r.URL.Query()}
	fields := []struct {
		name, title, now string
		of               func(*audit.Row) string
	}{
		{"tool", "Tool", f.Tool, func(r *audit.Row) string { return r.Tool }},
		{"agent", "Agent", f.Agent, func(r *audit.Row) string { return r.Agent }},
		{"user", "User", f.User, func(r *audit.Row) string { return r.User }},
		{"outcome", "Outcome", f.Outcome, outcomeOf},
		{"kind", "Kind", f.Kind, func(r *audit.Row) string { return r.Kind }},
	}
	var shown []audit.Row
	for i := range rows {
		if f.shows(&rows[i], "") {
			shown = append(shown, rows[i])
		}
	}
	for _, field := range fields {
		counts := map[string]int{}
		for i := range rows {
			if value := field.of(&rows[i]); value != "" && f.shows(&rows[i], field.name) {
				counts[value]++
			}
		}
		d.Facets = append(d.Facets, newFacet(field.name, field.title, field.now, counts))
	}
	slices.Reverse(shown) // the latest first
	d.N = len(shown)
	d.From = min((f.Page-1)*pageSize, d.N)
	d.To = min(d.From+pageSize, d.N)
	d.Rows, d.More = shown[d.From:d.To], d.To < d.N
	return d, nil
}

func newFacet(name, title, now string, counts map[string]int) facet {
	fa := facet{Name: name, Title: title, Now: now}
	for value, n := range counts {
		fa.Values = append(fa.Values, facetValue{value, n})
	}
	slices.SortFunc(fa.Values, func(a, b facetValue) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value)) })
	fa.Values = fa.Values[:min(len(fa.Values), maxFacets)]
	if now != "" && !slices.ContainsFunc(fa.Values, func(v facetValue) bool { return v.Value == now }) {
		fa.Values = append(fa.Values, facetValue{now, 0})
	}
	return fa
}

// recent has the latest records, so that a page that is loaded again reads only new records. It
// forgets them when no page has asked for some minutes.
type recent struct {
	mu     sync.Mutex
	rows   []audit.Row // by time
	known  map[string]bool
	since  time.Time // rows has all from then on, if it is not full
	full   bool
	forget *time.Timer
}

const (
	recentAge = 5 * time.Minute
	// overlap is how far back a read goes for records of other processes that came late.
	overlap = 30 * time.Second
)

// read returns the calls of a period: one record of each, its outcome if there is one. full
// is set if there are more.
func (c *recent) read(r *Request, length time.Duration) (calls []audit.Row, full bool, err error) {
	s := r.Store()
	if s.Missing() {
		return nil, false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since := time.Now().Add(-length)
	db := audit.NewDB(s)
	if err := c.fill(r.Context(), db, since); err != nil {
		return nil, false, tool.Errorf(tool.Unavailable, "the audit log cannot be read: %v", err)
	}
	if c.forget == nil {
		c.forget = time.AfterFunc(recentAge, c.drop)
	}
	c.forget.Reset(recentAge)
	last := map[string]int{} // by call
	for i := range c.rows {
		row := &c.rows[i]
		if row.Time.Before(since) {
			continue
		}
		if at, seen := last[row.Call]; seen && row.Call != "" {
			if before := &calls[at]; row.Phase != audit.Intent && (before.Phase == audit.Intent || before.Outcome == "asked") {
				*before = *row
			}
			continue
		}
		last[row.Call] = len(calls)
		calls = append(calls, *row)
	}
	return calls, c.full && len(c.rows) > 0 && c.rows[0].Time.After(since), nil
}

// fill reads what is missing.
func (c *recent) fill(ctx context.Context, db *audit.DB, since time.Time) error {
	from := since
	if enough := !c.since.IsZero() && (c.full || !since.Before(c.since)); enough && len(c.rows) > 0 {
		from = c.rows[len(c.rows)-1].Time.Add(-overlap)
	} else {
		c.rows, c.known, c.full = nil, map[string]bool{}, false
	}
	rows, err := c.latest(ctx, db, from)
	if err != nil {
		return err
	}
	late := false
	for _, row := range rows {
		if id := row.Chain + strconv.FormatUint(row.Seq, 36); !c.known[id] {
			late = late || len(c.rows) > 0 && row.Time.Before(c.rows[len(c.rows)-1].Time)
			c.known[id] = true
			c.rows = append(c.rows, row)
		}
	}
	if late {
		slices.SortStableFunc(c.rows, func(a, b audit.Row) int { return a.Time.Compare(b.Time) })
	}
	if c.since.IsZero() || since.Before(c.since) {
		c.since = since
	}
	c.full = c.full || len(c.rows) >= maxRead
	if drop := len(c.rows) - maxRead; drop > 0 {
		for _, row := range c.rows[:drop] {
			delete(c.known, row.Chain+strconv.FormatUint(row.Seq, 36))
		}
		c.rows = slices.Clone(c.rows[drop:])
	}
	return nil
}

// latest returns the records from a time on. If few are new, it returns only the last ones.
func (c *recent) latest(ctx context.Context, db *audit.DB, from time.Time) ([]audit.Row, error) {
	rows, err := db.TailSince(ctx, fewRows, from, nil)
	if err != nil || len(rows) < fewRows {
		return rows, err
	}
	for _, row := range rows[:fewRows/2] {
		if !c.known[row.Chain+strconv.FormatUint(row.Seq, 36)] {
			return db.TailSince(ctx, maxRead, from, nil)
		}
	}
	return rows, nil
}

// fewRows is how many records are read at first.
const fewRows = 500

func (c *recent) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.known, c.since, c.full = nil, nil, time.Time{}, false
}

// callData is one call, with the records of it and of the calls that it made.
type callData struct {
	ID   string
	Main *audit.Row
	Rows []audit.Row
	// Policy is why the policy decides like that about such a call now; nil if that is not known.
	Policy *note
}

// around is how long before and after its time the records of a call are looked for.
const around = 25 * time.Hour

func showCall(r *Request) (any, error) {
	id := r.PathValue("id")
	since, until := time.Now().Add(-7*24*time.Hour), time.Time{}
	if at, err := time.Parse(time.RFC3339, r.URL.Query().Get("at")); err == nil {
		since, until = at.Add(-around), at.Add(around)
	}
	d := callData{ID: id, Main: new(audit.Row)}
	if !r.Store().Missing() {
		_, err := audit.NewDB(r.Store()).Between(r.Context(), since, until, func(row *audit.Row) error {
			if (row.Call == id || row.Parent == id) && len(d.Rows) < pageSize {
				d.Rows = append(d.Rows, *row)
				if row.Call == id {
					*d.Main = *row
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(d.Rows) == 0 {
		return nil, tool.Errorf(tool.NotFound, "the audit log has no call %q in these days", id).
			Try("mcp-tools audit tail --call finds older ones")
	}
	if d.Main.Kind == "" && d.Main.Verdict != "" {
		args := map[string]any{"tool": d.Main.Tool}
		for name, value := range map[string]string{"agent": d.Main.Agent, "user": d.Main.User, "profile": d.Main.Profile} {
			if value != "" {
				args[name] = value
			}
		}
		if result, _, err := r.Call("policy", "explain", args); err == nil { // the tool may be gone
			d.Policy = noteOf(result, false)
		}
	}
	return d, nil
}
