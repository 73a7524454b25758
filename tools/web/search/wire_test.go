package search

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestResultsOfEachEngine(t *testing.T) {
	for _, test := range []struct {
		engine, body string
		want         []Result
	}{
		{Brave, page(t, "brave.json"), []Result{
			{Title: "Tides & moons", URL: "https://www.tides.example/a?id=1", Snippet: "Why the sea rises, and vector<int> does not", Date: "2026-01-31"},
			{Title: "Old tides", URL: "https://old.example/", Snippet: "long ago", Date: "3 weeks ago"},
		}},
		{DuckDuckGo, page(t, "duck_results.html"), []Result{
			{Title: "Tidal power & the moon: what <b> means", URL: "https://www.tides.example/Power?id=7&lang=en", Snippet: "How tidal power works — and AT&T's part in it.", Date: "2026-03-02"},
			{Title: "Direct link over two lines", URL: "https://sea.example/a%20b?x=1#part"},
			{Title: "About DuckDuckGo", URL: "https://duckduckgo.com/about", Snippet: "A page of theirs that is a result."},
		}},
		{Tavily, page(t, "tavily.json"), []Result{
			{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice a day, if a < b & so on"},
			{Title: "News of tides", URL: "https://news.example/t", Snippet: "Higher than ever", Date: "Sat, 31 Jan 2026 09:30:00 GMT"},
		}},
		{SearXNG, page(t, "searxng.json"), []Result{
			{Title: "Tides", URL: "https://tides.example/", Snippet: "The sea, twice a day", Date: "2026-01-31"},
			{Title: "Sea", URL: "https://sea.example/"},
		}},
		{Exa, `{"results":[{"title":"Tides","url":"https://tides.example/","publishedDate":"2026-01-31T00:00:00.000Z","text":"Twice\n\na day"}]}`,
			[]Result{{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice a day", Date: "2026-01-31"}}},
		{Jina, `{"code":200,"data":[{"title":"Tides","url":"https://tides.example/","description":"Twice a day","content":""}]}`,
			[]Result{{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice a day"}}},
		{Perplexity, `{"results":[{"title":"Tides","url":"https://tides.example/","snippet":"Twice a day","date":"2026-01-31"}],"id":"x"}`,
			[]Result{{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice a day", Date: "2026-01-31"}}},
		{Bocha, `{"code":200,"data":{"webPages":{"value":[{"name":"Tides","url":"https://tides.example/","snippet":"Short","summary":"Twice a day","datePublished":"2026-01-31T08:00:00+08:00"}]}}}`,
			[]Result{{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice a day", Date: "2026-01-31"}}},
	} {
		t.Run(test.engine, func(t *testing.T) {
			s := searcher(t, newLocal(t, reply(200, test.body)), each()[test.engine])
			got, err := s.Search(t.Context(), query("tides"))
			if err != nil {
				t.Fatal(err)
			}
			want := Response{Provider: test.engine, Results: test.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNothingFound has responses without results, which are not failures.
func TestNothingFound(t *testing.T) {
	for engine, body := range map[string]string{
		Brave:      `{"type":"search","query":{"original":"qq"}}`,
		DuckDuckGo: page(t, "duck_none.html"),
		Tavily:     `{"query":"qq","results":[]}`,
		SearXNG:    `{"query":"qq","results":[],"unresponsive_engines":[]}`,
	} {
		s := searcher(t, newLocal(t, reply(200, body)), each()[engine])
		got, err := s.Search(t.Context(), query("qq"))
		if err != nil || len(got.Results) > 0 || got.Provider != engine {
			t.Errorf("%s: %+v, %v", engine, got, err)
		}
	}
}

// TestFailures has what engines answer when they do not answer.
func TestFailures(t *testing.T) {
	long := `{"results":[{"url":"https://a.example/","title":"` + strings.Repeat("x", maxBody) + `"}]}`
	for _, test := range []struct {
		name, engine string
		answer       http.HandlerFunc
		kind         tool.Kind
		says         string
	}{
		{"wrong key", Brave, reply(401, `{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}`), tool.Unavailable, "does not accept its key (401)"},
		{"not allowed", Brave, reply(403, `{}`), tool.Unavailable, "does not accept its key (403)"},
		{"not understood", Brave, reply(422, `{"type":"ErrorResponse"}`), tool.Invalid, "does not accept this query (422)"},
		{"too often", Brave, reply(429, `{}`, "X-RateLimit-Remaining", "0, 1000", "X-RateLimit-Reset", "1, 1419704"), tool.Busy, "received too many requests (429); it is paused for 1 s"},
		{"month is over", Brave, reply(429, `{}`, "X-RateLimit-Remaining", "0, 0", "X-RateLimit-Reset", "1, 1419704"), tool.Busy, "has no searches left for now (429); it is paused for 60 minutes"},
		{"wait", Tavily, reply(429, `{"detail":{"error":"slow down"}}`, "Retry-After", "17"), tool.Busy, "received too many requests (429); it is paused for 17 s"},
		{"wait for ever", Tavily, reply(429, ``, "Retry-After", "99999999999999999999"), tool.Busy, "it is paused for 60 minutes"},
		{"wait for nothing", Tavily, reply(429, ``, "Retry-After", "0"), tool.Busy, "it is paused for 1 s"},
		{"wait for nonsense", Tavily, reply(429, ``, "Retry-After", "-5"), tool.Busy, "it is paused for 60 s"},
		{"plan is used up", Tavily, reply(432, `{"detail":{"error":"`+theKey+`"}}`), tool.Unavailable, "has no searches left (432)"},
		{"unpaid", Exa, reply(402, ``), tool.Unavailable, "has no searches left (402)"},
		{"out of order", Tavily, reply(503, `oops`), tool.Unavailable, "has an internal error (503)"},
		{"moved", Tavily, reply(302, ``, "Location", "https://elsewhere.example/"), tool.Unavailable, "has moved (302)"},
		{"gone", Exa, reply(404, ``), tool.Unavailable, "responded with status 404"},
		{"broken", Brave, reply(200, `{"web":{"results":[`), tool.Unavailable, "not valid JSON"},
		{"empty", Tavily, reply(200, ``), tool.Unavailable, "not valid JSON"},
		{"deep", Tavily, reply(200, strings.Repeat(`[`, 100000)), tool.Unavailable, "not valid JSON"},
		{"a page", Tavily, reply(200, `<!doctype html><p>Sign in to the hotel`, "Content-Type", "text/html"), tool.Unavailable, "a web page instead of JSON"},
		{"another shape", Tavily, reply(200, `{"data":[]}`), tool.Unavailable, "the list of results is missing"},
		{"no object", Brave, reply(200, `"type"`), tool.Unavailable, "the list of results is missing"},
		{"an error that is none", Exa, reply(200, `{"code":429,"msg":"limit"}`), tool.Unavailable, "the list of results is missing"},
		{"wrong paths", Tavily, reply(200, `{"results":[{"link":"https://a.example/"}]}`), tool.Unavailable, "no result has a valid address"},
		{"no JSON there", SearXNG, reply(403, `<h1>Forbidden</h1>`), tool.Unavailable, "search.formats"},
		{"a page of SearXNG", SearXNG, reply(200, `<!DOCTYPE html>`), tool.Unavailable, "a web page instead of JSON"},
		{"silent engines", SearXNG, reply(200, `{"results":[],"unresponsive_engines":[["a","CAPTCHA"]]}`), tool.Unavailable, "some of the engines behind it did not respond"},
		{"huge", Tavily, reply(200, long), tool.Unavailable, "more than 2 MiB"},
		{"huge page", DuckDuckGo, reply(200, strings.Repeat("<p>", maxBody)), tool.Unavailable, "more than 2 MiB"},
		{"huge failure", Tavily, reply(500, long), tool.Unavailable, "has an internal error (500)"},
		{"captcha 202", DuckDuckGo, reply(202, page(t, "duck_challenge.html")), tool.Unavailable, "blocks automated searches (202); it is paused for 10 minutes"},
		{"captcha 200", DuckDuckGo, reply(200, page(t, "duck_challenge.html")), tool.Unavailable, "blocks automated searches"},
		{"refused", DuckDuckGo, reply(403, ``), tool.Unavailable, "blocks automated searches (403)"},
		{"another page", DuckDuckGo, reply(200, page(t, "duck_changed.html")), tool.Unavailable, "neither results nor a message that nothing was found"},
		{"empty page", DuckDuckGo, reply(200, ``), tool.Unavailable, "neither results nor"},
		{"elsewhere", DuckDuckGo, reply(303, ``, "Location", "https://other.example/?q=x"), tool.Unavailable, "has moved (303)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := searcher(t, newLocal(t, test.answer), each()[test.engine])
			got, err := s.Search(t.Context(), query("tides"))
			if err == nil {
				t.Fatalf("no error, but %+v", got)
			}
			known := tool.AsError(err)
			if known.Kind != test.kind || !strings.Contains(known.What, test.engine+" ") ||
				!strings.Contains(known.What, test.says) {
				t.Errorf("%v, want %s: %s", err, test.kind, test.says)
			}
			if strings.Contains(err.Error(), theKey) || strings.Contains(err.Error(), "http") {
				t.Errorf("the error reveals too much: %v", err)
			}
		})
	}
}

func TestRequestsOfEachEngine(t *testing.T) {
	full := Query{Text: `a&b="c" {count} é`, Count: 7, Freshness: "week", Country: "DE", Language: "de"}
	ranged := Query{Text: "tides", Count: 3, Freshness: "2026-01-01..2026-01-31", Country: "JP", Language: "ja"}
	odd := Query{Text: "tides", Count: 3, Country: "ZZ", Language: "xx"}
	for _, test := range []struct {
		engine string
		q      Query
		values map[string]string // of the URL, or of the body as JSON
		body   string
		note   string
	}{
		{Brave, full, map[string]string{"q": full.Text, "count": "7", "freshness": "pw", "country": "DE", "search_lang": "de", "text_decorations": "false", "result_filter": "web"}, "", ""},
		{Brave, ranged, map[string]string{"q": "tides", "count": "3", "freshness": "2026-01-01to2026-01-31", "country": "JP", "search_lang": "jp", "text_decorations": "false", "result_filter": "web"}, "", ""},
		{Brave, odd, map[string]string{"q": "tides", "count": "3", "text_decorations": "false", "result_filter": "web"}, "", "brave cannot filter by country or language: this filter was ignored"},
		{DuckDuckGo, full, map[string]string{"q": full.Text, "df": "w", "kl": "de-de"}, "", ""},
		{DuckDuckGo, ranged, map[string]string{"q": "tides", "df": "2026-01-01..2026-01-31", "kl": "jp-jp"}, "", ""},
		{DuckDuckGo, odd, map[string]string{"q": "tides"}, "", "duckduckgo cannot filter by country or language: this filter was ignored"},
		{SearXNG, full, map[string]string{"q": full.Text, "format": "json", "pageno": "1", "language": "de", "time_range": "week"}, "", "searxng cannot filter by country: this filter was ignored"},
		{SearXNG, ranged, map[string]string{"q": "tides", "format": "json", "pageno": "1", "language": "ja"}, "", "searxng cannot filter by freshness or country: this filter was ignored"},
		{Tavily, full, nil, `{"query":"a&b=\"c\" {count} é","max_results":7,"search_depth":"basic","include_answer":false,"include_raw_content":false,"time_range":"week","country":"germany"}`,
			"tavily cannot filter by language: this filter was ignored"},
		{Tavily, ranged, nil, `{"query":"tides","max_results":3,"search_depth":"basic","include_answer":false,"include_raw_content":false,"start_date":"2026-01-01","end_date":"2026-01-31","country":"japan"}`,
			"tavily cannot filter by language: this filter was ignored"},
		{Perplexity, full, nil, `{"query":"a&b=\"c\" {count} é","max_results":7,"country":"DE","search_recency_filter":"week","search_language_filter":["de"]}`, ""},
		{Perplexity, Query{Text: "tides", Count: 3}, nil, `{"query":"tides","max_results":3}`, ""},
		{Bocha, ranged, nil, `{"query":"tides","count":3,"summary":true,"freshness":"2026-01-01..2026-01-31"}`, "bocha cannot filter by country or language: this filter was ignored"},
		{Jina, full, nil, `{"q":"a&b=\"c\" {count} é","num":7,"gl":"DE","hl":"de"}`, "jina cannot filter by freshness: this filter was ignored"},
	} {
		l := newLocal(t, reply(200, map[string]string{DuckDuckGo: page(t, "duck_results.html"), Jina: `{"data":[]}`,
			Perplexity: `{"results":[]}`, Bocha: `{"data":{"webPages":{"value":[]}}}`,
			Brave: page(t, "brave.json")}[test.engine]+""))
		if test.engine == Tavily || test.engine == SearXNG {
			l = newLocal(t, reply(200, page(t, test.engine+".json")))
		}
		got, err := searcher(t, l, each()[test.engine]).Search(t.Context(), test.q)
		if err != nil {
			t.Errorf("%s: %v", test.engine, err)
			continue
		}
		if notes := strings.Join(got.Notes, "; "); notes != test.note {
			t.Errorf("%s: it notes %q, want %q", test.engine, notes, test.note)
		}
		r := l.last(t)
		sent := map[string]string{}
		if u, err := url.Parse(r.URL); err != nil {
			t.Error(err)
		} else {
			for name, values := range u.Query() {
				sent[name] = strings.Join(values, ",")
			}
		}
		if test.values != nil {
			if diff := cmp.Diff(test.values, sent); diff != "" || r.Method != "GET" {
				t.Errorf("%s: %s %s", test.engine, r.Method, diff)
			}
			continue
		}
		var want, body any
		if err := json.Unmarshal([]byte(test.body), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, body); diff != "" || r.Method != "POST" || len(sent) > 0 || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s", test.engine, r.Method, diff)
		}
	}
}

// TestKeysAreSentInHeadersOnly looks for them wherever else they could be.
func TestKeysAreSentInHeadersOnly(t *testing.T) {
	for name, e := range each() {
		if e.Key == nil {
			continue
		}
		l := newLocal(t, reply(500, theKey))
		got, err := searcher(t, l, e).Search(t.Context(), query("tides"))
		r := l.last(t)
		if strings.Contains(r.URL+r.Body+visibleText(got, err), theKey) {
			t.Errorf("%s: the key is in %q %q %v", name, r.URL, r.Body, err)
		}
		var where []string
		for header, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), theKey) {
				where = append(where, header)
			}
		}
		if len(where) != 1 {
			t.Errorf("%s: the key is in the headers %v", name, where)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	for name, key := range map[string]func() (string, error){
		"none": noKey, "empty": func() (string, error) { return " \n", nil },
		"two lines": func() (string, error) { return theKey + "\r\nX-Other: 1", nil },
	} {
		l := newLocal(t, reply(200, page(t, "brave.json")))
		_, err := searcher(t, l, Engine{Kind: Brave, Key: key}).Search(t.Context(), query("tides"))
		if err == nil || l.count() > 0 || strings.Contains(err.Error(), theKey) || strings.Contains(err.Error(), "vault") {
			t.Errorf("%s: %v, asked %d times", name, err, l.count())
		}
	}
}
