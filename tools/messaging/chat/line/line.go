// Package line sends and receives messages of LINE. Messages are pushed, never sent with reply
// tokens: only pushing recognizes repeated requests. LINE takes no files from bots; files from
// people can be downloaded.
//
// It does without github.com/line/line-bot-sdk-go/v8 v8.14.0 (0.67 MB): its types of messages would replace about 45
// lines. Its types of events repeat the common fields for each kind, about 20 lines more. The context of a request is
// a field of its client, so each call would need a client of its own, and an error is a text with all of the
// response, so the kinds of errors would be read below the library.
//
// Begin with [New].
package line

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText     = 5000 // UTF-16 units
	maxTemplate = 160  // of the text above buttons
	maxLabel    = 20
	maxButtons  = 4  // of a template
	maxQuick    = 13 // quick replies
	maxName     = 100
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "line", Title: "LINE",
		Needs:  "a channel of the Messaging API and its long-lived access token",
		Markup: "text",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "channel access token", Required: true},
			{Name: "signing_secret", Form: "secret", Doc: "channel secret"},
			{Name: "url", Form: "url", Doc: "a server of your own with its API"},
		},
		Owns: func(id string) bool {
			return len(id) == 33 && strings.ContainsAny(id[:1], "UCR") && strings.Trim(id[1:], "0123456789abcdef") == ""
		},
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is a LINE official account.
type Channel struct {
	a         chat.Account
	api, data *wire.Client

	mu    sync.Mutex
	names map[string]string // of people, by their path in the API
}

// accepted is the kind of the response to a request that an earlier one has made needless.
const accepted chat.Kind = "accepted"

// New returns a Channel. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	o := wire.Options{Name: "LINE", Base: cmp.Or(a.Values["url"], "https://api.line.me"), HTTP: a.HTTP, Token: a.Secrets["token"],
		Refused: refused, Now: a.Now}
	api, err := wire.New(o)
	if err != nil {
		return nil, err
	}
	o.Base = cmp.Or(a.Values["url"], "https://api-data.line.me") // where files are
	data, err := wire.New(o)
	return &Channel{a: a, api: api, data: data, names: map[string]string{}}, err
}

