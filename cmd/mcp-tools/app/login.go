package app

import (
	"context"
	"encoding/base64"
	"log/slog"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/console"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/login"
	"github.com/mcp-tools/mcp-tools/internal/users"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/server/identity"
)

// loginOrigin returns the origin of the server's own login, or "" if the settings have none.
func loginOrigin(c Settings) string {
	if c.Connections.OAuth.Issuer != "" {
		return ""
	}
	return login.Origin(c.Server.PublicURL)
}

// openLogin opens the server's own login if the settings have one, for callers of base.
func (a *App) openLogin(ids *identity.Sources, base server.Access) error {
	origin := loginOrigin(a.loaded.Config)
	if origin == "" {
		return nil
	}
	proxy, err := parseProxy(a.loaded.Config.Web.Proxy)
	if err != nil {
		return err
	}
	web, err := egress.NewClient(egress.ClientOptions{Proxy: proxy, Agent: "mcp-tools/" + version.String()})
	if err != nil {
		return err
	}
	a.onClose(web.Close)
	slog.SetDefault(slog.New(onlyErrors{a.log.Handler()})) // the library of the login logs there, a line for each request
	ids.Login = login.New(login.Options{
		DB: a.store, Endpoint: ids.Endpoint, Web: web, Workspace: base.Caller.Workspace,
		Users: users.New(users.Options{
			DB: a.store, Seal: vaultSealer{a.vault}, Origin: func() string { return origin },
		}),
		Profiles: a.profileNames, Record: a.audit.Append, Scrub: a.scrub.Text, Style: console.Style(), Log: a.log,
	})
	a.log.Info("people log in here", "url", origin)
	return nil
}

// profileNames returns the names of all profiles that are in force.
func (a *App) profileNames() (names []string) {
	for _, p := range a.rules.current.Load().policy.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// onlyErrors drops records below errors.
type onlyErrors struct{ slog.Handler }

func (o onlyErrors) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && o.Handler.Enabled(ctx, level)
}

// vaultSealer encrypts the secrets of users with the vault.
type vaultSealer struct{ *vault.Vault }

func (v vaultSealer) Seal(ctx context.Context, about string, plain []byte) (string, error) {
	sealed, err := sealAlways(ctx, v.Vault, about, plain)
	return base64.StdEncoding.EncodeToString(sealed), err
}

func (v vaultSealer) Open(ctx context.Context, about, sealed string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}
	return v.Vault.Open(ctx, about, raw)
}
