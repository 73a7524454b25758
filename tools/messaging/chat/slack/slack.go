// Package slack is an app in a workspace of Slack, by the Web API, the Events API and
// Socket Mode. See https://docs.slack.dev/reference.
//
// It does without github.com/slack-go/slack v0.35.0: the library writes the token into the body of each request,
// where package api cannot set it; the token would be in the library's memory and requests. It costs 2.15 MB with a
// second library of WebSockets, and would replace about 60 lines here, the types of events and answers. The kinds of
// Slack's errors, the list of permitted hosts, and the cleaning of messages would remain.
//
// Begin with [New].
package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText  = 3000 // of a text with buttons; without them it is 40,000
	maxFile  = 50 << 20
	maxLabel = 75 // of a button
)

// Service returns the service.
func Service() chat.Service {
	const ids = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return chat.Service{
		Name: "slack", Title: "Slack",
		Needs: "an app with a bot token (`xoxb-`)" +
			" and the scopes `chat:write`, `files:write`, `reactions:write`; invite the bot to the channel",
		Markup: "mrkdwn",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "token of the bot (xoxb)", Required: true},
			{Name: "app_token", Form: "secret", Doc: "app-level token (xapp), to receive messages over a socket"},
			{Name: "signing_secret", Form: "secret", Doc: "signing secret"},
			{Name: "url", Form: "url", Doc: "a server of your own with its API"},
		},
		Owns: func(id string) bool {
			return len(id) >= 8 && len(id) <= 13 && strings.ContainsAny(id[:1], "CDGUW") && strings.Trim(id[1:], ids) == ""
		},
		Chat: func(address string) string { // such as TEAM:USER
			if team, id, found := strings.Cut(address, ":"); found && team != "" && !strings.Contains(id, ":") {
				return id
			}
			return address
		},
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is an app.
type Channel struct {
	a    chat.Account
	api  *wire.Client
	app  *wire.Client                                     // with AppToken
	wait func(ctx context.Context, d time.Duration) error // between attempts to connect
}

// New returns an app. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	client := wire.Options{Name: "Slack", Base: cmp.Or(a.Values["url"], "https://slack.com/api"), HTTP: a.HTTP, Token: a.Secrets["token"],
		Refused: refused, Domains: []string{"slack.com", "slack-edge.com", "slack-files.com", "slack-gov.com"}, Now: a.Now}
	api, err := wire.New(client)
	if err != nil {
		return nil, err
	}
	client.Token = a.Secrets["app_token"]
	app, err := wire.New(client)
	return &Channel{a: a, api: api, app: app}, err
}

// An answer has the fields of all responses.
type answer struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"` // the missing scope
}

func refused(_ int, _ http.Header, body []byte) chat.Error {
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return chat.Error{}
	}
	e := chat.Error{Text: a.Error}
	if a.Needed != "" {
		e.Text += ": the app needs the scope " + a.Needed
	}
	switch a.Error {
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		e.Kind = chat.Busy
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope",
		"no_permission", "not_allowed_token_type", "org_login_required", "access_denied", "team_access_not_granted":
		e.Kind = chat.Denied
	case "internal_error", "fatal_error", "request_timeout":
		e.Kind = chat.Unknown // Slack says that some of the operation may have succeeded
	case "service_unavailable", "team_added_to_org":
		e.Kind = chat.Down
	}
	return e
}

// call calls a method. A field that is nil or "" is not sent.
func (c *Channel) call(ctx context.Context, method string, safe bool, fields map[string]any, into any) error {
	for name, value := range fields {
		if value == nil || value == "" {
			delete(fields, name)
		}
	}
	return c.request(ctx, c.api, wire.Call{Path: method, Body: fields, Safe: safe}, into)
}

func (c *Channel) request(ctx context.Context, client *wire.Client, call wire.Call, into any) error {
	call.Check = func(body []byte) bool {
		var a answer
		return json.Unmarshal(body, &a) != nil || a.OK // a body that is not JSON is not a refusal
	}
	return client.JSON(ctx, call, into)
}

