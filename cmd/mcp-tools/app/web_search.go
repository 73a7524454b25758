package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/websearch"
)

// SearchEngines are those that the settings describe, in their order, and the
// hosts of those that the operator has named by address.
func SearchEngines(c config.WebSearch, fetch func(string, config.Secret) func() (string, error)) (engines []websearch.Engine, inside []string, err error) {
	known := make(map[string]websearch.Engine)
	var order []string
	add := func(e websearch.Engine) {
		known[e.Name] = e
		order = append(order, e.Name)
	}
	key := func(name string, s config.Secret) func() (string, error) {
		if s == "" {
			return nil
		}
		return fetch("web.search."+name, s)
	}
	keyed := []struct {
		kind string
		key  config.Secret
	}{{websearch.Brave, c.Brave}, {websearch.Tavily, c.Tavily}, {websearch.Exa, c.Exa}, {websearch.Jina, c.Jina}}
	reserved := []string{websearch.SearXNG, websearch.DuckDuckGo}
	for _, e := range keyed {
		if e.key != "" {
			add(websearch.Engine{Kind: e.kind, Name: e.kind, Key: key(e.kind, e.key)})
		}
		reserved = append(reserved, e.kind)
	}
	if c.SearXNG != "" {
		add(websearch.Engine{Kind: websearch.SearXNG, Name: websearch.SearXNG, URL: c.SearXNG})
		inside = append(inside, hostPort(c.SearXNG))
	}
	for _, each := range c.Custom {
		e, err := customEngine(each, key("custom."+each.Name, each.Key))
		if err != nil {
			return nil, nil, err
		}
		if _, taken := known[e.Name]; taken || slices.Contains(reserved, e.Name) {
			return nil, nil, fmt.Errorf("web.search.custom: %s is the name of another engine", e.Name)
		}
		add(e)
		inside = append(inside, hostPort(each.URL))
	}
	add(websearch.Engine{Kind: websearch.DuckDuckGo, Name: websearch.DuckDuckGo}) // last: it needs no key, and bears few questions
	if len(c.Engines) > 0 {
		order = c.Engines
	}
	for _, name := range order {
		e, ok := known[name]
		if !ok {
			return nil, nil, fmt.Errorf("web.search.engines: %s is not set up; give it its key or its URL in web.search", name)
		}
		engines = append(engines, e)
	}
	return engines, inside, nil
}

func customEngine(c config.SearchEngine, key func() (string, error)) (websearch.Engine, error) {
	p := websearch.Endpoint{
		URL: c.URL, Header: make(map[string]string, len(c.Headers)+1), List: c.Results,
		Title: cmp.Or(c.Title, "title"), Link: cmp.Or(c.Link, "url"), Snippet: cmp.Or(c.Snippet, "snippet"), Date: c.Date,
	}
	for name, value := range c.Headers {
		p.Header[name] = value
	}
	if c.Body != "" {
		if err := json.Unmarshal([]byte(c.Body), &p.Body); err != nil {
			return websearch.Engine{}, fmt.Errorf("web.search.custom: the body of %s is no JSON: %w", c.Name, err)
		}
	}
	switch {
	case key != nil && c.KeyHeader != "":
		p.Header[c.KeyHeader] = "{key}"
	case key != nil:
		p.Header["Authorization"] = "Bearer {key}"
	}
	return websearch.Engine{Kind: websearch.JSON, Name: c.Name, Key: key, Endpoint: p}, nil
}

// hostPort is where a URL leads.
func hostPort(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}
