package search

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestTargets(t *testing.T) {
	for href, want := range map[string]string{
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fy%3D1%26z%3D2&rut=1":                          "https://a.example/x?y=1&z=2",
		"/l/?uddg=https%3A%2F%2Fa.example":                                                                    "https://a.example",
		"https://a.example/l/?uddg=https%3A%2F%2Fb.example":                                                   "https://a.example/l/?uddg=https%3A%2F%2Fb.example",
		"https://html.duckduckgo.com/l/?uddg=%2F%2Fduckduckgo.com%2Fl%2F%3Fuddg%3D":                           "",
		"https://duckduckgo.com/y.js?ad_domain=x":                                                             "",
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain":                            "",
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fl%2F%3Fuddg%3Dhttps%253A%252F%252Fa.example": "https://a.example",
		"//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fprivacy":                                     "https://duckduckgo.com/privacy",
		"//duckduckgo.com/l/": "", "/?q=more": "", "": "", "javascript:alert(1)": "javascript:alert(1)", "http://[": "",
		"https://notduckduckgo.com/l/?uddg=x": "https://notduckduckgo.com/l/?uddg=x",
	} {
		if got := target(href); got != want {
			t.Errorf("%q leads to %q, want %q", href, got, want)
		}
	}
}

func TestRegions(t *testing.T) {
	for _, test := range []struct {
		country, language, region string
		spoken                    bool
	}{
		{"DE", "", "de-de", false}, {"CH", "fr", "ch-fr", true}, {"CH", "", "ch-de", false},
		{"CH", "en", "ch-de", false}, {"GB", "en", "uk-en", true},
		{"TW", "zh", "tw-tzh", true}, {"KR", "ko", "kr-kr", true}, {"NO", "nb", "no-no", true}, {"", "de", "", false},
		{"ZZ", "de", "", false}, {"US", "es", "us-es", true},
	} {
		if region, spoken := regionOf(test.country, test.language); region != test.region || spoken != test.spoken {
			t.Errorf("%s, %s is %s, %v", test.country, test.language, region, spoken)
		}
	}
}

func TestBangsAreQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"!g tides": `"!g" tides`, `\ tides`: "tides", "tides !": "tides !", "wow! tides": "wow! tides",
		`a !"b" c`: `a "!b" c`, "a != b": `a "!=" b`,
	} {
		if got := withoutBangs(text); got != want {
			t.Errorf("%q is asked as %q, want %q", text, got, want)
		}
	}
}

// TestTextIsNotMarkup has results that are about block pages and empty ones.
func TestTextIsNotMarkup(t *testing.T) {
	body := strings.NewReplacer("Direct link", "challenge-form, anomaly-modal and no-results", "How <b>",
		"anomaly.js result--no-result How <b>").Replace(page(t, "duck_results.html"))
	hits, why := duckDuckGo{}.read(rawResponse{status: 200, body: []byte(body)})
	if why != nil || len(hits.results) != 4 {
		t.Errorf("%d hits, %v", len(hits.results), why)
	}
	sold := `<div class="result"><a class="result__a" href="https://a.example/">x</a></div><div class="result result--ad"><a class="result__a" href="https://ads.example/">y</a></div>`
	if hits, why := (duckDuckGo{}).read(rawResponse{status: 200, body: []byte(sold)}); why != nil ||
		len(hits.results) != 1 {
		t.Errorf("%+v, %v", hits, why)
	}
	ads := page(t, "duck_results.html")
	ads = ads[:strings.Index(ads, "web-result")] + `"></div>`
	if hits, why := (duckDuckGo{}).read(rawResponse{status: 200, body: []byte(ads)}); why == nil ||
		len(hits.results) != 0 {
		t.Errorf("advertising alone: %d hits, %v", len(hits.results), why)
	}
}

func FuzzDuckPage(f *testing.F) {
	for _, name := range []string{"duck_results.html", "duck_none.html", "duck_challenge.html", "duck_changed.html"} {
		f.Add(page(f, name))
	}
	f.Add(`<div class=result><a class="result__a" href=https://a.example>x<a class="result__a" href="https://b.example"><div class="result__snippet"><div>y</div>`)
	f.Add(`<div class="result result--ad"><div class="result"><a class=result__a href="//duckduckgo.com/l/?uddg=http://u:p@a.example">`)
	f.Add(strings.Repeat(`<a class="result__a result__snippet" href="http://a.example/">`, 50))
	f.Fuzz(func(t *testing.T, body string) {
		hits, why := duckDuckGo{}.read(rawResponse{status: 200, body: []byte(body)})
		if why != nil {
			if len(hits.results) > 0 {
				t.Errorf("%v with %d hits", why, len(hits.results))
			}
			return
		}
		checkTidy(t, hits.results)
	})
}

// checkTidy checks what is promised of results, whatever they were made of.
func checkTidy(t *testing.T, found []Result) {
	t.Helper()
	if len(found) > maxItems {
		t.Errorf("%d hits", len(found))
	}
	seen := make(map[string]bool)
	for _, h := range tidy(found, 20) {
		if again, same, ok := tidyURL(h.URL); !ok || again != h.URL || seen[same] {
			t.Errorf("%q becomes %q, %v; known: %v", h.URL, again, ok, seen[same])
		} else {
			seen[same] = true
		}
		if len(h.Title) > maxTitle || len(h.Snippet) > maxSnippet || len(h.Date) > maxDate || len(h.URL) > maxURL {
			t.Errorf("%+v is too long", h)
		}
		for _, text := range []string{h.Title, h.Snippet, h.Date, h.URL} {
			if clean, n := tool.Clean(text); n > 0 || clean != text || !utf8.ValidString(text) ||
				strings.ContainsAny(text, "\r\n\t") {
				t.Errorf("%q is not clean", text)
			}
		}
		if strings.ContainsAny(h.URL, " <>\"") {
			t.Errorf("%q is no URL", h.URL)
		}
	}
}

// TestLongPagesTakeLinearTime is about pages that make readers slow.
func TestLongPagesTakeLinearTime(t *testing.T) {
	for name, piece := range map[string]string{
		"tags":       "<div>",
		"results":    `<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=http%3A%2F%2Fa.example">t`,
		"attributes": ` class="result__a"`,
		"open":       "<", "entities": "&amp;", "comment": "<!--",
		"formatting": "<b><i><a class=result__a href=http://a.example>",
	} {
		body := []byte("<a " + strings.Repeat(piece, maxBody/len(piece)))
		done := make(chan struct{})
		go func() {
			defer close(done)
			hits, _ := duckDuckGo{}.read(rawResponse{status: 200, body: body})
			tidy(hits.results, 20)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: not read in a minute", name)
		}
	}
}