// isError reports whether Slack has answered with one of these errors.
func isError(err error, names ...string) bool {
	var e *chat.Error
	return errors.As(err, &e) && slices.ContainsFunc(names, func(name string) bool { return e.Text == "Slack: "+name })
}

// Abilities returns the abilities of apps.
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxText, MaxFile: maxFile, Buttons: true, Threads: true}
}

// Render returns the text in mrkdwn.
func (c *Channel) Render(markdown string) string { return style().Render(markdown) }

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func style() markup.Style {
	return markup.Style{
		Text: escape,
		Code: func(code string) string { return "`" + strings.ReplaceAll(escape(code), "`", "'") + "`" },
		Block: func(_, code string) string {
			return "```\n" + strings.ReplaceAll(escape(code), "```", "'''") + "\n```"
		},
		Span: func(kind markup.Kind, content string) string {
			mark := map[markup.Kind]string{markup.Bold: "*", markup.Italic: "_", markup.Strike: "~"}[kind]
			return mark + content + mark
		},
		Link: func(label, target string) string {
			target = strings.ReplaceAll(escape(target), "|", "%7C")
			if label == "" {
				return "<" + target + ">"
			}
			return "<" + target + "|" + strings.ReplaceAll(label, "\n", " ") + ">"
		},
		Heading: func(_ int, content string) string { return "*" + strings.ReplaceAll(content, "*", "") + "*" },
		Quote:   func(content string) string { return "> " + strings.ReplaceAll(content, "\n", "\n> ") },
	}
}

// Check returns the name of the bot and of the workspace.
func (c *Channel) Check(ctx context.Context) (string, error) {
	var me struct {
		User string `json:"user"`
		Team string `json:"team"`
	}
	err := c.call(ctx, "auth.test", true, map[string]any{}, &me)
	return "@" + me.User + " in " + me.Team, err
}

// Send sends a message.
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	var notes []string
	if m.Silent {
		notes = append(notes, "Slack has no messages without a notification.")
	}
	thread := cmp.Or(m.Thread, m.ReplyTo) // an answer is a message in the thread of a message
	switch {
	case m.Poll != nil:
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot, Text: "apps in Slack have no polls"}
	case m.File != nil:
		at, err := c.upload(ctx, m, thread)
		return chat.Sent{Ref: at, Notes: notes}, err
	}
	fields := content(m)
	fields["channel"], fields["thread_ts"] = m.Chat, thread
	fields["unfurl_links"], fields["unfurl_media"] = false, false // the URL would be requested unasked
	var sent struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}
	if err := c.call(ctx, "chat.postMessage", false, fields, &sent); err != nil {
		return chat.Sent{}, err
	}
	return chat.Sent{Ref: chat.Ref{Chat: cmp.Or(sent.Channel, m.Chat), Thread: thread, ID: sent.TS}, Notes: notes}, nil
}

// content returns the text of a message, and its blocks if it has buttons.
func content(m chat.Message) map[string]any {
	fields, kind := map[string]any{}, "mrkdwn"
	words := style().Render(m.Text)
	if m.Plain {
		words, fields["mrkdwn"], kind = escape(m.Text), false, "plain_text"
	}
	fields["text"] = words
	if len(m.Buttons) == 0 {
		return fields
	}
	if m.Plain {
		words = m.Text
	}
	var buttons []any
	for i, b := range m.Buttons {
		buttons = append(buttons, map[string]any{"type": "button", "action_id": "button" + strconv.Itoa(i),
			"value": b.Data,
			"text":  map[string]any{"type": "plain_text", "text": text.ClipCharacters(b.Label, maxLabel)}})
	}
	fields["blocks"] = []any{
		map[string]any{"type": "section", "text": map[string]any{"type": kind, "text": words}},
		map[string]any{"type": "actions", "elements": buttons},
	}
	return fields
}

