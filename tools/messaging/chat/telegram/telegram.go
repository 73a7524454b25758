// Package telegram is a bot at Telegram, by its Bot API. See
// https://core.telegram.org/bots/api.
//
// The token of a bot is part of the path of all requests. It is added when a request is
// sent, so that it is in no URL that an error could show.
//
// It does without github.com/go-telegram/bot v1.19.0 (0.2 MB): the library fetches updates only
// in a loop of its own, and acknowledges an update before its handler has run, so that a crash
// loses it; it drops the status and Retry-After of responses that are not JSON; and each of the
// five methods for files has its own struct with the same nine fields.
//
// Begin with [New].
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText    = 4000 // the API has 4096, and counts differently in places
	maxCaption = 1024
	maxPhoto   = 5 << 20 // larger pictures are sent as documents
	maxFile    = 50 << 20
	maxFetch   = 20 << 20
	maxTopic   = 128 // characters of the name of a topic

	general = "1" // the topic of a forum that requests must not name
)

// Service returns the service.
func Service() chat.Service {
	digits := func(id string) bool { return id != "" && strings.Trim(id, "0123456789") == "" }
	return chat.Service{
		Name: "telegram", Title: "Telegram", Also: []string{"tg"},
		Needs:  "a bot of @BotFather, which each person has to start",
		Markup: "HTML",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "token of the bot", Required: true},
			{Name: "signing_secret", Form: "secret", Doc: "secret token of the webhook"},
			{Name: "url", Form: "url", Doc: "a server of your own with its API"},
		},
		Owns: func(id string) bool {
			return strings.HasPrefix(id, "@") || digits(strings.TrimPrefix(id, "-")) && len(id) <= 15
		},
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is a bot.
type Channel struct {
	a    chat.Account
	api  *wire.Client
	wait func(ctx context.Context, d time.Duration) error // between attempts to pull
}

// New returns a bot. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	base := cmp.Or(a.Values["url"], "https://api.telegram.org")
	api, err := wire.New(wire.Options{
		Name: "Telegram", Base: base, HTTP: a.HTTP, Token: a.Secrets["token"], Attach: attach(base), Refused: refused, Now: a.Now,
	})
	if err != nil {
		return nil, err
	}
	return &Channel{a: a, api: api}, nil
}

// attach returns a function that adds the token to BASE/METHOD or BASE/file/PATH.
func attach(base string) func(r *http.Request, token string) {
	prefix := ""
	if u, err := url.Parse(strings.TrimSuffix(base, "/")); err == nil {
		prefix = u.Path
	}
	return func(r *http.Request, token string) {
		path := strings.TrimPrefix(r.URL.Path, prefix)
		if rest, file := strings.CutPrefix(path, "/file/"); file {
			r.URL.Path = prefix + "/file/bot" + token + "/" + rest
			return
		}
		r.URL.Path = prefix + "/bot" + token + path
	}
}

// A failure is a response that is not a success.
type failure struct {
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// migrated begins the text of the error that names the chat that another one has become.
const migrated = "the group has become the supergroup "

func refused(status int, _ http.Header, body []byte) chat.Error {
	var f failure
	if json.Unmarshal(body, &f) != nil {
		return chat.Error{}
	}
	e := chat.Error{Text: f.Description, After: time.Duration(f.Parameters.RetryAfter) * time.Second}
	switch {
	case status == http.StatusNotFound && f.Description == "Not Found":
		e.Kind, e.Text = chat.Denied, "the token is not a bot's"
	case status == http.StatusConflict:
		e.Kind = chat.Down
	case f.Parameters.MigrateTo != 0:
		e.Text = migrated + strconv.FormatInt(f.Parameters.MigrateTo, 10)
	}
	return e
}

// call calls a method. Fields that are "", false, 0 or nil are not sent.
func (c *Channel) call(ctx context.Context, method string, safe bool, fields map[string]any, into any) error {
	if fields == nil {
		fields = map[string]any{}
	}
	for name, value := range fields {
		if value == nil || value == "" || value == false || value == 0 {
			delete(fields, name)
		}
	}
	return c.request(ctx, wire.Call{Path: method, Body: fields, Safe: safe}, into)
}

func (c *Channel) request(ctx context.Context, call wire.Call, into any) error {
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := c.api.JSON(ctx, call, &answer); err != nil {
		return err
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result, into); err != nil {
		return &chat.Error{Kind: chat.Unknown, Text: "the response of Telegram is not the expected JSON", Cause: err}
	}
	return nil
}

// Abilities returns the abilities of bots.
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxCaption: maxCaption, MaxFile: maxFile, Buttons: true, Polls: true,
		Threads: true, Voice: true}
}

