package doctor

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// checkMessaging checks the channels to people, and whether messages wait. It asks the services
// whether the credentials are valid.
func (c *checkup) checkMessaging() {
	const check = "messaging"
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
}

// checkOutbox reports whether a server sends the messages that wait.
func (c *checkup) checkOutbox(s *store.Store) error {
	late, err := messaging.Late(c.ctx, s)
	if err == nil && late > 0 {
		c.warn("messaging", "start a server, or mcp-tools serve --jobs-only; mcp-tools messaging outbox shows them",
			"%d messages wait longer than they should", late)
	}
	return err
}
