package search

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The kinds of engines.
const (
	Brave      = "brave"
	DuckDuckGo = "duckduckgo" // needs no key
	Tavily     = "tavily"
	SearXNG    = "searxng" // an instance of the operator
	Exa        = "exa"
	Jina       = "jina"
	Perplexity = "perplexity"
	Bocha      = "bocha"
	Gemini     = "gemini" // this and the following respond with an answer
	Grok       = "grok"
	Kimi       = "kimi"
)

// withKeys returns the kinds that need a key, in the order in which they are queried.
func withKeys() []string {
	return []string{Brave, Tavily, Exa, Jina, Perplexity, Bocha, Gemini, Grok, Kimi}
}

// An Engine is the configuration of one engine.
type Engine struct {
	Kind string
	URL  string // of a SearXNG instance, without /search
	// Key returns the key. It is called for each request; nil means that there is none. The key is
	// sent in a header, and only to the engine's own host.
	Key func() (string, error)
}

// endpoint returns the description of an engine that responds with JSON.
func (e Engine) endpoint() (*Endpoint, error) {
	var d Endpoint
	switch e.Kind {
	case Brave:
		d = brave()
	case Tavily:
		d = tavily()
	case SearXNG:
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			strings.ContainsAny(e.URL, "?#{") {
			return nil, errors.New("it needs the URL of the instance, such as http://localhost:8888")
		}
		d = searxng(strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), "/search"))
	case Exa:
		d = exa()
	case Jina:
		d = jina()
	case Perplexity:
		d = perplexity()
	case Bocha:
		d = bocha()
	default:
		all := append(withKeys(), SearXNG, DuckDuckGo)
		return nil, fmt.Errorf("unknown kind %q; the kinds are %s", e.Kind, strings.Join(all, ", "))
	}
	return &d, nil
}

func brave() Endpoint {
	languages := same(
		"ar eu bn bg ca hr cs da nl en et fi fr gl de gu he hi hu is it kn ko lv lt ms ml mr nb pl pa ro ru " +
			"sr sk sl es sv ta te th tr uk vi")
	languages["ja"], languages["pt"], languages["zh"], languages["no"] = "jp", "pt-br", "zh-hans", "nb"
	return Endpoint{
		URL: "https://api.search.brave.com/res/v1/web/search?q={query}&count={count}&country={country}" +
			"&search_lang={language}&freshness={freshness}&text_decorations=false&result_filter=web",
		Header: map[string]string{"X-Subscription-Token": "{key}"},
		List:   "web.results", Marker: "type",
		Title: "title", Link: "url", Snippet: "description", Date: "page_age|age",
		Freshness: map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py", "range": "{from}to{to}"},
		Country: same(
			"AR AU AT BE BR CA CL CN DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO PH PL PT " +
				"RU SA ZA ES SE CH TW TR GB US"),
		Language: languages,
		maxQuery: 400,
	}
}

func tavily() Endpoint {
	return Endpoint{
		URL:    "https://api.tavily.com/search",
		Header: map[string]string{"Authorization": "Bearer {key}"},
		Body: map[string]any{
			"query": "{query}", "max_results": "{count}", "search_depth": "basic",
			"include_answer": false, "include_raw_content": false, "time_range": "{freshness}",
			"start_date": "{from}", "end_date": "{to}", "country": "{country}",
		},
		List: "results", Title: "title", Link: "url", Snippet: "content", Date: "published_date",
		Country: map[string]string{
			"AR": "argentina", "AU": "australia", "AT": "austria", "BE": "belgium", "BR": "brazil", "CA": "canada",
			"CL": "chile",
			"CN": "china", "CO": "colombia", "DK": "denmark", "EG": "egypt", "FI": "finland", "FR": "france",
			"DE": "germany",
			"GR": "greece", "HU": "hungary", "IN": "india", "ID": "indonesia", "IE": "ireland", "IL": "israel",
			"IT": "italy",
			"JP": "japan", "KE": "kenya", "KR": "south korea", "MY": "malaysia", "MX": "mexico", "NL": "netherlands",
			"NZ": "new zealand", "NG": "nigeria", "NO": "norway", "PK": "pakistan", "PE": "peru", "PH": "philippines",
			"PL": "poland",
			"PT": "portugal", "RO": "romania", "RU": "russia", "SA": "saudi arabia", "SG": "singapore",
			"ZA": "south africa",
			"ES": "spain", "SE": "sweden", "CH": "switzerland", "TW": "taiwan", "TH": "thailand", "TR": "turkey",
			"UA": "ukraine",
			"AE": "united arab emirates", "GB": "united kingdom", "US": "united states", "VN": "vietnam",
		},
		maxQuery: 400,
	}
}

func searxng(base string) Endpoint {
	return Endpoint{
		URL:    base + "/search?q={query}&format=json&pageno=1&language={language}&time_range={freshness}",
		Header: map[string]string{"Authorization": "Bearer {key}"},
		List:   "results", Title: "title", Link: "url", Snippet: "content", Date: "publishedDate",
		forbidden: "does not allow JSON (403); the operator has to add json to search.formats in its settings.yml, " +
			"or exempt this server from its limiter",
		unresponsive: "unresponsive_engines",
	}
}

func exa() Endpoint {
	return Endpoint{
		URL:    "https://api.exa.ai/search",
		Header: map[string]string{"X-Api-Key": "{key}"},
		Body: map[string]any{
			"query": "{query}", "type": "auto", "numResults": "{count}",
			"startPublishedDate": "{from}", "endPublishedDate": "{to}",
			"contents": map[string]any{"text": map[string]any{"maxCharacters": maxSnippet}},
		},
		List: "results", Title: "title", Link: "url", Snippet: "text", Date: "publishedDate",
	}
}

func jina() Endpoint {
	return Endpoint{
		URL:    "https://s.jina.ai/",
		Header: map[string]string{"Authorization": "Bearer {key}", "X-Respond-With": "no-content"},
		Body:   map[string]any{"q": "{query}", "num": "{count}", "gl": "{country}", "hl": "{language}"},
		List:   "data", Title: "title", Link: "url", Snippet: "description|content", Date: "date|publishedTime",
	}
}

func perplexity() Endpoint {
	return Endpoint{
		URL:    "https://api.perplexity.ai/search",
		Header: map[string]string{"Authorization": "Bearer {key}"},
		Body: map[string]any{
			"query": "{query}", "max_results": "{count}", "country": "{country}",
			"search_recency_filter": "{freshness}", "search_language_filter": []any{"{language}"},
		},
		List: "results", Title: "title", Link: "url", Snippet: "snippet", Date: "date",
		Freshness: same("day week month year"),
	}
}

func bocha() Endpoint {
	return Endpoint{
		URL:    "https://api.bochaai.com/v1/web-search",
		Header: map[string]string{"Authorization": "Bearer {key}"},
		Body:   map[string]any{"query": "{query}", "count": "{count}", "summary": true, "freshness": "{freshness}"},
		List:   "data.webPages.value", Marker: "data", Title: "name", Link: "url", Snippet: "summary|snippet",
		Date: "datePublished",
		Freshness: map[string]string{
			"day": "oneDay", "week": "oneWeek", "month": "oneMonth", "year": "oneYear", "range": "{from}..{to}",
		},
	}
}

// same returns a table that maps words to themselves.
func same(words string) map[string]string {
	table := make(map[string]string)
	for word := range strings.FieldsSeq(words) {
		table[word] = word
	}
	return table
}
