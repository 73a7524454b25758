package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
)

// chatCommands are the commands about chats that messages arrive from.
func (a *CLI) chatCommands() []*cobra.Command {
	return []*cobra.Command{a.pairCommand(), a.bindCommand(), a.unbindCommand(), a.chatsCommand()}
}

// bindingFlags adds the flags that say where messages of a chat go.
func (a *CLI) bindingFlags(cmd *cobra.Command, b *inbound.Binding) {
	f := cmd.Flags()
	f.StringVar(&b.Agent, "agent", "", "agent whose inbox gets the messages; default the main agent")
	f.StringVar(&b.User, "user", "", "user for whom the agent works; default the one of stdio clients")
	f.StringVar(&b.Team, "team", "", "team whose lead gets the messages")
	f.StringVar(&b.Session, "session", "", "key of the session that gets the messages")
	f.BoolVar(&b.Answer, "answer", false, "the agent answers by itself, with its model")
	f.StringVar(&b.Profile, "profile", "", "profile of the agent that answers")
	f.StringSliceVar(&b.Tools, "tool", nil,
		"tool, or group:NAME, that the agent that answers may use; default all of the profile")
}

// complete sets what a binding leaves open, and checks it.
func (a *CLI) complete(b *inbound.Binding) error {
	l, err := a.Load()
	if err != nil {
		return err
	}
	owner := app.Owner(l.Config.Connections.Stdio)
	if b.Agent == "" {
		b.Agent = owner.Agent
	}
	switch {
	case b.User == app.NoUser:
		b.User = ""
	case b.User == "":
		b.User = owner.User
	}
	if b.Answer && (b.Team != "" || b.Session != "") {
		return app.Usagef("--answer is for an agent, not with --team or --session")
	}
	if b.Profile == "" {
		return nil
	}
	view, err := a.Examine()
	if err != nil {
		return err
	}
	_, err = view.Policy.ResolveProfile(b.Profile)
	return err
}

func (a *CLI) pairCommand() *cobra.Command {
	var b inbound.Binding
	cmd := &cobra.Command{
		Use:   "pair CODE",
		Short: "Let a chat in that has shown a code",
		Long: `pair connects the chat of a sender who has got a code, which is valid for half an
hour. From then on messages of the chat go to the inbox of an agent, or of the
session or team that a flag names.`,
		Example: "  mcp-tools messaging pair abcd2345\n" +
			"  mcp-tools messaging pair abcd2345 --agent helper --answer --profile messaging",
		Args: takes("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.complete(&b); err != nil {
				return err
			}
			return a.WithStore(func(s *store.Store) error {
				p, err := inbound.Pair(cmd.Context(), s, args[0], b)
				if err != nil {
					return err
				}
				return a.say("%s (%s, %s) is connected with %s", p.Chat, terminal.OneLine(p.Name),
					terminal.OneLine(p.Person),
					destination(b))
			})
		},
	}
	a.bindingFlags(cmd, &b)
	return cmd
}

func (a *CLI) bindCommand() *cobra.Command {
	var b inbound.Binding
	cmd := &cobra.Command{
		Use:   "bind CHANNEL:CHAT",
		Short: "Say who gets the messages of a chat",
		Long: `bind connects a chat, or a topic of it (CHANNEL:CHAT:topic:TOPIC), by its ID. All
members of the chat may write then. It counts before messaging.bindings of the
settings. mcp-tools messaging chats shows chats that have written, with their IDs.`,
		Example: "  mcp-tools messaging bind telegram:-1001234 --team site",
		Args:    takes("CHANNEL:CHAT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, ok := inbound.ParsePlace(args[0])
			if !ok || at.Channel == "*" || at.Chat == "*" {
				return app.Usagef("%q is not a chat; write it like telegram:4711", args[0])
			}
			b.Chat = at
			if err := a.complete(&b); err != nil {
				return err
			}
			return a.WithStore(func(s *store.Store) error {
				if err := inbound.Bind(cmd.Context(), s, b); err != nil {
					return err
				}
				return a.say("%s is connected with %s", at, destination(b))
			})
		},
	}
	a.bindingFlags(cmd, &b)
	return cmd
}

func (a *CLI) unbindCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unbind CHANNEL:CHAT",
		Short: "Undo pair or bind",
		Args:  takes("CHANNEL:CHAT"),
		RunE: on(a.WithStore, func(ctx context.Context, s *store.Store, args []string) error {
			at, ok := inbound.ParsePlace(args[0])
			if !ok {
				return app.Usagef("%q is not a chat; write it like telegram:4711", args[0])
			}
			removed, err := inbound.Unbind(ctx, s, at)
			if err == nil && !removed {
				err = fmt.Errorf("%s was not bound by a command; mcp-tools messaging chats lists those that were", at)
			}
			if err != nil {
				return err
			}
			return a.say("%s is not connected any more", at)
		}),
	}
}

// destination says who gets the messages of a binding.
func destination(b inbound.Binding) string {
	agent := "the main agent"
	if b.Agent != "" {
		agent = "agent " + b.Agent
	}
	switch {
	case b.Team != "":
		return "the lead of team " + b.Team
	case b.Session != "":
		return "session " + b.Session
	case b.Answer:
		return agent + ", which answers"
	}
	return "the inbox of " + agent
}

// chatList is the output of messaging chats as JSON.
type chatList struct {
	Receivers []inbound.Receiver `json:"receivers"`
	Bound     []boundChat        `json:"bound"`
	Waiting   []inbound.Pairing  `json:"waiting"`
}

type boundChat struct {
	Chat string `json:"chat"`
	inbound.Binding
}

func (a *CLI) chatsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "chats",
		Short: "List chats that are connected, and those that want to be",
		Args:  takes(),
		RunE:  on(a.WithStore, a.listChats),
	}
}

func (a *CLI) listChats(ctx context.Context, s *store.Store, _ []string) (err error) {
	list := chatList{Bound: []boundChat{}}
	if list.Receivers, err = inbound.Receivers(ctx, s); err != nil {
		return err
	}
	bound, err := inbound.Bound(ctx, s)
	if err != nil {
		return err
	}
	for _, b := range bound {
		list.Bound = append(list.Bound, boundChat{b.Chat.String(), b})
	}
	if list.Waiting, err = inbound.Pairings(ctx, s); err != nil {
		return err
	}
	return a.show(list, func(w io.Writer) error { return a.printChats(w, list) })
}

func (a *CLI) printChats(w io.Writer, list chatList) error {
	rows := [][]string{{"CHAT", "STATE", "PERSON", "DETAIL"}}
	for _, b := range list.Bound {
		rows = append(rows, []string{terminal.OneLine(b.Chat), "connected", "", destination(b.Binding)})
	}
	for _, p := range list.Waiting {
		rows = append(rows, []string{
			terminal.OneLine(p.Chat), "waits", terminal.OneLine(strings.TrimSpace(p.Name + " (" + p.Person + ")")),
			"mcp-tools messaging pair " + p.Code,
		})
	}
	for _, r := range list.Receivers {
		state, detail := "not received", r.Problem
		if r.Pulled {
			state = "received"
		}
		if !r.Last.IsZero() {
			detail = strings.TrimSpace("last " + r.Last.Local().Format(time.DateTime) + " " + detail)
		}
		rows = append(rows, []string{r.Channel + ":*", state, "", terminal.OneLine(detail)})
	}
	if len(rows) == 1 {
		_, err := fmt.Fprintln(w, "No chat is connected by a command, and none has asked for it.")
		return err
	}
	return a.painter(w).Columns(w, rows)
}
