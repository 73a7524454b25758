package telegram

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	pollTime   = 50 * time.Second // the time that Telegram waits for an update
	maxUpdates = 50
	maxName    = 200    // bytes of names from outside
	maxWords   = 32_000 // bytes of texts from outside; Telegram has at most 4096 characters
)

// wanted are the kinds of updates that are read.
func wanted() []string { return []string{"message", "channel_post", "callback_query"} }

// Pull fetches updates. The cursor is the id of the next update.
func (c *Channel) Pull(ctx context.Context, cursor string, deliver func(string, []chat.Incoming) error) error {
	next, _ := strconv.ParseInt(cursor, 10, 64) // "" begins with the oldest update
	return wire.Repeat(ctx, c.wait, func(ctx context.Context) error {
		var updates []json.RawMessage
		err := c.request(ctx, wire.Call{Path: "getUpdates", Safe: true, Timeout: 2 * pollTime,
			Body: map[string]any{"offset": next, "limit": maxUpdates, "timeout": int(pollTime.Seconds()),
				"allowed_updates": wanted()}}, &updates)
		if err != nil && says(err, "webhook is active") {
			return c.call(ctx, "deleteWebhook", true, nil, nil) // the operator wants to pull
		}
		if err != nil {
			return err
		}
		var in []chat.Incoming
		for _, one := range updates {
			var u update
			if err := json.Unmarshal(one, &u); err != nil {
				var id struct { // an unreadable update must not block the next ones
					ID int64 `json:"update_id"`
				}
				if json.Unmarshal(one, &id) == nil {
					next = max(next, id.ID+1)
				}
				continue
			}
			next = max(next, u.ID+1)
			if arrived, ok := u.incoming(c.a.Time()); ok {
				in = append(in, arrived)
			}
		}
		if len(in) == 0 {
			return nil
		}
		return deliver(strconv.FormatInt(next, 10), in)
	})
}

// Receive reads a request to the webhook.
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	secret, err := c.a.Secrets["signing_secret"].Get(r.Context(), "secret token of the webhook")
	if err != nil {
		return nil, chat.Response{}, err
	}
	got := r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
	if secret == "" || subtle.ConstantTimeCompare([]byte(got), []byte(secret)) != 1 {
		return nil, chat.Response{}, wire.Forged("the secret token is not the webhook's")
	}
	var u update
	if err := wire.Decode(body, &u); err != nil {
		return nil, chat.Response{}, err
	}
	if one, ok := u.incoming(now); ok {
		return []chat.Incoming{one}, chat.Response{}, nil
	}
	return nil, chat.Response{}, nil
}

// An update is an event at Telegram.
type update struct {
	ID       int64          `json:"update_id"`
	Message  *message       `json:"message"`
	Post     *message       `json:"channel_post"`
	Callback *callbackQuery `json:"callback_query"`
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
}

func (u user) person() chat.Person {
	return chat.Person{ID: strconv.FormatInt(u.ID, 10), Bot: u.Bot,
		Name: chat.CleanName(cmp.Or(strings.TrimSpace(u.First+" "+u.Last), u.Username), maxName)}
}

type chatInfo struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

// A media is a file that arrives.
type media struct {
	ID       string `json:"file_id"`
	Name     string `json:"file_name"`
	MIME     string `json:"mime_type"`
	Size     int64  `json:"file_size"`
	Emoji    string `json:"emoji"` // of stickers
	Animated bool   `json:"is_animated"`
}

type message struct {
	ID      int64     `json:"message_id"`
	Thread  int64     `json:"message_thread_id"`
	Topic   bool      `json:"is_topic_message"`
	From    *user     `json:"from"`
	Sender  *chatInfo `json:"sender_chat"` // a channel, or a group whose members write anonymously
	Chat    chatInfo  `json:"chat"`
	Date    int64     `json:"date"`
	ReplyTo *struct {
		ID int64 `json:"message_id"`
	} `json:"reply_to_message"`
	Text      string  `json:"text"`
	Caption   string  `json:"caption"`
	Photo     []media `json:"photo"` // in several sizes, the largest one last
	Document  *media  `json:"document"`
	Audio     *media  `json:"audio"`
	Voice     *media  `json:"voice"`
	Video     *media  `json:"video"`
	VideoNote *media  `json:"video_note"`
	Sticker   *media  `json:"sticker"`
	Location  *struct {
		Latitude  float64 `json:"latitude"`
		Longitude float64 `json:"longitude"`
	} `json:"location"`
	Contact *struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
		Phone string `json:"phone_number"`
	} `json:"contact"`
}

