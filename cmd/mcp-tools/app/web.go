package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/credential"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	toolweb "github.com/mcp-tools/mcp-tools/tools/web"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

// A webAccess connects the web tools to the web, under the rules in force.
type webAccess struct {
	rules   *liveRules
	own     []uint16 // ports of this server, which must not be reached
	client  *egress.Client
	options toolweb.Options
	sweep   func() // removes the files of browsers of killed servers
}

// webRules is the part of the web settings that may change while the server runs.
type webRules struct {
	toolweb.Settings
	digest string // identifies the hosts and addresses that may be reached
}

func newWebRules(c toolweb.Settings) (*webRules, error) {
	w := &webRules{Settings: c}
	if _, err := egress.NewDialer(w.reach(), nil); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	text, err := json.Marshal([]any{c.Allow, c.Deny, c.Private})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	w.digest = hex.EncodeToString(sum[:8])
	return w, nil
}

// reach returns the hosts that callers may reach.
func (w *webRules) reach() egress.Rules {
	return egress.Rules{Allow: w.Allow, Deny: w.Deny, AllowPrivate: w.Private, Setting: "web.private"}
}

// openWeb joins the web tools to the clients and the browsers that they use. No
// request is made yet.
func (a *App) openWeb(context.Context) error {
	c := a.loaded.Config.Web
	o := &webAccess{rules: a.rules, own: a.ownPorts(), sweep: func() {}}
	a.web = o
	proxy, err := parseProxy(c.Proxy)
	if err != nil {
		return err
	}
	agent := "mcp-tools/" + version.String()
	o.client, err = egress.NewClient(egress.ClientOptions{
		Profile: o.profile, Rules: o.reach, Proxy: proxy, Agent: agent, Own: a.ownDial,
	})
	if err != nil {
		return err
	}
	a.onClose(o.client.Close)
	searcher, err := a.openSearch(agent, o.client)
	if err != nil {
		return err
	}
	sources := a.env.Sources(a.loaded.Config)
	wallet, err := credential.New(credential.Options{
		Credentials: c.Credentials, Private: c.Private, Profile: o.profile, Mask: a.scrub.Set,
		Fetch: func(s config.Secret) (string, error) { return s.Fetch(sources) },
	})
	if err != nil {
		return err
	}
	o.options = toolweb.Options{
		Client: o.client, IsOwn: o.client.IsOwn, Marks: tool.NewMarks(), Searcher: searcher, Secrets: wallet,
		Files:   toolweb.WorkspaceFiles{Workspace: a.files},
		Cache:   cache.New(),
		Scratch: filepath.Join(a.data, "downloads"),
		Scope:   o.scope, Limits: o.limits, Mask: a.scrub.Text, Documents: a.documents,
	}
	browsers, err := a.openBrowsers(o, proxy)
	if err != nil {
		return err
	}
	o.options.Browser, o.sweep = browsers, browsers.Sweep
	return nil
}

// profile returns the profile of a call's caller.
func (o *webAccess) profile(ctx context.Context) string {
	return o.rules.profileOf(tool.CallerFrom(ctx))
}

// reach returns the hosts that callers may reach, without this server.
func (o *webAccess) reach(string) (egress.Rules, error) {
	r := o.rules.load().web.reach()
	r.Own = o.own
	return r, nil
}

// scope returns the key under which pages are cached together: the pages of one caller under one set of rules.
func (o *webAccess) scope(ctx context.Context) string {
	return strings.Join([]string{tool.CallerFrom(ctx).Principal(), o.profile(ctx), o.rules.load().web.digest}, "\n")
}

// limits returns the bounds of one request.
func (o *webAccess) limits() toolweb.Limits {
	return toolweb.Limits{
		Page: maxPage, Download: maxDownload,
	}
}

// openSearch makes the search engines. A client that may reach their addresses only asks the engines that the operator
// has on a private network.
func (a *App) openSearch(agent string, public outbound.Client) (*search.Searcher, error) {
	c := a.loaded.Config.Web.Search
	engines, private, err := search.Configured(c, a.fetchSecret)
	if err != nil {
		return nil, err
	}
	trusted, err := egress.NewClient(egress.ClientOptions{
		Rules: func(string) (egress.Rules, error) { return egress.Rules{AllowPrivate: private}, nil }, Agent: agent,
	})
	if err != nil {
		return nil, err
	}
	a.onClose(trusted.Close)
	return newSearcher(engines, public, trusted)
}

