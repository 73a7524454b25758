package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
)

func (a *app) serveCommand() *cobra.Command {
	stdio := false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve tools over stdio (the default) or HTTP",
		Long: `serve answers MCP requests: those of the one client that started it over
stdio, or with --http those of many clients, each with a token.`,
		Example: `  mcp-tools serve --profile coding --workspace ~/src/project
  mcp-tools serve --http 127.0.0.1:8080
  mcp-tools serve --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --sse`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer survivePipes()()
			h, err := a.build(cmd.Context())
			if err != nil {
				return err
			}
			defer h.close()
			defer h.settle(cmd.Context())()
			if stdio || h.loaded.Config.Server.HTTP == "" {
				return h.serveStdio(cmd.Context())
			}
			return h.serveHTTP(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve stdio although the settings name an HTTP address")
	return cmd
}

// survivePipes lets a write to a pipe that nobody reads fail. Go's default is
// to die of it, in the middle of whatever runs: for lack of a reader of the log.
func survivePipes() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// stdioOnTerminal is for a person who started us by hand, and would otherwise
// look at an empty screen.
const stdioOnTerminal = `Waiting for an MCP client to speak on stdin. Clients start this program by themselves:
  mcp-tools connect CLIENT    tells one how
  mcp-tools --help            says what else there is; Ctrl-D ends this`

func (h *house) serveStdio(ctx context.Context) error {
	access, err := h.stdioCaller("stdio")
	if err != nil {
		return err
	}
	stop := h.watch(ctx, nil)
	defer stop()
	if terminal(h.app.in) {
		fmt.Fprintln(h.app.err, stdioOnTerminal)
	}
	c := h.loaded.Config.Server
	return server.Stdio{
		Server: h.server, Access: access, MaxMessage: int(c.MaxMessage), Grace: time.Duration(c.Grace),
	}.Serve(ctx, h.app.in, h.app.out)
}

func (h *house) serveHTTP(ctx context.Context) error {
	c := h.loaded.Config.Server
	listener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --http", err)
	}
	defer listener.Close()
	endpoint := h.endpoint(listener.Addr())
	ids, err := h.identities(ctx, endpoint)
	if err != nil {
		return err
	}
	base, err := h.stdioCaller("http")
	if err != nil {
		return err
	}
	certificate, err := h.certificate()
	if err != nil {
		return err
	}
	hosts := slices.Concat(c.AllowedHosts, []string{hostOf(endpoint)})
	stopMetrics, err := h.serveMetrics(hosts)
	if err != nil {
		return err
	}
	defer stopMetrics()
	stop := h.watch(ctx, func(l *config.Loaded) { ids.listed.Store(&l.Config.Connections.Tokens) })
	defer stop()
	h.warnExposed(listener.Addr())
	h.log.Info("serving", "url", endpoint)
	return (&server.HTTP{
		Server: h.server, Identities: ids, Base: base, SSE: c.SSE, TLS: certificate, Approvals: h.desk.serveApprovals,
		MaxMessage: int64(c.MaxMessage), MaxSessions: c.MaxSessions, SessionIdle: time.Duration(c.SessionIdle),
		ReadHeaderTimeout: time.Duration(c.ReadHeaderTimeout), Grace: time.Duration(c.Grace),
		AllowedHosts: hosts, AllowedOrigins: c.AllowedOrigins,
	}).Serve(ctx, listener)
}

// warnExposed says what a server that others can reach is probably lacking.
func (h *house) warnExposed(addr net.Addr) {
	c := h.loaded.Config.Server
	if loopback(addr.String()) {
		return
	}
	if c.PublicURL == "" && len(c.AllowedHosts) == 0 {
		h.log.Warn("clients on other machines will be refused: name the host that they use in server.public_url or server.allowed_hosts")
	}
	if c.TLSCert == "" && !strings.HasPrefix(c.PublicURL, "https://") {
		h.log.Warn("tokens cross the network in plain text: use --tls-cert and --tls-key, or a proxy with TLS and server.public_url")
	}
}

