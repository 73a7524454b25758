package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

func now() time.Time { return time.Unix(1772600000, 0) }

func secret(context.Context) (string, error) { return "hunter2-secret", nil }

func channel(t testing.TB, client outbound.Client) *Channel {
	t.Helper()
	c, err := New(chat.Account{HTTP: client, Now: now, Values: map[string]string{"url": "https://hooks.example.org/in?key=k"}, Secrets: map[string]chat.Secret{"signing_secret": secret}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const address = "POST https://hooks.example.org/in?key=k"

func TestSend(t *testing.T) {
	s := wiretest.New(t, "hooks.example.org")
	c := channel(t, s.HTTP)
	m := chat.Message{Chat: "ops", Thread: "t", ReplyTo: "r", Key: "7", Subject: "S", Text: "**Hi** <b>", Silent: true}
	body := `{"id":"` + m.UUID() + `","chat":"ops","thread":"t","reply_to":"r","subject":"S",` +
		`"text":"**Hi** \u003cb\u003e","format":"markdown","silent":true}`
	signature := "v1," + base64.StdEncoding.EncodeToString(sign("hunter2-secret", m.UUID(), "1772600000", []byte(body)))
	s.Expect(wiretest.Exchange{Request: address, JSON: body, Reply: `{"id":"m1"}`, Header: map[string]string{
		"Idempotency-Key": m.UUID(), "Webhook-Id": m.UUID(), "Webhook-Timestamp": "1772600000",
		"Webhook-Signature": signature, "Authorization": ""}})
	sent, err := c.Send(t.Context(), m)
	if err != nil || sent.Ref != (chat.Ref{Chat: "ops", Thread: "t", ID: "m1"}) {
		t.Error(sent, err)
	}
	file := &chat.File{Name: "/w/a.txt", MIME: "text/plain", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("content")), nil
	}}
	s.Expect(wiretest.Exchange{Request: address, JSON: `{"id":"` + m.UUID() + `","chat":"ops","text":"","format":"plain",
		"file":{"name":"a.txt","type":"text/plain","size":7,"content":"Y29udGVudA=="}}`, Reply: "thanks"})
	sent, err = c.Send(t.Context(), chat.Message{Chat: "ops", Key: "7", Plain: true, File: file})
	if err != nil || sent.ID != m.UUID() {
		t.Error(sent, err)
	}
	if _, err := c.Send(t.Context(), chat.Message{Chat: "ops", Poll: &chat.Poll{}}); chat.KindOf(err) != chat.Cannot {
		t.Error(err)
	}
}

func TestSendWithToken(t *testing.T) {
	s := wiretest.New(t, "hooks.example.org")
	c, err := New(chat.Account{HTTP: s.HTTP, Now: now, Values: map[string]string{"url": "https://hooks.example.org/in"}, Secrets: map[string]chat.Secret{"token": secret}})
	if err != nil {
		t.Fatal(err)
	}
	s.Expect(wiretest.Exchange{Request: "POST https://hooks.example.org/in", Reply: "{}",
		Header: map[string]string{"Authorization": "Bearer hunter2-secret", "Webhook-Signature": ""},
		JSON:   `{"id":"` + (chat.Message{}).UUID() + `","chat":"","text":"x","format":"markdown"}`})
	if _, err := c.Send(t.Context(), chat.Message{Text: "x"}); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		x    wiretest.Exchange
		want chat.Error
	}{
		{wiretest.Exchange{Status: 429, Head: map[string]string{"Retry-After": "7"}},
			chat.Error{Kind: chat.Busy, After: 7 * time.Second}},
		{wiretest.Exchange{Status: 409}, chat.Error{Kind: chat.Busy}},
		{wiretest.Exchange{Status: 401}, chat.Error{Kind: chat.Denied}},
		{wiretest.Exchange{Status: 403}, chat.Error{Kind: chat.Denied}},
		{wiretest.Exchange{Status: 410, Reply: "gone"}, chat.Error{Kind: chat.Refused}},
		{wiretest.Exchange{Status: 500}, chat.Error{Kind: chat.Unknown}},
		{wiretest.Exchange{Status: 503}, chat.Error{Kind: chat.Down}},
		{wiretest.Exchange{Status: 302, Head: map[string]string{"Location": "https://evil.example.net/"}},
			chat.Error{Kind: chat.Down}},
		{wiretest.Exchange{Drop: true}, chat.Error{Kind: chat.Unknown}},
	} {
		s := wiretest.New(t, "hooks.example.org")
		test.x.Request = address
		test.x.JSON = `{"id":"` + (chat.Message{}).UUID() + `","chat":"ops","text":"x","format":"markdown"}`
		s.Expect(test.x)
		_, err := channel(t, s.HTTP).Send(t.Context(), chat.Message{Chat: "ops", Text: "x"})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != test.want.Kind || e.After != test.want.After ||
			strings.Contains(e.Error(), "key=k") {
			t.Errorf("%d: %+v", test.x.Status, err)
		}
	}
}

// request returns a signed request.
func request(body, id string, at time.Time, key string) *http.Request {
	seconds := fmt.Sprint(at.Unix())
	r := httptest.NewRequest(http.MethodPost, "/hooks/x", nil)
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", seconds)
	r.Header.Set("webhook-signature", "v1a,x v1,AAAA v1,"+
		base64.StdEncoding.EncodeToString(sign(key, id, seconds, []byte(body))))
	return r
}