// Render returns the text in Telegram's HTML.
func (c *Channel) Render(markdown string) string { return style().Render(markdown) }

func style() markup.Style {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	wrap := func(name, content string) string { return "<" + name + ">" + content + "</" + name + ">" }
	return markup.Style{
		Text: escape,
		Code: func(code string) string { return wrap("code", escape(code)) },
		Block: func(language, code string) string {
			if language == "" {
				return wrap("pre", escape(code))
			}
			return `<pre><code class="language-` + html.EscapeString(language) + `">` + escape(code) + "</code></pre>"
		},
		Span: func(kind markup.Kind, content string) string {
			return wrap(map[markup.Kind]string{markup.Bold: "b", markup.Italic: "i", markup.Strike: "s"}[kind], content)
		},
		Link: func(label, url string) string {
			if label == "" {
				return escape(strings.TrimPrefix(url, "mailto:"))
			}
			return `<a href="` + html.EscapeString(url) + `">` + label + "</a>"
		},
		Heading: func(_ int, content string) string { return wrap("b", content) },
		Quote: func(content string) string { // they do not nest
			return wrap("blockquote", strings.NewReplacer("<blockquote>", "", "</blockquote>", "").Replace(content))
		},
	}
}

// Check returns the name of the bot.
func (c *Channel) Check(ctx context.Context) (string, error) {
	var me struct {
		Username string `json:"username"`
	}
	err := c.call(ctx, "getMe", true, nil, &me)
	return "@" + me.Username, err
}

// Send sends a message. If the chat does not take its form, Send uses a simpler form and adds a
// note.
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	s := &sending{Message: m, channel: c}
	if m.File != nil {
		data, err := wire.ReadFile(m.File, maxFile)
		if err != nil {
			return chat.Sent{}, err
		}
		s.data = data
		s.chooseMethod()
	}
	for {
		id, err := s.once(ctx)
		if err == nil {
			return chat.Sent{Ref: chat.Ref{Chat: s.Chat, Thread: s.Thread, ID: strconv.FormatInt(id, 10)},
				Notes: s.notes}, nil
		}
		if !s.simplify(err) {
			return chat.Sent{}, err
		}
	}
}

// A sending is a message that is sent, in simpler forms if necessary.
type sending struct {
	chat.Message
	channel *Channel
	data    []byte
	method  string // of a file: sendPhoto and others
	notes   []string
}

// The methods for files, and the name of the field of each.
const (
	photo, video, audio, voice, document = "sendPhoto", "sendVideo", "sendAudio", "sendVoice", "sendDocument"
)

func (s *sending) chooseMethod() {
	kind := s.File.MIME
	heard := slices.Contains([]string{"audio/ogg", "audio/mpeg", "audio/mp4"}, kind)
	switch {
	case s.File.Voice && heard:
		s.method = voice
	case heard && kind != "audio/ogg":
		s.method = audio
	case kind == "video/mp4":
		s.method = video
	case slices.Contains([]string{"image/jpeg", "image/png", "image/webp"}, kind) && len(s.data) <= maxPhoto:
		s.method = photo
	default:
		s.method = document
	}
	switch {
	case s.File.Voice && !heard:
		s.notes = append(s.notes, "Telegram has no voice messages of type "+kind+"; it was sent as a file.")
	case s.method == document && strings.HasPrefix(kind, "image/") && len(s.data) > maxPhoto:
		s.notes = append(s.notes, "The picture is larger than 5 MB and was sent as a document.")
	}
}

