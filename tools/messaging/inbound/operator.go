package inbound

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// A Setup has the parts of the program that the room needs.
type Setup struct {
	Channels *messaging.Channels
	Settings func() messaging.Settings
	// Complete sets the fields of a binding that are open by the settings, and checks it.
	Complete func(*Binding) error
	// HTTP reports whether services can send requests to a server, and its URL.
	HTTP func() (serves bool, url string)
}

// Room returns the operators' verbs for channels and chats, and the check of the channels.
func Room(s Setup) *room.Room {
	channels, o := s.Channels, &operator{complete: s.Complete, channels: s.Channels, settings: s.Settings, http: s.HTTP}
	return &room.Room{
		Name: "messaging", Title: "Show and test the channels to people, and the messages",
		Doc: `messaging shows the channels of the settings (messaging.channels), checks their
credentials, sends messages, and lists sent and waiting ones.`,
		Checks: []room.Check{{Name: "messaging", Run: o.check}},
		Open:   func(h *room.Host) error { channels.Host, o.store = h, h.Store; return nil },
		Verbs: append(channels.Verbs(),
			room.Do(room.Verb{
				Name: "pair", Title: "Let a chat in that has shown a code", Args: []string{"code"}, Risk: tool.Writes,
				Doc: `pair connects the chat of a sender who has got a code, which is valid for half an
hour. From then on messages of the chat go to the inbox of an agent, or of the
session or team that a flag names.`,
				Example: "  mcp-tools messaging pair abcd2345\n" +
					"  mcp-tools messaging pair abcd2345 --agent helper --answer --profile messaging",
			}, o.pair),
			room.Do(room.Verb{
				Name: "bind", Title: "Set the receiver of the messages of a chat", Args: []string{"chat"}, Risk: tool.Writes,
				Doc: `bind connects a chat, CHANNEL:CHAT, or a topic of it, CHANNEL:CHAT:topic:TOPIC, by its ID.
All members of the chat may write then. It counts before messaging.bindings of the
settings. mcp-tools messaging chats shows chats that have written, with their IDs.`,
				Example: "  mcp-tools messaging bind telegram:-1001234 --team site",
			}, o.bind),
			room.Do(room.Verb{
				Name: "unbind", Title: "Undo pair or bind", Args: []string{"chat"}, Risk: tool.Writes, Where: room.Operator,
			}, o.unbind),
			room.Do(room.Verb{
				Name: "chats", Title: "List connected chats, and chats that want to be", Risk: tool.Reads,
				Where: room.Operator,
			}, o.chats),
		),
	}
}

// operator has the verbs of chats.
type operator struct {
	complete func(*Binding) error
	channels *messaging.Channels
	settings func() messaging.Settings
	http     func() (serves bool, url string)
	store    *store.Store
}

// receiver says where messages of a chat go.
type receiver struct {
	Agent   string   `json:"agent,omitempty" jsonschema:"agent whose inbox gets the messages; default the main agent"`
	User    string   `json:"user,omitempty" jsonschema:"user for whom the agent works; default the one of stdio clients"`
	Team    string   `json:"team,omitempty" jsonschema:"team whose lead gets the messages"`
	Session string   `json:"session,omitempty" jsonschema:"key of the session that gets the messages"`
	Answer  bool     `json:"answer,omitempty" jsonschema:"the agent answers by itself, with its model"`
	Profile string   `json:"profile,omitempty" jsonschema:"profile of the agent that answers"`
	Tool    []string `json:"tool,omitempty" jsonschema:"tool, or group:NAME, that the agent that answers may use; default all of the profile"`
}

// binding returns the binding to a receiver.
func (o *operator) binding(to receiver) (Binding, error) {
	b := Binding{
		Agent: to.Agent, User: to.User, Team: to.Team, Session: to.Session, Answer: to.Answer, Profile: to.Profile,
	}
	for _, names := range to.Tool {
		b.Tools = append(b.Tools, strings.Split(names, ",")...)
	}
	if b.Answer && (b.Team != "" || b.Session != "") {
		return b, room.Mistake(`"answer" is for an agent, not with "team" or "session"`)
	}
	return b, o.complete(&b)
}

