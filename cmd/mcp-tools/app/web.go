package app

import (
	"context"
	"errors"
	"net"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/browser/desk"
	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/version"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/web/access"
)

// openWeb joins the web tools to the web. It makes no request yet.
func (a *App) openWeb(context.Context) (err error) {
	people := &desk.Desk{Dir: filepath.Join(a.data, desk.Dir), Browsers: func() *browser.Browsers { return a.browsers }}
	hold := a.hold(heldBrowser)
	a.web, err = access.Open(access.Parts{
		Settings: a.loaded.Config.Web, Rules: func() *access.Rules { return a.rules.load().web },
		Profile: a.rules.profileOf, Own: a.ownPorts(), Agent: "mcp-tools/" + version.String(),
		Files: a.files, Documents: a.documents, Tiers: a.tiers, Data: a.data, Secret: a.fetchSecret, Mask: a.scrub.Set,
		Fetch: func(s config.Secret) (string, error) { return s.Fetch(a.env.Sources(a.loaded.Config)) },
		Scrub: a.scrub.Text, MayRun: a.mayRun, PageGate: a.network.PageGate, Log: a.log,
		Profiles: &profiles.Profiles{
			Dir: func() (string, error) { return filepath.Join(a.data, profiles.Dir), nil },
			Seal: func(ctx context.Context, bound string, plain []byte) ([]byte, error) {
				return sealAlways(ctx, a.vault, bound, plain)
			},
			Open: a.vault.Open,
		},
		Opened: func(principal, name string) {
			if err := people.Open(); err != nil {
				a.log.Warn("people cannot use the browsers of this server", "err", err)
			}
			if hold != nil {
				hold(principal, name)
			}
		},
		Closed: a.release(heldBrowser),
		Dial:   func(ctx context.Context, port uint16) (net.Conn, error) { return a.commands.Dial(ctx, port) },
	})
	if err != nil {
		return err
	}
	a.browsers = a.web.Browsers
	a.onClose(a.web.Close)
	a.onClose(people.Close)
	return nil
}

// sealAlways encrypts with the vault, which gets a key if it has none.
func sealAlways(ctx context.Context, v *vault.Vault, bound string, plain []byte) ([]byte, error) {
	sealed, err := v.Seal(ctx, bound, plain)
	if errors.Is(err, vault.ErrNone) {
		if err = v.Prepare(ctx); err == nil {
			sealed, err = v.Seal(ctx, bound, plain)
		}
	}
	return sealed, err
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

// mayRun reports whether the caller in ctx may run commands that change something.
func (a *App) mayRun(ctx context.Context) bool {
	subject := server.SubjectOf(tool.CallerFrom(ctx))
	return a.rules.load().policy.Verdict(subject, "exec") != policy.Deny
}
