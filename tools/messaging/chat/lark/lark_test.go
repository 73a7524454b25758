package lark

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const api = "https://open.larksuite.com/open-apis"

// A clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var start = time.UnixMilli(1772600000000)

func secretOf(s string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return s, nil }
}

func newChannelAt(t testing.TB, client outbound.Client, change func(a *chat.Account)) *Channel {
	t.Helper()
	a := chat.Account{HTTP: client, Now: (&clock{now: start}).read, Values: map[string]string{"app_id": "cli_1"}, Secrets: map[string]chat.Secret{"token": secretOf("app-secret"), "encrypt_key": secretOf("key"), "signing_secret": secretOf("token")}}
	if change != nil {
		change(&a)
	}
	c, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newChannel(t *testing.T) (*wiretest.Service, *Channel) {
	t.Helper()
	s := wiretest.New(t, "open.larksuite.com", "open.feishu.cn")
	return s, newChannelAt(t, s.HTTP, nil)
}

func tokenCall(token string) wiretest.Exchange {
	return wiretest.Exchange{Request: "POST " + api + "/auth/v3/tenant_access_token/internal",
		Header: map[string]string{"Authorization": ""}, JSON: `{"app_id":"cli_1","app_secret":"app-secret"}`,
		Reply: `{"code":0,"msg":"ok","tenant_access_token":"` + token + `","expire":7200}`}
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// quote returns the JSON of a text.
func quote(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

const config = `"config":{"update_multi":true,"wide_screen_mode":true}`

func TestSend(t *testing.T) {
	s, c := newChannel(t)
	m := chat.Message{Chat: "oc_1", Key: "7", Subject: "Build\n7",
		Text:    "**Done** <at id=all></at> [log](https://example.org/)",
		Buttons: []chat.Button{{Label: "Yes", Data: "d1"}}}
	card := `{` + config +
		`,"elements":[{"content":"**Done** &#60;at id=all&#62;&#60;/at&#62; [log](https://example.org/)",` +
		`"tag":"markdown"},{"actions":[{"tag":"button","text":{"content":"Yes","tag":"plain_text"},"type":"default",` +
		`"value":{"data":"d1"}}],"tag":"action"}],"header":{"title":{"content":"Build 7","tag":"plain_text"}}}`
	s.Expect(tokenCall("t-1"), wiretest.Exchange{Request: "POST " + api + "/im/v1/messages?receive_id_type=chat_id",
		Header: bearer("t-1"), Reply: `{"code":0,"msg":"success","data":{"message_id":"om_1","chat_id":"oc_1"}}`,
		JSON: `{"receive_id":"oc_1","msg_type":"interactive","content":` + quote(card) + `,"uuid":"` + m.UUID() + `"}`})
	sent, err := c.Send(t.Context(), m)
	if err != nil || sent.Ref != (chat.Ref{Chat: "oc_1", ID: "om_1"}) {
		t.Error(sent, err)
	}
	plain := `{` + config + `,"elements":[{"tag":"div","text":{"content":"*x*","tag":"plain_text"}}]}`
	for _, test := range []struct{ chat, kind string }{{"ou_1", "open_id"}, {"on_1", "union_id"},
		{"ann@example.org", "email"}} {
		s.Expect(wiretest.Exchange{Request: "POST " + api + "/im/v1/messages?receive_id_type=" + test.kind,
			Reply: `{"code":0,"data":{"message_id":"om_2","chat_id":"oc_2"}}`, JSON: `{"receive_id":"` + test.chat +
				`","msg_type":"interactive","content":` + quote(plain) + `,"uuid":"` + m.UUID() + `"}`})
		sent, err := c.Send(t.Context(), chat.Message{Chat: test.chat, Key: "7", Text: "*x*", Plain: true})
		if err != nil || sent.Ref != (chat.Ref{Chat: "oc_2", ID: "om_2"}) {
			t.Error(sent, err)
		}
	}
	for _, test := range []struct {
		m        chat.Message
		inThread string
	}{{chat.Message{ReplyTo: "om_9"}, "false"}, {chat.Message{ReplyTo: "om_9", Thread: "om_8"}, "true"},
		{chat.Message{Thread: "om_9"}, "true"}} {
		s.Expect(wiretest.Exchange{Request: "POST " + api + "/im/v1/messages/om_9/reply",
			Reply: `{"code":0,"data":{"message_id":"om_3","chat_id":"oc_1"}}`, JSON: `{"reply_in_thread":` +
				test.inThread +
				`,"msg_type":"interactive","content":` + quote(plain) + `,"uuid":"` + m.UUID() + `"}`})
		test.m.Chat, test.m.Key, test.m.Text, test.m.Plain = "oc_1", "7", "*x*", true
		if sent, err := c.Send(t.Context(), test.m); err != nil || sent.Thread != test.m.Thread {
			t.Error(sent, err)
		}
	}
	for _, m := range []chat.Message{{Chat: "x"}, {Chat: ""}, {Chat: "oc_1/../x"}, {Chat: "a@b c"},
		{Chat: "oc_1", ReplyTo: "../x"}} {
		if _, err := c.Send(t.Context(), m); chat.KindOf(err) != chat.Refused {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if _, err := c.Send(t.Context(), chat.Message{Chat: "oc_1", Poll: &chat.Poll{}}); chat.KindOf(err) != chat.Cannot {
		t.Error(err)
	}
}

func TestFeishu(t *testing.T) {
	s := wiretest.New(t, "open.feishu.cn")
	c := newChannelAt(t, s.HTTP, func(a *chat.Account) { a.Values["url"] = "https://open.feishu.cn" })
	sign := tokenCall("t-1")
	sign.Request = strings.Replace(sign.Request, "open.larksuite.com", "open.feishu.cn", 1)
	s.Expect(sign, wiretest.Exchange{Request: "GET https://open.feishu.cn/open-apis/bot/v3/info",
		Reply: `{"code":0,"bot":{"app_name":"助手"}}`})
	if name, err := c.Check(t.Context()); name != "助手" || err != nil {
		t.Error(name, err)
	}
}

func TestTokens(t *testing.T) {
	s := wiretest.New(t, "open.larksuite.com")
	at := &clock{now: start}
	c := newChannelAt(t, s.HTTP, func(a *chat.Account) { a.Now = at.read })
	info := func(token, reply string) wiretest.Exchange {
		return wiretest.Exchange{Request: "GET " + api + "/bot/v3/info", Header: bearer(token), Reply: reply}
	}
	const ok, expired = `{"code":0,"bot":{"app_name":"x"}}`, `{"code":99991663,"msg":"Invalid access token"}`
	check := func(what string, want chat.Kind, list ...wiretest.Exchange) {
		t.Helper()
		s.Expect(list...)
		_, err := c.Check(t.Context())
		if want == "" && err != nil || want != "" && chat.KindOf(err) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("at first", "", tokenCall("t-1"), info("t-1", ok))
	at.add(7200*time.Second - 181*time.Second)
	check("shortly before the renewal", "", info("t-1", ok))
	at.add(time.Second)
	check("three minutes before its end", "", tokenCall("t-2"), info("t-2", ok))
	refusal := info("t-2", expired)
	refusal.Status = 400
	check("refused once", "", refusal, tokenCall("t-3"), info("t-3", ok))
	check("refused twice", chat.Denied, info("t-3", expired), tokenCall("t-4"), info("t-4", expired))
	wrong := tokenCall("")
	wrong.Reply = `{"code":10014,"msg":"app secret invalid"}`
	check("a wrong secret", chat.Denied, info("t-4", expired), wrong)
	down := tokenCall("")
	down.Status, down.Reply = 502, "bad gateway"
	check("no token", chat.Down, info("t-4", expired), down)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		x     wiretest.Exchange
		kind  chat.Kind
		after time.Duration
	}{
		{wiretest.Exchange{Status: 400, Reply: `{"code":230002,"msg":"Bot is NOT in the chat"}`}, chat.Refused, 0},
		{wiretest.Exchange{Reply: `{"code":230002,"msg":"Bot is NOT in the chat"}`}, chat.Refused, 0},
		{wiretest.Exchange{Status: 400, Reply: `{"code":230020,"msg":"frequency limit"}`}, chat.Busy, time.Second},
		{wiretest.Exchange{Status: 429, Reply: `{"code":99991400,"msg":"request trigger frequency limit"}`,
			Head: map[string]string{"X-Ogw-Ratelimit-Reset": "9"}}, chat.Busy, 9 * time.Second},
		{wiretest.Exchange{Status: 400, Reply: `{"code":99991672,"msg":"Access denied t-1"}`}, chat.Denied, 0},
		{wiretest.Exchange{Status: 500, Reply: `{"code":1,"msg":"x"}`}, chat.Unknown, 0},
		{wiretest.Exchange{Reply: `<html>`}, chat.Unknown, 0},
		{wiretest.Exchange{Status: 503}, chat.Down, 0},
		{wiretest.Exchange{Drop: true}, chat.Unknown, 0},
	} {
		s, c := newChannel(t)
		test.x.Request = "POST " + api + "/im/v1/messages?receive_id_type=chat_id"
		test.x.JSON = `{"receive_id":"oc_1","msg_type":"interactive","uuid":"` + (chat.Message{}).UUID() +
			`","content":` +
			quote(`{`+config+`,"elements":[{"content":"x","tag":"markdown"}]}`) + `}`
		s.Expect(tokenCall("t-1"), test.x)
		_, err := c.Send(t.Context(), chat.Message{Chat: "oc_1", Text: "x"})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after || strings.Contains(e.Error(), "t-1") {
			t.Errorf("%d %s: %+v", test.x.Status, test.x.Reply, err)
		}
	}
}

func fileOf(name, kind, content string) *chat.File {
	return &chat.File{Name: name, MIME: kind, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func TestFiles(t *testing.T) {
	s, c := newChannel(t)
	s.Expect(tokenCall("t-1"))
	uuid := (chat.Message{}).UUID()
	message := func(kind, content string) wiretest.Exchange {
		return wiretest.Exchange{Request: "POST " + api + "/im/v1/messages?receive_id_type=chat_id",
			Reply: `{"code":0,"data":{"message_id":"om_1"}}`,
			JSON: `{"receive_id":"oc_1","msg_type":"` + kind + `","content":` + quote(content) + `,"uuid":"` + uuid +
				`"}`}
	}
	send := func(f *chat.File) chat.Sent {
		t.Helper()
		sent, err := c.Send(t.Context(), chat.Message{Chat: "oc_1", File: f})
		if err != nil || sent.Chat != "oc_1" || sent.ID != "om_1" {
			t.Error(sent, err)
		}
		return sent
	}
	s.Expect(wiretest.Exchange{Request: "POST " + api + "/im/v1/images", Header: bearer("t-1"),
		Form: map[string]string{"image_type": "message"}, Files: map[string]string{"image": "a.png image/png PNG"},
		Reply: `{"code":0,"data":{"image_key":"img_1"}}`}, message("image", `{"image_key":"img_1"}`))
	send(fileOf("/w/a.png", "image/png", "PNG"))
	upload := func(fileType, file string) wiretest.Exchange {
		name, _, _ := strings.Cut(file, " ")
		return wiretest.Exchange{Request: "POST " + api + "/im/v1/files",
			Form: map[string]string{"file_type": fileType, "file_name": name}, Files: map[string]string{"file": file},
			Reply: `{"code":0,"data":{"file_key":"file_1"}}`}
	}
	s.Expect(upload("pdf", "a.pdf application/pdf PDF"), message("file", `{"file_key":"file_1"}`))
	send(fileOf("a.pdf", "application/pdf", "PDF"))
	voice := fileOf("a.ogg", "audio/ogg", "OGG")
	voice.Voice = true
	s.Expect(upload("opus", "a.ogg audio/ogg OGG"), message("audio", `{"file_key":"file_1"}`))
	send(voice)
	voice = fileOf("a.mp3", "audio/mpeg", "MP3")
	voice.Voice = true
	s.Expect(upload("stream", "a.mp3 audio/mpeg MP3"), message("file", `{"file_key":"file_1"}`))
	if sent := send(voice); len(sent.Notes) != 1 {
		t.Error(sent)
	}
	large := &chat.File{Name: "a", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, maxFile+1)), nil
	}}
	if _, err := c.Send(t.Context(), chat.Message{Chat: "oc_1", File: large}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestChanges(t *testing.T) {
	s, c := newChannel(t)
	const ok = `{"code":0,"msg":"success"}`
	at := chat.Ref{Chat: "oc_1", ID: "om_1"}
	message := api + "/im/v1/messages/om_1"
	s.Expect(tokenCall("t-1"), wiretest.Exchange{Request: "PATCH " + message, Reply: ok, JSON: `{"content":` +
		quote(`{`+config+`,"elements":[{"content":"new","tag":"markdown"}]}`) + `}`})
	if err := c.Edit(t.Context(), at, chat.Message{Text: "new"}); err != nil {
		t.Error(err)
	}
	s.Expect(wiretest.Exchange{Request: "DELETE " + message, Reply: ok})
	if err := c.Delete(t.Context(), at); err != nil {
		t.Error(err)
	}
	s.Expect(wiretest.Exchange{Request: "POST " + message + "/reactions", Reply: ok,
		JSON: `{"reaction_type":{"emoji_type":"THUMBSUP"}}`})
	if err := c.React(t.Context(), at, "👍", false); err != nil {
		t.Error(err)
	}
	s.Expect(wiretest.Exchange{Request: "GET " + message + "/reactions?reaction_type=HEART", Reply: `{"code":0,"data":{"items":[
		{"reaction_id":"r1","operator":{"operator_id":"ou_1"}},{"reaction_id":"r2","operator":{"operator_id":"cli_1"}}]}}`},
		wiretest.Exchange{Request: "DELETE " + message + "/reactions/r2", Reply: ok})
	if err := c.React(t.Context(), at, "❤️", true); err != nil {
		t.Error(err)
	}
	for _, emoji := range []string{"", "🦄", "a b"} {
		if err := c.React(t.Context(), at, emoji, false); chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", emoji, err)
		}
	}
	if err := c.Delete(t.Context(), chat.Ref{ID: "../x"}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

func TestFetch(t *testing.T) {
	s, c := newChannel(t)
	get := "GET " + api + "/im/v1/messages/om_1/resources/file_1?type=file"
	s.Expect(tokenCall("t-1"), wiretest.Exchange{Request: get, Header: bearer("t-1"), Status: 400,
		Reply: `{"code":99991663,"msg":"Invalid access token"}`}, tokenCall("t-2"),
		wiretest.Exchange{Request: get, Header: bearer("t-2"), Reply: "content"},
		wiretest.Exchange{Request: get, Reply: "content"})
	var b bytes.Buffer
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "om_1/file_1/file"}, 1000, &b); err != nil ||
		b.String() != "content" {
		t.Error(b.String(), err)
	}
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "om_1/file_1/file"}, 6, io.Discard); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
	for _, id := range []string{"", "om_1/file_1", "../x/y/file", "om_1/file_1/x"} {
		if err := c.Fetch(t.Context(), chat.Attachment{ID: id}, 6, io.Discard); chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestRender(t *testing.T) {
	for in, want := range map[string]string{
		"# Title":                     "**Title**",
		"*a* **b** ~~c~~ `d`":         "*a* **b** ~~c~~ `d`",
		"1 * 2 < 3":                   "1 &#42; 2 &#60; 3",
		"<at id=all></at>":            "&#60;at id=all&#62;&#60;/at&#62;",
		"`<at id=all></at>`":          "`< at id=all></at>`",
		"```go\n<at id=all>\n```":     "```go\n< at id=all>\n```",
		"[x](javascript:y)":           "x (javascript:y)",
		"> q\n> r":                    "> q\n> r",
		"[*x*](https://example.org/)": "[*x*](https://example.org/)",
	} {
		if got := render(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if card := card(chat.Message{Text: strings.Repeat("\"", maxText)}); len(quote(card)) > 30_000 {
		t.Errorf("the longest card has %d bytes", len(quote(card)))
	}
}

// seal encrypts a request as Lark does, and signs it.
func seal(body, key, at string) (*http.Request, []byte) {
	sum := sha256.Sum256([]byte(key))
	block, _ := aes.NewCipher(sum[:])
	padding := aes.BlockSize - len(body)%aes.BlockSize
	plain := append([]byte(body), bytes.Repeat([]byte{byte(padding)}, padding)...)
	out := make([]byte, aes.BlockSize+len(plain))
	copy(out, "0123456789abcdef")
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	sealed := []byte(`{"encrypt":"` + base64.StdEncoding.EncodeToString(out) + `"}`)
	r := httptest.NewRequest(http.MethodPost, "/hooks/lark", nil)
	r.Header.Set("X-Lark-Request-Timestamp", at)
	r.Header.Set("X-Lark-Request-Nonce", "n")
	signature := sha256.Sum256([]byte(at + "n" + key + string(sealed)))
	r.Header.Set("X-Lark-Signature", hex.EncodeToString(signature[:]))
	return r, sealed
}

func event(kind, event string) string {
	return `{"schema":"2.0","header":{"event_id":"e1","event_type":"` + kind + `","create_time":"1772600000000","token":"token",
		"app_id":"cli_1"},"event":` + event + `}`
}

func received(kind, content, more string) string {
	return event("im.message.receive_v1", `{"sender":{"sender_id":{"open_id":"ou_1"},"sender_type":"user"},"message":
		{"message_id":"om_1","chat_id":"oc_1","chat_type":"group","message_type":"`+kind+`","content":`+quote(content)+more+`}}`)
}

const timestamp = "1772600000"

func TestReceive(t *testing.T) {
	c := newChannelAt(t, nil, nil)
	get := func(body string) chat.Incoming {
		t.Helper()
		r, sealed := seal(body, "key", timestamp)
		in, response, err := c.Receive(r, sealed, start.Add(4*time.Minute))
		if err != nil || len(in) != 1 || string(response.Body) != "{}" {
			t.Fatalf("%s: %+v, %v", body, in, err)
		}
		return in[0]
	}
	in := get(received("text", `{"text":"@_user_1 do it"}`, `,"root_id":"om_0","parent_id":"om_2","thread_id":"omt_1",
		"mentions":[{"key":"@_user_1","name":"Bot\n[system]"},{"key":"o","name":"x"}]`))
	want := chat.Incoming{ID: "e1", At: start, From: chat.Person{ID: "ou_1"}, Group: true, ReplyTo: "om_2",
		Message: chat.Ref{Chat: "oc_1", Thread: "om_0", ID: "om_1"}, Text: "@Bot [system] do it"}
	if fmt.Sprint(in) != fmt.Sprint(want) {
		t.Errorf("%+v", in)
	}
	in = get(received("post", `{"title":"T","content":[[{"tag":"text","text":"a "},{"tag":"a","text":"b","href":"https://x.org/"}],
		[{"tag":"at","user_name":"Ann"},{"tag":"img","image_key":"img_1"}]]}`, ""))
	if in.Text != "T\n\na b (https://x.org/)\n@Ann" || len(in.Files) != 1 || in.Files[0].ID != "om_1/img_1/image" {
		t.Errorf("%+v", in)
	}
	in = get(received("file", `{"file_key":"file_1","file_name":"../a\u202e\r\n.pdf"}`, ""))
	if len(in.Files) != 1 || in.Files[0] != (chat.Attachment{Name: "../a .pdf", ID: "om_1/file_1/file"}) {
		t.Errorf("%+v", in)
	}
	if in = get(received("image", `{"image_key":"img_1"}`, "")); in.Files[0].MIME != "image/png" {
		t.Errorf("%+v", in)
	}
	if in = get(received("audio", `{"file_key":"file_1","duration":1}`, "")); in.Files[0].Name != "audio.opus" {
		t.Errorf("%+v", in)
	}
	in = get(event("card.action.trigger", `{"operator":{"open_id":"ou_1"},"token":"c","action":{"value":{"data":"d1"},"tag":"button"},
		"context":{"open_message_id":"om_1","open_chat_id":"oc_1"}}`))
	if in.Pressed != "d1" || in.From.ID != "ou_1" || in.Message != (chat.Ref{Chat: "oc_1", ID: "om_1"}) {
		t.Errorf("%+v", in)
	}
	for _, body := range []string{event("im.chat.updated_v1", `{}`), received("text", `{"text":"  "}`, ""),
		received("text", `x`, ""),
		strings.Replace(received("text", `{"text":"x"}`, ""), "om_1", "../x", 1),
		strings.Replace(received("text", `{"text":"x"}`, ""), "e1", "", 1)} {
		r, sealed := seal(body, "key", timestamp)
		if in, _, err := c.Receive(r, sealed, start); in != nil || err != nil {
			t.Errorf("%s: %+v, %v", body, in, err)
		}
	}
}

func TestChallenge(t *testing.T) {
	const body = `{"challenge":"ajls\"x","token":"token","type":"url_verification"}`
	r, sealed := seal(body, "key", timestamp)
	r.Header = http.Header{}
	in, response, err := newChannelAt(t, nil, nil).Receive(r, sealed, start)
	if err != nil || in != nil || string(response.Body) != `{"challenge":"ajls\"x"}` {
		t.Errorf("%s, %v", response.Body, err)
	}
	open := newChannelAt(t, nil, func(a *chat.Account) { a.Secrets["encrypt_key"] = nil })
	if _, response, err := open.Receive(r, []byte(body), start); err != nil || len(response.Body) == 0 {
		t.Errorf("%s, %v", response.Body, err)
	}
	if _, _, err := open.Receive(r, []byte(strings.Replace(body, "token", "guess", 1)), start); chat.KindOf(err) != chat.Forged {
		t.Error(err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	c := newChannelAt(t, nil, nil)
	body := received("text", `{"text":"x"}`, "")
	type attempt struct {
		r    *http.Request
		body []byte
	}
	sealed := func(body, key, at string, change func(a *attempt)) attempt {
		r, b := seal(body, key, at)
		a := attempt{r, b}
		if change != nil {
			change(&a)
		}
		return a
	}
	for name, a := range map[string]attempt{
		"another key": sealed(body, "guess", timestamp, nil),
		"another token": sealed(strings.Replace(body, `"token":"token"`, `"token":"guess"`, 1), "key", timestamp,
			nil),
		"another app":    sealed(strings.Replace(body, "cli_1", "cli_2", 1), "key", timestamp, nil),
		"an old request": sealed(body, "key", "1772599700", nil),
		"no signature":   sealed(body, "key", timestamp, func(a *attempt) { a.r.Header.Del("X-Lark-Signature") }),
		"another nonce": sealed(body, "key", timestamp,
			func(a *attempt) { a.r.Header.Set("X-Lark-Request-Nonce", "m") }),
		"another time": sealed(body, "key", timestamp,
			func(a *attempt) { a.r.Header.Set("X-Lark-Request-Timestamp", "1772600001") }),
		"not encrypted": sealed(body, "key", timestamp, func(a *attempt) { a.body = []byte(body) }),
		"a plain challenge": sealed("", "key", timestamp,
			func(a *attempt) { a.body = []byte(`{"type":"url_verification","token":"token"}`) }),
		"10 MB":          sealed(strings.Repeat("x", 10<<20), "key", timestamp, nil),
		"no JSON within": sealed("x", "key", timestamp, nil),
		"nothing within": sealed("", "key", timestamp, func(a *attempt) { a.body = []byte(`{"encrypt":"AAAA"}`) }),
	} {
		if in, _, err := c.Receive(a.r, a.body, start); chat.KindOf(err) != chat.Forged || in != nil {
			t.Errorf("%s: %v, %v", name, in, err)
		}
	}
	r, b := seal(body, "key", timestamp)
	none := newChannelAt(t, nil, func(a *chat.Account) { a.Secrets["encrypt_key"], a.Secrets["signing_secret"] = nil, nil })
	if _, _, err := none.Receive(r, []byte(body), start); chat.KindOf(err) != chat.Forged {
		t.Errorf("without key and token: %v", err)
	}
	tokenOnly := newChannelAt(t, nil, func(a *chat.Account) { a.Secrets["encrypt_key"] = nil })
	if _, _, err := tokenOnly.Receive(r, b, start); chat.KindOf(err) != chat.Forged {
		t.Errorf("encrypted, without a key: %v", err)
	}
	if in, _, err := tokenOnly.Receive(r, []byte(body), start); err != nil || len(in) != 1 {
		t.Errorf("with a token only: %v, %v", in, err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(received("text", `{"text":"@_user_1 \u202e"}`, `,"mentions":[{"key":"@_user_1","name":"\r\n"}]`), true)
	f.Add(event("card.action.trigger", `{"operator":{"open_id":"ou_1"},"action":{"value":{"data":"d"}},"context":
		{"open_message_id":"om_1","open_chat_id":"oc_1"}}`), true)
	f.Add(`{"encrypt":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}`, false)
	c := newChannelAt(f, nil, nil)
	f.Fuzz(func(t *testing.T, body string, encrypted bool) {
		r, sealed := seal(body, "key", timestamp)
		if !encrypted {
			sealed = []byte(body)
		}
		in, _, _ := c.Receive(r, sealed, start)
		if len(in) > 0 && !encrypted {
			t.Error("accepted although it is not encrypted")
		}
		for _, i := range in {
			if !isID(i.Message.Chat) || !isID(i.Message.ID) || !isID(i.From.ID) || !utf8.ValidString(i.Text) ||
				strings.ContainsAny(i.Text, "\x00\u202e") || len(i.Text) > 3*maxContent {
				t.Errorf("%+v", i)
			}
			for _, a := range i.Files {
				if strings.ContainsAny(a.Name, "\r\n\x00\u202e") || len(a.Name) > maxName {
					t.Errorf("%+v", a)
				}
			}
		}
	})
}
