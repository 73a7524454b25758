package app

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/tools/media/orders"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
)

// openProviders opens the providers of media, and the orders at them.
func (a *App) openProviders(context.Context) error {
	o, err := a.loaded.Config.Media.Options()
	if err != nil {
		return err
	}
	o.SetKeys(a.masked("media.providers.", a.env.MediaKey), func(provider string, err error) {
		a.log.Warn("a provider of media cannot be used: correct its key and restart the server", "provider", provider,
			"err", err)
	})
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

// MediaKey returns the key of a provider of media, or "" if it has none. A provider of
// models with the same name has the same key, unless the settings have another one.
func (e *Env) MediaKey(all Settings, name string) (string, error) {
	key, err := e.key(all, "media.providers."+name, all.Media.Providers[name].Key)
	if key == "" && err == nil {
		return e.ModelKey(all, name)
	}
	return key, err
}

// openMediaClients opens a client for the providers, and another for the links in their responses. The second reaches
// public hosts that the operator has not denied.
func (a *App) openMediaClients(o *provider.Options) error {
	options, err := serviceOptions(a.loaded.Config, provider.Limits(), o.URLs()...)
	if err != nil {
		return err
	}
	api, err := egress.NewClient(options)
	if err != nil {
		return err
	}
	a.onClose(api.Close)
	options.Rules = func(string) (egress.Rules, error) {
		r := a.rules.load().web.Reach()
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
		if target := netaddr.OfURL(one); target != "" {
			rules.AllowPrivate = append(rules.AllowPrivate, target)
		}
	}
	return egress.ClientOptions{
		Proxy: proxy, Agent: "mcp-tools/" + version.String(), Limits: limits,
		Rules: func(string) (egress.Rules, error) { return rules, nil },
	}, err
}

// LatestRelease asks the URL of the settings for the newest release, and checks files of it.
func (e *Env) LatestRelease(ctx context.Context, files []string) (version.Latest, error) {
	loaded, err := e.Load()
	if err != nil {
		return version.Latest{}, err
	}
	from := loaded.Config.Upgrade.URL
	if from == "" {
		return version.Latest{}, Usagef("upgrade.url is not set, so no release can be looked up; set it to the address of " +
			"latest.json of the releases, or of GitHub's releases/latest")
	}
	client, err := ServiceClient(loaded.Config, egress.Limits{}, from)
	if err != nil {
		return version.Latest{}, err
	}
	defer client.Close()
	return version.Lookup{Client: client, URL: from, Key: loaded.Config.Upgrade.PublicKey, Files: files}.Ask(ctx)
}
