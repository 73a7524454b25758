package inbound

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// A Binding names the receiver of the messages of a chat. All members of a bound chat may
// write.
type Binding struct {
	Chat    Place    `json:"-"`
	Agent   string   `json:"agent,omitempty"`
	User    string   `json:"user,omitempty"` // for whom the agent works; "" is the writer
	Team    string   `json:"team,omitempty"`
	Session string   `json:"session,omitempty"`
	Profile string   `json:"profile,omitempty"` // of an agent that answers
	Answer  bool     `json:"answer,omitempty"`
	Tools   []string `json:"tools,omitempty"` // of an agent that answers; nil means no limit
}

// userOf returns for whom an agent works that answers.
func (bound Binding) userOf(at Place, in chat.Incoming) string {
	if bound.User == "" {
		return at.Channel + ":" + in.From.ID
	}
	return bound.User
}

// anything is the chat, or the channel, of a binding for all.
const anything = "*"

// bindingTopic is the topic of bindings in the change feed. Keys are chats.
const bindingTopic = "chat_binding"

// bindingOf returns the binding of a chat: the topic's before the chat's, and the chat's before
// one for all chats. A binding by a command counts before the settings.
func (b *Inbound) bindingOf(t *store.Tx, at Place) (bound Binding, ok bool, err error) {
	for _, one := range []Place{at, {at.Channel, at.Chat, ""}, {at.Channel, anything, ""}, {anything, anything, ""}} {
		var body string
		err := t.Row("SELECT body FROM chat_binding WHERE chat = $1", []any{one.String()}, &body)
		if err == nil {
			err = json.Unmarshal([]byte(body), &bound)
			bound.Chat = one
			return bound, err == nil, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return bound, false, err
		}
		for _, set := range b.Bindings {
			if set.Chat == one {
				return set, true, nil
			}
		}
	}
	return bound, false, nil
}

// Bound returns the bindings that operators have made by a command.
func Bound(ctx context.Context, s *store.Store) (list []Binding, err error) {
	if s.Unused() {
		return nil, nil
	}
	return store.Select(ctx, s, "SELECT chat, body FROM chat_binding ORDER BY chat", nil,
		func(scan store.Scan) (one Binding, err error) {
			var place, body string
			if err := scan(&place, &body); err != nil {
				return one, err
			}
			err = json.Unmarshal([]byte(body), &one)
			one.Chat, _ = ParsePlace(place)
			return one, err
		})
}

// Bind binds a chat, and replaces its earlier binding.
func Bind(ctx context.Context, s *store.Store, bound Binding) error {
	return s.Update(ctx, func(t *store.Tx) error { return bind(t, bound) })
}

func bind(t *store.Tx, bound Binding) error {
	body, err := json.Marshal(bound)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO chat_binding (chat, body, at) VALUES ($1, $2, {{now}})
		ON CONFLICT (chat) DO UPDATE SET body = excluded.body, at = excluded.at`, bound.Chat.String(), string(body))
	return errors.Join(err, t.Changed(bindingTopic, bound.Chat.String()))
}

// Unbind removes the binding that a command has made. It reports whether there was one.
func Unbind(ctx context.Context, s *store.Store, at Place) (removed bool, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("DELETE FROM chat_binding WHERE chat = $1", at.String())
		if removed = n > 0; err != nil || !removed {
			return err
		}
		return t.Changed(bindingTopic, at.String())
	})
	return removed, err
}

// Codes that a sender shows the operator.
const (
	codeLen    = 8
	codeAge    = 30 * time.Minute
	pairingDay = 24 * time.Hour
	maxCodes   = 3   // that one chat gets in a day
	maxOpen    = 200 // chats that wait at a time
)

// newCode returns a code that is easy to type.
func newCode() string { return strings.ToLower(rand.Text()[:codeLen]) }

// A Pairing is a chat that wants to be bound.
type Pairing struct {
	Chat   string    `json:"chat"`
	Code   string    `json:"code"`
	Person string    `json:"person"` // the service's id
	Name   string    `json:"name,omitempty"`
	Title  string    `json:"title,omitempty"`
	Until  time.Time `json:"until"`
}

// offerPairing gives an unknown chat a code, once for as long as it is valid. In a group
// nothing is written; the operator sees it in the list.
func (b *Inbound) offerPairing(t *store.Tx, at Place, in chat.Incoming) error {
	at.Thread = ""
	var sent int
	var since, until, now int64
	err := t.Row("SELECT sent, since, until, {{now}} FROM chat_pairing WHERE chat = $1 {{lock}}", []any{at.String()},
		&sent, &since, &until, &now)
	switch {
	case errors.Is(err, store.ErrNotFound):
		var open int
		if err := t.Row("SELECT count(*), {{now}} FROM chat_pairing WHERE until > {{now}}", nil, &open,
			&now); err != nil ||
			open >= maxOpen {
			return err
		}
		since = now
	case err != nil:
		return err
	case since < now-pairingDay.Milliseconds():
		sent, since = 0, now
	case until > now || sent >= maxCodes:
		return nil
	}
	code := newCode()
	if _, err := t.Exec(`INSERT INTO chat_pairing (chat, code, person, name, title, sent, since, until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (chat) DO UPDATE SET code = excluded.code,
		person = excluded.person, name = excluded.name, title = excluded.title, sent = excluded.sent,
		since = excluded.since, until = excluded.until`, at.String(), code, in.From.ID, in.From.Name, in.Title, sent+1,
		since, now+codeAge.Milliseconds()); err != nil || in.Group {
		return err
	}
	_, _, err = b.Outbox.Put(t, messaging.Post{
		Channel: at.Channel, Until: store.FromMillis(now).Add(codeAge), Message: chat.Message{
			Chat: at.Chat, Thread: in.Message.Thread, Plain: true, Subject: "Re: " + in.Title,
			Text: fmt.Sprintf("This chat is not connected. Its operator connects it within %d minutes with: "+
				"mcp-tools messaging pair %s", int(codeAge.Minutes()), code),
		},
	})
	return err
}

// Pairings returns the chats that want to be bound.
func Pairings(ctx context.Context, s *store.Store) (list []Pairing, err error) {
	if s.Unused() {
		return nil, nil
	}
	return store.Select(ctx, s, `SELECT chat, code, person, name, title, until FROM chat_pairing
		WHERE until > {{now}} ORDER BY until`, nil, func(scan store.Scan) (p Pairing, err error) {
		var until int64
		err = scan(&p.Chat, &p.Code, &p.Person, &p.Name, &p.Title, &until)
		p.Until = store.FromMillis(until)
		return p, err
	})
}

// ErrCode is the error about a code that is not valid.
var ErrCode = errors.New("there is no such code, or it has expired; the person gets another one by writing again")

// Pair binds the chat that has a code, and returns it.
func Pair(ctx context.Context, s *store.Store, code string, bound Binding) (p Pairing, err error) {
	err = s.Update(ctx, func(t *store.Tx) error {
		var until int64
		err := t.Row(`DELETE FROM chat_pairing WHERE code = $1 AND until > {{now}}
			RETURNING chat, code, person, name, title, until`, []any{strings.ToLower(strings.TrimSpace(code))},
			&p.Chat, &p.Code, &p.Person, &p.Name, &p.Title, &until)
		if errors.Is(err, store.ErrNotFound) {
			return ErrCode
		}
		if err != nil {
			return err
		}
		p.Until = store.FromMillis(until)
		bound.Chat, _ = ParsePlace(p.Chat)
		return bind(t, bound)
	})
	return p, err
}
