package app

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/tools/media"
	"github.com/mcp-tools/mcp-tools/tools/media/orders"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// How long providers of media may take until their response begins, and between two parts
// of it.
const (
	mediaHead  = 5 * time.Minute
	mediaStall = 2 * time.Minute
)

// openProviders opens the providers of media, and what is ordered from them.
func (a *App) openProviders(context.Context) error {
	c := a.loaded.Config
	o, err := MediaOptions(c.Media)
	if err != nil {
		return err
	}
	o.Endpoints = a.withMediaKeys(o.Endpoints)
	a.withoutMissing(&o)
	if err := a.openMediaClients(&o); err != nil {
		return err
	}
	o.Scrub, o.Hold = a.scrub.Text, a.models.Hold
	if a.providers, err = provider.New(o); err != nil {
		return err
	}
	a.orders = orders.New(orders.Options{
		Store: a.store, Jobs: a.jobs, Inbox: a.inbox, Files: a.files, Providers: a.providers, Log: a.log,
		Made: a.generated(),
	})
	return nil
}

// MediaOptions returns the providers of media that settings describe, without keys.
func MediaOptions(c media.Settings) (o provider.Options, err error) {
	o.Chains = map[wire.Task][]string{
		wire.Photo: c.Chain.Photo, wire.Speech: c.Chain.Speech, wire.Transcription: c.Chain.Transcription,
		wire.Description: c.Chain.Description, wire.Sound: c.Chain.Sound, wire.Music: c.Chain.Music,
		wire.Video: c.Chain.Video,
	}
	above, err := llm.ParseAmount(c.AskAbove)
	if o.AskAbove = above.Money; err != nil && c.AskAbove != "$0" {
		return o, fmt.Errorf("media.ask_above: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		e := provider.Endpoint{
			Name: name, Kind: provider.Kind(p.KindOf(name)), URL: p.URL, Prices: make(map[string]float64),
		}
		for model, text := range p.Prices {
			if e.Prices[model], err = strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64); err != nil {
				return o, fmt.Errorf("media.providers.%s.prices: %w", name, err)
			}
		}
		o.Endpoints = append(o.Endpoints, e)
	}
	return o, nil
}

// MediaKey returns the key of a provider of media, or "" if it has none. A provider of
// models with the same name has the same key, unless the settings have another one.
func (e *Env) MediaKey(all Settings, name string) (string, error) {
	key, err := e.key(all, "media.providers."+name, all.Media.Providers[name].Key)
	if key == "" && err == nil {
		return e.ModelKey(all, name)
	}
	return key, err
}

// withMediaKeys returns the providers with their keys. Those whose key cannot be read, or
// that have none and need one, are left out and logged: the rest of the server works
// without.
func (a *App) withMediaKeys(all []provider.Endpoint) (usable []provider.Endpoint) {
	for _, e := range all {
		key, err := a.env.MediaKey(a.loaded.Config, e.Name)
		if err == nil && key == "" && e.URL == "" {
			err = fmt.Errorf("media.providers.%s.key is not set", e.Name)
		}
		if err != nil {
			a.log.Warn("a provider of media cannot be used: correct its key and restart the server", "provider", e.Name,
				"err", err)
			continue
		}
		a.mask("media.providers."+e.Name, key)
		e.Key = key
		usable = append(usable, e)
	}
	return usable
}

// withoutMissing removes the models of providers that cannot be used from the chains.
func (a *App) withoutMissing(o *provider.Options) {
	for task, chain := range o.Chains {
		o.Chains[task] = slices.DeleteFunc(slices.Clone(chain), func(model string) bool {
			name, _, _ := strings.Cut(model, "/")
			_, set := a.loaded.Config.Media.Providers[name]
			return set && !slices.ContainsFunc(o.Endpoints, func(e provider.Endpoint) bool { return e.Name == name })
		})
	}
}

// openMediaClients opens the client for the providers, and the one for what their responses link to, which reaches public
// hosts that the operator has not denied.
func (a *App) openMediaClients(o *provider.Options) error {
	var urls []string
	for _, e := range o.Endpoints {
		urls = append(urls, e.URL)
	}
	options, err := serviceOptions(a.loaded.Config, egress.Limits{Head: mediaHead, Stall: mediaStall}, urls...)
	if err != nil {
		return err
	}
	api, err := egress.NewClient(options)
	if err != nil {
		return err
	}
	a.onClose(api.Close)
	options.Rules = func(string) (egress.Rules, error) {
		r := a.rules.load().web.reach()
		return egress.Rules{Deny: r.Deny, AllowPrivate: r.AllowPrivate, Own: a.ownPorts()}, nil
	}
	results, err := egress.NewClient(options)
	if err != nil {
		return err
	}
	a.onClose(results.Close)
	o.API, o.Web = api, results
	return nil
}

// ServiceClient returns a client for services of the settings. It reaches public hosts, through the operator's proxy, and
// the hosts of the URLs also on a private network. The caller closes it.
func ServiceClient(c Settings, limits egress.Limits, urls ...string) (*egress.Client, error) {
	options, err := serviceOptions(c, limits, urls...)
	if err != nil {
		return nil, err
	}
	return egress.NewClient(options)
}

func serviceOptions(c Settings, limits egress.Limits, urls ...string) (egress.ClientOptions, error) {
	proxy, err := parseProxy(c.Web.Proxy)
	var rules egress.Rules
	for _, one := range urls {
		if target := hostPort(one); target != "" {
			rules.AllowPrivate = append(rules.AllowPrivate, target)
		}
	}
	return egress.ClientOptions{
		Proxy: proxy, Agent: "mcp-tools/" + Version(), Limits: limits,
		Rules: func(string) (egress.Rules, error) { return rules, nil },
	}, err
}

// hostPort returns the host and port of a URL, or "".
func hostPort(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
