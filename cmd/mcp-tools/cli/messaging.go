package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// messagingWait is how long a message of the command line may take.
const messagingWait = 30 * time.Second

func (a *CLI) messagingCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "messaging",
		Short: "Show and test the channels to people, and what is sent",
		Long: `messaging shows the channels of the settings (messaging.channels), checks their
credentials, sends messages, and lists those that were sent or wait.`,
	},
		&cobra.Command{
			Use: "list", Short: "List the channels", Args: takes(),
			RunE: on(a.withMessaging, a.listChannels),
		},
		&cobra.Command{
			Use: "test CHANNEL", Short: "Check the credentials of a channel",
			Example: "  mcp-tools messaging test telegram", Args: takes("the name of a CHANNEL"),
			RunE: on(a.withMessaging, a.testChannel),
		},
		&cobra.Command{
			Use: "send TO TEXT", Short: "Send a message to CHANNEL:ID",
			Long: `send sends a message in Markdown and waits until it was sent. It needs no approval.
If that takes longer than 30 seconds, a server with the same store goes on.`,
			Example: "  mcp-tools messaging send telegram:123456789 'Hello from mcp-tools'",
			Args:    takes("TO as CHANNEL:ID", "the TEXT"),
			RunE:    on(a.withMessaging, a.sendMessage),
		},
		&cobra.Command{
			Use: "outbox", Short: "List the messages of the last week, the newest first", Args: takes(),
			RunE: on(a.withMessaging, a.listOutbox),
		})
	cmd.AddCommand(a.chatCommands()...)
	return cmd
}

// A messagingCall is what a command needs.
type messagingCall struct {
	targets messaging.Targets
	outbox  *messaging.Outbox
}

func (a *CLI) withMessaging(use func(*messagingCall) error) error {
	loaded, err := a.Load()
	if err != nil {
		return err
	}
	if len(loaded.Config.Messaging.Channels) == 0 {
		return errors.New("there is no channel; add one to messaging.channels, as docs/messaging.md says")
	}
	mask, err := app.NewScrubber(loaded.Config.Scrub, a.Sources(loaded.Config.Vault))
	if err != nil {
		return err
	}
	accounts, end, err := a.Accounts(loaded, mask.Set, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer end()
	return a.WithStore(func(s *store.Store) error {
		o := messaging.NewOutbox(messaging.OutboxOptions{Store: s, Accounts: accounts, Scrub: mask.Text})
		defer o.Close()
		return use(&messagingCall{
			messaging.Targets{Accounts: accounts, Contacts: messaging.Contacts{Store: s}}, o,
		})
	})
}

// A channelRow is a channel as the list shows it.
type channelRow struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Can     []string `json:"can"`
	Problem string   `json:"problem,omitempty"`
}

func (a *CLI) listChannels(_ context.Context, m *messagingCall, _ []string) error {
	list := []channelRow{}
	for _, name := range m.targets.Accounts.Names() {
		row := channelRow{Name: name, Kind: m.targets.Accounts.Kind(name)}
		if c, err := m.targets.Accounts.Channel(name); err != nil {
			row.Problem = err.Error()
		} else {
			row.Can = messaging.Skills(c)
		}
		list = append(list, row)
	}
	return showList(a, list, "", []string{"NAME", "SERVICE", "CAN"}, func(r channelRow) []string {
		return []string{r.Name, r.Kind, cmp.Or(r.Problem, strings.Join(r.Can, ", "))}
	})
}

func (a *CLI) testChannel(ctx context.Context, m *messagingCall, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, messagingWait)
	defer cancel()
	c, err := m.targets.Accounts.Channel(args[0])
	if err != nil {
		return err
	}
	name, err := c.Check(ctx)
	if err != nil {
		return fmt.Errorf("channel %s: %w", args[0], err)
	}
	return a.say("channel %s works: the account is %s", args[0], name)
}

func (a *CLI) sendMessage(ctx context.Context, m *messagingCall, args []string) error {
	at, err := m.targets.Parse(args[0])
	if err != nil {
		return err
	}
	var id string
	err = m.outbox.Store.Update(ctx, func(t *store.Tx) (err error) {
		id, _, err = m.outbox.Put(t, messaging.Post{
			Channel: at.Channel, Message: chat.Message{Chat: at.Chat, Thread: at.Thread, Text: args[1]},
		})
		return err
	})
	if err != nil {
		return err
	}
	r, err := m.outbox.Settled(ctx, id, messagingWait)
	switch {
	case err != nil:
		return err
	case r.State == messaging.Failed:
		return fmt.Errorf("the message was not delivered: %s", r.Problem)
	case r.State != messaging.Sent:
		return fmt.Errorf("the message waits in the outbox (%s); a server with the same store sends it", r.Problem)
	}
	return a.say("sent to %s", at)
}

func (a *CLI) listOutbox(ctx context.Context, m *messagingCall, _ []string) error {
	list, err := m.outbox.List(ctx, 100)
	if err != nil {
		return err
	}
	head := []string{"CREATED", "TO", "STATE", "TEXT", "PROBLEM"}
	return showList(a, list, "The outbox is empty.", head, func(r messaging.Report) []string {
		return []string{
			r.Created.Format(time.DateTime), r.Channel + ":" + r.Chat, string(r.State), terminal.Short(r.Text, 50),
			terminal.Short(r.Problem, 80),
		}
	})
}
