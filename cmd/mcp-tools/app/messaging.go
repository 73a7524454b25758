package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
)

// Accounts returns the channels that settings describe. mask gets the secrets that are used. end ends their connections.
func (e *Env) Accounts(l *Loaded, mask func(name string, values ...string) error, log *slog.Logger) (
	accounts *messaging.Accounts, end func() error, err error,
) {
	m := l.Config.Messaging
	if len(m.Channels) == 0 {
		return messaging.NewAccounts(nil), func() error { return nil }, nil
	}
	options, err := serviceOptions(l.Config, messaging.Limits())
	if err != nil {
		return nil, nil, err
	}
	rules := egress.Rules{AllowPrivate: m.Hosts()}
	options.Rules = func(string) (egress.Rules, error) { return rules, nil }
	client, err := egress.NewClient(options)
	if err != nil {
		return nil, nil, err
	}
	dialer, err := egress.NewDialer(rules, nil)
	if err == nil && options.Proxy != nil {
		dialer, err = dialer.ThroughProxy(options.Proxy)
	}
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return m.Accounts(messaging.Setup{
		HTTP: client, Dial: dialer.DialContext,
		Secret: func(setting string, s config.Secret) (string, error) {
			value, err := s.Fetch(e.Sources(l.Config))
			if err != nil {
				return "", err
			}
			if err := mask(setting, value); err != nil {
				log.Warn("the secret of a channel is not masked; choose a longer one", "setting", setting, "err", err)
			}
			return value, nil
		},
	}), client.Close, nil
}

// openMessaging opens the channels and the outbox. The outbox sends while the server runs.
func (a *App) openMessaging(context.Context) error {
	accounts, end, err := a.env.Accounts(a.loaded, a.scrub.Set, a.log)
	if err != nil {
		return err
	}
	a.onClose(end)
	a.accounts = accounts
	a.outbox = messaging.NewOutbox(messaging.OutboxOptions{
		Store: a.store, Jobs: a.jobs, Accounts: accounts, Scrub: a.scrub.Text, Log: a.log,
	})
	a.onClose(a.outbox.Close)
	return nil
}

// messagingOptions returns the dependencies of the tools for messages.
func (a *App) messagingOptions() messaging.Options {
	return messaging.Options{
		Outbox: a.outbox, Files: a.files, Scrub: a.scrub.Text, Fetch: a.fetchFile,
		Targets: messaging.Targets{
			Accounts: a.accounts, Contacts: messaging.Contacts{Store: a.store},
			Allowed: a.loaded.Config.Messaging.Targets, Profile: a.rules.profileOf,
		},
	}
}

// withChannels passes the channels of the settings, and an outbox that sends to them, to use.
func (e *Env) withChannels(h *room.Host, use func(messaging.Targets, *messaging.Outbox) error) error {
	loaded, err := e.Load()
	if err != nil {
		return err
	}
	if len(loaded.Config.Messaging.Channels) == 0 {
		return tool.Errorf(tool.NotFound, "there is no channel").
			Try("add one to messaging.channels, as docs/messaging.md says")
	}
	mask, err := NewScrubber(loaded.Config.Scrub, e.Sources(loaded.Config))
	if err != nil {
		return err
	}
	accounts, end, err := e.Accounts(loaded, mask.Set, cmp.Or(h.Log, slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	o := messaging.NewOutbox(messaging.OutboxOptions{Store: h.Store, Accounts: accounts, Scrub: mask.Text})
	to := messaging.Targets{Accounts: accounts, Contacts: messaging.Contacts{Store: h.Store}}
	return errors.Join(use(to, o), o.Close(), end())
}

// completeBinding sets the empty fields of a binding of a chat, and checks its profile.
func (e *Env) completeBinding(b *inbound.Binding) error {
	loaded, err := e.Load()
	if err != nil {
		return err
	}
	owner := Owner(loaded.Config.Connections.Stdio)
	b.Agent = cmp.Or(b.Agent, owner.Agent)
	switch b.User {
	case NoUser:
		b.User = ""
	case "":
		b.User = owner.User
	}
	if b.Profile == "" {
		return nil
	}
	view, err := e.Examine()
	if err != nil {
		return err
	}
	_, err = view.Policy.ResolveProfile(b.Profile)
	return err
}
