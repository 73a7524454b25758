package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/network"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

// bridgeSource names the tools of other servers among the live tools.
const bridgeSource = "bridge"

// openBridge makes the tools of other MCP servers available. It connects to none of them. The store is opened
// here only if servers were ever set up: otherwise they are read when it is opened.
func (a *App) openBridge(context.Context) error {
	o := bridgeParts{a.env, a.loaded, a.data, a.store, a.scrub, a.tiers, a.log}.options()
	o.Marks = a.web.Options.Marks
	o.Page = func() string { return a.questionPage("") }
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

// bridgeParts are the parts of the program that a bridge uses.
type bridgeParts struct {
	env    *Env
	loaded *Loaded
	data   string
	store  *store.Store
	scrub  *scrub.Scrubber
	tiers  sandbox.Tiers
	log    *slog.Logger
}

// operatorPrograms runs programs of the settings. They reach public hosts and the hosts in their settings.
func operatorPrograms(tiers sandbox.Tiers, data string, own []uint16, log *slog.Logger) *program.Runner {
	return &program.Runner{Tiers: tiers, Proxy: func(ctx context.Context, hosts []string) (string, func(), error) {
		return network.Start(ctx, data, egress.Rules{AllowPrivate: hosts, Own: own}, egress.ProxyOptions{Log: log})
	}}
}

// options returns the options that all bridges have.
func (p bridgeParts) options() bridge.Options {
	run := operatorPrograms(p.tiers, p.data, ownPorts(p.loaded.Config.Server), p.log.With("agent", "mcp_servers"))
	vault := bridgeVault{p.env, p.loaded.Config}
	return bridge.Options{
		Scrub: p.scrub.JSON, Store: p.store, Settings: p.loaded.Config.MCPServers,
		Dir: filepath.Join(p.data, "mcp"), Transport: p.transport, Web: p.web, Version: version.String(), Log: p.log,
		PublicURL: p.loaded.Config.Server.PublicURL, Vault: vault,
		Mask: func(name string, values ...string) {
			values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
			if err := p.scrub.Set(name, values...); err != nil {
				p.log.Debug("a value of an MCP server is not masked", "name", name, "err", err)
			}
		},
		Secret: func(name string) (string, error) {
			value, err := vault.Get(name)
			if err == nil {
				err = p.scrub.Set("mcp_servers."+name, string(value))
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

// WithBridge passes a bridge to use, and closes it. The bridge connects to no server before a verb asks for that.
func (e *Env) WithBridge(h *room.Host, use func(*bridge.Bridge) error) (err error) {
	p := bridgeParts{env: e, store: h.Store, log: cmp.Or(h.Log, slog.New(slog.DiscardHandler))}
	if p.data, err = h.Data(); err != nil {
		return err
	}
	if p.loaded, err = e.Load(); err != nil {
		return err
	}
	if p.scrub, err = NewScrubber(p.loaded.Config.Scrub, e.Sources(p.loaded.Config)); err != nil {
		return err
	}
	launchers, err := Launchers(p.loaded.Config.Sandbox, p.data, p.log, nil)
	if err != nil {
		return err
	}
	p.tiers = sandbox.NewTiers(launchers...)
	defer func() {
		for _, l := range launchers {
			if l, ok := l.(io.Closer); ok {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	usable, _, err := PluginSet(p.loaded).Enabled()
	if err != nil {
		return err
	}
	o := p.options()
	o.Marks, o.Passive, o.Provided = tool.NewMarks(), true, pluginServers(usable)
	b := bridge.New(o)
	return errors.Join(use(b), b.Close())
}

// rules returns the rules for connections to one server and its login. The operator has chosen the address of the
// server, so that it may be private; others may not.
func (p bridgeParts) rules(s bridge.Server) egress.Rules {
	return egress.Rules{
		AllowPrivate: append(slices.Clone(s.Hosts), netaddr.OfURL(s.URL)), Own: ownPorts(p.loaded.Config.Server),
	}
}

// web returns the client for the login of one server.
func (p bridgeParts) web(s bridge.Server) (bridge.Web, error) {
	return egress.NewClient(egress.ClientOptions{
		Agent: "mcp-tools/" + version.String(),
		Rules: func(string) (egress.Rules, error) { return p.rules(s), nil },
	})
}

// transport connects to one server over HTTP.
func (p bridgeParts) transport(s bridge.Server) (http.RoundTripper, error) {
	dialer, err := egress.NewDialer(p.rules(s), net.DefaultResolver)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 8,
	}, nil
}

// bridgeVault keeps the logins of servers in the vault. It is opened for each use.
type bridgeVault struct {
	env      *Env
	settings Settings
}

func (v bridgeVault) Get(name string) ([]byte, error) {
	vault, err := v.env.Vault(v.settings)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	return vault.Get(ctx, name)
}

func (v bridgeVault) Set(ctx context.Context, name string, value []byte) error {
	vault, err := v.env.Vault(v.settings)
	if err != nil {
		return err
	}
	_, _, err = vault.Set(ctx, name, value)
	return err
}

func (v bridgeVault) Remove(ctx context.Context, name string) error {
	vault, err := v.env.Vault(v.settings)
	if err != nil {
		return err
	}
	return vault.Remove(ctx, name)
}