// once sends the message in its present form and returns its id.
func (s *sending) once(ctx context.Context) (int64, error) {
	fields := s.fields()
	var sent struct {
		ID int64 `json:"message_id"`
	}
	method := "sendMessage"
	switch {
	case s.Poll != nil:
		method = "sendPoll"
		var options []map[string]string
		for _, option := range s.Poll.Options {
			options = append(options, map[string]string{"text": option})
		}
		fields["question"], fields["options"] = s.Poll.Question, options
		fields["allows_multiple_answers"] = s.Poll.Multiple
	case s.File != nil:
		form := outbound.NewForm()
		s.text(fields, "caption")
		for name, value := range fields {
			if text, ok := value.(string); ok {
				form.Set(name, text)
			} else if encoded, err := json.Marshal(value); err == nil && value != nil && value != false && value != 0 {
				form.Set(name, string(encoded))
			}
		}
		form.Add(strings.ToLower(strings.TrimPrefix(s.method, "send")), s.File.Name, s.File.MIME, s.data)
		err := s.channel.request(ctx, wire.Call{Path: s.method, Body: form}, &sent)
		return sent.ID, err
	default:
		s.text(fields, "text")
		fields["link_preview_options"] = map[string]bool{"is_disabled": true} // the URL would be requested unasked
	}
	err := s.channel.call(ctx, method, false, fields, &sent)
	return sent.ID, err
}

// fields returns the parameters that all methods for sending have.
func (s *sending) fields() map[string]any {
	fields := map[string]any{"chat_id": s.Chat, "disable_notification": s.Silent, "reply_markup": keyboard(s.Buttons)}
	if thread, err := strconv.Atoi(s.Thread); err == nil && s.Thread != general {
		fields["message_thread_id"] = thread
	}
	if id, err := strconv.Atoi(s.ReplyTo); err == nil {
		fields["reply_parameters"] = map[string]any{"message_id": id, "allow_sending_without_reply": true}
	}
	return fields
}

// text adds the text of the message.
func (s *sending) text(fields map[string]any, name string) {
	if fields[name] = s.Text; s.Text != "" && !s.Plain {
		fields[name], fields["parse_mode"] = style().Render(s.Text), "HTML"
	}
}

func keyboard(buttons []chat.Button) any {
	if len(buttons) == 0 {
		return nil
	}
	var row []map[string]string
	for _, b := range buttons {
		row = append(row, map[string]string{"text": b.Label, "callback_data": b.Data})
	}
	return map[string]any{"inline_keyboard": []any{row}}
}

// simplify changes the message to a form that Telegram may take, if an error is about its form.
func (s *sending) simplify(err error) bool {
	note := ""
	switch {
	case !isRefused(err):
		return false
	case !s.Plain && s.Text != "" && says(err, "can't parse entities", "can't parse message caption"):
		s.Plain, s.Text = true, markup.Plain(s.Text)
		note = "It was sent as plain text: Telegram does not accept its markup."
	case s.Thread != "" && says(err, "message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"):
		note = "The topic " + s.Thread + " is closed or does not exist; it was sent to the chat."
		s.Thread = ""
	case s.method == photo && says(err, "PHOTO_", "IMAGE_PROCESS_FAILED", "wrong type"):
		s.method, note = document, "Telegram does not take it as a photo; it was sent as a document."
	case s.method == voice && says(err, "VOICE_MESSAGES_FORBIDDEN"):
		s.method, note = document, "The recipient does not take voice messages; it was sent as a file."
	case says(err, migrated):
		_, s.Chat, _ = strings.Cut(err.Error(), migrated)
		note = "The group has become the supergroup " + s.Chat + "; use that id from now on."
	default:
		return false
	}
	if len(s.notes) > 4 {
		return false
	}
	s.notes = append(s.notes, note)
	return true
}

