package search

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestInvalidEngines(t *testing.T) {
	for name, test := range map[string]struct {
		engine Engine
		says   string
	}{
		"fine":         {Engine{Kind: SearXNG, URL: "http://a.example:8888/sub"}, ""},
		"kind":         {Engine{Kind: "bing"}, "unknown kind"},
		"keyless":      {Engine{Kind: Brave}, "needs a key"},
		"unused key":   {Engine{Kind: DuckDuckGo, Key: key}, "does not use a key"},
		"no instance":  {Engine{Kind: SearXNG}, "needs the URL"},
		"odd instance": {Engine{Kind: SearXNG, URL: "http://a.example/?x"}, "needs the URL"},
		"URL of Brave": {Engine{Kind: Brave, Key: key, URL: "https://evil.example"}, "only searxng has a URL"},
		"scheme":       {Engine{Kind: SearXNG, URL: "file:///etc/passwd"}, "needs the URL"},
		"user":         {Engine{Kind: SearXNG, URL: "https://u:p@a.example/"}, "needs the URL"},
		"fragment":     {Engine{Kind: SearXNG, URL: "https://a.example/#x"}, "needs the URL"},
		"no host":      {Engine{Kind: SearXNG, URL: "https:///search"}, "needs the URL"},
	} {
		_, err := New(Options{Engines: []Engine{test.engine}})
		if test.says == "" && err != nil || test.says != "" &&
			(err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a searcher without engines")
	}
	if _, err := New(Options{Engines: []Engine{{Kind: DuckDuckGo}, {Kind: DuckDuckGo}}}); err == nil {
		t.Error("two engines of one name")
	}
}

// TestValuesAreEncoded has texts that would like to be elsewhere.
func TestValuesAreEncoded(t *testing.T) {
	e := &Endpoint{
		URL:  "https://a.example/find/{query}/all?q={query}&n={count}&lr=lang_{language}&fixed=1",
		Body: map[string]any{"q": "{query}", "list": []any{"x {query}", "{language}"}, "n": "{count}", "lang": map[string]any{"is": "{language}"}},
		List: "r", Link: "u",
	}
	for _, text := range []string{
		"tides", "../../admin", "..", ".", "a/b", "%2e%2e", "a&fixed=2", "a#b", "a?b", "a b+c", `"}, "n": 99, {"x":"`, "{language}{query}{key}", "\r\nX: y", "\x00", "é 潮 \u202e", `\`,
	} {
		r, _, err := e.request(Query{Text: text, Count: 4})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		parts := strings.Split(u.EscapedPath(), "/")
		if u.Host != "a.example" || len(parts) != 4 || parts[1] != "find" || parts[3] != "all" || parts[2] == "." ||
			parts[2] == ".." || u.Fragment != "" {
			t.Errorf("%q is asked as %s", text, r.URL)
		}
		if q := u.Query(); q.Get("q") != text || len(q) != 3 || q.Get("n") != "4" || q.Get("fixed") != "1" || len(q["fixed"]) != 1 {
			t.Errorf("%q is asked as %s", text, r.URL)
		}
		var body struct {
			Q    string
			List []string
			N    int
			Lang map[string]string
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || body.Q != text || len(body.List) != 1 ||
			body.List[0] != "x "+text || body.N != 4 || len(body.Lang) != 0 {
			t.Errorf("%q is asked as %s: %v", text, r.Body, err)
		}
	}
}

// TestFreshnessAsDates is for engines that know dates and no words.
func TestFreshnessAsDates(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	e := exa()
	for word, from := range map[string]string{"day": "2026-03-30", "week": "2026-03-24", "month": "2026-03-03", "year": "2025-03-31"} {
		v := e.values(Query{Freshness: word}, now)
		if v["from"] != from || v["to"] != "2026-03-31" {
			t.Errorf("%s is from %s to %s", word, v["from"], v["to"])
		}
	}
}

func TestPaths(t *testing.T) {
	var value any
	if err := json.Unmarshal([]byte(`{"a":{"b":[{"c":"x"},{"c":""}]},"n":null,"":{"e":"y"}}`), &value); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a.b.0.c": "x", "a.b.1.c": "", "a.b.1.c|a.b.0.c": "x", "a.b.2.c": "", "a.b.-1.c": "", "a.b": "", "n": "", "n.x": "", "|": "", ".e": "y", "zz|.e": "y", "": "",
	} {
		if got := textAt(value, path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

func FuzzPaths(f *testing.F) {
	f.Add(`{"data":{"webPages":{"value":[{"name":"a","url":"https://a.example/"}]}}}`, "data.webPages.value", "name|x", "url")
	f.Add(`[{"u":1e400},{"u":{"u":[]}}]`, "", "u.u.0", "u")
	f.Add(`{"results":null}`, "results", "", "...")
	f.Add(`<html>`, "a", "b", "c")
	f.Add(`{"r":[[["https://x.example"]]]}`, "r.0", "0", "0|0.0")
	f.Fuzz(func(t *testing.T, body, list, title, link string) {
		e := &Endpoint{List: list, Title: title, Link: link, Snippet: title, Date: link, Marker: title,
			unresponsive: link}
		hits, why := e.read(rawResponse{status: 200, body: []byte(body)})
		if why != nil {
			if len(hits.results) > 0 || why.what == "" {
				t.Errorf("%v with %d hits", why, len(hits.results))
			}
			return
		}
		checkTidy(t, hits.results)
	})
}
