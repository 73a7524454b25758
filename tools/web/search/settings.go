package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Configured returns the engines that the settings describe, in their order, and the
// hosts with ports of the engines that have an address in the settings. secret returns
// the function that reads a secret when it is needed.
func Configured(
	c config.WebSearch, secret func(name string, s config.Secret) func() (string, error),
) (engines []Engine, hosts []string, err error) {
	known := make(map[string]Engine)
	var order []string
	add := func(e Engine) {
		known[e.Name] = e
		order = append(order, e.Name)
	}
	key := func(name string, s config.Secret) func() (string, error) {
		if s == "" {
			return nil
		}
		return secret("web.search."+name, s)
	}
	reserved := []string{SearXNG, DuckDuckGo}
	for _, e := range []struct {
		kind string
		key  config.Secret
	}{{Brave, c.Brave}, {Tavily, c.Tavily}, {Exa, c.Exa}, {Jina, c.Jina}} {
		if e.key != "" {
			add(Engine{Kind: e.kind, Name: e.kind, Key: key(e.kind, e.key)})
		}
		reserved = append(reserved, e.kind)
	}
	if c.SearXNG != "" {
		add(Engine{Kind: SearXNG, Name: SearXNG, URL: c.SearXNG})
		hosts = append(hosts, hostPort(c.SearXNG))
	}
	for _, custom := range c.Custom {
		e, err := customEngine(custom, key("custom."+custom.Name, custom.Key))
		if err != nil {
			return nil, nil, err
		}
		if _, taken := known[e.Name]; taken || slices.Contains(reserved, e.Name) {
			return nil, nil, fmt.Errorf("web.search.custom: another engine has the name %s", e.Name)
		}
		add(e)
		hosts = append(hosts, hostPort(custom.URL))
	}
	add(Engine{Kind: DuckDuckGo, Name: DuckDuckGo}) // last: it needs no key, but rate-limits strictly
	if len(c.Engines) > 0 {
		order = c.Engines
	}
	for _, name := range order {
		e, ok := known[name]
		if !ok {
			return nil, nil, fmt.Errorf(
				"web.search.engines: %s is not configured; set its key or its URL in web.search", name)
		}
		engines = append(engines, e)
	}
	return engines, hosts, nil
}

func customEngine(c config.SearchEngine, key func() (string, error)) (Engine, error) {
	p := Endpoint{
		URL: c.URL, Header: make(map[string]string, len(c.Headers)+1), List: c.Results,
		Title: cmp.Or(c.Title, "title"), Link: cmp.Or(c.Link, "url"), Snippet: cmp.Or(c.Snippet, "snippet"),
		Date: c.Date,
	}
	for name, value := range c.Headers {
		p.Header[name] = value
	}
	if c.Body != "" {
		if err := json.Unmarshal([]byte(c.Body), &p.Body); err != nil {
			return Engine{}, fmt.Errorf("web.search.custom: the body of %s is not JSON: %w", c.Name, err)
		}
	}
	switch {
	case key != nil && c.KeyHeader != "":
		p.Header[c.KeyHeader] = "{key}"
	case key != nil:
		p.Header["Authorization"] = "Bearer {key}"
	}
	return Engine{Kind: JSON, Name: c.Name, Key: key, Endpoint: p}, nil
}

// hostPort returns the host and port of a URL.
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