// upload sends a file. Slack does not name its message: the id is the id of the file.
func (c *Channel) upload(ctx context.Context, m chat.Message, thread string) (at chat.Ref, err error) {
	data, err := wire.ReadFile(m.File, maxFile)
	if err != nil {
		return at, err
	}
	if at, err = c.direct(ctx, m.Chat); err != nil {
		return at, err
	}
	var place struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	err = c.request(ctx, c.api, wire.Call{Path: "files.getUploadURLExternal", Safe: true,
		Body: url.Values{"filename": {m.File.Name}, "length": {strconv.Itoa(len(data))}}}, &place)
	if err != nil {
		return at, err
	}
	if !c.api.Owns(place.URL) {
		return at, &chat.Error{Kind: chat.Down, Text: "Slack named an address of another host for the file"}
	}
	if _, err = c.api.Do(ctx, wire.Call{Path: place.URL, Body: data, Bare: true, Safe: true,
		Header: http.Header{"Content-Type": {cmp.Or(m.File.MIME, "application/octet-stream")}}}); err != nil {
		return at, err
	}
	comment := style().Render(m.Text)
	if m.Plain {
		comment = escape(m.Text)
	}
	at.Thread, at.ID = thread, place.ID
	return at, c.call(ctx, "files.completeUploadExternal", false,
		map[string]any{"channel_id": at.Chat, "thread_ts": thread,
			"files": []any{map[string]string{"id": place.ID, "title": m.File.Name}}, "initial_comment": comment},
		&answer{})
}

// direct returns the conversation with a person, for a file, or any other chat as it is.
func (c *Channel) direct(ctx context.Context, id string) (chat.Ref, error) {
	if !strings.HasPrefix(id, "U") && !strings.HasPrefix(id, "W") {
		return chat.Ref{Chat: id}, nil
	}
	var opened struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	err := c.call(ctx, "conversations.open", true, map[string]any{"users": id}, &opened)
	return chat.Ref{Chat: opened.Channel.ID}, err
}

// Edit changes the text and the buttons of a message.
func (c *Channel) Edit(ctx context.Context, at chat.Ref, m chat.Message) error {
	fields := content(m)
	fields["channel"], fields["ts"] = at.Chat, at.ID
	if fields["blocks"] == nil {
		fields["blocks"] = []any{} // otherwise the buttons stay
	}
	return c.call(ctx, "chat.update", true, fields, &answer{})
}

// Delete deletes a message or a file. One that does not exist is deleted.
func (c *Channel) Delete(ctx context.Context, at chat.Ref) error {
	method, fields := "chat.delete", map[string]any{"channel": at.Chat, "ts": at.ID}
	if strings.HasPrefix(at.ID, "F") {
		method, fields = "files.delete", map[string]any{"file": at.ID}
	}
	err := c.call(ctx, method, true, fields, &answer{})
	if isError(err, "message_not_found", "file_not_found", "file_deleted") {
		return nil
	}
	return err
}

// React adds or removes a reaction: the name of an emoji, or one of the usual characters.
func (c *Channel) React(ctx context.Context, at chat.Ref, emoji string, remove bool) error {
	name := strings.Trim(emoji, ":")
	if known := names()[strings.ReplaceAll(emoji, "\ufe0f", "")]; known != "" {
		name = known
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &chat.Error{Kind: chat.Cannot, Text: fmt.Sprintf("Slack knows reactions by names, such as thumbsup; "+
			"%q is none", emoji)}
	}
	method := "reactions.add"
	if remove {
		method = "reactions.remove"
	}
	err := c.call(ctx, method, true, map[string]any{"channel": at.Chat, "timestamp": at.ID, "name": name}, &answer{})
	if isError(err, "already_reacted", "no_reaction") {
		return nil
	}
	return err
}

// names returns the names of usual emoji.
func names() map[string]string {
	return map[string]string{
		"👍": "thumbsup", "👎": "thumbsdown", "❤": "heart", "🔥": "fire", "🎉": "tada", "👀": "eyes",
		"✅": "white_check_mark",
		"❌": "x", "🙏": "pray", "👏": "clap", "😂": "joy", "🚀": "rocket", "💯": "100", "🤔": "thinking_face", "👌": "ok_hand",
		"⚠": "warning", "⏳": "hourglass_flowing_sand", "😁": "grin", "😢": "cry", "🤝": "handshake", "🫡": "saluting_face",
	}
}
