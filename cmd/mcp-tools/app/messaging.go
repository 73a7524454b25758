package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/chat/discord"
	"github.com/mcp-tools/mcp-tools/internal/chat/lark"
	"github.com/mcp-tools/mcp-tools/internal/chat/line"
	"github.com/mcp-tools/mcp-tools/internal/chat/mail"
	"github.com/mcp-tools/mcp-tools/internal/chat/ntfy"
	"github.com/mcp-tools/mcp-tools/internal/chat/slack"
	"github.com/mcp-tools/mcp-tools/internal/chat/telegram"
	"github.com/mcp-tools/mcp-tools/internal/chat/webhook"
	"github.com/mcp-tools/mcp-tools/internal/chat/wire/socket"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// chatHead is how long a service may take to respond. Telegram responds to a request for messages
// when there is one.
const chatHead = 90 * time.Second

// A chatOpener opens the channels of the settings.
type chatOpener struct {
	env     *Env
	loaded  *config.Loaded
	client  outbound.Client
	dialer  *egress.Dialer
	mask    func(name string, values ...string) error
	log     *slog.Logger
	secrets sync.Map // values that were fetched
}

// Accounts returns the channels that settings describe. mask gets the secrets that are used. close
// ends their connections.
func (e *Env) Accounts(l *config.Loaded, mask func(name string, values ...string) error, log *slog.Logger) (
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
		kind := c.KindOf(name)
		list = append(list, messaging.Account{
			Name: name, Kind: kind, Open: func() (chat.Channel, error) { return o.open(name, kind, c) },
		})
	}
	return messaging.NewAccounts(list), client.Close, nil
}

// open opens a channel. It connects to nothing.
func (o *chatOpener) open(name, kind string, c config.MessagingChannel) (chat.Channel, error) {
	token, secret := o.secret(name, "token", c.Token), o.secret(name, "signing_secret", c.Secret)
	switch kind {
	case "telegram":
		return telegram.New(telegram.Options{HTTP: o.client, Token: token, Secret: secret, Base: c.URL})
	case "mail":
		return mail.New(mail.Options{
			From: c.From, User: c.User, Password: token, SMTP: c.SMTP, IMAP: c.IMAP, Dial: o.dialer.DialContext,
			Verifier: c.Verifier,
		})
	case "slack":
		return slack.New(slack.Options{
			HTTP: o.client, Token: token, AppToken: o.secret(name, "app_token", c.AppToken), Secret: secret,
			Base: c.URL, Socket: socket.Options{Dial: o.dialer.DialContext},
		})
	case "discord":
		return discord.New(discord.Options{
			HTTP: o.client, Token: token, PublicKey: c.PublicKey, Base: c.URL,
			Socket: socket.Options{Dial: o.dialer.DialContext},
		})
	case "line":
		return line.New(line.Options{HTTP: o.client, Token: token, Secret: secret, Base: c.URL, Data: c.URL})
	case "lark":
		return lark.New(lark.Options{
			HTTP: o.client, App: c.AppID, Secret: token, Verification: secret,
			EncryptKey: o.secret(name, "encrypt_key", c.EncryptKey), Base: c.URL,
		})
	case "webhook":
		return webhook.New(webhook.Options{HTTP: o.client, URL: c.URL, Secret: secret, Token: token})
	case "ntfy":
		return ntfy.New(ntfy.Options{HTTP: o.client, Base: c.URL, Token: token})
	}
	return nil, fmt.Errorf("there is no service %q", kind)
}

// secret returns a function that fetches a secret when it is first needed, or nil.
func (o *chatOpener) secret(channel, name string, s config.Secret) func(context.Context) (string, error) {
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
		Store: a.store, Accounts: accounts, Scrub: a.scrub.Text, Log: a.log,
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
