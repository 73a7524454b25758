package search

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the search engines.
type Settings struct {
	Engines []string                 `yaml:"engines" form:"name"`
	Keys    map[string]config.Secret `yaml:"keys" keys:"name" form:"secret"`
	SearXNG string                   `yaml:"searxng" form:"url"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

// Configured returns the engines that the settings describe, in their order, and the
// hosts with ports of the engines that have an address in the settings. secret returns
// the function that reads a secret when it is needed.
func Configured(
	c Settings, secret func(name string, s config.Secret) func() (string, error),
) (engines []Engine, hosts []string, err error) {
	known := kinds()
	withKeys := slices.DeleteFunc(slices.Clone(known), func(k kind) bool { return k.noKey || k.open != nil })
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		if !slices.ContainsFunc(withKeys, func(k kind) bool { return k.name == name }) {
			return nil, nil, fmt.Errorf("web.search.keys: %s has no key; accepted: %s", name, names(withKeys))
		}
	}
	var all []Engine
	for _, k := range known {
		key, hasKey := c.Keys[k.name]
		switch {
		case hasKey:
			all = append(all, Engine{Kind: k.name, Key: secret("web.search.keys."+k.name, key)})
		case k.open != nil && c.SearXNG != "":
			all = append(all, Engine{Kind: k.name, URL: c.SearXNG})
			hosts = append(hosts, hostPort(c.SearXNG))
		case k.noKey:
			all = append(all, Engine{Kind: k.name})
		}
	}
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
