package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const (
	token = "123456:AAE-secret_token"
	base  = "https://api.telegram.org/bot" + token + "/"
	post  = "POST " + base
	sent  = `{"ok":true,"result":{"message_id":9007199254740993}}`
)

func open(t *testing.T) (*Channel, *wiretest.Service) {
	t.Helper()
	s := wiretest.New(t, "api.telegram.org")
	c, err := New(chat.Account{HTTP: s.HTTP, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return token, nil }, "signing_secret": func(context.Context) (string, error) { return "hook-secret", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(context.Context, time.Duration) error { return nil }
	return c, s
}

func file(name, kind, content string) *chat.File {
	return &chat.File{Name: name, MIME: kind, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func TestRender(t *testing.T) {
	c, _ := open(t)
	for markdown, want := range map[string]string{
		"a < b & **c *d*** ~~e~~ `f<g`":  "a &lt; b &amp; <b>c <i>d</i></b> <s>e</s> <code>f&lt;g</code>",
		"# T\n\n- a\n\n> q\n> > r":       "<b>T</b>\n\n• a\n\n<blockquote>q\nr</blockquote>",
		"```go\"\na<b\n```\n```\nx\n```": "<pre><code class=\"language-go&#34;\">a&lt;b</code></pre>\n<pre>x</pre>",
		"[a\"b](https://x.example/?a=1&b=\\\") https://y.example/?a&b": "a\"b (https://x.example/?a=1&amp;b=\")" +
			" https://y.example/?a&amp;b",
		"[l](https://x.example/?a=1&b='2')": `<a href="https://x.example/?a=1&amp;b=&#39;2&#39;">l</a>`,
	} {
		if got := c.Render(markdown); got != want {
			t.Errorf("%q\n got %s\nwant %s", markdown, got, want)
		}
	}
}

func TestSend(t *testing.T) {
	jpeg := "\xff\xd8\xff photo"
	large := strings.Repeat("x", maxPhoto+1)
	bad := func(text string) wiretest.Exchange {
		return wiretest.Exchange{Status: 400, Reply: `{"ok":false,"error_code":400,"description":"Bad Request: ` +
			text + `"}`}
	}
	with := func(x wiretest.Exchange, request, json string) wiretest.Exchange {
		x.Request, x.JSON = post+request, json
		return x
	}
	const previews = `"link_preview_options":{"is_disabled":true}`
	for name, test := range map[string]struct {
		m     chat.Message
		want  []wiretest.Exchange
		ref   chat.Ref
		notes int
	}{
		"text": {m: chat.Message{Chat: "-100", Text: "**a**"},
			want: []wiretest.Exchange{{Request: post + "sendMessage", Reply: sent,
				Header: map[string]string{"Authorization": ""},
				JSON:   `{"chat_id":"-100","text":"<b>a</b>","parse_mode":"HTML",` + previews + `}`}}},
		"plain, silent, in a topic, a reply, with buttons": {
			m: chat.Message{Chat: "@news", Text: "**a**", Plain: true, Silent: true, Thread: "7", ReplyTo: "5",
				Buttons: []chat.Button{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}},
			want: []wiretest.Exchange{{Request: post + "sendMessage", Reply: sent,
				JSON: `{"chat_id":"@news","text":"**a**","disable_notification":true,"message_thread_id":7,
				"reply_parameters":{"message_id":5,"allow_sending_without_reply":true},` + previews + `,
				"reply_markup":{"inline_keyboard":[[{"text":"Yes","callback_data":"y"},{"text":"No","callback_data":"n"}]]}}`}},
			ref: chat.Ref{Chat: "@news", Thread: "7"}},
		"the general topic": {m: chat.Message{Chat: "1", Text: "a", Plain: true, Thread: "1"},
			want: []wiretest.Exchange{{Request: post + "sendMessage", Reply: sent,
				JSON: `{"chat_id":"1","text":"a",` + previews + `}`}}, ref: chat.Ref{Chat: "1", Thread: "1"}},
		"markup is refused": {m: chat.Message{Chat: "1", Text: "**a**"},
			want: []wiretest.Exchange{
				with(bad("can't parse entities: unclosed tag"), "sendMessage",
					`{"chat_id":"1","text":"<b>a</b>","parse_mode":"HTML",`+previews+`}`),
				{Request: post + "sendMessage", Reply: sent, JSON: `{"chat_id":"1","text":"a",` + previews + `}`}},
			notes: 1},
		"the topic and the group are gone": {m: chat.Message{Chat: "-5", Text: "a", Plain: true, Thread: "8"},
			want: []wiretest.Exchange{
				with(bad("message thread not found"), "sendMessage",
					`{"chat_id":"-5","text":"a","message_thread_id":8,`+previews+`}`),
				{Request: post + "sendMessage", JSON: `{"chat_id":"-5","text":"a",` + previews + `}`, Status: 400,
					Reply: `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat",
						"parameters":{"migrate_to_chat_id":-1001234567890}}`},
				{Request: post + "sendMessage", Reply: sent, JSON: `{"chat_id":"-1001234567890","text":"a",` +
					previews + `}`}},
			ref: chat.Ref{Chat: "-1001234567890"}, notes: 2},
		"a poll": {m: chat.Message{Chat: "1", Poll: &chat.Poll{Question: "q?", Options: []string{"a", "b"},
			Multiple: true}},
			want: []wiretest.Exchange{{Request: post + "sendPoll", Reply: sent,
				JSON: `{"chat_id":"1","question":"q?","options":[{"text":"a"},{"text":"b"}],"allows_multiple_answers":true}`}}},
		"a photo": {m: chat.Message{Chat: "1", Thread: "7", Silent: true, Text: "*c*",
			File: file("ä.jpg", "image/jpeg", jpeg)},
			want: []wiretest.Exchange{{Request: post + "sendPhoto", Reply: sent,
				Form: map[string]string{"chat_id": "1", "message_thread_id": "7", "disable_notification": "true",
					"caption": "<i>c</i>", "parse_mode": "HTML"},
				Files: map[string]string{"photo": "ä.jpg image/jpeg " + jpeg}}},
			ref: chat.Ref{Chat: "1", Thread: "7"}},
		"a photo that is none": {m: chat.Message{Chat: "1", File: file("a.png", "image/png", "x")},
			want: []wiretest.Exchange{
				{Request: post + "sendPhoto", Form: map[string]string{"chat_id": "1"},
					Files: map[string]string{"photo": "a.png image/png x"}, Status: 400,
					Reply: `{"ok":false,"error_code":400,"description":"Bad Request: PHOTO_INVALID_DIMENSIONS"}`},
				{Request: post + "sendDocument", Reply: sent, Form: map[string]string{"chat_id": "1"},
					Files: map[string]string{"document": "a.png image/png x"}}}, notes: 1},
		"a large picture": {m: chat.Message{Chat: "1", File: file("a.png", "image/png", large)},
			want: []wiretest.Exchange{{Request: post + "sendDocument", Reply: sent,
				Form:  map[string]string{"chat_id": "1"},
				Files: map[string]string{"document": "a.png image/png " + large}}}, notes: 1},
		"a video": {m: chat.Message{Chat: "1", File: file("a.mp4", "video/mp4", "x")},
			want: []wiretest.Exchange{{Request: post + "sendVideo", Reply: sent,
				Form:  map[string]string{"chat_id": "1"},
				Files: map[string]string{"video": "a.mp4 video/mp4 x"}}}},
		"music": {m: chat.Message{Chat: "1", File: file("a.mp3", "audio/mpeg", "x")},
			want: []wiretest.Exchange{{Request: post + "sendAudio", Reply: sent,
				Form:  map[string]string{"chat_id": "1"},
				Files: map[string]string{"audio": "a.mp3 audio/mpeg x"}}}},
		"a voice that is not wanted": {m: chat.Message{Chat: "1",
			File: &chat.File{Name: "a.ogg", MIME: "audio/ogg", Voice: true,
				Open: file("", "", "x").Open}},
			want: []wiretest.Exchange{
				{Request: post + "sendVoice", Form: map[string]string{"chat_id": "1"},
					Files: map[string]string{"voice": "a.ogg audio/ogg x"}, Status: 400,
					Reply: `{"ok":false,"error_code":400,"description":"Bad Request: VOICE_MESSAGES_FORBIDDEN"}`},
				{Request: post + "sendDocument", Reply: sent, Form: map[string]string{"chat_id": "1"},
					Files: map[string]string{"document": "a.ogg audio/ogg x"}}}, notes: 1},
		"a voice in another format": {m: chat.Message{Chat: "1",
			File: &chat.File{Name: "a.wav", MIME: "audio/wav", Voice: true,
				Open: file("", "", "x").Open}},
			want: []wiretest.Exchange{{Request: post + "sendDocument", Reply: sent,
				Form:  map[string]string{"chat_id": "1"},
				Files: map[string]string{"document": "a.wav audio/wav x"}}}, notes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			s.Expect(test.want...)
			got, err := c.Send(t.Context(), test.m)
			if err != nil {
				t.Fatal(err)
			}
			if test.ref == (chat.Ref{}) {
				test.ref.Chat = test.m.Chat
			}
			test.ref.ID = "9007199254740993"
			if got.Ref != test.ref || len(got.Notes) != test.notes {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestErrors: each has its kind, is not tried again here, and has no token in it.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		x     wiretest.Exchange
		kind  chat.Kind
		after time.Duration
		text  string
	}{
		"rate limit": {x: wiretest.Exchange{Status: 429, Reply: `{"ok":false,"error_code":429,
			"description":"Too Many Requests: retry after 14","parameters":{"retry_after":14}}`},
			kind: chat.Busy, after: 14 * time.Second, text: "retry after 14"},
		"blocked": {x: wiretest.Exchange{Status: 403, Reply: `{"ok":false,"error_code":403,
			"description":"Forbidden: bot was blocked by the user"}`}, kind: chat.Refused, text: "blocked by the user"},
		"no chat": {x: wiretest.Exchange{Status: 400, Reply: `{"ok":false,"error_code":400,
			"description":"Bad Request: chat not found"}`}, kind: chat.Refused, text: "chat not found"},
		"a revoked token": {x: wiretest.Exchange{Status: 401, Reply: `{"ok":false,"error_code":401,
			"description":"Unauthorized"}`}, kind: chat.Denied},
		"no token": {x: wiretest.Exchange{Status: 404, Reply: `{"ok":false,"error_code":404,
			"description":"Not Found"}`}, kind: chat.Denied, text: "not a bot's"},
		"a page that quotes the request": {x: wiretest.Exchange{Status: 502, Reply: "<html>" + base + "</html>"},
			kind: chat.Unknown},
		"a description with the token": {x: wiretest.Exchange{Status: 400, Reply: `{"ok":false,"description":"` + base +
			`"}`},
			kind: chat.Refused},
		"lost": {x: wiretest.Exchange{Drop: true}, kind: chat.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			test.x.Request = post + "sendMessage"
			test.x.JSON = `{"chat_id":"1","text":"a","link_preview_options":{"is_disabled":true}}`
			s.Expect(test.x)
			_, err := c.Send(t.Context(), chat.Message{Chat: "1", Text: "a", Plain: true})
			var e *chat.Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after ||
				!strings.Contains(e.Text, test.text) {
				t.Fatalf("%#v", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}

func TestFilesThatCannotBeSent(t *testing.T) {
	c, _ := open(t)
	gone := errors.New("gone")
	for _, f := range []*chat.File{
		{Name: "large", Size: maxFile + 1},
		{Name: "gone", Open: func() (io.ReadCloser, error) { return nil, gone }},
	} {
		if _, err := c.Send(t.Context(), chat.Message{Chat: "1", Text: "t", File: f}); !isRefused(err) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestOtherMethods(t *testing.T) {
	c, s := open(t)
	ok := `{"ok":true,"result":true}`
	at := chat.Ref{Chat: "-1", ID: "5"}
	bad := func(text string) string {
		return `{"ok":false,"error_code":400,"description":"Bad Request: ` + text + `"}`
	}
	edit := `{"chat_id":"-1","message_id":5,"text":"<b>b</b>","parse_mode":"HTML","link_preview_options":{"is_disabled":true}}`
	caption := `{"chat_id":"-1","message_id":5,"caption":"<b>b</b>","parse_mode":"HTML"}`
	s.Expect(
		wiretest.Exchange{Request: post + "getMe", JSON: `{}`,
			Reply: `{"ok":true,"result":{"id":1,"username":"a_bot"}}`},
		wiretest.Exchange{Request: post + "editMessageText", JSON: edit, Reply: ok},
		wiretest.Exchange{Request: post + "editMessageText", JSON: edit, Status: 400,
			Reply: bad("message is not modified: same")},
		wiretest.Exchange{Request: post + "editMessageText", JSON: edit, Status: 400,
			Reply: bad("there is no text in the message to edit")},
		wiretest.Exchange{Request: post + "editMessageCaption", JSON: caption, Reply: ok},
		wiretest.Exchange{Request: post + "editMessageText", JSON: edit, Status: 400,
			Reply: bad("message can't be edited")},
		wiretest.Exchange{Request: post + "deleteMessage", JSON: `{"chat_id":"-1","message_id":5}`, Reply: ok},
		wiretest.Exchange{Request: post + "deleteMessage", JSON: `{"chat_id":"-1","message_id":5}`, Status: 400,
			Reply: bad("message to delete not found")},
		wiretest.Exchange{Request: post + "setMessageReaction", Reply: ok,
			JSON: `{"chat_id":"-1","message_id":5,"reaction":[{"type":"emoji","emoji":"❤"}]}`},
		wiretest.Exchange{Request: post + "setMessageReaction", Reply: ok,
			JSON: `{"chat_id":"-1","message_id":5,"reaction":[]}`},
		wiretest.Exchange{Request: post + "createForumTopic", JSON: `{"chat_id":"-1","name":"Plans","icon_color":7322096,"icon_custom_emoji_id":"5"}`,
			Reply: `{"ok":true,"result":{"message_thread_id":77,"name":"Plans"}}`},
		wiretest.Exchange{Request: post + "answerCallbackQuery", JSON: `{"callback_query_id":"q","text":"done"}`,
			Reply: ok},
		wiretest.Exchange{Request: post + "answerCallbackQuery", JSON: `{"callback_query_id":"q"}`, Status: 400,
			Reply: bad("query is too old and response timeout expired or query ID is invalid")},
	)
	if name, err := c.Check(t.Context()); name != "@a_bot" || err != nil {
		t.Error(name, err)
	}
	m := chat.Message{Text: "**b**"}
	for range 3 {
		if err := c.Edit(t.Context(), at, m); err != nil {
			t.Error(err)
		}
	}
	if err := c.Edit(t.Context(), at, m); !isRefused(err) {
		t.Error(err)
	}
	for range 2 {
		if err := c.Delete(t.Context(), at); err != nil {
			t.Error(err)
		}
	}
	if err := c.React(t.Context(), at, "❤\ufe0f", false); err != nil {
		t.Error(err)
	}
	if err := c.React(t.Context(), at, "", true); err != nil {
		t.Error(err)
	}
	var e *chat.Error
	if err := c.React(t.Context(), at, "🦖", false); !errors.As(err, &e) || e.Kind != chat.Cannot {
		t.Error(err)
	}
	if thread, err := c.CreateTopic(t.Context(), "-1", chat.NewTopic{Name: "Plans", Color: 7322096, Icon: "5"}); thread != "77" || err != nil {
		t.Error(thread, err)
	}
	for _, name := range []string{"", strings.Repeat("ä", 129)} {
		if _, err := c.CreateTopic(t.Context(), "-1", chat.NewTopic{Name: name}); !isRefused(err) {
			t.Error(err)
		}
	}
	if err := c.Delete(t.Context(), chat.Ref{Chat: "1", ID: "x"}); !isRefused(err) {
		t.Error(err)
	}
	for _, text := range []string{"done", ""} {
		if err := c.Acknowledge(t.Context(), chat.Incoming{Token: "q"}, text); err != nil {
			t.Error(err)
		}
	}
	if len(reactions()) != 73 {
		t.Errorf("%d reactions", len(reactions()))
	}
}

func TestFetch(t *testing.T) {
	c, s := open(t)
	x := wiretest.Exchange{Request: post + "getFile", JSON: `{"file_id":"f"}`,
		Reply: `{"ok":true,"result":{"file_id":"f","file_path":"photos/a b.jpg"}}`}
	y := wiretest.Exchange{Request: "GET https://api.telegram.org/file/bot" + token + "/photos/a%20b.jpg",
		Reply: "12345"}
	evil := x
	evil.Reply = `{"ok":true,"result":{"file_path":"../../bot/getMe"}}`
	s.Expect(x, y, x, y, evil)
	var b bytes.Buffer
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "f", Size: 5}, 100, &b); err != nil || b.String() != "12345" {
		t.Error(b.String(), err)
	}
	for _, test := range []struct {
		f     chat.Attachment
		limit int64
	}{{chat.Attachment{ID: "f"}, 4}, {chat.Attachment{ID: "f"}, 100},
		{chat.Attachment{ID: "f", Size: maxFetch + 1}, 1 << 40}} {
		if err := c.Fetch(t.Context(), test.f, test.limit, io.Discard); !isRefused(err) {
			t.Error(err)
		}
	}
}

const someMessage = `{"update_id":11,"message":{"message_id":5,"from":{"id":7,"is_bot":false,"first_name":"Ann\u202e",
	"last_name":"Lee","username":"ann"},"chat":{"id":-100,"type":"supergroup","title":"Team\nA"},"date":1700000000,
	"message_thread_id":3,"is_topic_message":true,"reply_to_message":{"message_id":4},"caption":"look\u0000",
	"photo":[{"file_id":"s","file_size":10},{"file_id":"l","file_size":1000}]}}`

func wantMessage() chat.Incoming {
	return chat.Incoming{ID: "11", At: time.Unix(1700000000, 0).UTC(), From: chat.Person{ID: "7", Name: "Ann Lee"},
		Group: true, Title: "Team A", Message: chat.Ref{Chat: "-100", Thread: "3", ID: "5"}, ReplyTo: "4", Text: "look",
		Files: []chat.Attachment{{Name: "photo.jpg", MIME: "image/jpeg", Size: 1000, ID: "l"}}}
}

func TestPull(t *testing.T) {
	c, s := open(t)
	poll := func(offset, reply string) wiretest.Exchange {
		return wiretest.Exchange{Request: post + "getUpdates", Reply: reply, JSON: `{"offset":` + offset + `,"limit":50,
			"timeout":50,"allowed_updates":["message","channel_post","callback_query"]}`}
	}
	conflict := poll("10",
		`{"ok":false,"error_code":409,"description":"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook"}`)
	conflict.Status = 409
	limit := poll("10",
		`{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":3}}`)
	limit.Status = 429
	drop := poll("10", "")
	drop.Drop = true
	s.Expect(conflict,
		wiretest.Exchange{Request: post + "deleteWebhook", JSON: `{}`, Reply: `{"ok":true,"result":true}`},
		limit, drop, poll("10", `{"ok":true,"result":[]}`),
		poll("10", `{"ok":true,"result":[{"update_id":10,"message":{"message_id":4,"chat":{"id":1,"type":"group"},"date":1,
			"new_chat_title":"x"}},{"update_id":10,"message":{"message_id":"of another kind"}},`+someMessage+`]}`),
		poll("12", `{"ok":true,"result":[{"update_id":12,"callback_query":{"id":"q1","from":{"id":8,"first_name":"Bob"},
			"data":"yes","message":{"message_id":6,"chat":{"id":8,"type":"private"},"date":1,"text":"Delete?"}}}]}`),
	)
	var waits []time.Duration
	c.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cursors []string
	var got []chat.Incoming
	err := c.Pull(ctx, "10", func(cursor string, in []chat.Incoming) error {
		cursors, got = append(cursors, cursor), append(got, in...)
		if len(got) == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	want := []chat.Incoming{wantMessage(), {ID: "12", At: time.Unix(1_800_000_000, 0),
		From:    chat.Person{ID: "8", Name: "Bob"},
		Message: chat.Ref{Chat: "8", ID: "6"}, Pressed: "yes", Token: "q1"}}
	if diff := cmp.Diff(want, got); diff != "" || cmp.Diff([]string{"12", "13"}, cursors) != "" {
		t.Error(diff, cursors)
	}
	if len(waits) != 2 || waits[0] < 3*time.Second {
		t.Error(waits)
	}
}

// TestPullEnds: a refused token, and an error of the receiver.
func TestPullEnds(t *testing.T) {
	c, s := open(t)
	x := wiretest.Exchange{Request: post + "getUpdates", Status: 401,
		Reply: `{"ok":false,"description":"Unauthorized"}`,
		JSON:  `{"offset":0,"limit":50,"timeout":50,"allowed_updates":["message","channel_post","callback_query"]}`}
	y := x
	y.Status, y.Reply = 0, `{"ok":true,"result":[`+someMessage+`]}`
	s.Expect(x, y)
	var e *chat.Error
	if err := c.Pull(t.Context(), "", nil); !errors.As(err, &e) || e.Kind != chat.Denied {
		t.Error(err)
	}
	full := errors.New("the store is full")
	if err := c.Pull(t.Context(), "", func(string, []chat.Incoming) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestReceive(t *testing.T) {
	c, _ := open(t)
	hook := func(secret, body string) ([]chat.Incoming, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		in, _, err := c.Receive(r, []byte(body), time.Now())
		return in, err
	}
	in, err := hook("hook-secret", someMessage)
	if diff := cmp.Diff([]chat.Incoming{wantMessage()}, in); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if in, err := hook("hook-secret", `{"update_id":1,"poll":{}}`); len(in) > 0 || err != nil {
		t.Error(in, err)
	}
	for _, test := range []struct{ secret, body string }{
		{"", someMessage}, {"hook-secreT", someMessage}, {"hook-secret2", someMessage},
	} {
		if in, err := hook(test.secret, test.body); chat.KindOf(err) != chat.Forged || in != nil {
			t.Errorf("%q %.20s: %v %v", test.secret, test.body, in, err)
		}
	}
	if in, err := hook("hook-secret", "{"); chat.KindOf(err) != chat.Refused || in != nil {
		t.Error(in, err)
	}
	c.a.Secrets["signing_secret"] = nil
	if _, err := hook("", someMessage); err == nil {
		t.Error("there is no webhook, but a request was accepted")
	}
}

func TestKindsOfMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"sticker":{"emoji":"😀","file_id":"x"}}`:                                           "[sticker 😀]",
		`{"location":{"latitude":1.5,"longitude":-2}}`:                                      "[location 1.5, -2]",
		`{"contact":{"first_name":"A","last_name":"B","phone_number":"+1"}}`:                "[contact A B, +1]",
		`{"document":{"file_id":"d","file_name":"../../a\u202efdp.exe","mime_type":"x/y"}}`: " ../../afdp.exe x/y",
		`{"voice":{"file_id":"v"}}`:                                                         " voice.ogg audio/ogg",
		`{"video_note":{"file_id":"v"}}`:                                                    " video.mp4 video/mp4",
	} {
		var u update
		if err := decode(`{"update_id":1,"channel_post":`+body+`}`, &u); err != nil {
			t.Fatal(err)
		}
		in, ok := u.incoming(time.Now())
		got := in.Text
		for _, f := range in.Files {
			got += " " + f.Name + " " + f.MIME
		}
		if !ok || got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	var u update
	if err := decode(`{"update_id":1,"message":{"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-7,"title":"Team"},
		"text":"x"}}`, &u); err != nil {
		t.Fatal(err)
	}
	if in, _ := u.incoming(time.Now()); in.From.ID != "-7" {
		t.Errorf("an anonymous member has the id that all of them share: %+v", in.From)
	}
}

func decode(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// TestBase: a Bot API server of the operator.
func TestBase(t *testing.T) {
	s := wiretest.New(t, "bots.example.com")
	c, err := New(chat.Account{HTTP: s.HTTP, Values: map[string]string{"url": "https://bots.example.com/api/"}, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return token, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	s.Expect(wiretest.Exchange{Request: "POST https://bots.example.com/api/bot" + token + "/getFile",
		JSON:  `{"file_id":"f"}`,
		Reply: `{"ok":true,"result":{"file_path":"a/b"}}`},
		wiretest.Exchange{Request: "GET https://bots.example.com/api/file/bot" + token + "/a/b", Reply: "12345"})
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "f"}, 100, io.Discard); err != nil {
		t.Error(err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte(someMessage))
	f.Add([]byte(`{"update_id":12,"callback_query":{"id":"q1","from":{"id":8},"data":"y","message":{"message_id":6}}}`))
	c, err := New(chat.Account{Secrets: map[string]chat.Secret{"signing_secret": func(context.Context) (string, error) { return "s", nil }}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s")
		in, _, _ := c.Receive(r, body, time.Now())
		for _, one := range in {
			if one.Text == "" && one.Pressed == "" && len(one.Files) == 0 || !utf8.ValidString(one.Text+one.From.Name) {
				t.Errorf("%+v", one)
			}
		}
	})
}
