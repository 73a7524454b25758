package line

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxAge     = 24 * time.Hour // of events that LINE sends again
	nameTime   = 3 * time.Second
	maxNames   = 1000
	maxContent = 20_000
)

type event struct {
	Type      string `json:"type"`
	Mode      string `json:"mode"`
	Timestamp int64  `json:"timestamp"` // milliseconds
	ID        string `json:"webhookEventId"`
	Source    struct {
		Type  string `json:"type"`
		User  string `json:"userId"`
		Group string `json:"groupId"`
		Room  string `json:"roomId"`
	} `json:"source"`
	Message struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Text     string   `json:"text"`
		Quoted   string   `json:"quotedMessageId"`
		FileName string   `json:"fileName"`
		FileSize int64    `json:"fileSize"`
		Keywords []string `json:"keywords"`
		Title    string   `json:"title"`
		Address  string   `json:"address"`
		Lat      float64  `json:"latitude"`
		Lon      float64  `json:"longitude"`
		Provider struct {
			Type string `json:"type"`
		} `json:"contentProvider"`
	} `json:"message"`
	Postback struct {
		Data string `json:"data"`
	} `json:"postback"`
}

// Receive implements [chat.Hook].
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	secret, err := c.a.Secrets["signing_secret"].Get(r.Context(), "secret of LINE")
	if err != nil {
		return nil, chat.Response{}, err
	}
	sum, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Line-Signature"))
	if err != nil || !wire.Signed(secret, sum, string(body)) {
		return nil, chat.Response{}, wire.Forged("the signature is missing or not valid")
	}
	var hook struct {
		Events []event `json:"events"`
	}
	if err := wire.Decode(body, &hook); err != nil {
		return nil, chat.Response{}, err
	}
	var all []chat.Incoming
	for _, e := range hook.Events {
		if in, ok := e.incoming(now); ok {
			in.From.Name = c.name(r.Context(), e)
			all = append(all, in)
		}
	}
	return all, chat.Response{Body: []byte("{}")}, nil
}

// incoming returns the message of an event. It reports false for other events, and for repeated ones that are too old
// to be known.
func (e event) incoming(now time.Time) (chat.Incoming, bool) {
	in := chat.Incoming{ID: chat.CleanName(e.ID, maxName), At: time.UnixMilli(e.Timestamp),
		Group: e.Source.Type != "user",
		From:  chat.Person{ID: e.Source.User}}
	in.Message.Chat = cmp.Or(e.Source.Group, e.Source.Room, e.Source.User)
	valid := isID(in.Message.Chat) && (in.From.ID == "" || isID(in.From.ID)) && in.ID != ""
	if !valid || e.Mode == "standby" || in.At.Sub(now).Abs() >= maxAge {
		return in, false
	}
	switch e.Type {
	case "message":
		return e.message(in)
	case "postback":
		in.Pressed = e.Postback.Data
		return in, in.Pressed != ""
	}
	return in, false
}

func (e event) message(in chat.Incoming) (chat.Incoming, bool) {
	m := e.Message
	if !isID(m.ID) {
		return in, false
	}
	in.Message.ID = m.ID
	in.ReplyTo = chat.CleanName(m.Quoted, maxName)
	file := func(name, kind string) {
		if m.Provider.Type == "external" {
			in.Text = "(" + m.Type + " at an address outside LINE)"
			return
		}
		in.Files = []chat.Attachment{{Name: cmp.Or(chat.CleanName(m.FileName, maxName), name), MIME: kind,
			Size: max(m.FileSize, 0), ID: m.ID}}
	}
	switch m.Type {
	case "text":
		in.Text = chat.CleanText(m.Text, maxContent)
	case "image":
		file("image.jpg", "image/jpeg")
	case "video":
		file("video.mp4", "video/mp4")
	case "audio":
		file("audio.m4a", "audio/mp4")
	case "file":
		file("file", "")
	case "sticker":
		in.Text = "(sticker: " + chat.CleanName(strings.Join(m.Keywords, ", "), maxName) + ")"
	case "location":
		in.Text = chat.CleanName(fmt.Sprintf("(location: %s %s %f,%f)", m.Title, m.Address, m.Lat, m.Lon), 500)
	default:
		return in, false
	}
	return in, in.Text != "" || in.Files != nil
}

// name returns the name of the sender, or "" if LINE does not say it in time.
func (c *Channel) name(ctx context.Context, e event) string {
	if e.Source.User == "" {
		return ""
	}
	path := "/v2/bot/profile/" + e.Source.User
	if e.Source.Group != "" {
		path = "/v2/bot/group/" + e.Source.Group + "/member/" + e.Source.User
	} else if e.Source.Room != "" {
		path = "/v2/bot/room/" + e.Source.Room + "/member/" + e.Source.User
	}
	c.mu.Lock()
	name, known := c.names[path]
	c.mu.Unlock()
	if known {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	var profile struct {
		Name string `json:"displayName"`
	}
	if err := c.api.JSON(ctx, wire.Call{Method: http.MethodGet, Path: path, Safe: true}, &profile); err != nil {
		return "" // a message without a name is better than none
	}
	name = chat.CleanName(profile.Name, maxName)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) >= maxNames {
		clear(c.names)
	}
	c.names[path] = name
	return name
}
