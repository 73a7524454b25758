package slack

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/socket"
)

const (
	maxName  = 200    // bytes of names from outside
	maxWords = 64_000 // bytes of texts from outside
)

// Receive reads an event, a press of a button or a command.
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	if err := c.verify(r, body, now); err != nil {
		return nil, chat.Response{}, err
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind != "application/x-www-form-urlencoded" {
		return c.event(body, now)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, chat.Response{}, wire.Forged("the request is not a form")
	}
	if payload := form.Get("payload"); payload != "" {
		in, err := pressed([]byte(payload), now)
		return in, chat.Response{}, err
	}
	return command(form, now), chat.Response{}, nil
}

// verify checks the signature of a request and its age.
func (c *Channel) verify(r *http.Request, body []byte, now time.Time) error {
	secret, err := c.a.Secrets["signing_secret"].Get(r.Context(), "signing secret of Slack")
	if err != nil {
		return err
	}
	stamp := r.Header.Get("X-Slack-Request-Timestamp")
	signature, found := strings.CutPrefix(r.Header.Get("X-Slack-Signature"), "v0=")
	sum, err := hex.DecodeString(signature)
	if err != nil || !found || !wire.Signed(secret, sum, "v0:", stamp, ":", string(body)) {
		return wire.Forged("the signature is not Slack's")
	}
	_, err = wire.Fresh(stamp, now)
	return err
}

// An event is an event of the Events API.
type event struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge"`
	Event     struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"`
		Channel     string `json:"channel"`
		ChannelType string `json:"channel_type"`
		User        string `json:"user"`
		Bot         string `json:"bot_id"`
		Text        string `json:"text"`
		TS          string `json:"ts"`
		Thread      string `json:"thread_ts"`
		Files       []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			MIME string `json:"mimetype"`
			Size int64  `json:"size"`
			URL  string `json:"url_private_download"`
		} `json:"files"`
	} `json:"event"`
}

func (c *Channel) event(body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	var e event
	if err := wire.Decode(body, &e); err != nil {
		return nil, chat.Response{}, err
	}
	if e.Type == "url_verification" {
		challenge, err := json.Marshal(map[string]string{"challenge": e.Challenge})
		return nil, chat.Response{Body: challenge}, err
	}
	return e.incoming(now), chat.Response{}, nil
}

// incoming returns the message of an event, if a member or a bot has written it.
func (e event) incoming(now time.Time) []chat.Incoming {
	m := e.Event
	switch {
	case e.Type != "event_callback", m.Type != "message" && m.Type != "app_mention":
		return nil
	case m.Subtype != "" && m.Subtype != "file_share" && m.Subtype != "thread_broadcast" && m.Subtype != "bot_message":
		return nil
	}
	in := chat.Incoming{
		ID: m.Channel + "/" + m.TS, // a mention is also sent as a message
		At: timeOf(m.TS, now), Group: m.ChannelType != "im",
		From:    chat.Person{ID: cmp.Or(m.User, m.Bot), Bot: m.Bot != ""},
		Message: chat.Ref{Chat: m.Channel, Thread: m.Thread, ID: m.TS}, Text: chat.CleanText(plain(m.Text), maxWords),
	}
	if m.Thread == m.TS {
		in.Message.Thread = "" // it is the beginning of the thread
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, chat.Attachment{Name: chat.CleanName(cmp.Or(f.Name, "file"), maxName),
			MIME: chat.CleanName(f.MIME, maxName), Size: f.Size, ID: cmp.Or(f.URL, f.ID)})
	}
	if m.Channel == "" || in.From.ID == "" || in.Text == "" && len(in.Files) == 0 {
		return nil
	}
	return []chat.Incoming{in}
}

// timeOf returns the time of a ts such as 1700000000.000100.
func timeOf(ts string, now time.Time) time.Time {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return now
	}
	return time.Unix(n, 0).UTC()
}

// plain returns mrkdwn with links and mentions as text.
func plain(mrkdwn string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(mrkdwn, "<")
		b.WriteString(before)
		if !found {
			return html.UnescapeString(b.String())
		}
		inner, after, closed := strings.Cut(rest, ">")
		if !closed {
			return html.UnescapeString(b.String() + "<" + rest)
		}
		target, label, _ := strings.Cut(inner, "|")
		switch {
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"), strings.HasPrefix(target, "!"):
			sign := strings.Replace(target[:1], "!", "@", 1)
			b.WriteString(sign + strings.TrimPrefix(cmp.Or(label, target[1:]), sign))
		case label == "" || label == target || "mailto:"+label == target:
			b.WriteString(cmp.Or(label, target))
		default:
			b.WriteString(label + " (" + target + ")")
		}
		mrkdwn = after
	}
}