type pairArgs struct {
	Code string `json:"code" jsonschema:"the code that the chat has shown"`
	receiver
}

func (o *operator) pair(ctx context.Context, a pairArgs) (tool.Result, error) {
	b, err := o.binding(a.receiver)
	if err != nil {
		return tool.Result{}, err
	}
	p, err := Pair(ctx, o.store, a.Code, b)
	if errors.Is(err, ErrCode) {
		err = tool.Errorf(tool.NotFound, "%v", err).Because(err)
	}
	return room.Said(p, "%s (%s, %s) is connected with %s", p.Chat, terminal.OneLine(p.Name), terminal.OneLine(p.Person),
		b.destination()), err
}

type chatArgs struct {
	Chat string `json:"chat" jsonschema:"the chat, as CHANNEL:CHAT"`
}

// place returns the chat of the arguments.
func (a chatArgs) place() (Place, error) {
	at, ok := ParsePlace(a.Chat)
	if !ok {
		return at, room.Mistake("%q is not a chat; write it like telegram:4711", a.Chat)
	}
	return at, nil
}

type bindArgs struct {
	chatArgs
	receiver
}

func (o *operator) bind(ctx context.Context, a bindArgs) (tool.Result, error) {
	at, err := a.place()
	if err == nil && (at.Channel == "*" || at.Chat == "*") {
		err = room.Mistake("%q is not one chat; write it like telegram:4711", a.Chat)
	}
	if err != nil {
		return tool.Result{}, err
	}
	b, err := o.binding(a.receiver)
	if err != nil {
		return tool.Result{}, err
	}
	b.Chat = at
	return room.Said(boundChat{at.String(), b}, "%s is connected with %s", at, b.destination()), Bind(ctx, o.store, b)
}

func (o *operator) unbind(ctx context.Context, a chatArgs) (tool.Result, error) {
	at, err := a.place()
	if err != nil {
		return tool.Result{}, err
	}
	removed, err := Unbind(ctx, o.store, at)
	if err == nil && !removed {
		err = tool.Errorf(tool.NotFound, "%s was not bound by a command", at).
			Try("mcp-tools messaging chats lists the connected ones")
	}
	return tool.Textf("%s is not connected any more", at), err
}

// destination describes the receiver of the messages of a binding.
func (b Binding) destination() string {
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

// chatList has the connected chats, and chats that want to be connected.
type chatList struct {
	Receivers []Receiver  `json:"receivers"`
	Bound     []boundChat `json:"bound"`
	Waiting   []Pairing   `json:"waiting"`
}

type boundChat struct {
	Chat string `json:"chat"`
	Binding
}

func (o *operator) chats(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := o.connected(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	rows := list.rows()
	if len(rows) == 0 {
		return room.Said(list, "No chat is connected by a command, and none has asked for it."), nil
	}
	rows = append([][]string{{"CHAT", "STATE", "PERSON", "DETAIL"}}, rows...)
	return tool.Result{Data: room.Table{Items: list, Rows: rows}}, nil
}

// connected reads the chats of the store.
func (o *operator) connected(ctx context.Context) (list chatList, err error) {
	list.Bound = []boundChat{}
	if list.Receivers, err = Receivers(ctx, o.store); err != nil {
		return list, err
	}
	bound, err := Bound(ctx, o.store)
	if err != nil {
		return list, err
	}
	for _, b := range bound {
		list.Bound = append(list.Bound, boundChat{b.Chat.String(), b})
	}
	list.Waiting, err = Pairings(ctx, o.store)
	return list, err
}

func (list chatList) rows() (rows [][]string) {
	for _, b := range list.Bound {
		rows = append(rows, []string{b.Chat, "connected", "", b.destination()})
	}
	for _, p := range list.Waiting {
		rows = append(rows, []string{
			p.Chat, "waits", strings.TrimSpace(p.Name + " (" + p.Person + ")"), "mcp-tools messaging pair " + p.Code,
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
		rows = append(rows, []string{r.Channel + ":*", state, "", detail})
	}
	return rows
}
