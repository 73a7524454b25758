package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-tools/mcp-tools/server/identity"

	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/login"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
)

// stdioOnTerminal is the message to a person at a terminal who has started the server by hand.
const stdioOnTerminal = `Waiting for an MCP client to speak on stdin. Clients start this program by themselves:
  mcp-tools connect CLIENT    sets one up
  mcp-tools --help            lists all commands; Ctrl-D ends this`

// Serve serves until ctx ends: HTTP if the settings name an address and stdio is
// false, else the client on stdin and stdout.
func (a *App) Serve(ctx context.Context, stdio bool) error {
	defer a.startBackground(ctx)()
	if stdio || a.loaded.Config.Server.HTTP == "" {
		return a.serveStdio(ctx)
	}
	return a.serveHTTP(ctx)
}

// ServeJobs runs scheduled jobs and subagents until ctx ends, and answers no requests.
func (a *App) ServeJobs(ctx context.Context) error {
	if err := a.store.View(ctx, func(*store.Tx) error { return nil }); err != nil { // opens it
		return err
	}
	defer a.startBackground(ctx)()
	defer a.watch(ctx)()
	a.log.Info("running jobs")
	defer a.ready(ctx)()
	<-ctx.Done()
	return nil
}

func (a *App) serveStdio(ctx context.Context) error {
	access, err := a.LocalCaller("stdio")
	if err != nil {
		return err
	}
	stop := a.watch(ctx)
	defer stop()
	if terminal.IsTerminal(a.env.In) {
		fmt.Fprintln(a.env.Err, stdioOnTerminal)
	}
	return server.Stdio{
		Server: a.Server, Access: access, MaxMessage: maxMessage, Grace: grace,
	}.Serve(ctx, a.env.In, a.env.Out)
}

func (a *App) serveHTTP(ctx context.Context) error {
	c := a.loaded.Config.Server
	certificate, err := a.certificate() // before a first token is shown
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --http", err)
	}
	defer listener.Close()
	endpoint := a.endpoint(listener.Addr())
	ids, err := a.identities(ctx, endpoint)
	if err != nil {
		return err
	}
	base, err := a.LocalCaller("http")
	if err != nil {
		return err
	}
	if err := a.openLogin(ids, base); err != nil {
		return err
	}
	hosts, origins := allowedSites(c.AllowedHosts)
	hosts = append(hosts, hostOf(endpoint))
	stopMetrics, err := a.serveMetrics(hosts, origins)
	if err != nil {
		return err
	}
	defer stopMetrics()
	stopConsole, err := a.startConsole(ctx, ids, certificate)
	if err != nil {
		return err
	}
	defer stopConsole()
	stopPeers, err := a.listenForPeers()
	if err != nil {
		return err
	}
	defer stopPeers()
	stop := a.watch(ctx)
	defer stop()
	a.warnExposed(listener.Addr())
	a.log.Info("serving", "url", endpoint)
	defer a.ready(ctx)()
	h := &server.HTTP{
		Server: a.Server, Identities: ids, Base: base, SSE: c.SSE, TLS: certificate,
		Approvals: ServeApprovals(a.approvals), Hooks: a.hooks(), Documents: a.publicDocuments(),
		MaxMessage: maxMessage, MaxSessions: maxSessions, SessionIdle: sessionIdle,
		ReadHeaderTimeout: readHeaderTimeout, Grace: grace,
		AllowedHosts: hosts, AllowedOrigins: origins,
	}
	if ids.Login != nil {
		h.Login, h.Logs = ids.Login, login.Serves
	}
	h.Verbs = a.operatorVerbs(h)
	return h.Serve(ctx, listener)
}

// publicDocuments returns the documents that everyone may read.
func (a *App) publicDocuments() map[string][]byte {
	about := bridge.Document(a.loaded.Config.Server.PublicURL, a.loaded.Config.Console.URL)
	if about == nil {
		return nil
	}
	return map[string][]byte{bridge.ClientDocument: about}
}

// warnExposed logs the missing protection of a server that other machines can reach.
func (a *App) warnExposed(addr net.Addr) {
	c := a.loaded.Config.Server
	if netaddr.IsLoopbackAddress(addr.String()) {
		return
	}
	if c.PublicURL == "" && len(c.AllowedHosts) == 0 {
		a.log.Warn(
			"clients on other machines will be refused; set server.public_url or server.allowed_hosts",
		)
	}
	if c.TLSCert == "" && !strings.HasPrefix(c.PublicURL, "https://") {
		a.log.Warn(
			"tokens are sent in plain text; use --tls-cert and --tls-key, or a proxy with TLS and server.public_url",
		)
	}
}

