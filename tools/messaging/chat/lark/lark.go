// Package lark sends and receives messages of Lark and Feishu. Every text is sent as a card:
// cards can have Markdown and buttons, and can be changed later.
//
// Begin with [New].
package lark

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxText   = 6000 // the JSON of a card has 30 kB
	maxFile   = 30 << 20
	maxImage  = 10 << 20
	maxName   = 120
	early     = 3 * time.Minute // before its end, a token is replaced
	busyAfter = time.Second     // five messages a second for each chat
)

// Service returns the service.
func Service() chat.Service {
	return chat.Service{
		Name: "lark", Title: "Lark", Also: []string{"feishu"},
		Needs:  "an app with the bot feature and the permission `im:message`",
		Markup: "a card",
		Settings: []chat.Setting{
			{Name: "token", Form: "secret", Doc: "secret of the app", Required: true},
			{Name: "signing_secret", Form: "secret", Doc: "verification token"},
			{Name: "encrypt_key", Form: "secret", Doc: "key that events are encrypted with"},
			{Name: "app_id", Form: "label", Doc: "ID of the app", Required: true},
			{Name: "url", Form: "url", Doc: "https://open.feishu.cn for Feishu"},
		},
		Open: func(a chat.Account) (chat.Channel, error) { return New(a) },
	}
}

// A Channel is an app with a bot.
type Channel struct {
	a        chat.Account
	api      *wire.Client
	sign     *wire.Client // requests tokens
	renewing sync.Mutex

	mu    sync.Mutex
	token string
	until time.Time
}

// expired is the kind of the response to a request whose token has expired.
const expired chat.Kind = "expired"

// New returns a Channel. It sends nothing yet.
func New(a chat.Account) (*Channel, error) {
	if a.Values["app_id"] == "" || a.Secrets["token"] == nil {
		return nil, errors.New("the app has no id or no secret")
	}
	c := &Channel{a: a}
	o := wire.Options{Name: "Lark", Base: cmp.Or(a.Values["url"], "https://open.larksuite.com"), HTTP: a.HTTP, Refused: refused,
		Now: a.Now}
	var err error
	if c.sign, err = wire.New(o); err != nil {
		return nil, err
	}
	o.Token = func(context.Context) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.token, nil
	}
	c.api, err = wire.New(o)
	return c, err
}

type status struct {
	Code int    `json:"code"`
	Msg  string `json:"msg"`
}

func refused(httpStatus int, header http.Header, body []byte) chat.Error {
	var said status
	if json.Unmarshal(body, &said) != nil || said.Msg == "" {
		said.Msg = string(body)
	}
	e := chat.Error{Text: said.Msg}
	if said.Code != 0 {
		e.Text = fmt.Sprintf("%s (code %d)", said.Msg, said.Code)
	}
	switch said.Code {
	case 99991661, 99991663, 99991664, 99991668, 99991671:
		e.Kind = expired
	case 99991400, 230020, 11232, 11233, 11247:
		e.Kind, e.After = chat.Busy, busyAfter
	case 99991401, 99991672, 10003, 10014, 10015, 230006, 230027:
		e.Kind = chat.Denied
	case 0:
		if httpStatus < 300 { // it is not an answer of Lark's API
			e.Kind = chat.Unknown
		}
	default:
		if httpStatus < 500 {
			e.Kind = chat.Refused
		}
	}
	if seconds, err := strconv.Atoi(header.Get("X-Ogw-Ratelimit-Reset")); err == nil && seconds > 0 &&
		(e.Kind == chat.Busy || httpStatus == http.StatusTooManyRequests) {
		e.After = min(time.Duration(seconds)*time.Second, time.Hour)
	}
	return e
}

func succeeded(body []byte) bool {
	var s struct {
		Code *int `json:"code"`
	}
	return json.Unmarshal(body, &s) == nil && s.Code != nil && *s.Code == 0
}

// call sends a request, with a new token if the old one has expired.
func (c *Channel) call(ctx context.Context, call wire.Call, into any) error {
	call.Check = succeeded
	used, err := c.renew(ctx, "")
	if err != nil {
		return err
	}
	err = c.api.JSON(ctx, call, into)
	if chat.KindOf(err) == expired {
		if _, err = c.renew(ctx, used); err == nil {
			err = c.api.JSON(ctx, call, into)
		}
	}
	return denied(err)
}

// denied returns the error of a new token that is not valid either.
func denied(err error) error {
	if e := new(chat.Error); errors.As(err, &e) && e.Kind == expired {
		return &chat.Error{Kind: chat.Denied, Text: e.Text}
	}
	return err
}

