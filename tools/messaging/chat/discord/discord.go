// Package discord is a bot at Discord, by its REST API version 10, its interactions over
// HTTP, and its Gateway. See https://docs.discord.com/developers/reference.
//
// It does without github.com/bwmarrin/discordgo v0.29.0 (1.3 MB, 0.4 ms of start): its messages
// have no nonce, so a repeated request sends the message twice; it sleeps for rate limits,
// whatever the context, and by default sends again after a 502; and its Gateway has no session
// that a later process could resume.
//
// Begin with [New].
package discord

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText  = 2000
	maxFile  = 10 << 20
	maxTopic = 100 // characters of the name of a thread
	maxLabel = 80  // of a button

	suppressEmbeds        = 1 << 2
	suppressNotifications = 1 << 12
	ephemeral             = 1 << 6

	// agent is required: the API refuses other programs.
	agent = "DiscordBot (https://github.com/mcp-tools/mcp-tools, 1)"
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "discord", Title: "Discord",
		Needs:  "an application with a bot; invite it with the permission to send messages",
		Markup: "Markdown",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "token of the bot", Required: true},
			{Name: "app_id", Form: "label", Doc: "ID of the app"},
			{Name: "public_key", Form: "label", Doc: "public key of the app, which interactions are signed with"},
			{Name: "url", Form: "url", Doc: "a server of your own with its API"},
		},
		Owns: func(id string) bool { return isID(id) && len(id) >= 17 && len(id) <= 20 },
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is a bot.
type Channel struct {
	a     chat.Account
	api   *wire.Client
	wait  func(ctx context.Context, d time.Duration) error // between attempts to connect; nil waits
	pulse func(ctx context.Context, d time.Duration) error // between heartbeats
}

// New returns a bot. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	api, err := wire.New(wire.Options{
		Name: "Discord", Base: cmp.Or(a.Values["url"], "https://discord.com/api/v10"), HTTP: a.HTTP, Token: a.Secrets["token"],
		Attach:  func(r *http.Request, token string) { r.Header.Set("Authorization", "Bot "+token) },
		Domains: []string{"discord.gg", "cdn.discordapp.com", "media.discordapp.net"},
		Refused: refused, Exhausted: exhausted, Now: a.Now,
	})
	return &Channel{a: a, api: api, pulse: clock.Sleep}, err
}

// unknownMessage is the code of the error about a message that does not exist.
const unknownMessage = 10008

func refused(status int, _ http.Header, body []byte) chat.Error {
	var f struct {
		Code    int     `json:"code"`
		Message string  `json:"message"`
		After   float64 `json:"retry_after"` // seconds
	}
	if json.Unmarshal(body, &f) != nil {
		return chat.Error{}
	}
	e := chat.Error{Text: f.Message, After: time.Duration(min(max(f.After, 0), 86400) * float64(time.Second))}
	if f.Code != 0 {
		e.Text += " (" + strconv.Itoa(f.Code) + ")"
	}
	return e
}

// exhausted returns for how long Discord takes no further request to a route. It bans bots that send them.
func exhausted(header http.Header) time.Duration {
	if header.Get("X-RateLimit-Remaining") != "0" {
		return 0
	}
	seconds, err := strconv.ParseFloat(header.Get("X-RateLimit-Reset-After"), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, 3600) * float64(time.Second))
}

// call sends a request. body may be nil.
func (c *Channel) call(ctx context.Context, method, path string, safe bool, body, into any) error {
	call := wire.Call{Method: method, Path: path, Body: body, Safe: safe, Header: http.Header{"User-Agent": {agent}}}
	if into == nil {
		_, err := c.api.Do(ctx, call)
		return err
	}
	return c.api.JSON(ctx, call, into)
}

// Abilities returns the abilities of bots.
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxText, MaxFile: maxFile, Buttons: true, Polls: true,
		Threads: true, Dedupes: 2 * time.Minute}
}

