package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// Limits of arriving messages.
const (
	maxText  = 16 << 10 // bytes of a message
	maxName  = 80       // bytes of the name of a person or a chat
	maxFiles = 10       // of a message
	maxID    = 200      // bytes of an id of the service
	// maxWaiting is how many events may wait in the inbox of one receiver.
	maxWaiting = 500
)

// The rates of events: more are dropped, and counted.
var (
	senderRate  = store.Rate{Times: 20, Period: time.Minute, Burst: 20}
	channelRate = store.Rate{Times: 600, Period: time.Minute, Burst: 200}
)

// An after is the work after an event is stored: a record, and a text for the person behind a
// pressed button.
type after struct {
	in     chat.Incoming
	shown  string
	record *Record
}

// accept stores the events of a channel and their consequences, and the writes of more, in one
// transaction. An event that has arrived before does nothing.
func (b *Inbound) accept(ctx context.Context, channel string, list []chat.Incoming,
	more func(t *store.Tx) error) error {
	kept, dropped, err := b.limited(ctx, channel, list)
	if err != nil {
		return err
	}
	var done []after
	err = b.Store.Update(ctx, func(t *store.Tx) error {
		done = nil
		if err := more(t); err != nil {
			return err
		}
		if dropped > 0 {
			if _, err := t.Exec("UPDATE chat_receiver SET dropped = dropped + $2 WHERE channel = $1", channel,
				dropped); err != nil {
				return err
			}
		}
		for _, in := range kept {
			n, err := t.Exec("INSERT INTO chat_event (id, at) VALUES ($1, {{now}}) ON CONFLICT (id) DO NOTHING",
				digestOfParts(channel, in.ID))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			a, err := b.route(t, channel, in)
			if err != nil {
				return err
			}
			done = append(done, a)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.finish(channel, done)
	return nil
}

func digestOfParts(parts ...string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return hex.EncodeToString(sum[:16])
}

// limited returns the events that the rates allow, and how many they do not.
func (b *Inbound) limited(ctx context.Context, channel string, list []chat.Incoming) (kept []chat.Incoming, dropped int,
	err error) {
	for _, in := range list {
		if in.ID == "" || in.From.Bot || len(in.From.ID) > maxID || len(in.Message.Chat) > maxID ||
			len(in.Message.Thread) > maxID || len(in.Message.ID) > maxID || in.Message.Chat == "" {
			continue
		}
		var wait time.Duration
		for _, one := range []struct {
			key  string
			rate store.Rate
		}{{"chat " + digestOfParts(channel, in.From.ID), senderRate}, {"chat " + channel, channelRate}} {
			if wait == 0 && err == nil {
				wait, err = b.Store.Take(ctx, one.key, one.rate)
			}
		}
		switch {
		case err != nil:
			return nil, 0, err
		case wait > 0:
			dropped++
		default:
			kept = append(kept, in)
		}
	}
	return kept, dropped, nil
}

// finish records, and acknowledges pressed buttons. It does not wait for the service.
func (b *Inbound) finish(channel string, done []after) {
	for _, a := range done {
		if a.record != nil {
			b.Record(context.Background(), *a.record)
		}
		if a.shown == "" || a.in.Token == "" {
			continue
		}
		c, _ := b.channel(channel)
		k, can := c.(chat.Acknowledger)
		if !can {
			continue
		}
		b.mu.Lock()
		if !b.closed {
			b.acks.Go(func() {
				ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
				defer cancel()
				b.warn(ctx, "a pressed button was not acknowledged", k.Acknowledge(ctx, a.in, a.shown))
			})
		}
		b.mu.Unlock()
	}
}

// route handles an event that has not arrived before.
func (b *Inbound) route(t *store.Tx, channel string, in chat.Incoming) (after, error) {
	in.From.Name, in.Title = chat.CleanName(in.From.Name, maxName), chat.CleanName(in.Title, maxName)
	in.Text = chat.CleanText(in.Text, maxText)
	if in.Pressed != "" {
		return b.pressed(t, channel, in)
	}
	if a, is, err := b.written(t, channel, in); is || err != nil {
		return a, err
	}
	at := Place{channel, in.Message.Chat, in.Message.Thread}
	bound, ok, err := b.bindingOf(t, at)
	if err != nil {
		return after{}, err
	}
	if !ok {
		return after{}, b.offerPairing(t, at, in)
	}
	return after{}, b.deliver(t, at, bound, in)
}

// arrived is the data of an event in an inbox, for programs.
type arrived struct {
	Channel string `json:"channel"`
	Chat    string `json:"chat"`
	Topic   string `json:"topic,omitempty"`
	Group   bool   `json:"group,omitempty"`
	Message string `json:"message,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Person  string `json:"person"`
	Name    string `json:"name,omitempty"`
	Files   []File `json:"files,omitempty"`
}

// deliver gives a message of a chat to its receiver.
func (b *Inbound) deliver(t *store.Tx, at Place, bound Binding, in chat.Incoming) error {
	to, err := b.receiver(t, bound)
	if err != nil {
		return err
	}
	answers := bound.Answer && b.Start != nil && bound.Team == "" && bound.Session == ""
	owner := to.Owner
	if answers {
		owner = tool.Owner{Agent: bound.Agent, User: bound.userOf(at, in)}
	}
	files, err := b.keep(t, owner, at.Channel, in.Files)
	if err != nil {
		return err
	}
	if answers {
		return b.await(t, at, bound, in, files)
	}
	waiting, err := inbox.Count(t, to)
	if err != nil || waiting >= maxWaiting {
		return err
	}
	_, err = inbox.Add(t, to, inbox.Event{
		ID: "chat " + digestOfParts(at.Channel, in.ID), Kind: inbox.Chat, Subject: text.Clip(at.String(), maxID),
		Text: describe(in, files),
		Data: arrived{at.Channel, at.Chat, at.Thread, in.Group, in.Message.ID, in.ReplyTo, in.From.ID, in.From.Name,
			files},
	})
	return err
}

// describe writes a message for a model. All of it comes from outside.
func describe(in chat.Incoming, files []File) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%q (%s)", in.From.Name, in.From.ID)
	if in.Title != "" {
		fmt.Fprintf(&s, " in %q", in.Title)
	}
	fmt.Fprintf(&s, " writes message %s", in.Message.ID)
	if in.ReplyTo != "" {
		fmt.Fprintf(&s, " in reply to %s", in.ReplyTo)
	}
	s.WriteString(":\n" + in.Text)
	for _, f := range files {
		fmt.Fprintf(&s, "\n[file %s: %q, %s, %s]", f.ID, f.Name, f.MIME, text.Bytes(f.Size))
	}
	return s.String()
}

// receiver returns whose inbox gets the messages of a chat.
func (b *Inbound) receiver(t *store.Tx, bound Binding) (to inbox.To, err error) {
	to = inbox.To{Owner: tool.Owner{Agent: bound.Agent, User: bound.User}}
	if to.User == "" {
		to.User = inbox.AnyUser
	}
	switch {
	case bound.Team != "" && b.Lead != nil:
		lead, err := b.Lead(t, bound.Team)
		if errors.Is(err, store.ErrNotFound) {
			b.Log.Warn("a chat is bound to a team that does not exist", "chat", bound.Chat, "team", bound.Team)
			return to, nil
		}
		to.Owner = tool.Owner{Agent: lead, User: inbox.AnyUser}
		return to, err
	case bound.Session != "":
		var one inbox.To
		err := t.Row("SELECT agent, usr, key FROM session WHERE key = $1 AND ended = 0",
			[]any{bound.Session}, &one.Agent, &one.User, &one.Session)
		if errors.Is(err, store.ErrNotFound) { // the next session of the agent gets it
			return to, nil
		}
		return one, err
	}
	return to, nil
}