// renew returns a token that is valid for a while and is not the one that was refused.
func (c *Channel) renew(ctx context.Context, refused string) (string, error) {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	c.mu.Lock()
	token, until := c.token, c.until
	c.mu.Unlock()
	if token != "" && token != refused && c.a.Time().Before(until) {
		return token, nil
	}
	secret, err := c.a.Secrets["token"].Get(ctx, "secret of the app")
	if err != nil {
		return "", err
	}
	var answer struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"`
	}
	err = c.sign.JSON(ctx, wire.Call{Path: "/open-apis/auth/v3/tenant_access_token/internal", Safe: true,
		Check: succeeded,
		Body:  map[string]string{"app_id": c.a.Values["app_id"], "app_secret": secret}}, &answer)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = answer.Token
	c.until = c.a.Time().Add(time.Duration(answer.Expire)*time.Second - early)
	return c.token, nil
}

// Abilities implements [chat.Channel].
func (c *Channel) Abilities() chat.Abilities {
	return chat.Abilities{MaxText: maxText, MaxFile: maxFile, Buttons: true, Threads: true, Voice: true,
		Dedupes: time.Hour}
}

// Check implements [chat.Channel].
func (c *Channel) Check(ctx context.Context) (string, error) {
	var answer struct {
		Bot struct {
			Name string `json:"app_name"`
		} `json:"bot"`
	}
	err := c.call(ctx, wire.Call{Method: http.MethodGet, Path: "/open-apis/bot/v3/info", Safe: true}, &answer)
	return chat.CleanName(answer.Bot.Name, maxName), err
}

// Send implements [chat.Channel].
func (c *Channel) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	if m.Poll != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Cannot, Text: "Lark has no polls for bots"}
	}
	body := map[string]any{"uuid": m.UUID()}
	call := wire.Call{Path: "/open-apis/im/v1/messages", Body: body}
	if to := cmp.Or(m.ReplyTo, m.Thread); to != "" {
		if !isID(to) {
			return chat.Sent{}, &chat.Error{Kind: chat.Refused,
				Text: fmt.Sprintf("%.80q is not the id of a message of Lark", to)}
		}
		call.Path += "/" + to + "/reply"
		body["reply_in_thread"] = m.Thread != ""
	} else {
		kind := kindOf(m.Chat)
		if kind == "" {
			return chat.Sent{}, &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf(
				"%.80q is neither an id of Lark, which begins with oc_, ou_ or on_, nor an address of mail", m.Chat)}
		}
		call.Query = url.Values{"receive_id_type": {kind}}
		body["receive_id"] = m.Chat
	}
	sent := chat.Sent{}
	var err error
	body["msg_type"], body["content"] = "interactive", card(m)
	if m.File != nil {
		body["msg_type"], body["content"], sent.Notes, err = c.upload(ctx, m.File)
		if err != nil {
			return chat.Sent{}, err
		}
	}
	var answer struct {
		Data struct {
			Message string `json:"message_id"`
			Chat    string `json:"chat_id"`
		} `json:"data"`
	}
	if err := c.call(ctx, call, &answer); err != nil {
		return chat.Sent{}, err
	}
	sent.Ref = chat.Ref{Chat: cmp.Or(answer.Data.Chat, m.Chat), Thread: m.Thread, ID: answer.Data.Message}
	return sent, nil
}

// kindOf returns the kind of an id, or "".
func kindOf(id string) string {
	at := strings.IndexByte(id, '@')
	switch {
	case at > 0 && at < len(id)-1 && len(id) < 255 && !strings.ContainsAny(id, " \r\n"):
		return "email"
	case !isID(id):
		return ""
	}
	return map[string]string{"oc_": "chat_id", "ou_": "open_id", "on_": "union_id"}[id[:min(3, len(id))]]
}