func newSearcher(engines []search.Engine, public, trusted outbound.Client) (*search.Searcher, error) {
	return search.New(search.Options{Client: public, Trusted: trusted, Engines: engines, Age: searchAge})
}

// fetchSecret returns a function that reads a secret and has it masked.
func (a *App) fetchSecret(name string, s config.Secret) func() (string, error) {
	return func() (string, error) {
		value, err := s.Fetch(a.env.Sources(a.loaded.Config))
		if err != nil {
			return "", err
		}
		return value, a.scrub.Set(name, value)
	}
}

// openBrowsers returns the starter of browsers. It starts none before a call needs one.
func (a *App) openBrowsers(access *webAccess, proxy *url.URL) (*browser.Browsers, error) {
	c := a.loaded.Config.Web
	b, err := browser.New(browser.Options{
		Tiers: a.tiers, Path: c.Browser.Path, Files: toolweb.WorkspaceFiles{Workspace: a.files}, Insecure: c.Browser.Insecure,
		Idle: browserIdle, MaxDownload: maxDownload, Log: a.log,
		Proxy: func(ctx context.Context, refused func(string, error)) (browser.Proxy, error) {
			rules, err := access.reach(access.profile(ctx))
			if err != nil {
				return nil, err
			}
			dialer, err := egress.NewDialer(rules, net.DefaultResolver)
			if err == nil && proxy != nil {
				dialer, err = dialer.ThroughProxy(proxy)
			}
			if err != nil {
				return nil, err
			}
			return egress.NewProxy(egress.ProxyOptions{
				Dialer: dialer, Log: a.log, OnRefused: func(to egress.Target, err error) { refused(to.String(), err) },
			}), nil
		},
		Own: toolweb.OwnPages{
			Workspace: a.files, Mask: a.scrub.Text, IsOwn: access.client.IsOwn, Allowed: a.mayRun,
			Connect: func(ctx context.Context, sites map[string]http.Handler, refused func(string, error)) (browser.Proxy, error) {
				return a.ownProxy(ctx, access, sites, refused)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	a.onClose(b.Close)
	return b, nil
}

// mayRun reports whether the caller in ctx may run commands that change something.
func (a *App) mayRun(ctx context.Context) bool {
	subject := server.SubjectOf(tool.CallerFrom(ctx))
	return a.rules.load().policy.Verdict(subject, "exec") != policy.Deny
}

// ownDial returns how the caller in ctx reaches the ports of its commands; nil if it may run none.
func (a *App) ownDial(ctx context.Context) egress.OwnDial {
	if !a.mayRun(ctx) {
		return nil
	}
	return a.commands.Dial
}

// ownProxy returns the proxy of a browser with the caller's own pages. These are code of the
// workspace: beside the caller's commands and sites they reach the hosts that commands reach,
// and of these none that the web settings exclude.
func (a *App) ownProxy(
	ctx context.Context, access *webAccess, sites map[string]http.Handler, refused func(string, error),
) (browser.Proxy, error) {
	caller := tool.CallerFrom(ctx)
	rules, err := access.reach(access.profile(ctx))
	if err != nil {
		return nil, err
	}
	rules.AllowPrivate, rules.Setting = nil, ""
	dialer, err := egress.NewDialer(rules, net.DefaultResolver)
	if err != nil {
		return nil, err
	}
	o := egress.ProxyOptions{
		Dialer: dialer, Log: a.log, Sites: sites,
		OnRefused: func(to egress.Target, err error) { refused(to.String(), err) },
		Own: func(ctx context.Context, port uint16) (net.Conn, error) {
			ctx = tool.With(ctx, &tool.Running{Caller: caller})
			if !a.mayRun(ctx) {
				return nil, tool.Errorf(tool.Refused, "this profile no longer runs commands").
					Try("use the other tools")
			}
			return a.commands.Dial(ctx, port)
		},
	}
	if o.Allow, err = a.network.PageGate(caller); err != nil {
		return nil, err
	}
	return egress.NewProxy(o), nil
}

// checkWebSettings finds mistakes that only show when the web settings are used.
func checkWebSettings(c toolweb.Settings) error {
	if _, err := newWebRules(c); err != nil {
		return err
	}
	engines, _, err := search.Configured(c.Search, func(string, config.Secret) func() (string, error) {
		return func() (string, error) { return "", nil }
	})
	if err != nil {
		return err
	}
	if _, err := newSearcher(engines, nil, nil); err != nil {
		return fmt.Errorf("web.search: %w", err)
	}
	_, err = credential.New(credential.Options{Credentials: c.Credentials, Private: c.Private})
	return err
}
