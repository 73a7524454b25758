// Package ntfy sends notifications over ntfy.sh or a server like it. A chat is a topic. It
// receives nothing: the writers of a topic are unknown.
//
// Begin with [New].
package ntfy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText    = 1360 // a message has 4096 bytes; a character of this many UTF-16 units has up to 3 each
	maxCaption = 500
	maxFile    = 15 << 20
	maxTitle   = 120
	low        = 2 // priority without sound
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "ntfy", Title: "Ntfy",
		Needs:  "a topic; for servers of your own their URL",
		Markup: "Markdown",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "bearer token, if one is needed"},
			{Name: "url", Form: "url", Doc: "another server than https://ntfy.sh"},
		},
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is an account of ntfy.
type Channel struct {
	wire *wire.Client
	host string
}

// New returns a Channel. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	base := cmp.Or(a.Values["url"], "https://ntfy.sh")
	client, err := wire.New(wire.Options{Name: "ntfy", Base: base, HTTP: a.HTTP, Token: a.Secrets["token"], Refused: refused,
		Now: a.Now})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	return &Channel{client, u.Hostname()}, nil
}

// refused reads an error such as {"code":42901,"http":429,"error":"limit reached"}.
func refused(status int, header http.Header, body []byte) chat.Error {
	var said struct {
		Code  int    `json:"code"`
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		said.Error = string(body)
	}
	e := chat.Error{Text: said.Error}
	switch {
	case said.Code == 42905 || said.Code == 42908: // the bandwidth or the messages of a day
		e.After = time.Hour
	case status == http.StatusTooManyRequests && header.Get("Retry-After") == "":
		e.After = 10 * time.Second // it allows one request in 5 s
	case status == http.StatusForbidden:
		e.Kind = chat.Denied
	case status == http.StatusInsufficientStorage:
		e.Kind = chat.Refused
	}
	return e
}

// Abilities implements [chat.Channel]. Buttons of ntfy open addresses, and send nothing back.
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxCaption, MaxFile: maxFile}
}

// Render implements [chat.Channel]. The apps of ntfy show Markdown themselves.
func (c *Channel) Render(markdown string) string { return markdown }

// Check implements [chat.Channel].
func (c *Channel) Check(ctx context.Context) (string, error) {
	var account struct {
		Username string `json:"username"`
	}
	if err := c.wire.JSON(ctx, wire.Call{Method: http.MethodGet, Path: "/v1/account", Safe: true},
		&account); err != nil {
		return "", err
	}
	if account.Username == "" || account.Username == "*" {
		return c.host, nil
	}
	return chat.CleanName(account.Username, maxTitle) + " at " + c.host, nil
}

// A notification is the body of a request.
type notification struct {
	Topic    string `json:"topic"`
	Message  string `json:"message"`
	Title    string `json:"title,omitempty"`
	Markdown bool   `json:"markdown,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Servers since version 2.16 show a message with the sequence of another one in its place.
	Sequence string `json:"sequence_id"`
}

// Send implements [chat.Channel].
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	switch {
	case !isTopic(m.Chat):
		return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("%.80q is not a topic of ntfy", m.Chat)}
	case m.Poll != nil:
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot, Text: "ntfy has no polls"}
	}
	var sent struct {
		ID string `json:"id"`
	}
	n := notification{Topic: m.Chat, Message: m.Text, Title: chat.CleanName(m.Subject, maxTitle), Markdown: !m.Plain,
		Sequence: m.UUID()}
	if m.Silent {
		n.Priority = low
	}
	call := wire.Call{Body: n}
	if m.File != nil {
		var err error
		if call, err = upload(n, m.File); err != nil {
			return chat.Sent{}, err
		}
	}
	if err := c.wire.JSON(ctx, call, &sent); err != nil {
		return chat.Sent{}, err
	}
	out := chat.Sent{Ref: chat.Ref{Chat: m.Chat, ID: chat.CleanName(sent.ID, maxTitle)}}
	if len(m.Buttons) > 0 {
		out.Notes = append(out.Notes, "Notifications of ntfy have no buttons that answer.")
	}
	return out, nil
}

// upload returns the request for a file. Its text is in the query, because headers have
// no line breaks.
func upload(n notification, f *chat.File) (wire.Call, error) {
	data, err := wire.ReadFile(f, maxFile)
	if err != nil {
		return wire.Call{}, err
	}
	query := url.Values{"filename": {cmp.Or(chat.CleanName(path.Base(f.Name), maxTitle), "file")}}
	if n.Message != "" {
		query.Set("message", markup.Plain(n.Message)) // Markdown is not shown beside files
	}
	if n.Title != "" {
		query.Set("title", n.Title)
	}
	if n.Priority != 0 {
		query.Set("priority", fmt.Sprint(n.Priority))
	}
	return wire.Call{Method: http.MethodPut, Path: n.Topic, Query: query, Body: data,
		Header: http.Header{"X-Sequence-Id": {n.Sequence}}}, nil
}

func isTopic(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
