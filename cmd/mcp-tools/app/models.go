package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/agents/acp"
	"github.com/mcp-tools/mcp-tools/tools/automation"
)

// openModels opens the language models of the settings.
func (a *App) openModels(context.Context) error {
	o, err := ModelOptions(a.loaded.Config.Models)
	if err != nil {
		return err
	}
	o.Providers = a.withKeys(o.Providers)
	provider, _, _ := strings.Cut(o.Default, "/")
	if !slices.ContainsFunc(o.Providers, func(p llm.Provider) bool { return p.Name == provider }) {
		o.Default = "" // its key is missing
	}
	o.Store, o.Scrub, o.Log, o.Record = a.store, a.scrub.Text, a.log, a.recordModel
	o.Near = a.budgetNear
	var urls []string
	for _, p := range o.Providers {
		urls = append(urls, p.URL)
	}
	client, err := ServiceClient(a.loaded.Config, llm.Limits(), urls...)
	if err != nil {
		return err
	}
	a.onClose(client.Close)
	o.HTTP = client
	if a.models, err = llm.NewModels(o); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	a.calls.SetModels(a.models.Names())
	return nil
}

// withKeys returns the providers with their keys. Those whose key cannot be read are
// left out and logged: the rest of the server works without.
func (a *App) withKeys(all []llm.Provider) (usable []llm.Provider) {
	for _, p := range all {
		key, err := a.env.ModelKey(a.loaded.Config, p.Name)
		if err != nil {
			a.log.Warn("the models of a provider cannot be used: correct its key and restart the server",
				"provider", p.Name, "err", err)
			continue
		}
		a.mask("models.providers."+p.Name, key)
		p.Key = key
		usable = append(usable, p)
	}
	return usable
}

// ModelKey returns the key of a provider, or "" if it has none.
func (e *Env) ModelKey(all Settings, provider string) (string, error) {
	return e.key(all, "models.providers."+provider, all.Models.Providers[provider].Key)
}

// key returns the key of a section of the settings, or "" if it has none.
func (e *Env) key(all Settings, section string, key config.Secret) (string, error) {
	if key == "" {
		return "", nil
	}
	value, err := key.Fetch(e.Sources(all.Vault))
	if err != nil {
		return "", fmt.Errorf("%s.key: %w", section, err)
	}
	return value, nil
}

// WarnOfModels returns warnings about models that cannot be used, because there is a budget
// in dollars and their price is not known.
func WarnOfModels(l *Loaded) (all config.Problems) {
	o, err := ModelOptions(l.Config.Models)
	if err != nil {
		return nil // the start fails
	}
	for _, p := range o.Providers {
		for _, model := range p.Models {
			if !o.Unpriced(p, model) {
				continue
			}
			warning := l.Problem("models.providers."+p.Name+".models", "%s cannot be used: there is a budget in dollars, "+
				"and its price is not known; set it in prices, such as {%s: 3/15}", model, model)
			warning.Warning = true
			all = append(all, warning)
		}
	}
	return all
}

// ModelOptions returns the models that settings describe, without keys.
func ModelOptions(c llm.Settings) (o llm.Options, err error) {
	o.Default = c.Default
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		one := llm.Provider{
			Endpoint: llm.Endpoint{Name: name, Kind: llm.Kind(p.Kind), URL: p.URL}, Models: p.Models,
			Prices: make(map[string]llm.Price),
		}
		if one.Kind == "" {
			one.Kind = llm.OpenAI
		}
		for model, text := range p.Prices {
			if one.Prices[model], err = llm.ParsePrice(text); err != nil {
				return o, fmt.Errorf("models.providers.%s.prices: %w", name, err)
			}
		}
		o.Providers = append(o.Providers, one)
	}
	for _, limit := range []struct {
		name, text string
		into       *llm.Amount
	}{
		{"call", c.Budget.Call, &o.Budgets.Call}, {"session", c.Budget.Session, &o.Budgets.Session},
		{"principal", c.Budget.Principal, &o.Budgets.Principal}, {"day", c.Budget.Day, &o.Budgets.Day},
	} {
		if *limit.into, err = llm.ParseAmount(limit.text); err != nil {
			return o, fmt.Errorf("models.budget.%s: %w", limit.name, err)
		}
	}
	return o, nil
}

// recordModel records a request to a model in the audit log and the metrics.
func (a *App) recordModel(ctx context.Context, u llm.Use) {
	a.calls.Model(telemetry.ModelUse{
		Model: u.Model, Failed: u.Err != nil, Input: u.Usage.Input, Output: u.Usage.Output,
		CacheRead: u.Usage.CacheRead, CacheWrite: u.Usage.CacheWrite, Cost: int64(u.Cost),
	})
	running := tool.RunningFrom(ctx)
	a.record(ctx, audit.Record{
		Call: store.NewID(), Parent: running.Call, Kind: "model", Tool: u.Model,
		Agent: running.Caller.Agent, User: running.Caller.User, Session: running.Caller.Session,
		Tokens: u.Usage.Total(), Cost: float64(u.Cost) / 1e6,
	}, u.Begun, u.Err)
}

// record records in the audit log what the program has done without a call, and how it ended.
func (a *App) record(ctx context.Context, r audit.Record, began time.Time, failed error) {
	r.Phase, r.Outcome, r.Duration = audit.Done, "ok", float64(time.Since(began))/float64(time.Millisecond)
	if failed != nil {
		shown := tool.AsError(failed)
		r.Outcome, r.Error = string(shown.Kind), a.scrub.Text(shown.What)
	}
	err := a.audit.Append(context.WithoutCancel(ctx), r)
	if err != nil && !errors.Is(err, audit.ErrClosed) { // a command may end after its server
		a.log.Error("an event is not in the audit log", "kind", r.Kind, "name", r.Tool, "err", err)
	}
}

// programs returns the agent programs of the settings.
func (a *App) programs() agents.Programs {
	p := agents.Programs{
		Profiles: make(map[string]acp.Profile),
		Runner: acp.Runner{
			Start: a.commands.Start, Site: a.commands.Site,
			Secret: func(name string) (string, error) {
				value, err := a.secret(name)
				if err == nil {
					err = a.scrub.Set("acp."+name, string(value))
				}
				return string(value), err
			},
		},
	}
	for name, one := range a.loaded.Config.ACP {
		profile := acp.Profile{
			Name: name, Command: one.Command, Hosts: one.Hosts, Env: make(map[string]string),
			Secrets: make(map[string]string),
		}
		for variable, value := range one.Environment {
			if secret, ok := strings.CutPrefix(value, "secret:"); ok {
				profile.Secrets[variable] = secret
			} else {
				profile.Env[variable] = value
			}
		}
		p.Profiles[name] = profile
	}
	return p
}

// jsonModel returns the default model for tools that want JSON.
func (a *App) jsonModel() automation.Model {
	return func(ctx context.Context, system, prompt string) (string, error) {
		if !a.models.Usable(ctx) {
			return "", automation.ErrNoModel
		}
		reply, err := a.models.Complete(ctx, llm.Request{
			System: system, Messages: []llm.Message{{Role: llm.User, Text: prompt}}, MaxTokens: maxJSON,
		})
		return reply.Message.Text, err
	}
}

// maxJSON is the length of an answer of jsonModel, in tokens.
const maxJSON = 4096