func isRefused(err error) bool { return chat.KindOf(err) == chat.Refused }

// says reports whether an error has one of these parts, in upper or lower case.
func says(err error, parts ...string) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, strings.ToLower(part)) })
}

// Edit changes the text and the buttons of a message, or of a file.
func (c *Channel) Edit(ctx context.Context, at chat.Ref, m chat.Message) error {
	id, err := messageID(at)
	if err != nil {
		return err
	}
	m.Chat = at.Chat
	s := &sending{Message: m, channel: c}
	method, name := "editMessageText", "text"
	for {
		fields := map[string]any{"chat_id": s.Chat, "message_id": id, "reply_markup": keyboard(m.Buttons)}
		s.text(fields, name)
		if name == "text" {
			fields["link_preview_options"] = map[string]bool{"is_disabled": true}
		}
		err := c.call(ctx, method, true, fields, nil)
		switch {
		case err == nil, isRefused(err) && says(err, "message is not modified"):
			return nil
		case isRefused(err) && name == "text" && says(err, "there is no text in the message"):
			method, name = "editMessageCaption", "caption"
		case !s.simplify(err):
			return err
		}
	}
}

// Delete deletes a message. One that does not exist is deleted.
func (c *Channel) Delete(ctx context.Context, at chat.Ref) error {
	id, err := messageID(at)
	if err != nil {
		return err
	}
	err = c.call(ctx, "deleteMessage", true, map[string]any{"chat_id": at.Chat, "message_id": id}, nil)
	if isRefused(err) && says(err, "message to delete not found") {
		return nil
	}
	return err
}

// React sets or removes the reaction of the bot. The bot has one reaction for each message.
func (c *Channel) React(ctx context.Context, at chat.Ref, emoji string, remove bool) error {
	id, err := messageID(at)
	if err != nil {
		return err
	}
	list := []map[string]string{}
	if !remove {
		known := slices.IndexFunc(reactions(), func(r string) bool { return bare(r) == bare(emoji) })
		if known < 0 {
			return &chat.Error{Kind: chat.Cannot, Text: fmt.Sprintf("Telegram has no reaction %q; use one of %s", emoji,
				strings.Join(reactions(), " "))}
		}
		list = append(list, map[string]string{"type": "emoji", "emoji": reactions()[known]})
	}
	return c.call(ctx, "setMessageReaction", true,
		map[string]any{"chat_id": at.Chat, "message_id": id, "reaction": list}, nil)
}

// bare returns an emoji without its color mark: the mark is often left out.
func bare(emoji string) string { return strings.ReplaceAll(emoji, "\ufe0f", "") }

// reactions returns the emoji that bots may react with.
func reactions() []string {
	return strings.Fields("👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 " +
		"💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 " +
		"🤷‍♂ 🤷 🤷‍♀ 😡")
}

// CreateTopic opens a topic in a forum.
func (c *Channel) CreateTopic(ctx context.Context, chatID string, t chat.NewTopic) (string, error) {
	if n := markup.Length(t.Name); n == 0 || n > maxTopic {
		return "", &chat.Error{Kind: chat.Refused,
			Text: fmt.Sprintf("the name of a topic has 1 to %d characters, this one has %d", maxTopic, n)}
	}
	var topic struct {
		ID int64 `json:"message_thread_id"`
	}
	args := map[string]any{"chat_id": chatID, "name": t.Name}
	if t.Color != 0 {
		args["icon_color"] = t.Color
	}
	if t.Icon != "" {
		args["icon_custom_emoji_id"] = t.Icon
	}
	err := c.call(ctx, "createForumTopic", false, args, &topic)
	return strconv.FormatInt(topic.ID, 10), err
}

func messageID(at chat.Ref) (int64, error) {
	id, err := strconv.ParseInt(at.ID, 10, 64)
	if err != nil {
		return 0,
			&chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the id of a message at Telegram is a number, not %q",
				at.ID)}
	}
	return id, nil
}
