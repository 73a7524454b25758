package messaging

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A Target is a chat that can be written to.
type Target struct {
	Channel string // its name in the settings
	Chat    string
	Thread  string
	Contact *Contact // that it belongs to; nil: none is known
	Current bool     // it is the chat of the caller
}

// String returns the target as callers write it.
func (t Target) String() string {
	said := t.Channel + ":" + t.Chat
	if t.Thread != "" {
		said += topicMark + t.Thread
	}
	return said
}

// topicMark separates the id of a chat from the id of a topic in it.
const topicMark = ":topic:"

// Targets decides where callers may write.
type Targets struct {
	Accounts *Accounts
	Contacts Contacts
	// Allowed has, by profile, the chats that may be written to, as CHANNEL:ID, CHANNEL:* or *.
	// The profile * is for all. Profiles without an entry may write to all.
	Allowed map[string][]string
	// Profile returns the profile of a caller. Nil: Caller.Profile.
	Profile func(tool.Caller) string
}

// find returns the chat that a caller means. hint is a chat that is used if the contact has it.
func (x Targets) find(ctx context.Context, to, channel, thread, hint string) (t Target, err error) {
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return t, err
	}
	contacts, err := x.Contacts.List(ctx, owner)
	if err != nil {
		return t, err
	}
	c := tool.CallerFrom(ctx)
	to = strings.TrimSpace(to)
	if to == "" {
		t, err = x.current(ctx, c, channel)
	} else if found, ok := find(contacts, to); ok {
		t, err = x.ofContact(found, hint)
	} else {
		t, err = x.parse(to, channel)
	}
	if err != nil {
		return t, err
	}
	t.Thread = cmp.Or(thread, t.Thread)
	if t.Contact == nil {
		t.Contact = x.contactAt(contacts, t)
	}
	t.Current = t.Channel == c.Channel && t.Chat == c.ChatID
	return t, x.check(ctx, t)
}

// current returns the chat of the caller, or the only one that its profile may write to.
func (x Targets) current(ctx context.Context, c tool.Caller, channel string) (Target, error) {
	if c.ChatID != "" && x.Accounts.Kind(c.Channel) != "" && (channel == "" || channel == c.Channel) {
		return Target{Channel: c.Channel, Chat: c.ChatID, Thread: c.Topic}, nil
	}
	var exact []string
	for _, allowed := range x.allowed(ctx) {
		if name, id, _ := strings.Cut(allowed, ":"); id != "" && id != "*" && (channel == "" || channel == name) {
			exact = append(exact, allowed)
		}
	}
	if len(exact) == 1 {
		return x.parse(exact[0], "")
	}
	e := tool.Errorf(tool.Invalid, "the message has no target, and this call belongs to no chat")
	if len(exact) > 0 {
		return Target{}, e.Try("send the argument to as one of %s", strings.Join(exact[:min(len(exact), 10)], ", "))
	}
	return Target{}, e.Try("send the argument to: a contact or CHANNEL:ID; the channels are %s",
		strings.Join(x.Accounts.Names(), ", "))
}

// ofContact returns the chat of a contact: hint if it is one of them, else the first.
func (x Targets) ofContact(c Contact, hint string) (Target, error) {
	if why := c.why(time.Now()); why != "" {
		return Target{}, tool.Errorf(tool.Refused, "the contact %q gets no messages: %s", c.ID, why).
			Try("write to another contact, or ask the user")
	}
	if hinted, err := x.parse(hint, c.Channel); hint != "" && err == nil {
		hint = hinted.String() // without the team of slack:TEAM:ID
	}
	var first *Target
	for _, at := range c.chats() {
		t, err := x.parse(at, c.Channel)
		if err != nil {
			continue
		}
		t.Contact = &c
		if hint != "" && (t.Chat == bare(hint) || t.String() == hint) {
			return t, nil
		}
		if first == nil {
			first = &t
		}
	}
	if first == nil {
		return Target{}, tool.Errorf(tool.NotFound, "the contact %q has no chat on the channels %s", c.ID,
			strings.Join(x.Accounts.Names(), ", ")).Try("add one with the tool contacts, as CHANNEL:ID")
	}
	return *first, nil
}

// bare returns an id without the name of a service.
func bare(id string) string {
	if service, rest, found := strings.Cut(id, ":"); found && service != "" {
		return rest
	}
	return id
}

