package messaging

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
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

// A Setup has the ways of channels to the network and to their secrets.
type Setup struct {
	HTTP   outbound.Client
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Secret func(setting string, s config.Secret) (string, error) // fetches a secret, and masks it from then on
}

// Accounts returns the channels of the settings.
func (m Settings) Accounts(o Setup) *Accounts {
	var list []Account
	for _, name := range config.Sorted(m.Channels) {
		c := m.Channels[name]
		service := services.Find(c.KindOf(name))
		list = append(list, Account{
			Name: name, Service: service, Open: func() (chat.Channel, error) { return service.Open(c.account(name, o)) },
		})
	}
	return NewAccounts(list)
}

// account returns the settings and the network that the channel is opened with.
func (c ChannelSettings) account(name string, o Setup) chat.Account {
	a := chat.Account{HTTP: o.HTTP, Dial: o.Dial, Values: make(map[string]string), Secrets: make(map[string]chat.Secret)}
	for setting, value := range c.Own {
		switch {
		case value == "":
		case services.Form(setting) == config.FormSecret:
			a.Secrets[setting] = secretOf("messaging.channels."+name+"."+setting, config.Secret(value), o)
		default:
			a.Values[setting] = value
		}
	}
	return a
}

// secretOf returns a function that fetches a secret when it is first needed.
func secretOf(setting string, s config.Secret, o Setup) chat.Secret {
	var fetched atomic.Pointer[string]
	return func(context.Context) (string, error) {
		if value := fetched.Load(); value != nil {
			return *value, nil
		}
		value, err := o.Secret(setting, s)
		if err != nil {
			return "", fmt.Errorf("%s: %w", setting, err)
		}
		fetched.Store(&value)
		return value, nil
	}
}

// Hosts returns the hosts that the settings of channels name, with their ports. They may be on a private network.
func (m Settings) Hosts() (all []string) {
	for _, name := range config.Sorted(m.Channels) {
		c := m.Channels[name]
		all = append(all, c.Hosts...)
		for _, setting := range config.Sorted(c.Own) {
			switch services.Form(setting) {
			case config.FormURL:
				if target := netaddr.OfURL(c.Own[setting]); target != "" {
					all = append(all, target)
				}
			case config.FormHostPort:
				if c.Own[setting] != "" {
					all = append(all, c.Own[setting])
				}
			}
		}
	}
	return all
}

// Limits bound how long a service may take until its response begins, and between two parts of it. Telegram responds to a
// request for messages when there is one.
func Limits() egress.Limits { return egress.Limits{Head: 90 * time.Second, Stall: 90 * time.Second} }

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
