package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
)

// chatHead is how long a service may take to respond. Telegram responds to a request for messages
// when there is one.
const chatHead = 90 * time.Second

// A chatOpener opens the channels of the settings.
type chatOpener struct {
	env     *Env
	loaded  *Loaded
	client  outbound.Client
	dialer  *egress.Dialer
	mask    func(name string, values ...string) error
	log     *slog.Logger
	secrets sync.Map // values that were fetched
}

// Accounts returns the channels that settings describe. mask gets the secrets that are used. close
// ends their connections.
func (e *Env) Accounts(l *Loaded, mask func(name string, values ...string) error, log *slog.Logger) (
	accounts *messaging.Accounts, end func() error, err error,
) {
	if len(l.Config.Messaging.Channels) == 0 {
		return messaging.NewAccounts(nil), func() error { return nil }, nil
	}
	o := &chatOpener{env: e, loaded: l, mask: mask, log: log}
	var private []string
	channels := l.Config.Messaging.Channels
	for _, c := range channels {
		private = append(private, c.Hosts...)
		for _, target := range []string{hostPort(c.URL), c.SMTP, c.IMAP} { // the operator has named them
			if target != "" {
				private = append(private, target)
			}
		}
	}
	rules := egress.Rules{AllowPrivate: private}
	proxy, err := parseProxy(l.Config.Web.Proxy)
	if err != nil {
		return nil, nil, err
	}
	client, err := egress.NewClient(egress.ClientOptions{
		Proxy: proxy, Agent: "mcp-tools/" + Version(), Limits: egress.Limits{Head: chatHead, Stall: chatHead},
		Rules: func(string) (egress.Rules, error) { return rules, nil },
	})
	if err != nil {
		return nil, nil, err
	}
	if o.dialer, err = egress.NewDialer(rules, nil); err == nil && proxy != nil {
		o.dialer, err = o.dialer.ThroughProxy(proxy)
	}
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	o.client = client
	var list []messaging.Account
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		c := channels[name]
		service := services.Find(c.KindOf(name))
		list = append(list, messaging.Account{
			Name: name, Service: service,
			Open: func() (chat.Channel, error) { return service.Open(o.account(name, c)) },
		})
	}
	return messaging.NewAccounts(list), client.Close, nil
}

// account returns what a channel is opened with.
func (o *chatOpener) account(name string, c messaging.ChannelSettings) chat.Account {
	return chat.Account{
		HTTP: o.client, Dial: o.dialer.DialContext,
		Token: o.secret(name, "token", c.Token), AppToken: o.secret(name, "app_token", c.AppToken),
		Signing:    o.secret(name, "signing_secret", c.Secret),
		EncryptKey: o.secret(name, "encrypt_key", c.EncryptKey),
		AppID:      c.AppID, PublicKey: c.PublicKey, URL: c.URL, SMTP: c.SMTP, IMAP: c.IMAP, User: c.User, From: c.From,
		Verifier: c.Verifier,
	}
}

// secret returns a function that fetches a secret when it is first needed, or nil.
func (o *chatOpener) secret(channel, name string, s config.Secret) chat.Secret {
	if s == "" {
		return nil
	}
	return func(context.Context) (string, error) {
		if value, ok := o.secrets.Load(s); ok {
			return value.(string), nil
		}
		value, err := s.Fetch(o.env.Sources(o.loaded.Config.Vault))
		if err != nil {
			return "", fmt.Errorf("messaging.channels.%s.%s: %w", channel, name, err)
		}
		if err := o.mask("messaging.channels."+channel+"."+name, value); err != nil {
			o.log.Warn("the secret of a channel is not masked; choose a longer one", "channel", channel, "err", err)
		}
		o.secrets.Store(s, value)
		return value, nil
	}
}

// openMessaging opens the channels and the outbox, which sends when the server runs.
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

// messagingOptions returns what the tools for messages need.
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
	mask, err := NewScrubber(loaded.Config.Scrub, e.Sources(loaded.Config.Vault))
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

// completeBinding sets what a binding of a chat leaves open, and checks its profile.
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
