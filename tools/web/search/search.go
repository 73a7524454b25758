// Package search queries web search engines, one after the other until one responds,
// and returns their results in one form.
//
// It knows the requests and responses of each engine, distinguishes a block page from an empty
// one, pauses engines that fail, and removes advertising and tracking from results. It knows
// neither the permitted hosts ([outbound.Client]), nor where keys are stored, nor how the
// results are shown to a model.
//
// Begin with [New] and [Searcher.Search]. engines.go describes the engines, endpoint.go is for
// engines that respond with JSON, duckduckgo.go for the one that responds with HTML.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Query is a search query. Empty fields mean the default of the engine.
type Query struct {
	Text      string
	Count     int    // results, 1 to 20
	Provider  string // use only this engine
	Freshness string // day, week, month, year, or 2026-01-31..2026-02-28
	Country   string // two letters
	Language  string // two letters
}

// A Response is the response of an engine.
type Response struct {
	Provider string // the engine
	Answer   string // of an engine that writes one; untrusted
	Results  []Result
	Notes    []string // for the model: engines that failed, filters that were ignored
	Age      time.Duration
}

// A Result is one page that was found. All fields are untrusted.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
	Date    string `json:"date,omitempty"` // as the engine writes it, or ""
}

// Options for New.
type Options struct {
	// Client reaches the well-known engines.
	Client outbound.Client
	// Trusted reaches the engines that the operator has configured by address, also on
	// private networks; nil is Client.
	Trusted outbound.Client
	// Engines are queried in this order.
	Engines []Engine
	// Age is the time that responses are cached; 0 disables the cache.
	Age time.Duration
}

// A Searcher queries engines. It is safe for concurrent use.
type Searcher struct {
	engines []*engine
	pauses  pauses
	cache   *responseCache
}

// engineTimeout limits the time of one engine.
const engineTimeout = 10 * time.Second

// New checks the engines. It does not read their keys.
func New(o Options) (*Searcher, error) {
	if len(o.Engines) == 0 {
		return nil, errors.New("there is no search engine")
	}
	o.Trusted = cmp.Or(o.Trusted, o.Client)
	s := &Searcher{pauses: pauses{until: make(map[string]pause)}, cache: newResponseCache(o.Age)}
	var problems []error
	for _, one := range o.Engines {
		e, err := newEngine(one, o)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("search engine %q: %w", one.Kind, err))
		case s.engine(e.name) != nil:
			problems = append(problems, fmt.Errorf("two search engines have the name %q; change one name", e.name))
		default:
			s.engines = append(s.engines, e)
		}
	}
	return s, errors.Join(problems...)
}

// Names returns the names of the engines in the order of the queries.
func (s *Searcher) Names() []string {
	var names []string
	for _, e := range s.engines {
		names = append(names, e.name)
	}
	return names
}

func (s *Searcher) engine(name string) *engine {
	i := slices.IndexFunc(s.engines, func(e *engine) bool { return strings.EqualFold(e.name, name) })
	if i < 0 {
		return nil
	}
	return s.engines[i]
}

// Search queries the engines in order until one responds, or only the engine that q names, if it is
// configured. Cached responses are not shared between callers: the searches of a caller are private, and
// profiles may reach different hosts.
func (s *Searcher) Search(ctx context.Context, q Query) (Response, error) {
	engines := s.engines
	var notes []string
	if q.Provider != "" {
		e := s.engine(q.Provider)
		name := strings.ToLower(q.Provider)
		switch {
		case e != nil:
			q.Provider, engines = e.name, []*engine{e}
		case slices.ContainsFunc(kinds(), func(k kind) bool { return k.name == name && !k.noKey }): // use the others
			q.Provider = ""
			notes = append(notes, name+" is not configured; the operator has to set its key or URL in web.search")
		default:
			return Response{}, tool.Errorf(tool.Invalid, "unknown provider %q",
				tool.Visible(text.Clip(q.Provider, 40))).
				Try("omit provider, or use one of %s", strings.Join(s.Names(), ", "))
		}
	}
	caller := tool.CallerFrom(ctx)
	key := fmt.Sprintf("%q %q %q %d %q %q %q %q",
		caller.Principal(), caller.Profile, q.Text, q.Count, q.Provider, q.Freshness, q.Country, q.Language)
	if r, ok := s.cache.get(key); ok {
		r.Notes = append(notes, r.Notes...)
		return r, nil
	}
	r, failed, err := s.query(ctx, engines, q)
	if err != nil {
		return Response{}, err
	}
	s.cache.put(key, r)
	r.Notes = append(append(notes, failed...), r.Notes...)
	return r, nil
}

