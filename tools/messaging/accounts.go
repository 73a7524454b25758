package messaging

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// An Account is a channel of the settings.
type Account struct {
	Name    string
	Service chat.Service
	Open    func() (chat.Channel, error)
}

// Accounts are the channels of the settings. They are opened when they are first used.
type Accounts struct {
	all map[string]*account
}

type account struct {
	Account
	open func() (chat.Channel, error)
}

// NewAccounts returns the channels of a list.
func NewAccounts(list []Account) *Accounts {
	a := &Accounts{map[string]*account{}}
	for _, one := range list {
		a.all[one.Name] = &account{one, sync.OnceValues(one.Open)}
	}
	return a
}

// Names returns the names of all channels.
func (a *Accounts) Names() []string {
	if a == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(a.all))
}

// Kind returns the name of the service of a channel, or "" if there is no channel with the name.
func (a *Accounts) Kind(name string) string {
	return a.Service(name).Name
}

// Service returns the service of a channel. It has no name if there is no such channel.
func (a *Accounts) Service(name string) chat.Service {
	if a == nil || a.all[name] == nil {
		return chat.Service{}
	}
	return a.all[name].Account.Service
}

// Channel returns a channel by its name.
func (a *Accounts) Channel(name string) (chat.Channel, error) {
	if a == nil || a.all[name] == nil {
		return nil, tool.Errorf(tool.NotFound, "there is no channel %q", name).
			Try("use one of %s", strings.Join(a.Names(), ", "))
	}
	c, err := a.all[name].open()
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the channel %s cannot be used: %w", name, err).
			Try("an operator has to correct messaging.channels.%s", name)
	}
	return c, nil
}

// Skills returns the abilities of a channel, in words.
func Skills(c chat.Channel) (all []string) {
	can := c.Abilities()
	_, edits := c.(chat.Editor)
	_, deletes := c.(chat.Deleter)
	_, reacts := c.(chat.Reactor)
	_, topics := c.(chat.TopicMaker)
	_, pulls := c.(chat.Puller)
	_, hooks := c.(chat.Hook)
	for _, skill := range []struct {
		has  bool
		name string
	}{
		{can.MaxText > 0, "text"}, {can.MaxFile > 0, "files"}, {can.Voice, "voice"}, {can.Buttons, "buttons"},
		{can.Polls, "polls"}, {can.Threads, "threads"}, {topics, "topics"}, {edits, "edit"}, {deletes, "delete"},
		{reacts, "react"}, {can.Dedupes > 0, "never twice"}, {pulls, "pull"}, {hooks, "hook"},
	} {
		if skill.has {
			all = append(all, skill.name)
		}
	}
	return all
}
