// Package access connects the web tools to the web: it makes the clients, the search engines, the credentials and the
// browsers of the settings, under the rules in force.
//
// It knows the settings of the web, and nothing of requests and pages. Begin with [Open]; [Rules] are the settings that
// may change while the server runs.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/credential"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/web"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

const (
	maxPage     = 10 << 20 // bytes of a page that is fetched
	maxDownload = 1 << 30  // bytes of a file that is downloaded into the workspace
	searchAge   = 15 * time.Minute
	browserIdle = 10 * time.Minute
)

// Rules are the compiled settings that may change while the server runs.
type Rules struct {
	settings web.Settings
	digest   string // identifies the hosts and addresses that may be reached
}

// Compile returns the rules of the settings.
func Compile(s web.Settings) (*Rules, error) {
	r := &Rules{settings: s}
	if _, err := egress.NewDialer(r.Reach(), nil); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	text, err := json.Marshal([]any{s.Allow, s.Deny, s.Private})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	r.digest = hex.EncodeToString(sum[:8])
	return r, nil
}

// Reach returns the hosts that callers may reach.
func (r *Rules) Reach() egress.Rules {
	s := r.settings
	return egress.Rules{Allow: s.Allow, Deny: s.Deny, AllowPrivate: s.Private, Setting: "web.private"}
}

// Check finds mistakes that only show when the settings are used.
func Check(s web.Settings) error {
	if _, err := Compile(s); err != nil {
		return err
	}
	engines, _, err := search.Configured(s.Search, func(string, config.Secret) func() (string, error) {
		return func() (string, error) { return "", nil }
	})
	if err != nil {
		return err
	}
	if _, err := newSearcher(engines, nil, nil); err != nil {
		return fmt.Errorf("web.search: %w", err)
	}
	_, err = credential.New(credential.Options{Credentials: s.Credentials, Private: s.Private})
	return err
}

// Parts are the parts of the program that the web tools work with. All are required.
type Parts struct {
	// Opened and Closed are told of browsers, see browser.Options.
	Opened, Closed func(principal, name string)

	Profiles *profiles.Profiles // nil: browsers keep no logins

	Settings  web.Settings
	Rules     func() *Rules // that are in force
	Profile   func(tool.Caller) string
	Own       []uint16 // ports of this server, which are not reached
	Agent     string   // the User-Agent of requests
	Files     workspace.Files
	Documents *document.Service
	Tiers     sandbox.Tiers
	Data      string                                                                // the data directory
	Fetch     func(config.Secret) (string, error)                                   // reads a secret
	Secret    func(setting string, s config.Secret) func() (string, error)          // likewise when it is needed, and masks it
	Mask      func(name string, values ...string) error                             // masks values from now on
	Scrub     func(string) string                                                   // masks secrets in a text
	MayRun    func(context.Context) bool                                            // whether the caller in ctx may run commands
	Dial      egress.OwnDial                                                        // to ports of the commands of the caller in ctx
	PageGate  func(tool.Caller) (func(context.Context, egress.Target) error, error) // of hosts for pages of a caller's own
	Log       *slog.Logger
}

// Access is the access of the web tools to the web.
type Access struct {
	Parts
	Client   *egress.Client
	Options  web.Options // of the tools
	Browsers *browser.Browsers

	proxy   *url.URL
	closers []func() error
}

// Open joins the web tools to the clients and the browsers that they use. It makes no request and starts no browser.
func Open(p Parts) (_ *Access, err error) {
	a := &Access{Parts: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if p.Settings.Proxy != "" {
		if a.proxy, err = url.Parse(p.Settings.Proxy); err != nil {
			return nil, fmt.Errorf("web.proxy: %w", err)
		}
	}
	a.Client, err = egress.NewClient(egress.ClientOptions{
		Profile: a.profile, Rules: a.reach, Proxy: a.proxy, Agent: p.Agent, Own: a.ownDial,
	})
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, a.Client.Close)
	searcher, err := a.openSearch()
	if err != nil {
		return nil, err
	}
	wallet, err := credential.New(credential.Options{
		Credentials: p.Settings.Credentials, Private: p.Settings.Private, Profile: a.profile, Mask: p.Mask, Fetch: p.Fetch,
	})
	if err != nil {
		return nil, err
	}
	if err := a.openBrowsers(); err != nil {
		return nil, err
	}
	a.Options = web.Options{
		Client: a.Client, IsOwn: a.Client.IsOwn, Marks: tool.NewMarks(), Searcher: searcher, Secrets: wallet,
		Files: web.WorkspaceFiles{Workspace: p.Files}, Cache: cache.New(), Scratch: filepath.Join(p.Data, "downloads"),
		Scope: a.scope, Limits: func() web.Limits { return web.Limits{Page: maxPage, Download: maxDownload} },
		Mask: p.Scrub, Documents: p.Documents, Browser: a.Browsers,
	}
	return a, nil
}