// pressed reads the payload of a pressed button.
func pressed(payload []byte, now time.Time) ([]chat.Incoming, error) {
	var p struct {
		Type string `json:"type"`
		User struct {
			ID   string `json:"id"`
			Name string `json:"username"`
		} `json:"user"`
		Channel struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"channel"`
		Message struct {
			TS     string `json:"ts"`
			Thread string `json:"thread_ts"`
		} `json:"message"`
		Actions []struct {
			Value string `json:"value"`
			TS    string `json:"action_ts"`
		} `json:"actions"`
		Response string `json:"response_url"`
	}
	if err := wire.Decode(payload, &p); err != nil {
		return nil, err
	}
	if p.Type != "block_actions" || len(p.Actions) == 0 || p.Actions[0].Value == "" || p.User.ID == "" {
		return nil, nil
	}
	action := p.Actions[0]
	return []chat.Incoming{{
		ID: p.Channel.ID + "/" + p.Message.TS + "/" + p.User.ID + "/" + action.TS, At: timeOf(action.TS, now),
		From:    chat.Person{ID: p.User.ID, Name: chat.CleanName(p.User.Name, maxName)},
		Group:   !strings.HasPrefix(p.Channel.ID, "D"),
		Title:   chat.CleanName(p.Channel.Name, maxName),
		Message: chat.Ref{Chat: p.Channel.ID, Thread: p.Message.Thread, ID: p.Message.TS},
		Pressed: action.Value, Token: p.Response,
	}}, nil
}

// command reads a slash command.
func command(form url.Values, now time.Time) []chat.Incoming {
	if form.Get("command") == "" || form.Get("user_id") == "" {
		return nil
	}
	return []chat.Incoming{{
		ID: "command/" + form.Get("trigger_id"), At: now,
		From:    chat.Person{ID: form.Get("user_id"), Name: chat.CleanName(form.Get("user_name"), maxName)},
		Group:   !strings.HasPrefix(form.Get("channel_id"), "D"),
		Title:   chat.CleanName(form.Get("channel_name"), maxName),
		Message: chat.Ref{Chat: form.Get("channel_id")},
		Text:    chat.CleanText(strings.TrimSpace(form.Get("command")+" "+form.Get("text")), maxWords),
		Token:   form.Get("response_url"),
	}}
}

// Acknowledge implements [chat.Acknowledger].
func (c *Channel) Acknowledge(ctx context.Context, in chat.Incoming, words string) error {
	if words == "" || in.Token == "" {
		return nil
	}
	if !c.api.Owns(in.Token) {
		return &chat.Error{Kind: chat.Refused, Text: "the address for the answer is not Slack's"}
	}
	_, err := c.api.Do(ctx, wire.Call{Path: in.Token, Bare: true, Safe: true, Body: map[string]any{
		"response_type": "ephemeral", "replace_original": false, "text": escape(words)}})
	return err
}

// Fetch downloads a file, from hosts of Slack only.
func (c *Channel) Fetch(ctx context.Context, f chat.Attachment, limit int64, into io.Writer) error {
	if err := wire.Fits(f, limit); err != nil {
		return err
	}
	target := f.ID
	if !strings.Contains(target, ":") { // of a workspace that shares a channel
		var info struct {
			File struct {
				URL string `json:"url_private_download"`
			} `json:"file"`
		}
		err := c.request(ctx, c.api, wire.Call{Path: "files.info", Safe: true, Body: url.Values{"file": {f.ID}}}, &info)
		if err != nil {
			return err
		}
		target = info.File.URL
	}
	if !c.api.Owns(target) {
		return &chat.Error{Kind: chat.Refused, Text: "the address of the file is not Slack's"}
	}
	return c.api.Fetch(ctx, wire.Call{Path: target}, limit, into)
}

// Pull receives over Socket Mode. There is no cursor: within an hour Slack repeats
// unacknowledged events a few times.
func (c *Channel) Pull(ctx context.Context, _ string, deliver func(string, []chat.Incoming) error) error {
	if c.a.Secrets["app_token"] == nil {
		return &chat.Error{Kind: chat.Denied, Text: "Socket Mode needs the app token, xapp-..."}
	}
	return wire.Repeat(ctx, c.wait, func(ctx context.Context) error {
		var place struct {
			URL string `json:"url"`
		}
		err := c.request(ctx, c.app, wire.Call{Path: "apps.connections.open", Safe: true, Body: url.Values{}}, &place)
		if err != nil {
			return err
		}
		if !c.api.Owns(place.URL) {
			return &chat.Error{Kind: chat.Down, Text: "Slack named an address of another host for Socket Mode"}
		}
		conn, err := socket.Open(ctx, "Slack", place.URL, c.a)
		if err != nil {
			return err
		}
		defer conn.Close()
		for {
			again, err := c.envelope(ctx, conn, deliver)
			if err != nil || !again {
				return err
			}
		}
	})
}

// An envelope is a message of Socket Mode.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
}

// envelope reads one envelope, and acknowledges it after it was delivered. It returns false
// if Slack asks to connect again.
func (c *Channel) envelope(ctx context.Context, conn *socket.Conn, deliver func(string, []chat.Incoming) error) (bool,
	error) {
	var e envelope
	if err := conn.Read(ctx, &e); err != nil {
		return false, err
	}
	var in []chat.Incoming
	switch e.Type {
	case "disconnect":
		return false, nil
	case "events_api":
		var inner event
		if json.Unmarshal(e.Payload, &inner) == nil {
			in = inner.incoming(c.a.Time())
		}
	case "interactive":
		in, _ = pressed(e.Payload, c.a.Time()) // an unknown payload is acknowledged, or it is repeated
	case "slash_commands":
		var fields map[string]any
		if json.Unmarshal(e.Payload, &fields) == nil {
			form := url.Values{}
			for name, value := range fields {
				if words, ok := value.(string); ok {
					form.Set(name, words)
				}
			}
			in = command(form, c.a.Time())
		}
	}
	if len(in) > 0 {
		if err := deliver("", in); err != nil {
			return false, err
		}
	}
	if e.ID == "" {
		return true, nil
	}
	return true, conn.Write(ctx, map[string]string{"envelope_id": e.ID})
}
