package inbound

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// check asks the services of the channels whether the credentials are valid, and finds channels without a receiving
// process.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	f.Name = "messaging"
	if !o.store.Missing() {
		late, err := messaging.Late(ctx, o.store)
		switch {
		case err != nil:
			f.Advise("", "the messages that wait could not be checked: %v", err)
		case late > 0:
			f.Advise("start a server, or mcp-tools serve --jobs-only; mcp-tools messaging outbox shows them",
				"%d messages wait longer than they should", late)
		}
	}
	if len(o.settings().Channels) == 0 {
		return
	}
	if err := o.channels.With(o.channels.Host, func(t messaging.Targets, _ *messaging.Outbox) error {
		for _, name := range t.Accounts.Names() {
			checkAccount(ctx, f, t.Accounts, name)
		}
		if err := o.checkReceivers(ctx, f, t.Accounts); err != nil {
			f.Advise("", "the receivers of the channels could not be checked: %v", err)
		}
		return nil
	}); err != nil {
		f.Fail("correct the setting", "%v", err)
	}
}

// checkAccount asks a service for the account of a channel.
func checkAccount(ctx context.Context, f *room.Findings, all *messaging.Accounts, name string) {
	channel, err := all.Channel(name)
	account := ""
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		account, err = channel.Check(ctx)
		cancel()
	}
	if err != nil {
		f.Advise("correct messaging.channels."+name+"; mcp-tools messaging test "+name+" tries it again",
			"%s cannot be used: %v", name, err)
		return
	}
	f.OK("%s (%s) is %s", name, all.Kind(name), account)
}

// checkReceivers finds channels for incoming messages without a receiving process.
func (o *operator) checkReceivers(ctx context.Context, f *room.Findings, all *messaging.Accounts) error {
	b := New(Options{Store: o.store, Accounts: all, Rules: RulesOf(o.settings())})
	defer b.Close()
	state, err := Receivers(ctx, o.store)
	if err != nil {
		return err
	}
	f.Name = "messages"
	for _, name := range all.Names() {
		o.checkReceiver(ctx, f, b, state, name)
	}
	return nil
}

func (o *operator) checkReceiver(ctx context.Context, f *room.Findings, b *Inbound, state []Receiver, name string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	mode, err := b.Mode(ctx, name)
	if err != nil {
		f.Advise("correct messaging.channels."+name, "%v", err)
		return
	}
	var r Receiver
	if i := slices.IndexFunc(state, func(r Receiver) bool { return r.Channel == name }); i >= 0 {
		r = state[i]
	}
	switch serves, url := o.http(); {
	case mode == Off:
		f.OK("%s only sends", name)
	case r.Problem != "":
		f.Advise("correct messaging.channels."+name, "nothing is received from %s: %s", name, r.Problem)
	case mode == Pull && !r.Pulled:
		f.Advise("run mcp-tools serve --jobs-only as a service, or start a client",
			"no process receives messages from %s", name)
	case mode == Pull:
		f.OK("messages of %s are received", name)
	case !serves:
		f.Advise("set server.http, or receive to pull where the service can",
			"%s sends requests to /hooks/%s, and no address for HTTP is set", name, name)
	case r.Last.IsZero():
		f.Advise("register "+strings.TrimSuffix(url, "/mcp")+"/hooks/"+name+" at the service",
			"nothing has arrived from %s yet", name)
	default:
		f.OK("the last message of %s has arrived %s", name, r.Last.Local().Format(time.DateTime))
	}
}
