package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// client is a client without a network, so that its time can be made up.
type client func(ctx context.Context, r outbound.Request) (*outbound.Answer, error)

func (c client) Do(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
	return c(ctx, r)
}

func (client) Check(context.Context, outbound.Request) error { return nil }

func answered(status int, body string, headers ...string) (*outbound.Answer, error) {
	h := make(http.Header)
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &outbound.Answer{Status: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

const one = `{"type":"search","web":{"results":[{"title":"T","url":"https://t.example/"}]},"results":[{"title":"T","url":"https://t.example/"}]}`

// as is the context of a caller.
func as(ctx context.Context, user, profile string) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Profile: profile}})
}

func TestNextEngineIsQueried(t *testing.T) {
	l := newLocal(t, hosts(map[string]http.HandlerFunc{
		"api.search.brave.com": reply(429, ``, "Retry-After", "40"), "html.duckduckgo.com": reply(202, page(t, "duck_challenge.html")),
		"api.tavily.com": reply(200, one),
	}))
	s := searcher(t, l, each()[Brave], each()[DuckDuckGo], each()[Tavily])
	got, err := s.Search(t.Context(), query("tides"))
	if err != nil || got.Provider != Tavily || len(got.Notes) != 2 ||
		!strings.HasPrefix(got.Notes[0], "brave received too many requests") ||
		!strings.Contains(got.Notes[1], "blocks automated") {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = s.Search(t.Context(), query("more tides")); err != nil || len(got.Notes) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if l.count() != 4 {
		t.Errorf("%d requests, want 4: two engines are paused", l.count())
	}
	// A query with a provider uses only that engine.
	_, err = s.Search(t.Context(), Query{Text: "tides", Count: 5, Provider: "Brave"})
	if tool.AsError(err).Kind != tool.Busy || !strings.Contains(err.Error(), "omit provider") || l.count() != 5 {
		t.Errorf("%v after %d requests", err, l.count())
	}
	_, err = s.Search(t.Context(), Query{Text: "tides", Count: 5, Provider: "altavista"})
	if tool.AsError(err).Kind != tool.Invalid || !strings.Contains(err.Error(), "brave, duckduckgo, tavily") {
		t.Error(err)
	}
}

func TestEmptyResponseEndsTheSearch(t *testing.T) {
	l := newLocal(t, hosts(map[string]http.HandlerFunc{"html.duckduckgo.com": reply(200, page(t, "duck_none.html")), "api.tavily.com": reply(200, one)}))
	got, err := searcher(t, l, each()[DuckDuckGo], each()[Tavily]).Search(t.Context(), query("tides"))
	if err != nil || got.Provider != DuckDuckGo || len(got.Results) != 0 || l.count() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, times := true, 0
		s := searcher(t, client(func(context.Context, outbound.Request) (*outbound.Answer, error) {
			times++
			if broken {
				return answered(429, ``, "Retry-After", "90")
			}
			return answered(200, one)
		}), each()[Tavily])
		for range 2 {
			_, err := s.Search(t.Context(), query("tides"))
			if tool.AsError(err).Kind != tool.Busy || !strings.Contains(err.Error(), "search again in 90 s") {
				t.Error(err)
			}
		}
		broken = false
		time.Sleep(89 * time.Second)
		if _, err := s.Search(t.Context(), query("tides")); err == nil || !strings.Contains(err.Error(), "1 s") || times != 1 {
			t.Errorf("%v after %d requests", err, times)
		}
		time.Sleep(time.Second)
		if _, err := s.Search(t.Context(), query("tides")); err != nil {
			t.Error(err)
		}
	})
}