// endpoint returns the URL of the server for clients.
func (a *App) endpoint(addr net.Addr) string {
	c := a.loaded.Config.Server
	if c.PublicURL != "" {
		return c.PublicURL
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	address := addr.String()
	if host, port, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() { // all addresses: none that a client can use
			host = "localhost"
			if len(c.AllowedHosts) > 0 && !strings.Contains(c.AllowedHosts[0], "://") {
				host = c.AllowedHosts[0]
			}
			address = net.JoinHostPort(host, port)
		}
	}
	return scheme + "://" + address + "/mcp"
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// allowedSites separates hosts from origins. Origins have a scheme.
func allowedSites(all []string) (hosts, origins []string) {
	for _, site := range all {
		if strings.Contains(site, "://") {
			origins = append(origins, site)
		} else {
			hosts = append(hosts, site)
		}
	}
	return hosts, origins
}

func hostOf(endpoint string) string {
	_, rest, _ := strings.Cut(endpoint, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// identities opens all sources of tokens. If there is none, it makes a first token
// and prints it.
func (a *App) identities(ctx context.Context, endpoint string) (*identity.Sources, error) {
	ids := &identity.Sources{Table: tokens.New(tokens.Options{DB: a.store, Log: a.log}), Listed: a.listed, Endpoint: endpoint}
	a.onClose(ids.Table.Close)
	issuer := a.loaded.Config.Connections.OAuth
	web, err := ServiceClient(a.loaded.Config, egress.Limits{}, issuer.Issuer)
	if err != nil {
		return nil, err
	}
	a.onClose(web.Close)
	if err := ids.WithOAuth(issuer, web); err != nil {
		return nil, err
	}
	a.onClose(ids.Close)
	if ids.Any() {
		return ids, nil
	}
	first, created, err := ids.Table.EnsureFirst(ctx, tokens.Token{
		Name: "first", Profiles: []string{policy.AnyProfile}, User: SystemUser(),
	})
	if err != nil {
		return nil, err
	}
	if created {
		fmt.Fprintf(a.env.Err,
			"First start: created a token. It is shown only once.\n  URL:   %s\n  Token: %s\n",
			endpoint, first.Reveal())
	}
	return ids, nil
}

func (a *App) certificate() (*tls.Config, error) {
	c := a.loaded.Config.Server
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("server.tls_cert and server.tls_key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// serveMetrics opens the listener for Prometheus, if the settings have one.
func (a *App) serveMetrics(hosts, origins []string) (stop func(), err error) {
	c := a.loaded.Config.Server
	if c.Metrics == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("server.metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.calls.Handler())
	// Prometheus connects by address as often as by name.
	guard := server.Guard{Hosts: hosts, Origins: origins, Addresses: true}
	srv := &http.Server{
		Handler: guard.Handler(mux), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listener) }()
	a.log.Info("serving metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		err := srv.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		if err != nil {
			a.log.Error("serving metrics", "err", err)
		}
	}, nil
}

// watch reloads the settings when their file changes or on SIGHUP. A file with
// mistakes changes nothing; the log has the mistakes. A file that callers may be able
// to change is not read again.
func (a *App) watch(ctx context.Context) (stop func()) {
	if dir := a.writableSettings(); dir != "" {
		if file := a.loaded.Files()[0]; exists(file) {
			a.log.Warn("the settings file is in a directory that callers can write to, so changes of it count only after "+
				"a restart; move it elsewhere", "file", file, "dir", dir)
		}
		signal.Ignore(syscall.SIGHUP)
		return func() {}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		config.Watcher[Settings]{
			Apply: a.apply, Again: hangup,
			Report: func(err error) { a.calls.Reload(err == nil) }, Log: a.log,
		}.Watch(ctx, a.loaded)
	})
	return func() {
		// SIGHUP still goes to the channel: while the parts are closed it must not end
		// the process before the last calls are recorded.
		cancel()
		watching.Wait()
	}
}

// apply puts new settings in force. If a step fails, the policy, the rules and
// the limits are still the old ones, and at most more is masked than before.
func (a *App) apply(l *Loaded) error {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	next, err := compileRules(l, a.catalogue, a.ownPaths(), a.log)
	if err != nil {
		return err
	}
	if err := setSecrets(a.scrub, l.Config.Scrub, a.env.Sources(l.Config), a.notMasked); err != nil {
		return err
	}
	a.maskAddresses(l.Config.Scrub, serverAddresses(a.log))
	if err := a.level.UnmarshalText([]byte(l.Config.Telemetry.LogLevel)); err != nil {
		return err
	}
	if err := a.files.SetNames(keptNames(l.Config.Workspace)); err != nil {
		return err
	}
	if err := a.Server.Apply(a.serverSettings(l.Config, next.policy)); err != nil {
		return err
	}
	a.rules.current.Store(next)
	a.current.Store(l)
	a.web.Client.Renew()
	a.revocations.soon() // a profile or a token may have gone
	return nil
}