// incoming returns the message of an update, and false if it has no message.
func (u update) incoming(now time.Time) (chat.Incoming, bool) {
	m := u.Message
	if m == nil {
		m = u.Post
	}
	if q := u.Callback; q != nil {
		if q.Message == nil || q.Data == "" {
			return chat.Incoming{}, false
		}
		in := q.Message.incoming()
		in.From, in.Pressed, in.Token, in.At = q.From.person(), q.Data, q.ID, now
		in.Text, in.Files, in.ReplyTo = "", nil, ""
		in.ID = strconv.FormatInt(u.ID, 10)
		return in, true
	}
	if m == nil {
		return chat.Incoming{}, false
	}
	in := m.incoming()
	in.ID = strconv.FormatInt(u.ID, 10)
	return in, in.Text != "" || len(in.Files) > 0
}

func (m *message) incoming() chat.Incoming {
	id := strconv.FormatInt(m.ID, 10)
	in := chat.Incoming{
		At: time.Unix(m.Date, 0).UTC(), Group: m.Chat.Type != "private", Title: chat.CleanName(m.Chat.Title, maxName),
		Message: chat.Ref{Chat: strconv.FormatInt(m.Chat.ID, 10), ID: id}, Text: m.words(), Files: m.files(),
	}
	switch {
	case m.Sender != nil:
		in.From = chat.Person{ID: strconv.FormatInt(m.Sender.ID, 10), Name: chat.CleanName(m.Sender.Title, maxName)}
	case m.From != nil:
		in.From = m.From.person()
	}
	if m.Topic {
		in.Message.Thread = strconv.FormatInt(m.Thread, 10)
	}
	if m.ReplyTo != nil && !(m.Topic && m.ReplyTo.ID == m.Thread) { // all messages in a topic reply to its beginning
		in.ReplyTo = strconv.FormatInt(m.ReplyTo.ID, 10)
	}
	return in
}

// words returns the text of a message, or a description of a message without one.
func (m *message) words() string {
	words := cmp.Or(m.Text, m.Caption)
	switch {
	case words != "":
	case m.Sticker != nil:
		words = "[sticker " + m.Sticker.Emoji + "]"
	case m.Location != nil:
		words = fmt.Sprintf("[location %g, %g]", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		words = fmt.Sprintf("[contact %s %s, %s]", m.Contact.First, m.Contact.Last, m.Contact.Phone)
	}
	return chat.CleanText(words, maxWords)
}

func (m *message) files() (files []chat.Attachment) {
	add := func(f *media, name, kind string) {
		if f != nil && f.ID != "" {
			files = append(files, chat.Attachment{Name: cmp.Or(chat.CleanName(f.Name, maxName), name),
				MIME: chat.CleanName(cmp.Or(f.MIME, kind), maxName), Size: f.Size, ID: f.ID})
		}
	}
	if n := len(m.Photo); n > 0 {
		add(&m.Photo[n-1], "photo.jpg", "image/jpeg")
	}
	add(m.Document, "document", "")
	add(m.Audio, "audio.mp3", "audio/mpeg")
	add(m.Voice, "voice.ogg", "audio/ogg")
	add(m.Video, "video.mp4", "video/mp4")
	add(m.VideoNote, "video.mp4", "video/mp4")
	return files
}

// Fetch downloads a file. Telegram gives bots files of at most 20 MB.
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	limit = min(limit, maxFetch)
	if err := wire.Fits(f, limit); err != nil {
		return err
	}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := c.call(ctx, "getFile", true, map[string]any{"file_id": f.ID}, &file); err != nil {
		return err
	}
	path, err := url.PathUnescape(file.Path)
	if err != nil || path == "" || strings.Contains(path, "..") {
		return &chat.Error{Kind: chat.Refused, Text: "Telegram has no path of the file"}
	}
	return c.api.Fetch(ctx, wire.Call{Path: "file/" + path}, limit, into)
}

// Acknowledge answers the press of a button.
func (c *Channel) Acknowledge(ctx context.Context, in chat.Incoming, words string) error {
	const maxAnswer = 200
	err := c.call(ctx, "answerCallbackQuery", true,
		map[string]any{"callback_query_id": in.Token, "text": text.Clip(words, maxAnswer)}, nil)
	if isRefused(err) && says(err, "query is too old", "query ID is invalid") {
		return nil // the button is no longer waiting
	}
	return err
}