// TestFailuresOfTheCallerDoNotPauseEngines has failures that are not the engine's.
func TestFailuresOfTheCallerDoNotPauseEngines(t *testing.T) {
	for name, fail := range map[string]client{
		"refused": func(context.Context, outbound.Request) (*outbound.Answer, error) {
			return nil, tool.Errorf(tool.Refused, "%q is not on the public internet", "10.0.0.1")
		},
		"not understood": func(context.Context, outbound.Request) (*outbound.Answer, error) { return answered(400, ``) },
	} {
		times := 0
		s := searcher(t, client(func(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
			times++
			return fail(ctx, r)
		}), each()[Tavily])
		for range 2 {
			if _, err := s.Search(t.Context(), query("tides")); err == nil ||
				strings.Contains(err.Error(), "10.0.0.1") || strings.Contains(err.Error(), "paused") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if times != 2 {
			t.Errorf("%s: asked %d times", name, times)
		}
	}
	s := searcher(t, client(func(ctx context.Context, _ outbound.Request) (*outbound.Answer, error) {
		return nil,
			ctx.Err()
	}), each()[Tavily])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Search(ctx, query("tides")); !errors.Is(err, context.Canceled) || s.pauses.of(Tavily) != nil {
		t.Errorf("%v, paused: %v", err, s.pauses.of(Tavily))
	}
}

func TestLongQueries(t *testing.T) {
	l := newLocal(t, reply(200, one))
	s := searcher(t, l, each()[Brave], each()[SearXNG])
	got, err := s.Search(t.Context(), query(strings.Repeat("é", 401)))
	if err != nil || got.Provider != SearXNG || len(got.Notes) != 1 || got.Notes[0] != "brave accepts at most 400 characters" {
		t.Errorf("%+v, %v", got, err)
	}
}

// endless is a body that never ends.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}
func (endless) Close() error { return nil }

func TestSlowEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := searcher(t, client(func(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
			switch {
			case strings.Contains(r.URL, "brave"):
				<-ctx.Done()
				return nil, ctx.Err()
			case strings.Contains(r.URL, "exa"):
				return &outbound.Answer{Status: 200, Body: endless{ctx}}, nil
			}
			return answered(200, one)
		}), each()[Brave], each()[Exa], each()[Tavily])
		start := time.Now()
		got, err := s.Search(t.Context(), query("tides"))
		if err != nil || len(got.Notes) != 2 || !strings.Contains(got.Notes[0], "did not respond in time") ||
			!strings.Contains(got.Notes[1], "did not respond in time") {
			t.Errorf("%+v, %v", got, err)
		}
		if took := time.Since(start); took != 2*engineTimeout {
			t.Errorf("it took %s", took)
		}
		// A call that has less time than an engine ends with it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Search(ctx, Query{Text: "tides", Count: 5, Provider: Brave})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestResponsesAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		s, err := New(Options{Client: client(func(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
			times++
			if strings.Contains(r.URL, "brave") {
				return answered(500, ``)
			}
			return answered(200, one)
		}), Engines: []Engine{each()[Brave], each()[Tavily]}, Age: 15 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(ctx context.Context, q Query) Response {
			t.Helper()
			got, err := s.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		me := as(t.Context(), "me", "p")
		if got := ask(me, query("Tides")); got.Age != 0 || len(got.Notes) != 1 || times != 2 {
			t.Errorf("%+v after %d requests", got, times)
		}
		time.Sleep(5 * time.Minute)
		got := ask(me, query("Tides"))
		if got.Age != 5*time.Minute || len(got.Notes) != 0 || len(got.Results) != 1 || times != 2 {
			t.Errorf("%+v after %d requests", got, times)
		}
		got.Results[0].Title = "changed by who asked"
		if again := ask(me, query("Tides")); again.Results[0].Title != "T" {
			t.Error("what is kept can be changed")
		}
		// Other callers and other queries do not get the cached response.
		for i, other := range []struct {
			ctx context.Context
			q   Query
		}{
			{me, query("tides")}, {me, Query{Text: "Tides", Count: 6}}, {me, Query{Text: "Tides", Count: 5, Country: "DE"}},
			{me, Query{Text: "Tides", Count: 5, Language: "de"}}, {me, Query{Text: "Tides", Count: 5, Freshness: "day"}},
			{me, Query{Text: "Tides", Count: 5, Provider: Tavily}}, {as(t.Context(), "you", "p"), query("Tides")},
			{as(t.Context(), "me", "q"), query("Tides")},
		} {
			before := times
			if got := ask(other.ctx, other.q); got.Age != 0 || times == before {
				t.Errorf("%d: %+v", i, got)
			}
		}
		before := times
		time.Sleep(10 * time.Minute)
		if got := ask(me, query("Tides")); got.Age != 0 || times == before {
			t.Errorf("%+v after %d requests: it is older than 15 minutes", got, times)
		}
	})
}