// Render returns the text in Discord's Markdown.
func (c *Channel) Render(markdown string) string { return style().Render(markdown) }

// Escape implements [chat.Escaper]. In the question whether a call is allowed, markup would hide a part of the call.
func (c *Channel) Escape(plain string) string { return escape(plain) }

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "<", `\<`,
		"[", `\[`, "#", `\#`, ">", `\>`).Replace(text)
}

func style() markup.Style {
	return markup.Style{
		Text:   escape,
		Bullet: "-",
		Rule:   "———",
		Code: func(code string) string {
			if strings.Contains(code, "`") {
				return "`` " + code + " ``"
			}
			return "`" + code + "`"
		},
		Block: func(language, code string) string {
			return "```" + language + "\n" + strings.ReplaceAll(code, "```", "'''") + "\n```"
		},
		Span: func(kind markup.Kind, content string) string {
			mark := map[markup.Kind]string{markup.Bold: "**", markup.Italic: "*", markup.Strike: "~~"}[kind]
			return mark + content + mark
		},
		Link: func(label, target string) string {
			if label == "" {
				return strings.TrimPrefix(target, "mailto:")
			}
			return "[" + label + "](<" + target + ">)"
		},
		Heading: func(level int, content string) string {
			return strings.Repeat("#", min(level, 3)) + " " + strings.ReplaceAll(content, "\n", " ")
		},
		Quote: func(content string) string { return "> " + strings.ReplaceAll(content, "\n", "\n> ") },
	}
}

// Check returns the name of the bot.
func (c *Channel) Check(ctx context.Context) (string, error) {
	var me struct {
		Username string `json:"username"`
	}
	err := c.call(ctx, http.MethodGet, "users/@me", true, nil, &me)
	return "@" + me.Username, err
}

// Send sends a message. A chat is the id of a channel, or @ and the id of a person.
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	at := chat.Ref{Chat: m.Chat, Thread: m.Thread}
	if user, found := strings.CutPrefix(m.Chat, "@"); found {
		var opened struct {
			ID string `json:"id"`
		}
		err := c.call(ctx, http.MethodPost, "users/@me/channels", true, map[string]string{"recipient_id": user},
			&opened)
		if err != nil {
			return chat.Sent{}, err
		}
		at.Chat = opened.ID
	}
	path, err := messages(at)
	if err != nil {
		return chat.Sent{}, err
	}
	body := content(m)
	flags := suppressEmbeds // the URL would be requested unasked
	if m.Silent {
		flags |= suppressNotifications
	}
	body["flags"] = flags
	if m.Key != "" {
		sum := sha256.Sum256([]byte(m.Key))
		body["nonce"], body["enforce_nonce"] = base64.RawURLEncoding.EncodeToString(sum[:])[:25], true
	}
	if m.ReplyTo != "" {
		body["message_reference"] = map[string]any{"message_id": m.ReplyTo, "fail_if_not_exists": false}
	}
	if m.Poll != nil {
		body["poll"] = poll(m.Poll)
		delete(body, "content")
	}
	var sent struct {
		ID string `json:"id"`
	}
	var payload any = body
	if m.File != nil {
		if payload, err = form(m.File, body); err != nil {
			return chat.Sent{}, err
		}
	}
	err = c.call(ctx, http.MethodPost, path, false, payload, &sent)
	at.ID = sent.ID
	return chat.Sent{Ref: at}, err
}

// content returns the text and the buttons of a message. A mention in it notifies no member.
func content(m chat.Message) map[string]any {
	body := map[string]any{"content": escape(m.Text), "components": []any{},
		"allowed_mentions": map[string]any{"parse": []string{}, "replied_user": false}}
	if !m.Plain {
		body["content"] = style().Render(m.Text)
	}
	if len(m.Buttons) == 0 {
		return body
	}
	var buttons []any
	for _, b := range m.Buttons {
		label := []rune(b.Label)
		buttons = append(buttons, map[string]any{"type": 2, "style": 1,
			"label":     string(label[:min(len(label), maxLabel)]),
			"custom_id": b.Data})
	}
	body["components"] = []any{map[string]any{"type": 1, "components": buttons}}
	return body
}