// parse reads CHANNEL:ID, SERVICE:ID, or an ID if there is one channel only.
func (x Targets) parse(to, channel string) (t Target, err error) {
	prefix, id, found := strings.Cut(to, ":")
	switch {
	case found && x.Accounts.Kind(prefix) != "":
		t = Target{Channel: prefix, Chat: id}
	case found && len(x.named(prefix)) > 0:
		names := x.named(prefix)
		t = Target{Channel: names[0], Chat: id}
		if len(names) > 1 {
			t.Channel = channel
		}
		if len(names) > 1 && !slices.Contains(names, channel) {
			return t, tool.Errorf(tool.Invalid, "there are several channels of %s: %s", x.Accounts.Kind(names[0]),
				strings.Join(names, ", ")).Try("write the name of one before the id, as in %s:%s", names[0], id)
		}
	case channel != "" && x.Accounts.Kind(channel) != "":
		t = Target{Channel: channel, Chat: to}
	case channel != "" && len(x.named(channel)) == 1:
		t = Target{Channel: x.named(channel)[0], Chat: to}
	case channel == "" && !found && len(x.owning(to)) == 1:
		t = Target{Channel: x.owning(to)[0], Chat: to}
	case x.Accounts.Service(to).Single:
		t = Target{Channel: to, Chat: to}
	case len(x.Accounts.Names()) == 1 && channel == "" && !found:
		t = Target{Channel: x.Accounts.Names()[0], Chat: to}
	default:
		return t, tool.Errorf(tool.NotFound, "there is no contact or channel %q", text.Clip(cmp.Or(channel, to), 100)).
			Try("write a contact, or CHANNEL:ID; the channels are %s", strings.Join(x.Accounts.Names(), ", "))
	}
	t.Chat, t.Thread, _ = strings.Cut(t.Chat, topicMark)
	if chat := x.Accounts.Service(t.Channel).Chat; chat != nil {
		t.Chat = chat(t.Chat)
	}
	if t.Chat = strings.TrimSpace(t.Chat); t.Chat == "" || strings.ContainsAny(t.Chat, "\x00\r\n") {
		return t, tool.Errorf(tool.Invalid, "%q has no id of a chat", text.Clip(to, 100)).Try("write CHANNEL:ID")
	}
	return t, nil
}

// Parse reads CHANNEL:ID or SERVICE:ID, for an operator.
func (x Targets) Parse(to string) (Target, error) { return x.parse(to, "") }

// named returns the channels of the service that has a name in addresses.
func (x Targets) named(prefix string) []string {
	prefix = strings.ToLower(prefix)
	return x.those(func(s chat.Service) bool { return s.Names(prefix) })
}

// owning returns the channels whose service has ids like this one.
func (x Targets) owning(id string) []string {
	return x.those(func(s chat.Service) bool { return s.Owns != nil && s.Owns(id) })
}

func (x Targets) those(are func(s chat.Service) bool) (names []string) {
	for _, name := range x.Accounts.Names() {
		if are(x.Accounts.Service(name)) {
			names = append(names, name)
		}
	}
	return names
}

// contactAt returns the contact that a chat is the private chat of.
func (x Targets) contactAt(contacts []Contact, t Target) *Contact {
	for _, c := range contacts {
		for _, chat := range c.chats() {
			at, err := x.parse(chat, c.Channel)
			if err == nil && at.Channel == t.Channel && at.Chat == t.Chat {
				return &c
			}
			if err == nil {
				break
			}
		}
	}
	return nil
}

// allowed returns the entries of the settings for the profile of the caller, nil if there are none.
func (x Targets) allowed(ctx context.Context) []string {
	c := tool.CallerFrom(ctx)
	profile := c.Profile
	if x.Profile != nil {
		profile = x.Profile(c)
	}
	list, has := x.Allowed[profile]
	all, hasAll := x.Allowed["*"]
	if !has && !hasAll {
		return nil
	}
	return slices.Concat([]string{}, list, all)
}

// listed reports whether the settings name a chat by its id.
func (x Targets) listed(ctx context.Context, t Target) bool {
	return slices.ContainsFunc(x.allowed(ctx), func(entry string) bool {
		return entry == t.String() || entry == t.Channel+":"+t.Chat
	})
}

// check refuses chats that the profile may not write to, and contacts that get no messages.
func (x Targets) check(ctx context.Context, t Target) error {
	if t.Contact != nil {
		if why := t.Contact.why(time.Now()); why != "" {
			return tool.Errorf(tool.Refused, "the contact %q gets no messages: %s", t.Contact.ID, why).
				Try("write to another contact, or ask the user")
		}
	}
	list := x.allowed(ctx)
	if list == nil || t.Current || x.listed(ctx, t) || slices.Contains(list, "*") ||
		slices.Contains(list, t.Channel+":*") {
		return nil
	}
	return tool.Errorf(tool.Refused, "this profile may not write to %s", t).
		Try("write to one of %s, or ask the user", strings.Join(list[:min(len(list), 10)], ", "))
}

// known reports whether messages to a chat need no approval for a new chat: it is the caller's
// chat, the settings name it, or a person has approved the first message.
func (x Targets) known(ctx context.Context, t Target) (bool, error) {
	if t.Current || x.listed(ctx, t) {
		return true, nil
	}
	if x.Contacts.Store.Unused() {
		return false, nil
	}
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return false, err
	}
	var one int
	err = x.Contacts.Store.Row(ctx, `SELECT 1 FROM outbox_target WHERE agent = $1 AND usr = $2 AND channel = $3
		AND chat = $4`, []any{owner.Agent, owner.User, t.Channel, t.Chat}, &one)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// remember notes that an owner may write to a chat.
func remember(t *store.Tx, o tool.Owner, at Target) error {
	_, err := t.Exec(`INSERT INTO outbox_target (agent, usr, channel, chat, approved) VALUES ($1, $2, $3, $4, {{now}})
		ON CONFLICT DO NOTHING`, o.Agent, o.User, at.Channel, at.Chat)
	return err
}
