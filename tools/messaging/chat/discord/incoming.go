package discord

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxName  = 200    // bytes of names from outside
	maxWords = 32_000 // bytes of texts from outside
)

// Receive reads an interaction: a pressed button or a command.
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	if err := c.verify(r.Header, body, now); err != nil {
		return nil, chat.Response{}, err
	}
	var i interaction
	if err := wire.Decode(body, &i); err != nil {
		return nil, chat.Response{}, err
	}
	in := i.incoming(now)
	return in, chat.Response{Body: []byte(i.response())}, nil
}

// verify checks the signature of a request and its age.
func (c *Channel) verify(h http.Header, body []byte, now time.Time) error {
	key, err := hex.DecodeString(c.a.Values["public_key"])
	if err != nil || len(key) != ed25519.PublicKeySize {
		return wire.Forged("the channel has no valid public key")
	}
	stamp := h.Get("X-Signature-Timestamp")
	signature, err := hex.DecodeString(h.Get("X-Signature-Ed25519"))
	if err != nil || !ed25519.Verify(key, slices.Concat([]byte(stamp), body), signature) {
		return wire.Forged("the signature is not Discord's")
	}
	_, err = wire.Fresh(stamp, now)
	return err
}

// The types of interactions.
const (
	isPing, isCommand, isComponent = 1, 2, 3
)

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Name     string `json:"global_name"`
	Bot      bool   `json:"bot"`
}

func (u user) person() chat.Person {
	return chat.Person{ID: u.ID, Name: chat.CleanName(cmp.Or(u.Name, u.Username), maxName), Bot: u.Bot}
}

// An interaction is a pressed button or a command.
type interaction struct {
	ID          string `json:"id"`
	Application string `json:"application_id"`
	Type        int    `json:"type"`
	Token       string `json:"token"`
	Guild       string `json:"guild_id"`
	Channel     string `json:"channel_id"`
	Member      *struct {
		User user `json:"user"`
	} `json:"member"`
	User    *user `json:"user"`
	Message *struct {
		ID string `json:"id"`
	} `json:"message"`
	Data struct {
		Custom  string `json:"custom_id"`
		Name    string `json:"name"`
		Options []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// incoming returns the message of an interaction.
func (i interaction) incoming(now time.Time) []chat.Incoming {
	in := chat.Incoming{ID: i.ID, At: timeOf(i.ID, now), Group: i.Guild != "", Message: chat.Ref{Chat: i.Channel}}
	switch {
	case i.Member != nil:
		in.From = i.Member.User.person()
	case i.User != nil:
		in.From = i.User.person()
	}
	if isID(i.Application) && i.Token != "" {
		in.Token = i.Application + "/" + i.Token
	}
	switch {
	case i.Type == isComponent && i.Message != nil:
		in.Pressed, in.Message.ID = i.Data.Custom, i.Message.ID
	case i.Type == isCommand:
		words := "/" + i.Data.Name
		for _, option := range i.Data.Options {
			words += fmt.Sprintf(" %s: %v", option.Name, option.Value)
		}
		in.Text = chat.CleanText(words, maxWords)
	}
	if in.From.ID == "" || in.Pressed == "" && in.Text == "" {
		return nil
	}
	return []chat.Incoming{in}
}

// response returns the response to Discord: it shows an error if an interaction gets nothing.
func (i interaction) response() string {
	switch i.Type {
	case isPing:
		return `{"type":1}`
	case isCommand:
		return fmt.Sprintf(`{"type":4,"data":{"content":"Received.","flags":%d}}`, ephemeral)
	}
	return `{"type":6}` // nothing changes
}

// timeOf returns the time in an id.
func timeOf(id string, now time.Time) time.Time {
	const epoch = 1420070400000 // of Discord, in milliseconds
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return now
	}
	return time.UnixMilli(n>>22 + epoch).UTC()
}

// Acknowledge implements [chat.Acknowledger].
func (c *Channel) Acknowledge(ctx context.Context, in chat.Incoming, words string) error {
	application, token, _ := strings.Cut(in.Token, "/")
	if words == "" || !isID(application) || token == "" {
		return nil
	}
	_, err := c.api.Do(ctx, wire.Call{Path: "webhooks/" + application + "/" + url.PathEscape(token), Bare: true,
		Safe:   true,
		Header: http.Header{"User-Agent": {agent}}, Body: map[string]any{"content": text.Clip(words, maxText),
			"flags": ephemeral, "allowed_mentions": map[string]any{"parse": []string{}}}})
	return err
}

// A note is a message that a member or a bot has written.
type note struct {
	ID          string `json:"id"`
	Channel     string `json:"channel_id"`
	Guild       string `json:"guild_id"`
	Author      user   `json:"author"`
	Content     string `json:"content"`
	Type        int    `json:"type"`
	Attachments []struct {
		Name string `json:"filename"`
		MIME string `json:"content_type"`
		Size int64  `json:"size"`
		URL  string `json:"url"`
	} `json:"attachments"`
	Reference *struct {
		ID string `json:"message_id"`
	} `json:"message_reference"`
}

// incoming returns a message, and nothing for messages that Discord itself writes.
func (n note) incoming(now time.Time) []chat.Incoming {
	const plain, reply = 0, 19
	in := chat.Incoming{ID: n.ID, At: timeOf(n.ID, now), From: n.Author.person(), Group: n.Guild != "",
		Message: chat.Ref{Chat: n.Channel, ID: n.ID}, Text: chat.CleanText(n.Content, maxWords)}
	if n.Reference != nil {
		in.ReplyTo = n.Reference.ID
	}
	for _, f := range n.Attachments {
		in.Files = append(in.Files, chat.Attachment{Name: chat.CleanName(cmp.Or(f.Name, "file"), maxName),
			MIME: chat.CleanName(f.MIME, maxName), Size: f.Size, ID: f.URL})
	}
	if n.Type != plain && n.Type != reply || in.From.ID == "" || in.Text == "" && len(in.Files) == 0 {
		return nil
	}
	return []chat.Incoming{in}
}

// Fetch downloads a file. Only hosts of Discord are allowed; they need no credential.
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	if err := wire.Fits(f, limit); err != nil {
		return err
	}
	if !c.api.Owns(f.ID) {
		return &chat.Error{Kind: chat.Refused, Text: "the address of the file is not Discord's"}
	}
	return c.api.Fetch(ctx, wire.Call{Path: f.ID, Bare: true}, limit, into)
}
