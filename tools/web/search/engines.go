package search

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
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

// A kind is a search engine that this package knows.
type kind struct {
	name string
	protocol
	maxQuery int  // characters; 0 is unlimited
	noKey    bool // it uses no key; the others need one
	// open returns the protocol of an instance of the operator, whose URL is in the settings and whose key is optional.
	open func(url string) (protocol, error)
}

// kinds returns all engines, in the order of trying. This is the only list of them.
func kinds() []kind {
	return []kind{
		{name: Brave, protocol: brave(), maxQuery: 400},
		{name: Tavily, protocol: tavily(), maxQuery: 400},
		{name: Exa, protocol: exa()},
		{name: Jina, protocol: jina()},
		{name: Perplexity, protocol: perplexity()},
		{name: Bocha, protocol: bocha()},
		{name: Gemini, protocol: gemini()},
		{name: Grok, protocol: grok()},
		{name: Kimi, protocol: kimi()},
		{name: SearXNG, open: searxng},
		{name: DuckDuckGo, protocol: duckDuckGo{}, maxQuery: 499, noKey: true}, // last: it rate-limits strictly
	}
}

// find returns the kind of an engine, ready for use.
func (e Engine) find() (kind, error) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == e.Kind })
	if i < 0 {
		return kind{}, fmt.Errorf("unknown kind %q; the kinds are %s", e.Kind, names(all))
	}
	k := all[i]
	switch {
	case e.URL != "" && k.open == nil:
		return kind{}, fmt.Errorf("only %s has a URL", SearXNG)
	case e.Key != nil && k.noKey:
		return kind{}, errors.New("it does not use a key")
	case e.Key == nil && !k.noKey && k.open == nil:
		return kind{}, errors.New("it needs a key")
	}
	var err error
	if k.open != nil {
		k.protocol, err = k.open(e.URL)
	}
	return k, err
}

// names returns the names of kinds for an error.
func names(all []kind) string {
	var list []string
	for _, k := range all {
		list = append(list, k.name)
	}
	return strings.Join(list, ", ")
}

// An Engine is the configuration of one engine.
type Engine struct {
	Kind string
	URL  string // of a SearXNG instance, without /search
	// Key returns the key. It is called for each request; nil means that there is none. The key is
	// sent in a header, and only to the engine's own host.
	Key func() (string, error)
}

func brave() *Endpoint {
	languages := same(
		"ar eu bn bg ca hr cs da nl en et fi fr gl de gu he hi hu is it kn ko lv lt ms ml mr nb pl pa ro ru " +
			"sr sk sl es sv ta te th tr uk vi")
	languages["ja"], languages["pt"], languages["zh"], languages["no"] = "jp", "pt-br", "zh-hans", "nb"
	return &Endpoint{
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
	}
}

func tavily() *Endpoint {
	return &Endpoint{
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
	}
}

func searxng(address string) (protocol, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.ContainsAny(address, "?#{") {
		return nil, errors.New("it needs the URL of the instance, such as http://localhost:8888")
	}
	return &Endpoint{
		URL: strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/search") +
			"/search?q={query}&format=json&pageno=1&language={language}&time_range={freshness}",
		Header: map[string]string{"Authorization": "Bearer {key}"},
		List:   "results", Title: "title", Link: "url", Snippet: "content", Date: "publishedDate",
		forbidden: "does not allow JSON (403); the operator has to add json to search.formats in its settings.yml, " +
			"or exempt this server from its limiter",
		unresponsive: "unresponsive_engines",
	}, nil
}

func exa() *Endpoint {
	return &Endpoint{
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

func jina() *Endpoint {
	return &Endpoint{
		URL:    "https://s.jina.ai/",
		Header: map[string]string{"Authorization": "Bearer {key}", "X-Respond-With": "no-content"},
		Body:   map[string]any{"q": "{query}", "num": "{count}", "gl": "{country}", "hl": "{language}"},
		List:   "data", Title: "title", Link: "url", Snippet: "description|content", Date: "date|publishedTime",
	}
}

func perplexity() *Endpoint {
	return &Endpoint{
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

func bocha() *Endpoint {
	return &Endpoint{
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
