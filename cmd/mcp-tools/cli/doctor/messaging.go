package doctor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
)

// checkMessaging checks the channels to people. It asks the services whether the credentials are
// valid, and finds channels from which no process receives.
func (c *checkup) checkMessaging() {
	const check = "messaging"
	if err := c.env.WithStore(c.checkOutbox); err != nil {
		c.warn(check, "", "the messages that wait could not be checked: %v", err)
	}
	if len(c.settings.Config.Messaging.Channels) == 0 {
		return
	}
	ignore := func(string, ...string) error { return nil }
	accounts, end, err := c.env.Accounts(c.settings, ignore, slog.New(slog.DiscardHandler))
	if err != nil {
		c.fail(check, "correct the setting", "%v", err)
		return
	}
	defer end()
	for _, name := range accounts.Names() {
		channel, err := accounts.Channel(name)
		account := ""
		if err == nil {
			ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
			account, err = channel.Check(ctx)
			cancel()
		}
		if err != nil {
			c.warn(check, "correct messaging.channels."+name+"; mcp-tools messaging test "+name+" tries it again",
				"%s cannot be used: %v", name, err)
			continue
		}
		c.ok(check, "%s (%s) is %s", name, accounts.Kind(name), account)
	}
	if err := c.env.WithStore(func(s *store.Store) error { return c.checkReceivers(s, accounts) }); err != nil {
		c.warn(check, "", "what the channels receive could not be checked: %v", err)
	}
}

// checkReceivers finds channels from which messages should arrive and that no process receives from.
func (c *checkup) checkReceivers(s *store.Store, accounts *messaging.Accounts) error {
	o := app.InboundOptions(c.settings.Config.Messaging)
	o.Store, o.Accounts = s, accounts
	b := inbound.New(o)
	defer b.Close()
	state, err := inbound.Receivers(c.ctx, s)
	if err != nil {
		return err
	}
	for _, name := range accounts.Names() {
		c.checkReceiver(b, state, name)
	}
	return nil
}

func (c *checkup) checkReceiver(b *inbound.Inbound, state []inbound.Receiver, name string) {
	const check = "messages"
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	mode, err := b.Mode(ctx, name)
	if err != nil {
		c.warn(check, "correct messaging.channels."+name, "%v", err)
		return
	}
	var r inbound.Receiver
	if i := slices.IndexFunc(state, func(r inbound.Receiver) bool { return r.Channel == name }); i >= 0 {
		r = state[i]
	}
	switch {
	case mode == inbound.Off:
		c.ok(check, "%s only sends", name)
	case r.Problem != "":
		c.warn(check, "correct messaging.channels."+name, "nothing is received from %s: %s", name, r.Problem)
	case mode == inbound.Pull && !r.Pulled:
		c.warn(check, "run mcp-tools serve --jobs-only as a service, or start a client",
			"no process receives messages from %s", name)
	case mode == inbound.Pull:
		c.ok(check, "messages of %s are received", name)
	case c.settings.Config.Server.HTTP == "":
		c.warn(check, "set server.http, or receive to pull where the service can",
			"%s sends requests to /hooks/%s, and no address for HTTP is set", name, name)
	case r.Last.IsZero():
		c.warn(check, "register "+strings.TrimSuffix(c.settings.Config.Server.PublicURL, "/mcp")+"/hooks/"+name+
			" at the service", "nothing has arrived from %s yet", name)
	default:
		c.ok(check, "the last message of %s has arrived %s", name, r.Last.Local().Format(time.DateTime))
	}
}

// checkOutbox reports whether a server sends the messages that wait.
func (c *checkup) checkOutbox(s *store.Store) error {
	if s.Missing() {
		return nil
	}
	late, err := messaging.Late(c.ctx, s)
	if err == nil && late > 0 {
		c.warn("messaging", "start a server, or mcp-tools serve --jobs-only; mcp-tools messaging outbox shows them",
			"%d messages wait longer than they should", late)
	}
	return err
}
