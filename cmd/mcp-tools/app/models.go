package app

import (
	"context"
	"errors"
	"fmt"
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
	o, err := a.loaded.Config.Models.Options()
	if err != nil {
		return err
	}
	o.SetKeys(a.masked("models.providers.", a.env.ModelKey), func(provider string, err error) {
		a.log.Warn("the models of a provider cannot be used: correct its key and restart the server",
			"provider", provider, "err", err)
	})
	o.Store, o.Scrub, o.Log, o.Record = a.store, a.scrub.Text, a.log, a.recordModel
	o.Near = a.budgetNear
	client, err := ServiceClient(a.loaded.Config, llm.Limits(), o.URLs()...)
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

// masked returns the function that fetches the key of a provider and masks it from then on.
func (a *App) masked(section string, key func(Settings, string) (string, error)) func(string) (string, error) {
	return func(name string) (string, error) {
		value, err := key(a.loaded.Config, name)
		if err == nil {
			a.mask(section+name, value)
		}
		return value, err
	}
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
	value, err := key.Fetch(e.Sources(all))
	if err != nil {
		return "", fmt.Errorf("%s.key: %w", section, err)
	}
	return value, nil
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

// record writes to the audit log an action of the program that is no call, and its end.
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
	return agents.Programs{
		Profiles: a.loaded.Config.ACP.Profiles(),
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
}

// jsonModel returns the default model for tools that want JSON.
func (a *App) jsonModel() automation.Model {
	return func(ctx context.Context, name, system, prompt string) (string, error) {
		if !a.models.Usable(ctx) {
			return "", automation.ErrNoModel
		}
		model := ""
		if name != "" {
			var err error
			if model, err = a.models.Find(name); err != nil {
				return "", err
			}
		}
		reply, err := a.models.Complete(ctx, llm.Request{
			Model: model, System: system, Messages: []llm.Message{{Role: llm.User, Text: prompt}}, MaxTokens: maxJSON,
		})
		return reply.Message.Text, err
	}
}

// maxJSON is the length of an answer of jsonModel, in tokens.
const maxJSON = 4096
