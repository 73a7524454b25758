package search

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Configured returns the engines that the settings describe, in their order, and the
// hosts with ports of the engines that have an address in the settings. secret returns
// the function that reads a secret when it is needed.
func Configured(
	c config.WebSearch, secret func(name string, s config.Secret) func() (string, error),
) (engines []Engine, hosts []string, err error) {
	var all []Engine
	kinds := withKeys()
	for _, kind := range kinds {
		if key, ok := c.Keys[kind]; ok {
			all = append(all, Engine{Kind: kind, Key: secret("web.search.keys."+kind, key)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		if !slices.Contains(kinds, name) {
			return nil, nil, fmt.Errorf("web.search.keys: %s has no key; accepted: %s", name, strings.Join(kinds, ", "))
		}
	}
	if c.SearXNG != "" {
		all = append(all, Engine{Kind: SearXNG, URL: c.SearXNG})
		hosts = append(hosts, hostPort(c.SearXNG))
	}
	all = append(all, Engine{Kind: DuckDuckGo}) // last: it needs no key, but rate-limits strictly
	if len(c.Engines) == 0 {
		return all, hosts, nil
	}
	for _, name := range c.Engines {
		i := slices.IndexFunc(all, func(e Engine) bool { return e.Kind == name })
		if i < 0 {
			return nil, nil, fmt.Errorf(
				"web.search.engines: %s is not configured; set its key or its URL in web.search", name)
		}
		engines = append(engines, all[i])
	}
	return engines, hosts, nil
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