// isID reports whether s can be an id in a path.
func isID(s string) bool {
	return s != "" && len(s) <= 200 && strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// upload returns the type and the content of a message with a file.
func (c *Channel) upload(ctx context.Context, f *chat.File) (kind, content string, notes []string, err error) {
	data, err := wire.ReadFile(f, maxFile)
	if err != nil {
		return "", "", nil, err
	}
	var answer struct {
		Data struct {
			Image string `json:"image_key"`
			File  string `json:"file_key"`
		} `json:"data"`
	}
	name := cmp.Or(chat.CleanName(path.Base(f.Name), maxName), "file")
	images := []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"}
	if slices.Contains(images, f.MIME) && len(data) <= maxImage && len(data) > 0 {
		form := outbound.NewForm()
		form.Set("image_type", "message")
		form.Add("image", name, f.MIME, data)
		err := c.call(ctx, wire.Call{Path: "/open-apis/im/v1/images", Body: form, Safe: true}, &answer)
		return "image", encode(map[string]string{"image_key": answer.Data.Image}), nil, err
	}
	form := outbound.NewForm()
	form.Set("file_name", name)
	kind, fileType := "file", fileType(name)
	if f.Voice {
		if fileType != "opus" {
			notes = []string{"Lark plays only Opus as voice messages; the file was sent as such."}
		} else {
			kind = "audio"
		}
	}
	form.Set("file_type", fileType)
	form.Add("file", name, cmp.Or(f.MIME, "application/octet-stream"), data)
	err = c.call(ctx, wire.Call{Path: "/open-apis/im/v1/files", Body: form, Safe: true}, &answer)
	return kind, encode(map[string]string{"file_key": answer.Data.File}), notes, err
}

func fileType(name string) string {
	types := map[string]string{".opus": "opus", ".ogg": "opus", ".mp4": "mp4", ".pdf": "pdf", ".doc": "doc",
		".docx": "doc",
		".xls":  "xls", ".xlsx": "xls", ".ppt": "ppt", ".pptx": "ppt"}
	return cmp.Or(types[strings.ToLower(path.Ext(name))], "stream")
}

// encode returns a value as JSON with few escapes, because its size counts.
func encode(v any) string {
	written, _ := text.JSON(v) // maps of strings, and cards
	return string(written)
}

// Edit implements [chat.Editor].
func (c *Channel) Edit(ctx context.Context, at chat.Ref, m chat.Message) error {
	return c.change(ctx, http.MethodPatch, at, "", map[string]string{"content": card(m)}, nil)
}

// Delete implements [chat.Deleter].
func (c *Channel) Delete(ctx context.Context, at chat.Ref) error {
	return c.change(ctx, http.MethodDelete, at, "", nil, nil)
}

// React implements [chat.Reactor].
func (c *Channel) React(ctx context.Context, at chat.Ref, emoji string, remove bool) error {
	name := emojiName(emoji)
	if name == "" {
		return &chat.Error{Kind: chat.Refused,
			Text: fmt.Sprintf("Lark has no reaction %.40q; use one such as 👍, or a name "+
				"such as THUMBSUP", emoji)}
	}
	if !remove {
		body := map[string]any{"reaction_type": map[string]string{"emoji_type": name}}
		return c.change(ctx, http.MethodPost, at, "/reactions", body, nil)
	}
	var answer struct {
		Data struct {
			Items []struct {
				ID       string `json:"reaction_id"`
				Operator struct {
					ID string `json:"operator_id"`
				} `json:"operator"`
			} `json:"items"`
		} `json:"data"`
	}
	if err := c.change(ctx, http.MethodGet, at, "/reactions?reaction_type="+name, nil, &answer); err != nil {
		return err
	}
	for _, item := range answer.Data.Items {
		if item.Operator.ID == c.a.Values["app_id"] && isID(item.ID) {
			return c.change(ctx, http.MethodDelete, at, "/reactions/"+item.ID, nil, nil)
		}
	}
	return nil // there is none
}

// change sends a request about a message.
func (c *Channel) change(ctx context.Context, method string, at chat.Ref, rest string, body, into any) error {
	if !isID(at.ID) {
		return &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("%.80q is not the id of a message of Lark", at.ID)}
	}
	if into == nil {
		into = &status{}
	}
	rest, query, _ := strings.Cut(rest, "?")
	call := wire.Call{Method: method, Path: "/open-apis/im/v1/messages/" + at.ID + rest, Body: body, Safe: true}
	if query != "" {
		name, value, _ := strings.Cut(query, "=")
		call.Query = url.Values{name: {value}}
	}
	return c.call(ctx, call, into)
}

// emojiName returns Lark's name of a reaction, or "".
func emojiName(emoji string) string {
	names := map[string]string{"👍": "THUMBSUP", "👎": "ThumbsDown", "❤": "HEART", "🔥": "Fire", "👏": "APPLAUSE",
		"😁": "GRIN",
		"😱": "TERROR", "😢": "CRY", "🎉": "PARTY", "🙏": "THANKS", "👌": "OK", "💔": "HEARTBROKEN", "😭": "SOB",
		"👀": "GLANCE",
		"😘": "KISS", "💯": "Hundred", "✅": "DONE", "✔": "CheckMark", "❌": "CrossMark", "🙂": "SMILE", "😊": "SMILE",
		"😂": "LOL",
		"🤔": "THINKING", "💪": "MUSCLE", "👋": "WAVE", "😄": "LAUGH", "😍": "DROOL", "😎": "SHOWOFF", "🌹": "ROSE"}
	if name, known := names[strings.TrimSuffix(emoji, "\ufe0f")]; known {
		return name
	}
	if isID(emoji) && len(emoji) <= 40 {
		return emoji
	}
	return ""
}

// Fetch implements [chat.Fetcher].
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	parts := strings.Split(f.ID, "/")
	if len(parts) != 3 || !isID(parts[0]) || !isID(parts[1]) || parts[2] != "image" && parts[2] != "file" {
		return &chat.Error{Kind: chat.Refused, Text: "there is no such file"}
	}
	call := wire.Call{Path: "/open-apis/im/v1/messages/" + parts[0] + "/resources/" + parts[1],
		Query: url.Values{"type": {parts[2]}}}
	used, err := c.renew(ctx, "")
	if err != nil {
		return err
	}
	err = c.api.Fetch(ctx, call, limit, into)
	if chat.KindOf(err) == expired {
		if _, err = c.renew(ctx, used); err == nil {
			err = c.api.Fetch(ctx, call, limit, into)
		}
	}
	return denied(err)
}
