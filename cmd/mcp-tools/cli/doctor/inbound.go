package doctor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
)

// checkInbound finds channels from which messages should arrive and that no process receives
// from.
func (c *checkup) checkInbound() {
	const check = "messages"
	if len(c.settings.Config.Messaging.Channels) == 0 {
		return
	}
	log := slog.New(slog.DiscardHandler)
	accounts, end, err := c.env.Accounts(c.settings, func(string, ...string) error { return nil }, log)
	if err != nil {
		c.fail(check, "correct messaging.channels", "%v", err)
		return
	}
	err = c.env.WithStore(func(s *store.Store) error {
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
	})
	if gone := end(); err == nil {
		err = gone
	}
	if err != nil {
		c.warn(check, "", "the channels could not be checked: %v", err)
	}
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
