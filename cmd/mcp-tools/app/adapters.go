package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/results"
)

// This file adapts parts of the program to the interfaces of others.

// outputs keeps the output of commands.
type outputs struct{ store *results.Store }

func (o outputs) Keep(ctx context.Context, r io.Reader) (string, error) {
	return o.store.Put(ctx, tool.CallerFrom(ctx).Principal(), r)
}

// meter counts calls in the store.
func meter(m *store.Meter) server.Meter {
	return func(ctx context.Context, key string, r server.Rate) (time.Duration, error) {
		return m.Take(ctx, "calls "+key, store.Rate{Times: r.Times, Period: r.Per, Burst: r.Burst})
	}
}

// metricLabels returns all values that labels of metrics may have.
func metricLabels() telemetry.Labels {
	outcomes := []string{"ok", "cached", "asked"}
	for _, kind := range tool.Kinds() {
		outcomes = append(outcomes, string(kind))
	}
	return telemetry.Labels{
		Verdicts: []string{policy.Deny.String(), policy.Ask.String(), policy.Allow.String(), "none"},
		Outcomes: outcomes,
		Reasons:  []string{"rate", "queue", "connection", "repeat_refused", "repeat_advised"},
		Secrets:  scrub.Kinds(),
	}
}

// NewScrubber returns the scrubber that the settings describe. It masks the
// secrets that the settings refer to.
func NewScrubber(c config.Scrub, from config.Sources) (*scrub.Scrubber, error) {
	s, err := scrubberOf(c)
	if err != nil {
		return nil, err
	}
	return s, setSecrets(s, c, from, nil)
}

// scrubberOf returns a scrubber with the rules of the settings.
func scrubberOf(c config.Scrub) (*scrub.Scrubber, error) {
	rules := make([]scrub.Rule, 0, len(c.Rules))
	for _, name := range slices.Sorted(maps.Keys(c.Rules)) {
		rules = append(rules, scrub.Rule{Name: name, Pattern: c.Rules[name]})
	}
	return scrub.New(scrub.Options{Allow: c.Allow, Extra: rules})
}

// countPast counts calls in the audit log. The log has only a digest of all arguments
// together, so calls that match a pattern cannot be counted.
func (e *Env) countPast(ctx context.Context, c approvals.Call) (equal, ofTool int, err error) {
	err = e.WithAuditLog(ctx, func(log *audit.DB) (err error) {
		if log != nil {
			equal, ofTool, err = log.Count(ctx, c.Tool, c.Agent, c.User, c.Digest)
		}
		return err
	})
	return equal, ofTool, err
}

// ServeApprovals returns the handler of /approvals for tokens that may decide.
func ServeApprovals(s *approvals.Store) func(http.ResponseWriter, *http.Request, server.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who server.Identity) {
		s.Serve(w, r, approvals.Approver{Agent: who.Agent, User: who.User, Name: who.ID, Channel: "http"})
	}
}

// mask masks a secret that a setting leads to, unless it is empty.
func (a *App) mask(setting, secret string) {
	if secret == "" {
		return
	}
	if err := a.scrub.Set(setting, secret); err != nil {
		a.log.Warn("a secret of the settings is not masked; choose a longer one", "setting", setting, "err", err)
	}
}

// setSecrets sets the values that the scrubber masks: the secrets that the settings
// refer to, and the vault's key if it is in the environment. A secret that cannot be read
// because the key of the vault is missing is passed to locked; with nil it is an error.
func setSecrets(s *scrub.Scrubber, c config.Scrub, from config.Sources, locked func(setting string, err error)) error {
	values := make([]string, 0, len(c.Values))
	for n, secret := range c.Values {
		value, err := secret.Fetch(from)
		if locked != nil && errors.Is(err, vault.ErrLocked) {
			locked(fmt.Sprintf("scrub.values[%d]", n), err)
			continue
		}
		if err != nil {
			return fmt.Errorf("scrub.values[%d]: %w", n, err)
		}
		values = append(values, value)
	}
	for _, name := range []string{config.EnvVaultKey, config.EnvVaultKeyNext} {
		key, set := from.Env(name)
		if !set {
			continue
		}
		if err := s.Set(name, key); err != nil {
			return fmt.Errorf("the key of the vault: %w", err)
		}
	}
	if err := s.Set("settings", values...); err != nil {
		return fmt.Errorf("scrub.values: %w", err)
	}
	return nil
}

// addressValues is the name of the masked addresses of this machine.
const addressValues = "server-addresses"

// maskAddresses masks the addresses of this machine. Addresses that are too short or too common
// to be masked, such as 192.168.1.1, are left out and logged.
func (a *App) maskAddresses(c config.Scrub, addresses []string) {
	if !c.ServerAddresses {
		addresses = nil
	}
	if a.scrub.SetMasked(addressValues, scrub.ServerIP, addresses...) == nil {
		return
	}
	for _, address := range addresses {
		if err := a.scrub.SetMasked(addressValues, scrub.ServerIP, address); err != nil {
			a.log.Warn("an address of this machine is not masked", "address", address, "err", err)
		}
	}
	_ = a.scrub.SetMasked(addressValues, scrub.ServerIP, addresses...) // the rest
}