func TestCacheCanBeDisabled(t *testing.T) {
	asked := 0
	s, err := New(Options{
		Client: client(func(context.Context, outbound.Request) (*outbound.Answer,
			error) {
			asked++
			return answered(200, one)
		}),
		Engines: []Engine{each()[Tavily]},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := s.Search(t.Context(), query("Tides")); err != nil || len(got.Results) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if asked != 2 {
		t.Errorf("the engine was asked %d times", asked)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newResponseCache(time.Hour)
	small := func() (n int) {
		for i := range 3 * maxCached {
			if _, ok := c.get(fmt.Sprint(i)); ok {
				n++
			}
		}
		return n
	}
	for i := range 3 * maxCached {
		c.put(fmt.Sprint(i), Response{Results: []Result{{Title: "x"}}})
	}
	if _, ok := c.get("0"); ok || small() != maxCached {
		t.Errorf("%d are kept, the first of them: %v", small(), ok)
	}
	c.put("big", Response{Results: []Result{{Snippet: strings.Repeat("x", maxCachedBytes-10)}}})
	if _, ok := c.get("big"); !ok || small() != 0 {
		t.Errorf("%t, and %d small ones", ok, small())
	}
	c.put("bigger", Response{Results: []Result{{Snippet: strings.Repeat("x", maxCachedBytes)}}})
	if _, ok := c.get("bigger"); ok {
		t.Error("more is kept than may be")
	}
}

func TestConfiguredEnginesUseTheTrustedClient(t *testing.T) {
	var public, trusted []string
	s, err := New(Options{
		Client: client(func(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
			public = append(public, r.URL)
			return answered(500, ``)
		}),
		Trusted: client(func(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
			trusted = append(trusted, r.URL)
			return answered(200, one)
		}),
		Engines: []Engine{each()[Brave], each()[DuckDuckGo], {Kind: SearXNG, URL: "http://localhost:8888/search"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Search(t.Context(), query("tides"))
	if err != nil || got.Provider != SearXNG || len(public) != 2 || len(trusted) != 1 ||
		!strings.HasPrefix(trusted[0], "http://localhost:8888/search?q=tides&") {
		t.Errorf("%+v, %v, %q, %q", got, err, public, trusted)
	}
}

// TestUnreachableEngines has a real client refuse to go inside, and say where;
// the model does not see it.
func TestUnreachableEngines(t *testing.T) {
	l := newLocal(t, reply(200, one))
	for says, url := range map[string]string{"searxng may not be reached": "http://127.0.0.1:8888", "searxng cannot be reached": "http://gone.example"} {
		_, err := searcher(t, l, Engine{Kind: SearXNG, URL: url}).Search(t.Context(), query("tides"))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "127") ||
			strings.Contains(err.Error(), "gone") || l.count() != 0 {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestKeysAreReadForEachQuery so that one that was changed is used at once.
func TestKeysAreReadForEachQuery(t *testing.T) {
	l := newLocal(t, reply(200, one))
	n := 0
	s := searcher(t, l, Engine{Kind: Tavily, Key: func() (string, error) { n++; return fmt.Sprintf("k%d\n", n), nil }})
	for i := 1; i <= 2; i++ {
		if _, err := s.Search(t.Context(), query("tides")); err != nil {
			t.Fatal(err)
		}
		if got := l.last(t).Header.Get("Authorization"); got != fmt.Sprintf("Bearer k%d", i) {
			t.Errorf("%q", got)
		}
	}
}

// TestPauses by failures that say nothing of the engine.
func TestPauses(t *testing.T) {
	r := &pauses{until: make(map[string]pause)}
	r.update("e", fail("busy", time.Hour, "received too many requests"))
	r.update("e", fail("invalid", 0, "does not accept this query"))
	if why := r.of("e"); why == nil || why.what != "received too many requests" {
		t.Errorf("%v", why)
	}
	if r.update("e", nil); r.of("e") != nil {
		t.Error("an engine that responded is paused")
	}
}
