package line

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const (
	user  = "U0123456789abcdef0123456789abcdef"
	group = "C0123456789abcdef0123456789abcdef"
	push  = "POST https://api.line.me/v2/bot/message/push"
)

func open(t testing.TB, client outbound.Client) *Channel {
	t.Helper()
	c, err := New(chat.Account{HTTP: client, Secrets: map[string]chat.Secret{"token": func(context.Context) (string, error) { return "token-secret", nil }, "signing_secret": func(context.Context) (string, error) { return "channel-secret", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newChannel(t *testing.T) (*wiretest.Service, *Channel) {
	t.Helper()
	s := wiretest.New(t, "api.line.me", "api-data.line.me")
	return s, open(t, s.HTTP)
}

func TestSend(t *testing.T) {
	s, c := newChannel(t)
	m := chat.Message{Chat: user, Key: "7", Text: "**Done**: [log](https://example.org/1)", Silent: true, ReplyTo: "1"}
	s.Expect(wiretest.Exchange{Request: push, Header: map[string]string{"Authorization": "Bearer token-secret",
		"X-Line-Retry-Key": m.UUID()}, Reply: `{"sentMessages":[{"id":"461230966842064897","quoteToken":"x"}]}`,
		JSON: `{"to":"` + user + `","notificationDisabled":true,
			"messages":[{"type":"text","text":"Done: log (https://example.org/1)"}]}`})
	sent, err := c.Send(t.Context(), m)
	if err != nil || sent.Ref != (chat.Ref{Chat: user, ID: "461230966842064897"}) || len(sent.Notes) != 1 {
		t.Error(sent, err)
	}
}

// A request that LINE has accepted before is not sent again, and is not an error.
func TestSendAgain(t *testing.T) {
	s, c := newChannel(t)
	body := `{"to":"` + user + `","messages":[{"type":"text","text":"x"}]}`
	s.Expect(wiretest.Exchange{Request: push, JSON: body, Drop: true},
		wiretest.Exchange{Request: push, JSON: body, Status: 409,
			Reply: `{"message":"The retry key is already accepted"}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: user, Key: "7", Text: "x"}); chat.KindOf(err) != chat.Unknown {
		t.Error(err)
	}
	if sent, err := c.Send(t.Context(), chat.Message{Chat: user, Key: "7", Text: "x"}); err != nil ||
		sent.Chat != user {
		t.Error(sent, err)
	}
}

func TestButtons(t *testing.T) {
	s, c := newChannel(t)
	yes := `{"type":"postback","label":"Yes","data":"d1","displayText":"Yes"}`
	long := `{"type":"postback","label":"A label that is too…","data":"d2","displayText":"A label that is too long 😀"}`
	template := func(text string) string {
		return `{"type":"template","altText":"` + text + `","template":{"type":"buttons","text":"` + text +
			`","actions":[` +
			yes + `,` + long + `]}}`
	}
	buttons := []chat.Button{{Label: "Yes", Data: "d1"}, {Label: "A label that is too long 😀", Data: "d2"}}
	s.Expect(wiretest.Exchange{Request: push, Reply: "{}", JSON: `{"to":"` + group + `","messages":[` +
		template("Go?") + `]}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: group, Text: "Go?", Buttons: buttons}); err != nil {
		t.Error(err)
	}
	text := strings.Repeat("x", 161)
	s.Expect(wiretest.Exchange{Request: push, Reply: "{}", JSON: `{"to":"` + group +
		`","messages":[{"type":"text","text":"` +
		text + `"},` + template("⬆") + `]}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: group, Text: text, Buttons: buttons}); err != nil {
		t.Error(err)
	}
	many := make([]chat.Button, 15)
	for i := range many {
		many[i] = chat.Button{Label: "Yes", Data: "d1"}
	}
	items := strings.TrimSuffix(strings.Repeat(`{"type":"action","action":`+yes+`},`, 13), ",")
	s.Expect(wiretest.Exchange{Request: push, Reply: "{}", JSON: `{"to":"` + group + `","messages":[{"type":"text",
		"text":"Go?","quickReply":{"items":[` + items + `]}}]}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: group, Text: "Go?", Buttons: many}); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		x     wiretest.Exchange
		kind  chat.Kind
		after time.Duration
		text  string
	}{
		{wiretest.Exchange{Status: 400,
			Reply: `{"message":"invalid","details":[{"message":"too long","property":"messages[0].text"}]}`},
			chat.Refused, 0, "LINE: invalid; messages[0].text: too long"},
		{wiretest.Exchange{Status: 401, Reply: `{"message":"Authentication failed token-secret"}`}, chat.Denied, 0,
			"LINE: Authentication failed ..."},
		{wiretest.Exchange{Status: 403, Reply: `{"message":"not permitted"}`}, chat.Denied, 0, "LINE: not permitted"},
		{wiretest.Exchange{Status: 429, Reply: `{"message":"The API rate limit has been exceeded."}`}, chat.Busy,
			time.Minute,
			"LINE: The API rate limit has been exceeded."},
		{wiretest.Exchange{Status: 429, Reply: `{"message":"You have reached your monthly limit."}`}, chat.Refused, 0,
			"LINE: You have reached your monthly limit."},
		{wiretest.Exchange{Status: 500, Reply: `{"message":"Internal"}`}, chat.Unknown, 0, "LINE: Internal"},
		{wiretest.Exchange{Status: 503}, chat.Down, 0, "LINE: status 503"},
	} {
		s, c := newChannel(t)
		test.x.Request, test.x.JSON = push, `{"to":"`+user+`","messages":[{"type":"text","text":"x"}]}`
		s.Expect(test.x)
		_, err := c.Send(t.Context(), chat.Message{Chat: user, Text: "x"})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after || e.Text != test.text {
			t.Errorf("%d: %+v", test.x.Status, err)
		}
	}
}

func TestWhatLINEHasNot(t *testing.T) {
	_, c := newChannel(t)
	for _, m := range []chat.Message{{Chat: user, File: &chat.File{}}, {Chat: user, Poll: &chat.Poll{}}} {
		if _, err := c.Send(t.Context(), m); chat.KindOf(err) != chat.Cannot {
			t.Error(err)
		}
	}
	for _, to := range []string{"", "@ann", "x" + user, "U/../x"} {
		if _, err := c.Send(t.Context(), chat.Message{Chat: to, Text: "x"}); chat.KindOf(err) != chat.Refused {
			t.Errorf("%q: %v", to, err)
		}
	}
}

func TestCheck(t *testing.T) {
	s, c := newChannel(t)
	s.Expect(wiretest.Exchange{Request: "GET https://api.line.me/v2/bot/info",
		Reply: `{"userId":"U1","basicId":"@216abcde","displayName":"Helper"}`})
	if name, err := c.Check(t.Context()); name != "Helper @216abcde" || err != nil {
		t.Error(name, err)
	}
}

func TestFetch(t *testing.T) {
	s, c := newChannel(t)
	get := "GET https://api-data.line.me/v2/bot/message/42/content"
	s.Expect(wiretest.Exchange{Request: get, Reply: "content",
		Header: map[string]string{"Authorization": "Bearer token-secret"}},
		wiretest.Exchange{Request: get, Status: 202},
		wiretest.Exchange{Request: get, Status: 404, Reply: `{"message":"Not found"}`},
		wiretest.Exchange{Request: get, Reply: "content"})
	var b bytes.Buffer
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "42"}, 7, &b); err != nil || b.String() != "content" {
		t.Error(b.String(), err)
	}
	for _, want := range []chat.Kind{chat.Busy, chat.Refused, chat.Refused} {
		if err := c.Fetch(t.Context(), chat.Attachment{ID: "42"}, 6, io.Discard); chat.KindOf(err) != want {
			t.Error(err)
		}
	}
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "../x"}, 6, io.Discard); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

var now = time.UnixMilli(1772600000000)

func request(body, secret string) *http.Request {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r := httptest.NewRequest(http.MethodPost, "/hooks/line", nil)
	r.Header.Set("X-Line-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return r
}

func hook(event string) string {
	return `{"destination":"U0","events":[` + event + `]}`
}

func text(s string) string {
	return `{"type":"message","mode":"active","timestamp":1772600000000,"webhookEventId":"01H","deliveryContext":
		{"isRedelivery":false},"source":{"type":"user","userId":"` + user + `"},"replyToken":"r","message":
		{"type":"text","id":"42","text":"` + s + `","quotedMessageId":"41"}}`
}

func TestReceive(t *testing.T) {
	s, c := newChannel(t)
	source := `"source":{"type":"group","groupId":"` + group + `","userId":"` + user +
		`"},"timestamp":1772600000000,"mode":"active"`
	all := strings.Join([]string{
		text("Hello"), text("again"),
		`{"type":"postback","webhookEventId":"02H",` + source + `,"postback":{"data":"d1"}}`,
		`{"type":"message","webhookEventId":"03H",` + source +
			`,"message":{"type":"file","id":"43","fileName":"a.pdf","fileSize":7}}`,
		`{"type":"message","webhookEventId":"04H",` + source +
			`,"message":{"type":"image","id":"44","contentProvider":{"type":"line"}}}`,
		`{"type":"message","webhookEventId":"05H",` + source +
			`,"message":{"type":"image","id":"45","contentProvider":{"type":"external"}}}`,
		`{"type":"message","webhookEventId":"06H",` + source +
			`,"message":{"type":"sticker","id":"46","keywords":["cat","hi"]}}`,
		`{"type":"message","webhookEventId":"07H",` + source +
			`,"message":{"type":"location","id":"47","title":"Home","latitude":1.5}}`,
		`{"type":"follow","webhookEventId":"08H",` + source + `}`,
		strings.Replace(text("standby"), "active", "standby", 1),
		strings.Replace(text("too old"), "1772600000000", "1772500000000", 1),
	}, ",")
	s.Expect(wiretest.Exchange{Request: "GET https://api.line.me/v2/bot/profile/" + user,
		Reply: `{"displayName":"Ann\u202e\n"}`},
		wiretest.Exchange{Request: "GET https://api.line.me/v2/bot/group/" + group + "/member/" + user,
			Reply: `{"displayName":"Ann of the group"}`})
	in, response, err := c.Receive(request(hook(all), "channel-secret"), []byte(hook(all)), now)
	if err != nil || len(in) != 8 || string(response.Body) != "{}" {
		t.Fatalf("%+v, %v", in, err)
	}
	want := chat.Incoming{ID: "01H", At: now, From: chat.Person{ID: user, Name: "Ann"},
		Message: chat.Ref{Chat: user, ID: "42"},
		ReplyTo: "41", Text: "Hello"}
	if fmt.Sprint(in[0]) != fmt.Sprint(want) {
		t.Errorf("%+v", in[0])
	}
	if p := in[2]; p.Pressed != "d1" || !p.Group || p.Message.Chat != group || p.From.Name != "Ann of the group" {
		t.Errorf("%+v", p)
	}
	if f := in[3].Files; len(f) != 1 || f[0] != (chat.Attachment{Name: "a.pdf", Size: 7, ID: "43"}) {
		t.Errorf("%+v", f)
	}
	if f := in[4].Files; len(f) != 1 || f[0].MIME != "image/jpeg" || in[5].Files != nil || in[5].Text == "" {
		t.Errorf("%+v, %+v", f, in[5])
	}
	if in[6].Text != "(sticker: cat, hi)" || !strings.HasPrefix(in[7].Text, "(location: Home") {
		t.Errorf("%q, %q", in[6].Text, in[7].Text)
	}
}

func TestReceiveWithoutName(t *testing.T) {
	s, c := newChannel(t)
	s.Expect(wiretest.Exchange{Request: "GET https://api.line.me/v2/bot/profile/" + user, Status: 404})
	in, _, err := c.Receive(request(hook(text("x")), "channel-secret"), []byte(hook(text("x"))), now)
	if err != nil || len(in) != 1 || in[0].From != (chat.Person{ID: user}) {
		t.Errorf("%+v, %v", in, err)
	}
	empty := `{"destination":"U0","events":[]}` // LINE checks the address
	if in, _, err := c.Receive(request(empty, "channel-secret"), []byte(empty), now); err != nil || in != nil {
		t.Error(in, err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	c := open(t, nil)
	body := hook(text("x"))
	for name, test := range map[string]struct {
		r    *http.Request
		body string
		kind chat.Kind
	}{
		"another secret": {request(body, "guess"), body, chat.Forged},
		"another body":   {request(body, "channel-secret"), body + " ", chat.Forged},
		"no signature":   {httptest.NewRequest(http.MethodPost, "/", nil), body, chat.Forged},
		"no JSON":        {request("x", "channel-secret"), "x", chat.Refused},
	} {
		if in, _, err := c.Receive(test.r, []byte(test.body), now); chat.KindOf(err) != test.kind || in != nil {
			t.Errorf("%s: %v, %v", name, in, err)
		}
	}
	c.a.Secrets["signing_secret"] = nil
	if _, _, err := c.Receive(request(body, ""), []byte(body), now); chat.KindOf(err) != chat.Forged {
		t.Errorf("without a secret: %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(hook(text(`a\u202eb\u0000`)))
	f.Add(hook(strings.Replace(strings.Replace(text("x"), user, "../x", 1), `"id":"42"`, `"id":"4/2"`, 1)))
	c := open(f, nil)
	for _, path := range []string{"profile/" + user} {
		c.names["/v2/bot/"+path] = "Ann"
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Count(body, "userId") != 1 || !strings.Contains(body, user) || strings.Contains(body, "groupId") ||
			strings.Contains(body, "roomId") {
			return // it would ask LINE for a name
		}
		in, _, _ := c.Receive(request(body, "channel-secret"), []byte(body), now)
		for _, i := range in {
			if !isID(i.Message.Chat) || !utf8.ValidString(i.Text) || strings.ContainsAny(i.Text, "\x00\u202e") ||
				i.ID == "" {
				t.Errorf("%+v", i)
			}
			for _, a := range i.Files {
				if !isID(a.ID) || strings.ContainsAny(a.Name, "\r\n\x00\u202e") || a.Size < 0 {
					t.Errorf("%+v", a)
				}
			}
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("A label that is too long 😀😀", 20)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = max&0xff + 2
		if got := clipUnits(s, max); markup.Length(got) > max {
			t.Errorf("%q, %d: %q", s, max, got)
		}
	})
}
