// Package network decides about the connections of a caller's commands, and gives each sandbox its proxy.
//
// It knows the setting sandbox.network, the hosts of package registries, and how a person is asked about another host.
// It does not know how commands run; package commands gets its proxies from [Access.Proxy]. Begin with [Access]; gate.go
// has the questions.
package network

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The values of sandbox.network.
const (
	Off        = "off"
	Registries = "registries" // the hosts of registries
	Ask        = "ask"        // the registries, and hosts that a person allows
	On         = "on"         // all public hosts
)

// A Client shows questions to the person at the client of a caller.
type Client interface {
	CanAsk(c tool.Caller) bool
	AskClient(ctx context.Context, c tool.Caller, q approvals.Call, id string) (answered bool)
}

// Access is the access of commands to the network. All fields are set before the first command runs. The methods may be
// called concurrently.
type Access struct {
	Settings  sandbox.Settings
	Data      string                    // the data directory, with the sockets of proxies
	Own       []uint16                  // ports of this server: no command reaches them
	Asking    func() approvals.Settings // that are in force
	Approvals *approvals.Store
	Client    Client
	// Profile returns the profile of a caller, and whether its autonomy is full.
	Profile func(c tool.Caller) (name string, full bool)
	Running func(c tool.Caller) []sandbox.Status // the commands of a caller
	Scrub   func(string) string
	Log     *slog.Logger

	refusals sync.Map // from a refusalKey to the last refusal of a host
}

// Of returns the value of sandbox.network for the commands of a caller.
func (a *Access) Of(c tool.Caller) string {
	return cmp.Or(a.Settings.Agents[c.Agent].Network, a.Settings.Network)
}

// Gate returns the gate for the commands of a caller; they may reach hosts too. It is nil if the caller may reach all
// public hosts.
func (a *Access) Gate(c tool.Caller, hosts []string) (*Gate, error) {
	mode := a.Of(c)
	if mode == On {
		return nil, nil
	}
	free, err := egress.ParseHosts(append(registries(), hosts...))
	if err != nil {
		return nil, err
	}
	return &Gate{
		registries: free, mode: mode, caller: c, approvals: a.Approvals,
		profile: func() string { name, _ := a.Profile(c); return name },
		unasked: func(ctx context.Context) (string, string) { return a.unasked(ctx, c) },
		client:  func() bool { return !a.isFull(c) && a.Client.CanAsk(c) },
		askClient: func(ctx context.Context, q approvals.Call, id string) bool {
			return a.Client.AskClient(ctx, c, q, id)
		},
		timeout: time.Duration(a.Asking().Timeout),
		refused: func(err error) {
			a.Log.Info("a command may not connect", "agent", c.Agent, "user", c.User, "err", err)
			a.refusals.Store(refusalKey{c.Principal(), c.Session}, err.Error())
		},
		running: func() []sandbox.Status { return a.Running(c) }, scrub: a.Scrub,
		turn: make(chan struct{}, 1), known: make(map[egress.Target]knownHost),
	}, nil
}

// PageGate returns the gate for the pages of a caller; they run without a command. It is nil if they may reach all
// public hosts.
func (a *Access) PageGate(c tool.Caller) (allow func(context.Context, egress.Target) error, err error) {
	gate, err := a.Gate(c, nil)
	if gate == nil || err != nil {
		return nil, err
	}
	if a.Of(c) == Off {
		return func(_ context.Context, to egress.Target) error {
			return tool.Errorf(tool.Refused, "pages of this session may not connect to %q (sandbox.network is off)",
				to.String()).Try("put what the page needs into the workspace")
		}, nil
	}
	gate.running = func() []sandbox.Status { return nil }
	return gate.Allow, nil
}

// isFull reports whether the commands of a caller run without questions.
func (a *Access) isFull(c tool.Caller) bool {
	_, full := a.Profile(c)
	return full
}

// unasked returns why no person outside of the client is asked about the hosts of a caller's
// commands, and what to do instead; "" if a person is asked.
func (a *Access) unasked(ctx context.Context, c tool.Caller) (why, instead string) {
	const operator = "do without it, or ask the user to have the operator set sandbox.network to on"
	if a.isFull(c) {
		return "with the autonomy full no person is asked", operator
	}
	switch a.Asking().Wait {
	case "always":
		return "", ""
	case "attended":
		if attended, err := a.Approvals.Attended(ctx); err == nil && attended {
			return "", ""
		}
		return "no person is there to be asked", "ask the user to run `mcp-tools approvals watch` on the server's " +
			"machine, and try again; or to have the operator set sandbox.network to on"
	}
	return "commands do not wait for approvals (approvals.wait)", operator
}

// A refusalKey is the caller of refused commands, as far as sandboxes are shared.
type refusalKey struct{ principal, session string }

// TakeRefusal returns why a command of the caller in ctx could not connect to a host, and forgets it.
func (a *Access) TakeRefusal(ctx context.Context) string {
	c := tool.CallerFrom(ctx)
	text, ok := a.refusals.LoadAndDelete(refusalKey{c.Principal(), c.Session})
	if !ok {
		return ""
	}
	return text.(string)
}

// Proxy starts the proxy of one sandbox. asks is not set for a program of the operator: without a question it reaches
// all public hosts.
func (a *Access) Proxy(ctx context.Context, c tool.Caller, hosts []string, asks bool) (socket string, stop func(), err error) {
	o := egress.ProxyOptions{Log: a.Log.With("agent", c.Agent)}
	if asks {
		gate, err := a.Gate(c, hosts)
		if err != nil {
			return "", nil, err
		}
		if gate != nil {
			o.Allow = gate.Allow
		}
	}
	return Start(ctx, a.Data, egress.Rules{AllowPrivate: hosts, Own: a.Own}, o)
}

// Start starts a proxy for a sandbox, whose socket is in the data directory. It runs until stop; ctx bounds the start
// only.
func Start(ctx context.Context, data string, rules egress.Rules, o egress.ProxyOptions) (socket string, stop func(), err error) {
	if o.Dialer, err = egress.NewDialer(rules, net.DefaultResolver); err != nil {
		return "", nil, err
	}
	socket, listener, err := egress.Listen(filepath.Join(data, "commands", "proxies"))
	if err != nil {
		return "", nil, err
	}
	p := egress.NewProxy(o)
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Serve(serving, listener); err != nil {
			o.Log.Error("the proxy of a sandbox has stopped", "err", err)
		}
	}()
	return socket, func() { cancel(); <-done }, nil
}