// query returns the response of the first engine that responds, and notes about engines that failed before it.
func (s *Searcher) query(ctx context.Context, engines []*engine, q Query) (Response, []string, error) {
	var failures []*failure
	var notes []string
	for _, e := range engines {
		f := s.pauses.of(e.name)
		if f == nil || q.Provider != "" {
			var r Response
			r, f = e.query(ctx, q)
			if ctx.Err() != nil {
				return r, nil, ctx.Err()
			}
			s.pauses.update(e.name, f)
			if f == nil {
				return r, notes, nil
			}
		}
		failures = append(failures, f)
		notes = append(notes, e.name+" "+f.String())
	}
	return Response{}, nil, s.allFailed(q, failures, notes)
}

func (s *Searcher) allFailed(q Query, failures []*failure, notes []string) error {
	kind, soonest := failures[0].kind, time.Duration(0)
	var causes []error
	for _, f := range failures {
		if f.kind != kind {
			kind = tool.Unavailable
		}
		if f.pause > 0 && (soonest == 0 || f.pause < soonest) {
			soonest = f.pause
		}
		causes = append(causes, f.cause)
	}
	err := tool.Errorf(kind, "no search engine responded: %s",
		strings.Join(notes, "; ")).Because(errors.Join(causes...))
	switch {
	case q.Provider != "" && len(s.engines) > 1:
		return err.Try("omit provider to use the other engines")
	case kind == tool.Invalid:
		return err.Try("use a shorter and simpler query")
	case soonest > 0:
		return err.Try("search again in %s, or use web_fetch on a page that you know", formatPause(soonest))
	}
	return err.Try("continue without a search, or use web_fetch on a page that you know")
}

// pauses are the engines that are not queried for a while.
type pauses struct {
	mu    sync.Mutex
	until map[string]pause
}

type pause struct {
	end    time.Time
	reason failure
}

// of returns why an engine is paused and for how long, or nil.
func (p *pauses) of(name string) *failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := p.until[name]
	if !ok {
		return nil
	}
	left := time.Until(one.end)
	if left <= 0 {
		delete(p.until, name)
		return nil
	}
	f := one.reason
	f.pause = left
	return &f
}

// update notes the result of a query. A response ends the pause of an engine; a
// failure that is not the engine's fault does not change it.
func (p *pauses) update(name string, f *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case f == nil:
		delete(p.until, name)
	case f.pause > 0:
		p.until[name] = pause{time.Now().Add(f.pause), *f}
	}
}

const (
	maxCached      = 512     // responses
	maxCachedBytes = 4 << 20 // of all responses
)

// responseCache keeps the responses that were used last.
type responseCache struct {
	age   time.Duration
	byKey *lru.Cache[string, cachedResponse]
}

type cachedResponse struct {
	response Response
	at       time.Time
	bytes    int64
}

// newResponseCache returns a cache. Small responses count as maxCachedBytes/maxCached.
func newResponseCache(age time.Duration) *responseCache {
	size := func(c cachedResponse) int64 { return max(c.bytes, maxCachedBytes/maxCached) }
	return &responseCache{age, lru.New[string](maxCachedBytes, size)}
}

func (c *responseCache) get(key string) (Response, bool) {
	cached, ok := c.byKey.Get(key)
	age := time.Since(cached.at)
	if !ok || age >= c.age {
		return Response{}, false
	}
	r := cached.response.clone()
	r.Age = age
	return r, true
}

func (c *responseCache) put(key string, r Response) {
	if c.age <= 0 {
		return
	}
	cached := cachedResponse{response: r.clone(), at: time.Now(), bytes: int64(len(key) + len(r.Answer))}
	for _, one := range r.Results {
		cached.bytes += int64(len(one.Title) + len(one.URL) + len(one.Snippet) + len(one.Date))
	}
	c.byKey.Put(key, cached)
}

func (r Response) clone() Response {
	r.Results, r.Notes = slices.Clone(r.Results), slices.Clone(r.Notes)
	return r
}
