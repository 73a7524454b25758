// Package websearch asks engines that search the web, one after the other until
// one has answered, and hands their results on in one form.
//
// It knows how each engine is asked and what it answers, a block page told from
// an empty one included; which engine needs a rest; and what of a result is
// advertising or tracking. It does not know which hosts may be reached or how
// ([outbound.Client]), where keys are kept, nor what a model is shown of it all.
//
// Begin with [New] and [Searcher.Search]. known.go has the engines, endpoint.go
// the words in which one that answers in JSON is described, duck.go the one that
// answers in HTML.
package websearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// The kinds of engines. All but JSON come with their description.
const (
	Brave      = "brave"
	DuckDuckGo = "duckduckgo" // needs no key
	Tavily     = "tavily"
	SearXNG    = "searxng" // an instance of the operator's
	Exa        = "exa"
	Jina       = "jina"
	JSON       = "json" // any that answers in JSON, as its Endpoint says
)

// Options are what a Searcher works with.
type Options struct {
	// Client reaches the engines that everybody knows.
	Client outbound.Client
	// Trusted reaches those whose URL the operator wrote, wherever it leads; nil
	// is Client.
	Trusted outbound.Client
	// Engines are asked in this order.
	Engines []Engine
	// Age is how long results are kept for who asks the same; 0: they are not.
	Age time.Duration
}

// An Engine is one that may be asked.
type Engine struct {
	Kind string
	Name string // by which models ask for it; "" is its kind
	URL  string // of SearXNG: where the instance is, without /search
	// Key returns the key each time one is needed; nil: it has none. It is sent
	// in a header, and to the engine's own host only.
	Key      func() (string, error)
	Endpoint Endpoint // of JSON
}

// A Searcher asks engines. It implements [web.Searcher], and serves many calls
// at once.
type Searcher struct {
	engines []*engine
	rests   *rests
	cache   *cache
	flights *flights
}

// longest is how long one engine may take.
const longest = 10 * time.Second

// New checks the descriptions of the engines. Keys are not asked for yet.
func New(o Options) (*Searcher, error) {
	if len(o.Engines) == 0 {
		return nil, errors.New("there is no engine to search with")
	}
	if o.Trusted == nil {
		o.Trusted = o.Client
	}
	s := &Searcher{rests: newRests(), cache: newCache(o.Age), flights: newFlights()}
	var problems []error
	for _, one := range o.Engines {
		e, err := newEngine(one, o)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("search engine %q: %w", one.name(), err))
		case s.engine(e.name) != nil:
			problems = append(problems, fmt.Errorf("there are two search engines %q; give one another name", e.name))
		default:
			s.engines = append(s.engines, e)
		}
	}
	return s, errors.Join(problems...)
}

func (e Engine) name() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Kind
}

// Names are those of the engines, in the order in which they are asked.
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

// Search asks the engines in order until one answers, or the one that q names.
// Callers share no answers: that somebody has asked the same is nobody's
// business, and what one profile may reach another may not.
func (s *Searcher) Search(ctx context.Context, q web.Query) (web.Hits, error) {
	asked := s.engines
	if q.Provider != "" {
		e := s.engine(q.Provider)
		if e == nil {
			return web.Hits{}, tool.Errorf(tool.Invalid, "there is no provider %q", tool.Visible(cut(q.Provider, 40))).
				Try("leave it out, or use one of %s", strings.Join(s.Names(), ", "))
		}
		q.Provider, asked = e.name, []*engine{e}
	}
	caller := tool.CallerFrom(ctx)
	key := fmt.Sprintf("%q %q %q %d %q %q %q %q", caller.Principal(), caller.Profile, q.Text, q.Count, q.Provider, q.Freshness, q.Country, q.Language)
	if hits, ok := s.cache.get(key); ok {
		return hits, nil
	}
	return s.flights.do(ctx, key, func() (web.Hits, error) {
		hits, failed, err := s.ask(ctx, asked, q)
		if err != nil {
			return web.Hits{}, err
		}
		s.cache.put(key, hits)
		hits.Notes = append(failed, hits.Notes...)
		return hits, nil
	})
}

// ask returns what the first engine has found that answers, and what is to be
// said of those before it.
func (s *Searcher) ask(ctx context.Context, engines []*engine, q web.Query) (web.Hits, []string, error) {
	var failures []*failure
	var notes []string
	for _, e := range engines {
		why := s.rests.of(e.name)
		if why == nil || q.Provider != "" {
			var hits web.Hits
			hits, why = e.ask(ctx, q)
			if ctx.Err() != nil {
				return hits, nil, ctx.Err()
			}
			s.rests.after(e.name, why)
			if why == nil {
				return hits, notes, nil
			}
		}
		failures = append(failures, why)
		notes = append(notes, e.name+" "+why.String())
	}
	return web.Hits{}, nil, s.nobody(q, failures, notes)
}

// nobody says that no engine has answered.
func (s *Searcher) nobody(q web.Query, failures []*failure, notes []string) error {
	kind, soonest := failures[0].kind, time.Duration(0)
	var causes []error
	for _, f := range failures {
		if f.kind != kind {
			kind = tool.Unavailable
		}
		if f.left > 0 && (soonest == 0 || f.left < soonest) {
			soonest = f.left
		}
		causes = append(causes, f.cause)
	}
	err := tool.Errorf(kind, "no search engine has answered: %s", strings.Join(notes, "; ")).Because(errors.Join(causes...))
	switch {
	case q.Provider != "" && len(s.engines) > 1:
		return err.Try("leave provider out, and others are asked")
	case kind == tool.Invalid:
		return err.Try("search for something shorter and simpler")
	case soonest > 0:
		return err.Try("search again in %s, or fetch a page that you know", shown(soonest))
	}
	return err.Try("do without, or fetch a page that you know")
}
