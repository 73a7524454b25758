package search

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const geminiAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"The sea rises "},{"text":"twice a day."}]},
	"groundingMetadata":{"webSearchQueries":["tides"],"groundingChunks":[
		{"web":{"uri":"https://vertexaisearch.cloud.google.com/grounding-api-redirect/abc","title":"tides.example"}},
		{"web":{"uri":"https://sea.example/","title":"sea.example"}}]}}],"usageMetadata":{}}`

const grokAnswer = `{"id":"r1","output":[{"type":"web_search_call","status":"completed"},
	{"type":"message","role":"assistant","content":[{"type":"output_text","text":"The sea rises twice a day.",
		"annotations":[{"type":"url_citation","url":"https://tides.example/?utm_source=x","title":"Tides"}]}]}],
	"citations":["https://tides.example/","https://sea.example/"]}`

const kimiCalls = `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"",
	"tool_calls":[{"index":0,"id":"call-1","type":"builtin_function","function":{"name":"$web_search","arguments":"{\"search_result\":{\"search_id\":\"s1\"}}"}}]}}]}`

const kimiAnswer = `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"The sea rises twice a day."}}],
	"search_results":[{"title":"Tides","url":"https://tides.example/","content":"Twice"}]}`

func TestAnswers(t *testing.T) {
	const answer = "The sea rises twice a day."
	for _, test := range []struct {
		engine       string
		respond      http.HandlerFunc
		path, header string
		want         []Result
	}{
		{Gemini, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				reply(302, "", "Location", "https://tides.example/a")(w, r)
				return
			}
			reply(200, geminiAnswer)(w, r)
		}, "/v1beta/models/gemini-2.5-flash:generateContent", "X-Goog-Api-Key",
			[]Result{{Title: "tides.example", URL: "https://tides.example/a"},
				{Title: "sea.example", URL: "https://sea.example/"}}},
		{Grok, reply(200, grokAnswer), "/v1/responses", "Authorization",
			[]Result{{Title: "Tides", URL: "https://tides.example/"}, {URL: "https://sea.example/"}}},
		{Kimi, reply(200, kimiAnswer), "/v1/chat/completions", "Authorization",
			[]Result{{Title: "Tides", URL: "https://tides.example/", Snippet: "Twice"}}},
	} {
		t.Run(test.engine, func(t *testing.T) {
			l := newLocal(t, test.respond)
			q := query(`"tides" {query}`)
			q.Country, q.Freshness = "DE", "week"
			got, err := searcher(t, l, each()[test.engine]).Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want := Response{
				Provider: test.engine, Answer: answer, Results: test.want,
				Notes: []string{test.engine + " cannot filter by country or freshness: this filter was ignored"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			sent := l.asked[0]
			if sent.Method != http.MethodPost || !strings.HasSuffix(sent.URL, test.path) ||
				!strings.Contains(sent.Header.Get(test.header), theKey) ||
				!strings.Contains(sent.Body, `\"tides\" {query}`) {
				t.Errorf("it was asked %+v", sent)
			}
			for _, later := range l.asked[1:] {
				if strings.Contains(later.URL+later.Header.Get(test.header), theKey) {
					t.Errorf("the key was sent to %s", later.URL)
				}
			}
		})
	}
}

