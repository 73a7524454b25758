package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

// bridgeSource names the tools of other servers among the live tools.
const bridgeSource = "bridge"

// openBridge makes the tools of other MCP servers available. It connects to none of them. The store is opened
// here only if servers were ever set up: otherwise they are read when it is opened.
func (a *App) openBridge(context.Context) error {
	if err := checkServers(a.loaded); err != nil {
		return err
	}
	o := a.bridgeOptions(a.store)
	o.Marks = a.web.options.Marks
	o.Provided = pluginServers(a.plugins.current())
	o.Publish = func(all []tool.Tool) error { return a.SetTools(bridgeSource, all) }
	o.Complete = func(ctx context.Context, r llm.Request) (llm.Reply, error) { return a.models.Complete(ctx, r) }
	if len(a.models.Names()) == 0 {
		o.Complete = nil
	}
	a.bridge = bridge.New(o)
	a.onClose(a.bridge.Close)
	_, err := os.Stat(o.Dir)
	if stored := err == nil && !a.unused(); stored || len(o.Settings)+len(o.Provided) > 0 {
		a.bridge.Load(stored)
	}
	return nil
}

// bridgeOptions returns what a bridge needs in any case.
func (a *App) bridgeOptions(s *store.Store) bridge.Options {
	run := &program.Runner{Tiers: a.tiers,
		Proxy: func(ctx context.Context, hosts []string) (string, func(), error) {
			return a.proxy(ctx, tool.Caller{Agent: "mcp_servers"}, hosts, false)
		}}
	return bridge.Options{
		Scrub: a.scrub.JSON, Store: s, Settings: bridgeServers(a.loaded.Config.MCPServers), Dir: filepath.Join(a.data, "mcp"),
		Transport: a.serverTransport, Version: Version(), Log: a.log, PublicURL: a.loaded.Config.Server.PublicURL,
		Vault: bridgeVault{a},
		Mask: func(name string, values ...string) {
			values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
			if err := a.scrub.Set(name, values...); err != nil {
				a.log.Debug("a value of an MCP server is not masked", "name", name, "err", err)
			}
		},
		Secret: func(name string) (string, error) {
			value, err := a.secret(name)
			if err == nil {
				err = a.scrub.Set("mcp_servers."+name, string(value))
			}
			return string(value), err
		},
		Start: func(ctx context.Context, p bridge.Program, output func([]byte), gone func(error)) (upstream.Process,
			error) {
			started, err := run.Start(ctx, program.Spec{
				Argv: p.Server.Command, Env: p.Environment, Tier: p.Server.Sandbox, Dir: p.Dir, Read: p.Server.Read,
				Write: p.Server.Write, Network: true, Hosts: p.Server.Hosts, Input: true, Output: output,
				Limits: sandbox.Limits{Memory: 2 << 30, Processes: 256, FileSize: 2 << 30, Temp: 512 << 20},
				Gone: func(err error) {
					var failed *program.ExitError
					if errors.As(err, &failed) {
						err = fmt.Errorf("its program has ended: %s", failed.Why)
					}
					gone(err)
				},
			})
			if err != nil {
				return nil, err
			}
			return started, nil
		},
	}
}

// WithBridge passes a bridge for commands of the operator to use. It connects to servers only when it is told to.
func (e *Env) WithBridge(ctx context.Context, use func(*bridge.Bridge) error) (err error) {
	a := &App{env: e}
	if a.loaded, err = e.Load(); err != nil {
		return err
	}
	if a.data, err = e.DataDir(); err != nil {
		return err
	}
	if err = a.openScrub(ctx); err != nil {
		return err
	}
	if a.log, err = telemetry.NewLogger(io.Discard, telemetry.LogConfig{Format: "text", Scrub: a.scrub.Text}); err != nil {
		return err
	}
	launchers, err := Launchers(a.loaded.Config.Sandbox, a.data, a.log)
	if err != nil {
		return err
	}
	a.tiers = sandbox.NewTiers(launchers...)
	defer func() {
		for _, l := range launchers {
			if l, ok := l.(io.Closer); ok {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	return e.WithStore(func(s *store.Store) error {
		o := a.bridgeOptions(s)
		usable, _, err := PluginSet(a.loaded).Enabled()
		if err != nil {
			return err
		}
		o.Marks, o.Passive, o.Provided = tool.NewMarks(), true, pluginServers(usable)
		b := bridge.New(o)
		return errors.Join(use(b), b.Close())
	})
}

// checkServers returns the mistakes in the settings of servers, with their lines.
func checkServers(l *config.Loaded) error {
	var wrong config.Problems
	for name, s := range bridgeServers(l.Config.MCPServers) {
		if err := errors.Join(bridge.CheckName(name), s.Check()); err != nil {
			wrong = append(wrong, l.Problem("mcp_servers."+name, "%v", err))
		}
	}
	if len(wrong) > 0 {
		slices.SortStableFunc(wrong, func(a, b config.Problem) int { return a.Line - b.Line })
		return wrong
	}
	return nil
}

// WarnOfServers returns warnings about the settings of servers: credentials that are written out.
func WarnOfServers(l *config.Loaded) (all config.Problems) {
	for name, s := range l.Config.MCPServers {
		for what, values := range map[string]map[string]string{"environment": s.Environment, "headers": s.Headers} {
			for key, value := range values {
				if !bridge.WrittenOut(key, value) {
					continue
				}
				p := l.Problem("mcp_servers."+name+"."+what+"."+key, "a credential is written out; put it into the vault "+
					"with mcp-tools secrets set NAME, and write secret:NAME here")
				p.Warning = true
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b config.Problem) int {
		return cmp.Or(a.Line-b.Line, strings.Compare(a.Key, b.Key))
	})
	return all
}

// bridgeServers converts the settings of servers.
func bridgeServers(all config.MCPServers) map[string]bridge.Server {
	servers := make(map[string]bridge.Server, len(all))
	for name, c := range all {
		servers[name] = bridge.Server{
			Command: c.Command, Environment: c.Environment, URL: c.URL, Transport: c.Transport, Headers: c.Headers,
			Sandbox: c.Sandbox, Read: c.Read, Write: c.Write, Hosts: c.Hosts, Timeout: time.Duration(c.Timeout),
			Disabled: c.Disabled, Trust: c.Trust, Access: c.Access, Separate: c.Separate, Tools: c.Tools, Deny: c.Deny,
			Risks: c.Risks, Elicitation: c.Elicitation, Sampling: c.Sampling, Resources: c.Resources,
		}
	}
	return servers
}

// serverTransport connects to one server over HTTP. The operator has chosen its address, so that it may be
// private; others may not.
func (a *App) serverTransport(s bridge.Server) (http.RoundTripper, error) {
	dialer, err := egress.NewDialer(egress.Rules{
		AllowPrivate: append(slices.Clone(s.Hosts), hostPort(s.URL)), Own: a.ownPorts(),
	}, net.DefaultResolver)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 8,
	}, nil
}

// bridgeVault keeps the logins of servers in the vault.
type bridgeVault struct{ app *App }

func (v bridgeVault) Get(name string) ([]byte, error) { return v.app.secret(name) }

func (v bridgeVault) Set(ctx context.Context, name string, value []byte) error {
	vault, err := v.app.env.Vault(v.app.loaded.Config.Vault)
	if err != nil {
		return err
	}
	_, _, err = vault.Set(ctx, name, value)
	return err
}

func (v bridgeVault) Remove(ctx context.Context, name string) error {
	vault, err := v.app.env.Vault(v.app.loaded.Config.Vault)
	if err != nil {
		return err
	}
	return vault.Remove(ctx, name)
}