func poll(p *chat.Poll) map[string]any {
	const hours = 24
	var answers []any
	for _, option := range p.Options {
		answers = append(answers, map[string]any{"poll_media": map[string]string{"text": option}})
	}
	return map[string]any{"question": map[string]string{"text": p.Question}, "answers": answers, "duration": hours,
		"allow_multiselect": p.Multiple}
}

// form returns the body of a message with a file.
func form(f *chat.File, body map[string]any) (*outbound.Form, error) {
	data, err := wire.ReadFile(f, maxFile)
	if err != nil {
		return nil, err
	}
	body["attachments"] = []any{map[string]any{"id": 0, "filename": f.Name}}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	form := outbound.NewForm()
	form.Set("payload_json", string(encoded))
	form.Add("files[0]", f.Name, cmp.Or(f.MIME, "application/octet-stream"), data)
	return form, nil
}

func isID(id string) bool { return id != "" && strings.Trim(id, "0123456789") == "" }

// channelOf returns the id of the channel of a message. A thread is a channel.
func channelOf(at chat.Ref) (string, error) {
	id := cmp.Or(at.Thread, at.Chat)
	if !isID(id) {
		return "", &chat.Error{Kind: chat.Refused,
			Text: fmt.Sprintf("the id of a channel at Discord is a number, not %q", id)}
	}
	return id, nil
}

// messages returns the path of the messages of a channel.
func messages(at chat.Ref) (string, error) {
	id, err := channelOf(at)
	return "channels/" + id + "/messages", err
}

// message returns the path of a message.
func message(at chat.Ref) (string, error) {
	path, err := messages(at)
	if err == nil && !isID(at.ID) {
		err = &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the id of a message at Discord is a number, not %q",
			at.ID)}
	}
	return path + "/" + at.ID, err
}

// Edit changes the text and the buttons of a message.
func (c *Channel) Edit(ctx context.Context, at chat.Ref, m chat.Message) error {
	path, err := message(at)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPatch, path, true, content(m), nil)
}

// Delete deletes a message. One that does not exist is deleted.
func (c *Channel) Delete(ctx context.Context, at chat.Ref) error {
	path, err := message(at)
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodDelete, path, true, nil, nil)
	var e *chat.Error
	if errors.As(err, &e) && strings.HasSuffix(e.Text, "("+strconv.Itoa(unknownMessage)+")") {
		return nil
	}
	return err
}

// React adds or removes a reaction: an emoji, or NAME:ID for one of a server.
func (c *Channel) React(ctx context.Context, at chat.Ref, emoji string, remove bool) error {
	path, err := message(at)
	if err != nil {
		return err
	}
	if emoji == "" {
		return &chat.Error{Kind: chat.Refused, Text: "Discord needs the emoji of the reaction"}
	}
	method := http.MethodPut
	if remove {
		method = http.MethodDelete
	}
	return c.call(ctx, method, path+"/reactions/"+url.PathEscape(emoji)+"/@me", true, nil, nil)
}

// CreateTopic opens a public thread in a channel.
func (c *Channel) CreateTopic(ctx context.Context, channel string, t chat.NewTopic) (string, error) {
	name := t.Name
	const publicThread = 11
	id, err := channelOf(chat.Ref{Chat: channel})
	if err != nil {
		return "", err
	}
	if n := markup.Length(name); n == 0 || n > maxTopic {
		return "", &chat.Error{Kind: chat.Refused,
			Text: fmt.Sprintf("the name of a thread has 1 to %d characters, this one has %d", maxTopic, n)}
	}
	var thread struct {
		ID string `json:"id"`
	}
	err = c.call(ctx, http.MethodPost, "channels/"+id+"/threads", false,
		map[string]any{"name": name, "type": publicThread}, &thread)
	return thread.ID, err
}