// Close closes the browsers and the clients.
func (a *Access) Close() (err error) {
	for i := len(a.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, a.closers[i]())
	}
	return err
}

// profile returns the profile of a call's caller.
func (a *Access) profile(ctx context.Context) string { return a.Profile(tool.CallerFrom(ctx)) }

// reach returns the hosts that callers may reach, without this server.
func (a *Access) reach(string) (egress.Rules, error) {
	r := a.Rules().Reach()
	r.Own = a.Own
	return r, nil
}

// scope returns the key under which pages are cached together: the pages of one caller under one set of rules.
func (a *Access) scope(ctx context.Context) string {
	return strings.Join([]string{tool.CallerFrom(ctx).Principal(), a.profile(ctx), a.Rules().digest}, "\n")
}

// openSearch makes the search engines. A client that may reach their addresses only asks the engines that the operator
// has on a private network.
func (a *Access) openSearch() (*search.Searcher, error) {
	engines, private, err := search.Configured(a.Settings.Search, a.Secret)
	if err != nil {
		return nil, err
	}
	trusted, err := egress.NewClient(egress.ClientOptions{
		Rules: func(string) (egress.Rules, error) { return egress.Rules{AllowPrivate: private}, nil }, Agent: a.Agent,
	})
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, trusted.Close)
	return newSearcher(engines, a.Client, trusted)
}

func newSearcher(engines []search.Engine, public, trusted outbound.Client) (*search.Searcher, error) {
	return search.New(search.Options{Client: public, Trusted: trusted, Engines: engines, Age: searchAge})
}

// openBrowsers makes the starter of browsers.
func (a *Access) openBrowsers() (err error) {
	c := a.Settings.Browser
	a.Browsers, err = browser.New(browser.Options{
		Tiers: a.Tiers, Path: c.Path, Files: web.WorkspaceFiles{Workspace: a.Files}, Insecure: c.Insecure,
		Idle: browserIdle, MaxDownload: maxDownload, Log: a.Log, Opened: a.Opened, Closed: a.Closed,
		Profiles: a.Profiles, Mask: a.Mask,
		Proxy: func(ctx context.Context, refused func(string, error)) (browser.Proxy, error) {
			rules, err := a.reach(a.profile(ctx))
			if err != nil {
				return nil, err
			}
			dialer, err := egress.NewDialer(rules, net.DefaultResolver)
			if err == nil && a.proxy != nil {
				dialer, err = dialer.ThroughProxy(a.proxy)
			}
			if err != nil {
				return nil, err
			}
			return egress.NewProxy(egress.ProxyOptions{
				Dialer: dialer, Log: a.Log, OnRefused: func(to egress.Target, err error) { refused(to.String(), err) },
			}), nil
		},
		Own: web.OwnPages{
			Workspace: a.Files, Mask: a.Scrub, IsOwn: a.Client.IsOwn, Allowed: a.MayRun, Connect: a.ownProxy,
		},
	})
	if err == nil {
		a.closers = append(a.closers, a.Browsers.Close)
	}
	return err
}

// ownDial returns how the caller in ctx reaches the ports of its commands; nil if it may run none.
func (a *Access) ownDial(ctx context.Context) egress.OwnDial {
	if !a.MayRun(ctx) {
		return nil
	}
	return a.Dial
}

// ownProxy returns the proxy of a browser with the caller's own pages. These are code of the workspace: beside the
// caller's commands and sites they reach the hosts that commands reach, and of these none that the web settings exclude.
func (a *Access) ownProxy(
	ctx context.Context, sites map[string]http.Handler, refused func(string, error),
) (browser.Proxy, error) {
	caller := tool.CallerFrom(ctx)
	rules, err := a.reach(a.profile(ctx))
	if err != nil {
		return nil, err
	}
	rules.AllowPrivate, rules.Setting = nil, ""
	dialer, err := egress.NewDialer(rules, net.DefaultResolver)
	if err != nil {
		return nil, err
	}
	o := egress.ProxyOptions{
		Dialer: dialer, Log: a.Log, Sites: sites,
		OnRefused: func(to egress.Target, err error) { refused(to.String(), err) },
		Own: func(ctx context.Context, port uint16) (net.Conn, error) {
			ctx = tool.With(ctx, &tool.Running{Caller: caller})
			if !a.MayRun(ctx) {
				return nil, tool.Errorf(tool.Refused, "this profile no longer runs commands").
					Try("use the other tools")
			}
			return a.Dial(ctx, port)
		},
	}
	if o.Allow, err = a.PageGate(caller); err != nil {
		return nil, err
	}
	return egress.NewProxy(o), nil
}
