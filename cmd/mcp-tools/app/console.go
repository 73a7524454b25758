package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/version"
	"github.com/mcp-tools/mcp-tools/server/identity"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/console"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/media/chart"
)

// ServeConsole serves the console of the data directory on a free port of this machine, for the
// person at this terminal. It passes the link that opens it to shown, and returns when ctx
// ends.
func (e *Env) ServeConsole(ctx context.Context, shown func(link string)) error {
	loaded, err := e.Load()
	if err != nil {
		return err
	}
	data, err := e.DataDir()
	if err != nil {
		return err
	}
	mask, err := NewScrubber(loaded.Config.Scrub, e.Sources(loaded.Config))
	if err != nil {
		return err
	}
	return e.WithStore(func(s *store.Store) error {
		c := loaded.Config.Audit
		log, err := audit.Open(audit.Options{
			DB: audit.NewDB(s), Dir: data, Full: loaded.Config.Store.Sync == "full", Version: version.String(), MaxAge: c.MaxAge,
			MaxRecords: maxAuditRecords,
		})
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return errors.Join(err, log.Close())
		}
		address := listener.Addr().String()
		_, port, _ := net.SplitHostPort(address)
		quiet := slog.New(slog.DiscardHandler)
		page := console.New(console.Options{
			API: room.API{
				Rooms: e.Rooms(), Host: &room.Host{Store: s, Data: e.DataDir, Log: quiet},
				Record: operatorLog{mask.Text, log}.record, Scrub: mask.Text,
			},
			Record: log.Append, Scrub: mask.Text, Hosts: []string{address, "localhost:" + port}, Log: quiet,
			Limits: callLimits(loaded.Config.Limits),
			Health: e.health(), Owner: Owner(loaded.Config.Connections.Stdio), Chart: drawChart,
		})
		end, err := console.Announce(ctx, data, "http://"+address+"/")
		if err != nil { // another console is announced
			end = func() {}
		}
		defer end()
		shown("http://" + address + page.Link(room.Person{Name: SystemUser(), Channel: room.ConsoleChannel}))
		return errors.Join(serveConsole(ctx, page, listener, nil), log.Close())
	})
}

// callLimits returns the limits of calls for the console.
func callLimits(c config.Limits) console.CallLimits {
	return console.CallLimits{Minute: c.CallsPerMinute, Hour: c.CallsPerHour, Running: maxCalls}
}

// health returns the checks of the console; nil: the checks of the rooms.
func (e *Env) health() func(context.Context) []room.Finding {
	if e.Doctor == nil {
		return nil
	}
	return func(ctx context.Context) []room.Finding { return e.Doctor(ctx, e) }
}

// serveConsole serves a console until ctx ends.
func serveConsole(ctx context.Context, page *console.Console, l net.Listener, certificate *tls.Config) error {
	srv := page.Serve()
	if certificate != nil {
		l = tls.NewListener(l, certificate)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	page.Close() // open pages say that it has ended
	patience, done := context.WithTimeout(context.WithoutCancel(ctx), consoleGrace)
	defer done()
	err := srv.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// consoleGrace is how long a console that ends waits for its last requests.
const consoleGrace = 3 * time.Second

// startConsole serves the console for operators with a token, if the settings have an address for it.
func (a *App) startConsole(ctx context.Context, ids *identity.Sources, certificate *tls.Config) (stop func(), err error) {
	c := a.loaded.Config.Console
	if c.Listen == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("console.listen: %w", err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	hosts := []string{address, "127.0.0.1:" + port, "localhost:" + port}
	secure := certificate != nil
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		hosts, secure = append(hosts, u.Host), u.Scheme == "https"
	}
	if !secure && !netaddr.IsLoopbackAddress(address) {
		a.log.Warn("tokens for the console are sent in plain text; use --tls-cert and --tls-key, or a proxy with TLS " +
			"and console.url")
	}
	page := console.New(console.Options{
		Provider: a.consoleProvider(c),
		API:      a.operatorAPI(), Record: a.audit.Append, Scrub: a.scrub.Text, Hosts: hosts, Secure: secure, Log: a.log,
		Identify: func(ctx context.Context, token string) (room.Person, error) { return approver(ctx, ids, token) },
		Limits:   callLimits(a.loaded.Config.Limits),
		Health:   a.env.health(), Owner: Owner(a.loaded.Config.Connections.Stdio), Chart: drawChart,
	})
	scheme := "http"
	if secure {
		scheme = "https"
	}
	base := cmp.Or(c.URL, scheme+"://"+address+"/")
	a.log.Info("serving the console", "url", base)
	unannounce := func() {}
	if c.URL != "" || netaddr.IsLoopbackAddress(address) { // people can open it
		if unannounce, err = console.Announce(ctx, a.data, base); err != nil {
			a.log.Warn("clients are not sent to this console: another one is there", "err", err)
			unannounce = func() {}
		}
	}
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serveConsole(ctx, page, listener, certificate) }()
	return func() {
		unannounce()
		end()
		if err := <-ended; err != nil {
			a.log.Error("serving the console", "err", err)
		}
	}, nil
}

// consoleProvider returns where people log in at the console, or nil.
func (a *App) consoleProvider(c console.Settings) *console.Provider {
	l := c.Login
	if l.Issuer == "" {
		return nil
	}
	p := &console.Provider{
		Issuer: l.Issuer, ClientID: l.ClientID, Redirect: strings.TrimSuffix(c.URL, "/") + "/login/callback",
		Scopes: l.Scopes, Claim: l.Claim, Operators: l.Operators, Approvers: l.Approvers, Channel: room.ConsoleChannel,
	}
	if l.ClientSecret != "" {
		p.Secret = a.fetchSecret("console.login", l.ClientSecret)
	}
	return p
}

// drawChart draws a chart of the console.
func drawChart(kind string, labels []string, series []console.Series) ([]byte, error) {
	c := chart.Chart{Kind: chart.Kind(kind), Labels: slices.Clone(labels), Stacked: kind == string(chart.Bar)}
	for _, s := range series {
		c.Series = append(c.Series, chart.Series{Name: s.Name, Values: s.Values})
	}
	return c.SVG()
}

// approver returns the person with a token that decides approvals.
func approver(ctx context.Context, ids *identity.Sources, token string) (room.Person, error) {
	who, err := ids.Identify(ctx, token, "")
	if refused := (*server.Challenge)(nil); errors.As(err, &refused) {
		return room.Person{}, tool.Errorf(tool.Refused, "the token is not valid").
			Try("mcp-tools token create --approve makes one")
	}
	if err != nil {
		return room.Person{}, err
	}
	if !who.Approves {
		return room.Person{}, tool.Errorf(tool.Refused, "the token %s may not decide approvals", who.ID).
			Try("mcp-tools token create --approve makes one that may")
	}
	return room.Person{Name: who.ID, Channel: room.ConsoleChannel, Agent: who.Agent, User: who.User}, nil
}