// refused reads an error such as {"message":"...","details":[{"message":"...","property":"..."}]}.
func refused(status int, _ http.Header, body []byte) chat.Error {
	var said struct {
		Message string `json:"message"`
		Details []struct {
			Message  string `json:"message"`
			Property string `json:"property"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &said) != nil || said.Message == "" {
		said.Message = string(body)
	}
	for _, d := range said.Details {
		said.Message += fmt.Sprintf("; %s: %s", d.Property, d.Message)
	}
	e := chat.Error{Text: said.Message}
	switch {
	case status == http.StatusConflict:
		e.Kind = accepted
	case status == http.StatusForbidden:
		e.Kind = chat.Denied
	case status == http.StatusTooManyRequests && strings.Contains(said.Message, "monthly limit"):
		e.Kind = chat.Refused
	case status == http.StatusTooManyRequests:
		e.After = time.Minute
	}
	return e
}

// Abilities implements [chat.Channel].
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, Buttons: true, Dedupes: 24 * time.Hour}
}

// Render implements [chat.Channel]. Texts of LINE have no markup.
func (c *Channel) Render(markdown string) string { return markup.Plain(markdown) }

// Check implements [chat.Channel].
func (c *Channel) Check(ctx context.Context) (string, error) {
	var bot struct {
		BasicID     string `json:"basicId"`
		DisplayName string `json:"displayName"`
	}
	err := c.api.JSON(ctx, wire.Call{Method: http.MethodGet, Path: "/v2/bot/info", Safe: true}, &bot)
	return chat.CleanName(bot.DisplayName+" "+bot.BasicID, maxName), err
}

type message struct {
	Type       string    `json:"type"`
	Text       string    `json:"text,omitempty"`
	AltText    string    `json:"altText,omitempty"`
	Template   *template `json:"template,omitempty"`
	QuickReply *quick    `json:"quickReply,omitempty"`
}

type template struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Actions []action `json:"actions"`
}

type quick struct {
	Items []item `json:"items"`
}

type item struct {
	Type   string `json:"type"`
	Action action `json:"action"`
}

type action struct {
	Type        string `json:"type"`
	Label       string `json:"label"`
	Data        string `json:"data"`
	DisplayText string `json:"displayText"`
}

// Send implements [chat.Channel].
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	switch {
	case m.File != nil:
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot,
			Text: "LINE takes no files from bots; send a link to the file"}
	case m.Poll != nil:
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot, Text: "LINE has no polls for bots"}
	case !isID(m.Chat) || !strings.ContainsRune("UCR", rune(m.Chat[0])):
		return chat.Sent{}, &chat.Error{Kind: chat.Refused,
			Text: fmt.Sprintf("%.80q is not the id of a user, a group or a room of LINE", m.Chat)}
	}
	text := m.Text
	if !m.Plain {
		text = markup.Plain(text)
	}
	body := struct {
		To       string    `json:"to"`
		Messages []message `json:"messages"`
		Silent   bool      `json:"notificationDisabled,omitempty"`
	}{m.Chat, messages(text, m.Buttons), m.Silent}
	call := wire.Call{Path: "/v2/bot/message/push", Body: body, Header: http.Header{"X-Line-Retry-Key": {m.UUID()}}}
	var answer struct {
		Sent []struct {
			ID string `json:"id"`
		} `json:"sentMessages"`
	}
	sent := chat.Sent{Ref: chat.Ref{Chat: m.Chat}}
	if m.ReplyTo != "" {
		sent.Notes = append(sent.Notes, "LINE shows no reference to the message that this one answers.")
	}
	err := c.api.JSON(ctx, call, &answer)
	if chat.KindOf(err) == accepted {
		return sent, nil
	}
	if len(answer.Sent) > 0 {
		sent.ID = answer.Sent[0].ID
	}
	return sent, err
}

// messages returns a text with buttons. Quick replies disappear after the next message, so they
// are used only for more buttons than a template can have.
func messages(text string, buttons []chat.Button) []message {
	plain := message{Type: "text", Text: text}
	if len(buttons) == 0 {
		return []message{plain}
	}
	var actions []action
	for _, b := range buttons[:min(len(buttons), maxQuick)] {
		actions = append(actions, action{"postback", clipUnits(b.Label, maxLabel), b.Data, clipUnits(b.Label, maxTemplate)})
	}
	if len(actions) > maxButtons {
		plain.QuickReply = &quick{}
		for _, a := range actions {
			plain.QuickReply.Items = append(plain.QuickReply.Items, item{"action", a})
		}
		return []message{plain}
	}
	if markup.Length(text) <= maxTemplate {
		return []message{{Type: "template", AltText: text, Template: &template{"buttons", text, actions}}}
	}
	return []message{plain, {Type: "template", AltText: "⬆", Template: &template{"buttons", "⬆", actions}}}
}

// clipUnits returns the beginning of a text with at most max UTF-16 units.
func clipUnits(text string, max int) string {
	if markup.Length(text) <= max {
		return text
	}
	n := 1 // …
	for i, r := range text {
		if n += markup.Length(string(r)); n > max {
			return text[:i] + "…"
		}
	}
	return text
}

// isID reports whether s can be an id in a path.
func isID(s string) bool {
	return s != "" && len(s) <= 80 && strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// Fetch implements [chat.Fetcher].
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	if !isID(f.ID) {
		return &chat.Error{Kind: chat.Refused, Text: "there is no such file"}
	}
	count := &counter{Writer: into}
	err := c.data.Fetch(ctx, wire.Call{Path: "/v2/bot/message/" + f.ID + "/content"}, limit, count)
	if err == nil && count.n == 0 { // status 202: videos are prepared first
		return &chat.Error{Kind: chat.Busy, After: 5 * time.Second, Text: "LINE is preparing the file"}
	}
	return err
}

type counter struct {
	io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}