// TestKimiSearches has the rounds of a search: the engine requests its own tool, and gets the
// arguments back as its result.
func TestKimiSearches(t *testing.T) {
	rounds := 0
	l := newLocal(t, func(w http.ResponseWriter, r *http.Request) {
		if rounds++; rounds < 3 {
			reply(200, kimiCalls)(w, r)
			return
		}
		reply(200, kimiAnswer)(w, r)
	})
	got, err := searcher(t, l, each()[Kimi]).Search(t.Context(), query("tides"))
	if err != nil || got.Answer == "" || len(got.Results) != 1 || l.count() != 3 {
		t.Fatalf("%+v, %v after %d requests", got, err, l.count())
	}
	var body struct {
		Messages []struct {
			Role, Content, Name string
			ID                  string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal([]byte(l.last(t).Body), &body); err != nil || len(body.Messages) != 5 {
		t.Fatalf("%v %s", err, l.last(t).Body)
	}
	m := body.Messages[2]
	if m.Role != "tool" || m.ID != "call-1" || m.Name != "$web_search" ||
		m.Content != `{"search_result":{"search_id":"s1"}}` {
		t.Errorf("%+v", m)
	}
	l = newLocal(t, reply(200, kimiCalls))
	_, err = searcher(t, l, each()[Kimi]).Search(t.Context(), query("tides"))
	if err == nil || l.count() != maxRounds {
		t.Errorf("%d requests of a search without end: %v", l.count(), err)
	}
}

func TestAnswerEnginesFail(t *testing.T) {
	for _, test := range []struct {
		name, engine string
		answer       http.HandlerFunc
		kind         tool.Kind
		says         string
	}{
		{"wrong key", Gemini, reply(401, `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"`+theKey+`"}}`),
			tool.Unavailable, "does not accept its key (401)"},
		{"quota", Gemini, reply(429, `{"error":{"status":"RESOURCE_EXHAUSTED"}}`, "Retry-After", "21"), tool.Busy,
			"received too many requests (429); it is paused for 21 s"},
		{"overload", Gemini, reply(503, `{}`), tool.Unavailable, "has an internal error (503)"},
		{"no candidate", Gemini, reply(200, `{"promptFeedback":{"blockReason":"SAFETY"}}`), tool.Unavailable,
			"it has no answer"},
		{"not allowed", Grok, reply(403, `{"error":"no credits"}`), tool.Unavailable, "does not accept its key (403)"},
		{"too often", Grok, reply(429, `{}`), tool.Busy, "received too many requests (429)"},
		{"another shape", Grok, reply(200, `{"output":"none"}`), tool.Unavailable, "not valid JSON"},
		{"unpaid", Kimi, reply(402, `{}`), tool.Unavailable, "has no searches left (402)"},
		{"broken", Kimi, reply(200, `{"choices":[`), tool.Unavailable, "not valid JSON"},
		{"nothing", Kimi, reply(200, `{"choices":[]}`), tool.Unavailable, "it has no answer"},
		{"limit", Perplexity, reply(429, `{}`, "Retry-After", "5"), tool.Busy, "it is paused for 5 s"},
		{"an error in 200", Bocha, reply(200, `{"code":"403","message":"not enough money"}`), tool.Unavailable,
			"the list of results is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := searcher(t, newLocal(t, test.answer), each()[test.engine]).Search(t.Context(), query("tides"))
			known := tool.AsError(err)
			if err == nil || known.Kind != test.kind || !strings.Contains(known.What, test.engine+" "+test.says) &&
				!strings.Contains(known.What, test.says) || strings.Contains(err.Error(), theKey) {
				t.Errorf("%v, want %s: %s", err, test.kind, test.says)
			}
		})
	}
}

// TestEnginesWithoutKey names engines that are not configured: the others are used, and a
// note says so.
func TestEnginesWithoutKey(t *testing.T) {
	s := searcher(t, newLocal(t, reply(200, page(t, "duck_results.html"))), Engine{Kind: DuckDuckGo})
	for _, name := range []string{Tavily, "Gemini", SearXNG} {
		q := query("tides")
		q.Provider = name
		got, err := s.Search(t.Context(), q)
		want := strings.ToLower(name) + " is not configured; the operator has to set its key or URL in web.search"
		if err != nil || got.Provider != DuckDuckGo || len(got.Notes) != 1 || got.Notes[0] != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	q := query("tides")
	q.Provider = "altavista"
	if _, err := s.Search(t.Context(), q); tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("an unknown engine: %v", err)
	}
}
