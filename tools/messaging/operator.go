package messaging

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// operatorWait is how long a verb of an operator may take.
const operatorWait = 30 * time.Second

// Channels have the operators' verbs that test channels and send messages. The room sets Host
// when it is opened.
type Channels struct {
	// With passes the channels of the settings and an outbox on a host to use, and closes
	// them.
	With func(h *room.Host, use func(Targets, *Outbox) error) error
	Host *room.Host
}

// Verbs returns the verbs.
func (c *Channels) Verbs() []room.Verb {
	return []room.Verb{
		channelVerb(c, room.Verb{
			Name: "list", Title: "List the channels", Risk: tool.Reads, Where: room.Operator,
		}, listChannels),
		channelVerb(c, room.Verb{
			Name: "test", Title: "Check the credentials of a channel", Args: []string{"channel"}, Risk: tool.Reads,
			Where: room.Operator, Example: "  mcp-tools messaging test telegram",
		}, testChannel),
		channelVerb(c, room.Verb{
			Name: "send", Title: "Send a message to CHANNEL:ID", Args: []string{"to", "text"}, Risk: tool.Writes,
			Doc: `send sends a message in Markdown and waits until it was sent. It needs no approval.
If that takes longer than 30 seconds, a server with the same store goes on.`,
			Example: "  mcp-tools messaging send telegram:123456789 'Hello from mcp-tools'",
		}, send),
		channelVerb(c, room.Verb{
			Name: "outbox", Title: "List the messages of the last week, the newest first", Risk: tool.Reads,
			Where: room.Operator,
		}, listOutbox),
	}
}

// channelVerb makes a verb that works on the channels and the outbox.
func channelVerb[A any](
	c *Channels, v room.Verb, do func(context.Context, Targets, *Outbox, A) (tool.Result, error),
) room.Verb {
	return room.Do(v, func(ctx context.Context, args A) (r tool.Result, err error) {
		err = c.With(c.Host, func(t Targets, o *Outbox) error {
			r, err = do(ctx, t, o, args)
			return err
		})
		return r, err
	})
}

// A channelRow is a channel as the list shows it.
type channelRow struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Can     []string `json:"can"`
	Problem string   `json:"problem,omitempty"`
}

func listChannels(_ context.Context, t Targets, _ *Outbox, _ struct{}) (tool.Result, error) {
	var list []channelRow
	for _, name := range t.Accounts.Names() {
		row := channelRow{Name: name, Kind: t.Accounts.Kind(name)}
		if c, err := t.Accounts.Channel(name); err != nil {
			row.Problem = err.Error()
		} else {
			row.Can = Skills(c)
		}
		list = append(list, row)
	}
	return room.Rows(list, "", []string{"NAME", "SERVICE", "CAN"}, func(r channelRow) []string {
		return []string{r.Name, r.Kind, cmp.Or(r.Problem, strings.Join(r.Can, ", "))}
	}), nil
}

type channelArgs struct {
	Channel string `json:"channel" jsonschema:"name of the channel, as in list"`
}

func testChannel(ctx context.Context, t Targets, _ *Outbox, a channelArgs) (r tool.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, operatorWait)
	defer cancel()
	c, err := t.Accounts.Channel(a.Channel)
	if err != nil {
		return r, err
	}
	name, err := c.Check(ctx)
	if err != nil {
		return r, fmt.Errorf("channel %s: %w", a.Channel, err)
	}
	return room.Said(map[string]string{"account": name}, "channel %s works: the account is %s", a.Channel, name), nil
}

type sendArgs struct {
	To   string `json:"to" jsonschema:"receiver, as CHANNEL:ID"`
	Text string `json:"text" jsonschema:"the message, in Markdown"`
}

func send(ctx context.Context, t Targets, o *Outbox, a sendArgs) (r tool.Result, err error) {
	at, err := t.Parse(a.To)
	if err != nil {
		return r, err
	}
	var id string
	err = o.Store.Update(ctx, func(t *store.Tx) (err error) {
		id, _, err = o.Put(t, Post{
			Channel: at.Channel, Message: chat.Message{Chat: at.Chat, Thread: at.Thread, Text: a.Text},
		})
		return err
	})
	if err != nil {
		return r, err
	}
	sent, err := o.Settled(ctx, id, operatorWait)
	switch {
	case err != nil:
		return r, err
	case sent.State == Failed:
		return r, tool.Errorf(tool.Unavailable, "the message was not delivered: %s", sent.Problem)
	case sent.State != Sent:
		return r, tool.Errorf(tool.Unavailable, "the message waits in the outbox (%s)", sent.Problem).
			Try("a server with the same store sends it")
	}
	return tool.Textf("sent to %s", at), nil
}

func listOutbox(ctx context.Context, _ Targets, o *Outbox, _ struct{}) (tool.Result, error) {
	list, err := o.List(ctx, 100)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"CREATED", "TO", "STATE", "TEXT", "PROBLEM"}
	return room.Rows(list, "The outbox is empty.", head, func(r Report) []string {
		return []string{
			r.Created.Format(time.DateTime), r.Channel + ":" + r.Chat, string(r.State), terminal.Short(r.Text, 50),
			terminal.Short(r.Problem, 80),
		}
	}), nil
}