// endpoint is the URL under which clients know us.
func (h *house) endpoint(addr net.Addr) string {
	c := h.loaded.Config.Server
	if c.PublicURL != "" {
		return c.PublicURL
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + addr.String() + "/mcp"
}

func hostOf(endpoint string) string {
	_, rest, _ := strings.Cut(endpoint, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// identities opens everything that can prove a token. Where nothing can, a
// first token is made and shown, once.
func (h *house) identities(ctx context.Context, endpoint string) (_ *identities, err error) {
	c := h.loaded.Config.Connections
	table := tokens.New(tokens.Options{DB: h.store, Unused: h.unused, Log: h.log})
	h.onClose(table.Close)
	base := strings.TrimSuffix(endpoint, "/mcp")
	ids := &identities{table: table, resource: endpoint, metadata: base + "/.well-known/oauth-protected-resource/mcp"}
	ids.listed.Store(&c.Tokens)
	if c.OAuth.Issuer != "" {
		ids.oauth, err = newVerifier(c.OAuth, endpoint)
		if err != nil {
			return nil, err
		}
		h.onClose(func() error { ids.oauth.Close(); return nil })
	}
	if len(c.Tokens) > 0 || ids.oauth != nil {
		return ids, nil
	}
	first, created, err := table.EnsureFirst(ctx, tokens.Request{Name: "first", Profiles: []string{policy.AnyProfile}, User: systemUser()})
	if err != nil {
		return nil, err
	}
	if created {
		fmt.Fprintf(h.app.err, "This is the first start: a token was made. It is shown this once.\n  URL:   %s\n  Token: %s\n", endpoint, first.Reveal())
	}
	return ids, nil
}

func newVerifier(c config.OAuth, endpoint string) (*oauth.Verifier, error) {
	audience := c.Audience
	if audience == "" {
		audience = endpoint
	}
	v, err := oauth.New(oauth.Config{
		Issuer: c.Issuer, Audiences: []string{audience}, JWKSURL: c.JWKSURL, Algorithms: c.Algorithms, ScopeProfiles: c.Scopes,
	})
	if err != nil {
		return nil, fmt.Errorf("connections.oauth: %w", err)
	}
	return v, nil
}

func (h *house) certificate() (*tls.Config, error) {
	c := h.loaded.Config.Server
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("server.tls_cert and server.tls_key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// serveMetrics opens the listener for Prometheus, if there is to be one.
func (h *house) serveMetrics(hosts []string) (stop func(), err error) {
	c := h.loaded.Config.Server
	if c.Metrics == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("server.metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h.calls.Handler())
	// Prometheus comes by address as often as by name.
	guard := server.Guard{Hosts: hosts, Origins: c.AllowedOrigins, Addresses: true}
	srv := &http.Server{Handler: guard.Handler(mux), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listener) }()
	h.log.Info("serving metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		err := srv.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		if err != nil {
			h.log.Error("serving metrics", "err", err)
		}
	}, nil
}

// watch reads the settings again when their file changes or SIGHUP comes. A
// file that is wrong changes nothing, and the log says what is wrong with it.
func (h *house) watch(ctx context.Context, more func(*config.Loaded)) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	again := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() {
		for {
			select {
			case <-hangup:
				select {
				case again <- struct{}{}:
				case <-ctx.Done():
				}
			case <-ctx.Done():
				return
			}
		}
	})
	both.Go(func() {
		config.Watcher{
			Apply: func(l *config.Loaded) error { return h.apply(l, more) }, Again: again,
			Report: func(err error) { h.calls.Reload(err == nil) }, Log: h.log,
		}.Watch(ctx, h.loaded)
	})
	return func() {
		// Hangups still go to the channel: one that came while we close would
		// otherwise end the process before the last calls are on record.
		cancel()
		both.Wait()
	}
}

// apply puts new settings in force. Where it fails half-way, the policy and the
// limits are still the old ones, and at most more is masked than before.
func (h *house) apply(l *config.Loaded, more func(*config.Loaded)) error {
	settings, err := h.settings(l)
	if err != nil {
		return err
	}
	if err := setSecrets(h.scrub, l.Config.Scrub, h.app.sources(l.Config.Vault)); err != nil {
		return err
	}
	if err := h.level.UnmarshalText([]byte(l.Config.Telemetry.LogLevel)); err != nil {
		return err
	}
	if err := h.server.Apply(settings); err != nil {
		return err
	}
	if more != nil {
		more(l)
	}
	return nil
}
