// Package webhook exchanges messages with programs over HTTP. Requests in both directions
// are signed as the Standard Webhooks specification says:
//
//	webhook-id: the same one for each attempt
//	webhook-timestamp: seconds since 1970
//	webhook-signature: v1, and in base64 the HMAC-SHA256 of ID.TIMESTAMP.BODY
//
// Begin with [New].
package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText = 100_000
	maxFile = 10 << 20
	maxName = 200
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "webhook", Title: "Webhook",
		Needs:  "a URL that accepts POST with JSON",
		Markup: "Markdown",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "bearer token, if one is needed"},
			{Name: "signing_secret", Form: "secret", Doc: "key of the HMAC, also of sent messages"},
			{Name: "url", Form: "url", Doc: "where messages are sent", Required: true},
		},
		Single: true,
		Open:   func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is another program.
type Channel struct {
	a    chat.Account
	wire *wire.Client
	host string
}

// New returns a Channel. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	u, err := url.Parse(a.Values["url"])
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("the address of the webhook is not a URL with a host")
	}
	client, err := wire.New(wire.Options{Name: u.Hostname(), Base: u.Scheme + "://" + u.Host, HTTP: a.HTTP,
		Token: a.Secrets["token"], Refused: refused, Now: a.Now})
	return &Channel{a: a, host: u.Hostname(), wire: client}, err
}

func refused(status int, _ http.Header, body []byte) chat.Error {
	e := chat.Error{Text: string(body)}
	switch status {
	case http.StatusForbidden:
		e.Kind = chat.Denied
	case http.StatusConflict, http.StatusTooEarly: // an attempt with the same key is being processed
		e.Kind = chat.Busy
	}
	return e
}

// Abilities implements [chat.Channel]. Programs recognize repeated messages by their key.
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxText, MaxFile: maxFile, Threads: true,
		Dedupes: 24 * time.Hour}
}

// Render implements [chat.Channel]. Programs get Markdown.
func (c *Channel) Render(markdown string) string { return markdown }

// Check implements [chat.Channel]. It sends nothing, because that would be a message.
func (c *Channel) Check(ctx context.Context) (string, error) {
	_, err := c.secret(ctx)
	return c.host, err
}

// An outgoing message is the body of a request.
type outgoing struct {
	ID      string `json:"id"`
	Chat    string `json:"chat"`
	Thread  string `json:"thread,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	Format  string `json:"format"`
	Silent  bool   `json:"silent,omitempty"`
	File    *file  `json:"file,omitempty"`
}

type file struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Size    int    `json:"size"`
	Content []byte `json:"content"`
}

// Send implements [chat.Channel].
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	if m.Poll != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot, Text: "webhooks have no polls"}
	}
	id := m.UUID()
	out := outgoing{ID: id, Chat: m.Chat, Thread: m.Thread, ReplyTo: m.ReplyTo, Subject: m.Subject, Text: m.Text,
		Format: "markdown", Silent: m.Silent}
	if m.Plain {
		out.Format = "plain"
	}
	if m.File != nil {
		content, err := wire.ReadFile(m.File, maxFile)
		if err != nil {
			return chat.Sent{}, err
		}
		out.File = &file{path.Base(m.File.Name), cmp.Or(m.File.MIME, "application/octet-stream"), len(content), content}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: "the message cannot be written as JSON", Cause: err}
	}
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {id}}
	secret, err := c.secret(ctx)
	if err != nil {
		return chat.Sent{}, err
	}
	if secret != "" {
		at := strconv.FormatInt(c.a.Time().Unix(), 10)
		header.Set("webhook-id", id)
		header.Set("webhook-timestamp", at)
		header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(sign(secret, id, at, body)))
	}
	answer, err := c.wire.Do(ctx, wire.Call{Path: c.a.Values["url"], Header: header, Body: body})
	if err != nil {
		return chat.Sent{}, err
	}
	var reply struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(answer.Body, &reply) != nil { // it need not say anything
		reply.ID = ""
	}
	return chat.Sent{Ref: chat.Ref{Chat: m.Chat, Thread: m.Thread, ID: cmp.Or(chat.CleanName(reply.ID, maxName), id)}},
		nil
}

// secret returns the bytes of the secret; "" if there is none.
func (c *Channel) secret(ctx context.Context) (string, error) {
	secret, err := c.a.Secrets["signing_secret"].Get(ctx, "secret of the webhook")
	if encoded, is := strings.CutPrefix(secret, "whsec_"); is && err == nil {
		var decoded []byte
		decoded, err = base64.StdEncoding.DecodeString(encoded)
		secret = string(decoded)
	}
	if err != nil {
		return "", &chat.Error{Kind: chat.Denied, Text: "the secret of the webhook cannot be used", Cause: err}
	}
	return secret, nil
}

func sign(secret, id, at string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// An incoming message is the body of a request.
type incoming struct {
	ID      string `json:"id"`
	Chat    string `json:"chat"`
	Thread  string `json:"thread"`
	ReplyTo string `json:"reply_to"`
	Title   string `json:"title"`
	Text    string `json:"text"`
	Group   bool   `json:"group"`
	From    person `json:"from"`
}

type person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Bot  bool   `json:"bot"`
}

// UnmarshalJSON accepts an object, or the ID alone.
func (p *person) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &p.ID)
	}
	type plain person
	return json.Unmarshal(data, (*plain)(p))
}

// Receive implements [chat.Hook].
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	secret, err := c.secret(r.Context())
	if err != nil {
		return nil, chat.Response{}, err
	}
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	if !isSigned(secret, id, at, r.Header.Get("webhook-signature"), body) {
		return nil, chat.Response{}, wire.Forged("the signature is missing or not valid")
	}
	sent, err := wire.Fresh(at, now)
	if err != nil {
		return nil, chat.Response{}, err
	}
	var in incoming
	if err := wire.Decode(body, &in); err != nil {
		return nil, chat.Response{}, err
	}
	name := func(s string) string { return chat.CleanName(s, maxName) }
	if name(in.Chat) == "" || strings.TrimSpace(in.Text) == "" {
		return nil, chat.Response{}, &chat.Error{Kind: chat.Refused, Text: "the request has no chat or no text"}
	}
	return []chat.Incoming{{
		ID: name(id), At: sent, Group: in.Group, Title: name(in.Title), ReplyTo: name(in.ReplyTo),
		From:    chat.Person{ID: name(in.From.ID), Name: name(cmp.Or(in.From.Name, in.From.ID)), Bot: in.From.Bot},
		Message: chat.Ref{Chat: name(in.Chat), Thread: name(in.Thread), ID: name(cmp.Or(in.ID, id))},
		Text:    chat.CleanText(in.Text, maxText),
	}}, chat.Response{Body: []byte(`{"ok":true}`)}, nil
}

// isSigned reports whether one of the signatures, separated by blanks, is valid.
func isSigned(secret, id, at, signatures string, body []byte) bool {
	if id == "" || len(id) > maxName || len(signatures) > 1000 {
		return false
	}
	for one := range strings.FieldsSeq(signatures) {
		encoded, is := strings.CutPrefix(one, "v1,")
		if sum, err := base64.StdEncoding.DecodeString(encoded); is && err == nil &&
			wire.Signed(secret, sum, id+"."+at+".", string(body)) {
			return true
		}
	}
	return false
}