const body = `{"id":"m1","chat":"ops","thread":"t","reply_to":"r","title":"Ops","text":"Hello","group":true,
	"from":{"id":"u1","name":"Ann"}}`

func TestReceive(t *testing.T) {
	c := channel(t, nil)
	in, response, err := c.Receive(request(body, "e1", now(), "hunter2-secret"), []byte(body), now().Add(4*time.Minute))
	want := chat.Incoming{ID: "e1", At: now(), From: chat.Person{ID: "u1", Name: "Ann"}, Group: true, Title: "Ops",
		Message: chat.Ref{Chat: "ops", Thread: "t", ID: "m1"}, ReplyTo: "r", Text: "Hello"}
	if err != nil || len(in) != 1 || fmt.Sprint(in[0]) != fmt.Sprint(want) || string(response.Body) != `{"ok":true}` {
		t.Errorf("%+v, %s, %v", in, response.Body, err)
	}
	short := `{"chat":"ops","from":"ann","text":"x"}`
	in, _, err = c.Receive(request(short, "e2", now(), "hunter2-secret"), []byte(short), now())
	if err != nil || in[0].From != (chat.Person{ID: "ann", Name: "ann"}) || in[0].Message.ID != "e2" {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	c := channel(t, nil)
	signed := func(b string, change func(r *http.Request)) *http.Request {
		r := request(b, "e1", now(), "hunter2-secret")
		if change != nil {
			change(r)
		}
		return r
	}
	for name, test := range map[string]struct {
		r    *http.Request
		body string
		now  time.Time
		kind chat.Kind
	}{
		"another key":  {request(body, "e1", now(), "guess"), body, now(), chat.Forged},
		"another body": {signed(body, nil), body + " ", now(), chat.Forged},
		"another id": {signed(body, func(r *http.Request) { r.Header.Set("webhook-id", "e2") }), body, now(),
			chat.Forged},
		"another time": {signed(body, func(r *http.Request) { r.Header.Set("webhook-timestamp", "1772600001") }),
			body, now(), chat.Forged},
		"no id": {signed(body, func(r *http.Request) { r.Header.Del("webhook-id") }), body, now(),
			chat.Forged},
		"no signature": {signed(body, func(r *http.Request) { r.Header.Del("webhook-signature") }), body, now(),
			chat.Forged},
		"an old request":   {signed(body, nil), body, now().Add(5 * time.Minute), chat.Forged},
		"a future request": {signed(body, nil), body, now().Add(-6 * time.Minute), chat.Forged},
		"no JSON":          {signed("x", nil), "x", now(), chat.Refused},
		"no chat":          {signed(`{"text":"x"}`, nil), `{"text":"x"}`, now(), chat.Refused},
		"no text":          {signed(`{"chat":"x"}`, nil), `{"chat":"x"}`, now(), chat.Refused},
	} {
		if in, _, err := c.Receive(test.r, []byte(test.body), test.now); chat.KindOf(err) != test.kind || in != nil {
			t.Errorf("%s: %v, %v", name, in, err)
		}
	}
	open, err := New(chat.Account{Values: map[string]string{"url": "https://hooks.example.org/"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := open.Receive(request(body, "e1", now(), ""), []byte(body), now()); chat.KindOf(err) != chat.Forged {
		t.Errorf("without a secret: %v", err)
	}
}

func TestSecretInBase64(t *testing.T) {
	c, err := New(chat.Account{Values: map[string]string{"url": "https://hooks.example.org/"}, Secrets: map[string]chat.Secret{"signing_secret": func(context.Context) (string, error) {
		return "whsec_aHVudGVyMg==", nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Receive(request(body, "e1", now(), "hunter2"), []byte(body), now()); err != nil {
		t.Error(err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(body)
	f.Add(`{"chat":"a\u202e\n","from":{"name":"\u0000x\r\n[system]"},"text":"\u001b[31m"}`)
	f.Fuzz(func(t *testing.T, body string) {
		in, _, err := channel(t, nil).Receive(request(body, "e\r\n1", now(), "hunter2-secret"), []byte(body), now())
		if (err == nil) != (len(in) == 1) {
			t.Fatal(in, err)
		}
		for _, i := range in {
			for _, s := range []string{i.ID, i.From.ID, i.From.Name, i.Title, i.ReplyTo, i.Message.ID, i.Message.Chat,
				i.Message.Thread} {
				if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\x00\u202e") || len(s) > maxName {
					t.Errorf("%q", s)
				}
			}
			if !utf8.ValidString(i.Text) || strings.ContainsAny(i.Text, "\x00\x1b\u202e") || !json.Valid([]byte(body)) {
				t.Errorf("%q", i.Text)
			}
		}
	})
}

func TestAbilities(t *testing.T) {
	c := channel(t, nil)
	if a := c.Abilities(); a.Dedupes == 0 || a.Buttons || c.Render("**x**") != "**x**" {
		t.Errorf("%+v", a)
	}
	if name, err := c.Check(t.Context()); name != "hooks.example.org" || err != nil {
		t.Error(name, err)
	}
	for _, bad := range []string{"", "hooks", "https://u:p@hooks.example.org/"} {
		if _, err := New(chat.Account{Values: map[string]string{"url": bad}}); err == nil || slices.Contains(strings.Fields(err.Error()), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
