package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const post = "POST https://slack.com/api/"

func bearer() map[string]string { return map[string]string{"Authorization": "Bearer xoxb-secret"} }

func open(t *testing.T) (*Channel, *wiretest.Service) {
	t.Helper()
	s := wiretest.New(t, "slack.com", "files.slack.com", "hooks.slack.com", "wss-primary.slack.com")
	value := func(text string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return text, nil }
	}
	a := s.Account
	a.Secrets = map[string]chat.Secret{"token": value("xoxb-secret"), "app_token": value("xapp-secret"),
		"signing_secret": value("8f742231b10e8888abcd99yyyzzz85a5")}
	a.Now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	c, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(context.Context, time.Duration) error { return nil }
	return c, s
}

func TestRender(t *testing.T) {
	c, _ := open(t)
	for markdown, want := range map[string]string{
		"a < b & **c** *d* ~~e~~ `f<g`":       "a &lt; b &amp; *c* _d_ ~e~ `f&lt;g`",
		"<!channel> <@U1>":                    "&lt;!channel&gt; &lt;@U1&gt;",
		"# A **b**\n\n- c\n\n> d\n> e":        "*A b*\n\n• c\n\n> d\n> e",
		"```go\na<b ``\n```":                  "```\na&lt;b ``\n```",
		"[a|b](https://x.example/?a=1&b=|)":   "<https://x.example/?a=1&amp;b=%7C|a|b>",
		"https://x.example/?a&b <mailto:a@b>": "<https://x.example/?a&amp;b> <mailto:a@b>",
	} {
		if got := c.Render(markdown); got != want {
			t.Errorf("%q\n got %s\nwant %s", markdown, got, want)
		}
	}
}

func TestSend(t *testing.T) {
	const ok = `{"ok":true,"channel":"C1","ts":"1700000000.000100"}`
	for name, test := range map[string]struct {
		m     chat.Message
		want  []wiretest.Exchange
		ref   chat.Ref
		notes int
	}{
		"text": {m: chat.Message{Chat: "C1", Text: "**a**"},
			want: []wiretest.Exchange{{Request: post + "chat.postMessage", Header: bearer(), Reply: ok,
				JSON: `{"channel":"C1","text":"*a*","unfurl_links":false,"unfurl_media":false}`}},
			ref: chat.Ref{Chat: "C1", ID: "1700000000.000100"}},
		"plain, to a person, in a thread, silent": {
			m: chat.Message{Chat: "U1", Text: "*a* <b>", Plain: true, Thread: "1.2", Silent: true},
			want: []wiretest.Exchange{{Request: post + "chat.postMessage", Header: bearer(), Reply: ok,
				JSON: `{"channel":"U1","text":"*a* &lt;b&gt;","mrkdwn":false,"thread_ts":"1.2","unfurl_links":false,
				"unfurl_media":false}`}},
			ref: chat.Ref{Chat: "C1", Thread: "1.2", ID: "1700000000.000100"}, notes: 1},
		"a reply with buttons": {
			m: chat.Message{Chat: "C1", Text: "**ok?**", ReplyTo: "3.4", Buttons: []chat.Button{
				{Label: "Yes", Data: "y"}, {Label: strings.Repeat("n", 80), Data: "n"}}},
			want: []wiretest.Exchange{{Request: post + "chat.postMessage", Header: bearer(), Reply: ok,
				JSON: `{"channel":"C1","text":"*ok?*","thread_ts":"3.4","unfurl_links":false,"unfurl_media":false,"blocks":[
					{"type":"section","text":{"type":"mrkdwn","text":"*ok?*"}},
					{"type":"actions","elements":[
						{"type":"button","action_id":"button0","value":"y","text":{"type":"plain_text","text":"Yes"}},
						{"type":"button","action_id":"button1","value":"n","text":{"type":"plain_text","text":"` +
					strings.Repeat("n", 74) + `…"}}]}]}`}},
			ref: chat.Ref{Chat: "C1", Thread: "3.4", ID: "1700000000.000100"}},
		"a file to a person": {
			m: chat.Message{Chat: "U1", Thread: "1.2", Text: "*c*",
				File: &chat.File{Name: "ä.txt", MIME: "text/plain", Size: 5,
					Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("12345")), nil }}},
			want: []wiretest.Exchange{
				{Request: post + "conversations.open", Header: bearer(), JSON: `{"users":"U1"}`,
					Reply: `{"ok":true,"channel":{"id":"D9"}}`},
				{Request: post + "files.getUploadURLExternal", Header: bearer(),
					Form:  map[string]string{"filename": "ä.txt", "length": "5"},
					Reply: `{"ok":true,"upload_url":"https://files.slack.com/upload/v1/ABC","file_id":"F7"}`},
				{Request: "POST https://files.slack.com/upload/v1/ABC", Body: "12345", Reply: "OK - 5",
					Header: map[string]string{"Authorization": "", "Content-Type": "text/plain"}},
				{Request: post + "files.completeUploadExternal", Header: bearer(),
					Reply: `{"ok":true,"files":[{"id":"F7"}]}`,
					JSON:  `{"files":[{"id":"F7","title":"ä.txt"}],"channel_id":"D9","thread_ts":"1.2","initial_comment":"_c_"}`},
			},
			ref: chat.Ref{Chat: "D9", Thread: "1.2", ID: "F7"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			s.Expect(test.want...)
			got, err := c.Send(t.Context(), test.m)
			if err != nil || got.Ref != test.ref || len(got.Notes) != test.notes {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		x     wiretest.Exchange
		kind  chat.Kind
		after time.Duration
	}{
		"rate limit": {wiretest.Exchange{Status: 429, Head: map[string]string{"Retry-After": "30"},
			Reply: `{"ok":false,"error":"ratelimited"}`}, chat.Busy, 30 * time.Second},
		"no channel":   {wiretest.Exchange{Reply: `{"ok":false,"error":"channel_not_found"}`}, chat.Refused, 0},
		"not a member": {wiretest.Exchange{Reply: `{"ok":false,"error":"not_in_channel"}`}, chat.Refused, 0},
		"revoked":      {wiretest.Exchange{Reply: `{"ok":false,"error":"token_revoked"}`}, chat.Denied, 0},
		"scope": {wiretest.Exchange{Reply: `{"ok":false,"error":"missing_scope","needed":"chat:write"}`},
			chat.Denied, 0},
		"fault": {wiretest.Exchange{Reply: `{"ok":false,"error":"internal_error"}`}, chat.Unknown, 0},
		"down": {wiretest.Exchange{Status: 503, Reply: `{"ok":false,"error":"service_unavailable"}`},
			chat.Down, 0},
		"an error page":  {wiretest.Exchange{Reply: `<html>xoxb-secret`}, chat.Unknown, 0},
		"no connection":  {wiretest.Exchange{Drop: true}, chat.Unknown, 0},
		"quotes a token": {wiretest.Exchange{Reply: `{"ok":false,"error":"bad xoxb-secret"}`}, chat.Refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			test.x.Request = post + "chat.postMessage"
			test.x.JSON = `{"channel":"C1","text":"a","unfurl_links":false,"unfurl_media":false}`
			s.Expect(test.x)
			_, err := c.Send(t.Context(), chat.Message{Chat: "C1", Text: "a"})
			var e *chat.Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after {
				t.Fatalf("%#v", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
	c, s := open(t)
	if _, err := c.Send(t.Context(), chat.Message{Chat: "C1", Poll: &chat.Poll{}}); chat.KindOf(err) != chat.Cannot {
		t.Error(err)
	}
	s.Expect(wiretest.Exchange{Request: post + "files.getUploadURLExternal",
		Form:  map[string]string{"filename": "a", "length": "0"},
		Reply: `{"ok":true,"upload_url":"https://slack.com.evil.example/x","file_id":"F7"}`})
	if _, err := c.Send(t.Context(), chat.Message{Chat: "C1", File: &chat.File{Name: "a",
		Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("")),
				nil
		}}}); chat.KindOf(err) != chat.Down {
		t.Error(err)
	}
}

func TestOtherMethods(t *testing.T) {
	c, s := open(t)
	const ok = `{"ok":true}`
	at := chat.Ref{Chat: "C1", ID: "1.2"}
	s.Expect(
		wiretest.Exchange{Request: post + "auth.test", JSON: `{}`, Reply: `{"ok":true,"user":"bot","team":"Team"}`},
		wiretest.Exchange{Request: post + "chat.update", Reply: ok,
			JSON: `{"channel":"C1","ts":"1.2","text":"*b*","blocks":[]}`},
		wiretest.Exchange{Request: post + "chat.update", JSON: `{"channel":"C1","ts":"1.2","text":"*b*","blocks":[]}`,
			Reply: `{"ok":false,"error":"cant_update_message"}`},
		wiretest.Exchange{Request: post + "chat.delete", JSON: `{"channel":"C1","ts":"1.2"}`, Reply: ok},
		wiretest.Exchange{Request: post + "chat.delete", JSON: `{"channel":"C1","ts":"1.2"}`,
			Reply: `{"ok":false,"error":"message_not_found"}`},
		wiretest.Exchange{Request: post + "files.delete", JSON: `{"file":"F1"}`, Reply: ok},
		wiretest.Exchange{Request: post + "reactions.add", Reply: ok,
			JSON: `{"channel":"C1","timestamp":"1.2","name":"thumbsup"}`},
		wiretest.Exchange{Request: post + "reactions.add", JSON: `{"channel":"C1","timestamp":"1.2","name":"heart"}`,
			Reply: `{"ok":false,"error":"already_reacted"}`},
		wiretest.Exchange{Request: post + "reactions.remove", Reply: `{"ok":false,"error":"no_reaction"}`,
			JSON: `{"channel":"C1","timestamp":"1.2","name":"party_parrot"}`},
		wiretest.Exchange{Request: "POST https://hooks.slack.com/actions/T/1/x", Reply: "ok",
			Header: map[string]string{"Authorization": ""},
			JSON:   `{"response_type":"ephemeral","replace_original":false,"text":"done &amp; dusted"}`},
	)
	if name, err := c.Check(t.Context()); name != "@bot in Team" || err != nil {
		t.Error(name, err)
	}
	if err := c.Edit(t.Context(), at, chat.Message{Text: "**b**"}); err != nil {
		t.Error(err)
	}
	if err := c.Edit(t.Context(), at, chat.Message{Text: "**b**"}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
	for _, ref := range []chat.Ref{at, at, {Chat: "C1", ID: "F1"}} {
		if err := c.Delete(t.Context(), ref); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct {
		emoji  string
		remove bool
	}{{":thumbsup:", false}, {"❤️", false}, {"party_parrot", true}} {
		if err := c.React(t.Context(), at, test.emoji, test.remove); err != nil {
			t.Error(err)
		}
	}
	for _, emoji := range []string{"🦖", "", "a b"} {
		if err := c.React(t.Context(), at, emoji, false); chat.KindOf(err) != chat.Cannot {
			t.Error(err)
		}
	}
	in := chat.Incoming{Token: "https://hooks.slack.com/actions/T/1/x"}
	if err := c.Acknowledge(t.Context(), in, "done & dusted"); err != nil {
		t.Error(err)
	}
	if err := c.Acknowledge(t.Context(), chat.Incoming{Token: "https://evil.example/"},
		"x"); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

func TestFetch(t *testing.T) {
	c, s := open(t)
	file := wiretest.Exchange{Request: "GET https://files.slack.com/files-pri/T-F/a.txt", Header: bearer(),
		Reply: "12345"}
	s.Expect(file,
		wiretest.Exchange{Request: post + "files.info", Form: map[string]string{"file": "F1"},
			Reply: `{"ok":true,"file":{"url_private_download":"https://files.slack.com/files-pri/T-F/a.txt"}}`}, file)
	for _, id := range []string{"https://files.slack.com/files-pri/T-F/a.txt", "F1"} {
		var b bytes.Buffer
		if err := c.Fetch(t.Context(), chat.Attachment{ID: id, Size: 5}, 100, &b); err != nil || b.String() != "12345" {
			t.Error(b.String(), err)
		}
	}
	for _, bad := range []string{"https://evilslack.com/a", "http://files.slack.com/a",
		"https://slack.com.evil.example/",
		"https://a@files.slack.com/a", "https://files.slack.com:8443/a", "https://evil.example/?.slack.com",
		"file:///etc"} {
		if err := c.Fetch(t.Context(), chat.Attachment{ID: bad}, 100, io.Discard); chat.KindOf(err) != chat.Refused {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := c.Fetch(t.Context(), chat.Attachment{ID: "F1", Size: 101}, 100, io.Discard); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

// TestDocumentedSignature is the example of Slack's documentation.
func TestDocumentedSignature(t *testing.T) {
	c, _ := open(t)
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&" +
		"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&" +
		"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&" +
		"trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	r := request(t, "application/x-www-form-urlencoded", "1531420618",
		"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
	in, _, err := c.Receive(r, []byte(body), time.Unix(1531420618, 0))
	if err != nil || len(in) != 1 || in[0].Text != "/webhook-collect" || in[0].From.ID != "U2CERLKJA" {
		t.Errorf("%+v %v", in, err)
	}
	if _, _, err := c.Receive(r, []byte(body), time.Unix(1531420618+300, 0)); chat.KindOf(err) != chat.Forged {
		t.Errorf("a replay: %v", err)
	}
}

func request(t *testing.T, kind, stamp, signature string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", signature)
	return r
}

func sign(stamp, body string) string {
	mac := hmac.New(sha256.New, []byte("8f742231b10e8888abcd99yyyzzz85a5"))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

const (
	someEvent = `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","subtype":"file_share","channel":"C1",
		"channel_type":"channel","user":"U1","text":"<@U2> a &lt; b <https://x.example|x> <https://y.example> <!here> <#C2|ops>",
		"ts":"1700000000.000100","thread_ts":"1600000000.000001","files":[{"id":"F1","name":"a\u202e.txt",
		"mimetype":"text/plain","size":5,"url_private_download":"https://files.slack.com/x"}]}}`
	someButton = `{"type":"block_actions","user":{"id":"U1","username":"ann"},"channel":{"id":"C1","name":"ops"},
		"message":{"ts":"1.2","thread_ts":"1.1"},"actions":[{"action_id":"button0","value":"y","action_ts":"1700000001.5"}],
		"response_url":"https://hooks.slack.com/actions/T/1/x"}`
)

func wantEvent() chat.Incoming {
	return chat.Incoming{ID: "C1/1700000000.000100", At: time.Unix(1700000000, 0).UTC(), From: chat.Person{ID: "U1"},
		Group: true, Message: chat.Ref{Chat: "C1", Thread: "1600000000.000001", ID: "1700000000.000100"},
		Text:  "@U2 a < b x (https://x.example) https://y.example @here #ops",
		Files: []chat.Attachment{{Name: "a.txt", MIME: "text/plain", Size: 5, ID: "https://files.slack.com/x"}}}
}

func wantButton() chat.Incoming {
	return chat.Incoming{ID: "C1/1.2/U1/1700000001.5", At: time.Unix(1700000001, 0).UTC(),
		From: chat.Person{ID: "U1", Name: "ann"}, Group: true, Title: "ops",
		Message: chat.Ref{Chat: "C1", Thread: "1.1", ID: "1.2"}, Pressed: "y",
		Token: "https://hooks.slack.com/actions/T/1/x"}
}

func TestReceive(t *testing.T) {
	c, _ := open(t)
	now := time.Unix(1_800_000_000, 0)
	stamp := "1800000000"
	receive := func(kind, body string) ([]chat.Incoming, chat.Response, error) {
		return c.Receive(request(t, kind, stamp, sign(stamp, body)), []byte(body), now)
	}
	in, _, err := receive("application/json", someEvent)
	if diff := cmp.Diff([]chat.Incoming{wantEvent()}, in); diff != "" || err != nil {
		t.Error(diff, err)
	}
	in, _, err = receive("application/x-www-form-urlencoded; charset=utf-8",
		url.Values{"payload": {someButton}}.Encode())
	if diff := cmp.Diff([]chat.Incoming{wantButton()}, in); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, response, err := receive("application/json", `{"type":"url_verification","challenge":"3eZb\"x"}`)
	if string(response.Body) != `{"challenge":"3eZb\"x"}` || err != nil {
		t.Errorf("%s %v", response.Body, err)
	}
	for _, nothing := range []string{
		`{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"C1","ts":"1.2"}}`,
		`{"type":"event_callback","event":{"type":"reaction_added"}}`,
		`{"type":"event_callback","event":{"type":"message","channel":"C1","ts":"1.2","text":"nobody"}}`,
	} {
		if in, _, err := receive("application/json", nothing); len(in) > 0 || err != nil {
			t.Errorf("%s: %v %v", nothing, in, err)
		}
	}
	bot := `{"type":"event_callback","event":{"type":"message","channel":"D1","channel_type":"im","bot_id":"B1","user":"U3",
		"text":"x","ts":"1.2"}}`
	if in, _, _ := receive("application/json", bot); len(in) != 1 || !in[0].From.Bot || in[0].Group {
		t.Errorf("%+v", in)
	}
}

func TestForged(t *testing.T) {
	c, _ := open(t)
	now := time.Unix(1_800_000_000, 0)
	stamp := "1800000000"
	old, future := strconv.Itoa(1_800_000_000-300), strconv.Itoa(1_800_000_000+300)
	const form = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct{ kind, stamp, signature, body string }{
		"no signature":      {"application/json", stamp, "", someEvent},
		"another one":       {"application/json", stamp, sign(stamp, someEvent+" "), someEvent},
		"another version":   {"application/json", stamp, strings.TrimPrefix(sign(stamp, someEvent), "v0="), someEvent},
		"a changed time":    {"application/json", stamp, sign(old, someEvent), someEvent},
		"a replay":          {"application/json", old, sign(old, someEvent), someEvent},
		"from the future":   {"application/json", future, sign(future, someEvent), someEvent},
		"no time":           {"application/json", "", sign("", someEvent), someEvent},
		"no JSON":           {"application/json", stamp, sign(stamp, "{"), "{"},
		"no form":           {form, stamp, sign(stamp, "%zz"), "%zz"},
		"no JSON in a form": {form, stamp, sign(stamp, "payload={"), "payload={"},
	} {
		in, _, err := c.Receive(request(t, test.kind, test.stamp, test.signature), []byte(test.body), now)
		want := chat.Forged
		if strings.HasPrefix(name, "no JSON") {
			want = chat.Refused
		}
		if chat.KindOf(err) != want || in != nil {
			t.Errorf("%s: %v %v", name, in, err)
		}
	}
	c.a.Secrets["signing_secret"] = nil
	if _, _, err := c.Receive(request(t, "", stamp, sign(stamp, "{}")), []byte("{}"), now); chat.KindOf(err) != chat.Forged {
		t.Error(err)
	}
}

func TestSocketMode(t *testing.T) {
	c, s := open(t)
	connect := wiretest.Exchange{Request: post + "apps.connections.open",
		Header: map[string]string{"Authorization": "Bearer xapp-secret"},
		Reply:  `{"ok":true,"url":"wss://wss-primary.slack.com/link/?ticket=t1&app_id=A"}`}
	elsewhere, limited := connect, connect
	elsewhere.Reply = `{"ok":true,"url":"wss://wss-primary.slack.com.evil.example/link/?ticket=t1"}`
	limited.Status, limited.Head, limited.Reply = 429, map[string]string{"Retry-After": "9"},
		`{"ok":false,"error":"ratelimited"}`
	link := wiretest.Exchange{Request: "GET https://wss-primary.slack.com/link/?ticket=t1&app_id=A",
		Header: map[string]string{"Authorization": ""}}
	first, second, third := link, link, link
	first.Socket = func(p *wiretest.Peer) {
		p.Send(`{"type":"hello","num_connections":1}`)
		p.Send(`{"type":"events_api","envelope_id":"e1","payload":` + someEvent + `}`)
		p.Expect(`{"envelope_id":"e1"}`)
		p.Send(`{"type":"interactive","envelope_id":"e2","payload":` + someButton + `}`)
		p.Expect(`{"envelope_id":"e2"}`)
		p.Send(`{"type":"slash_commands","envelope_id":"e3","payload":{"command":"/do","text":"it","user_id":"U1",
			"channel_id":"D1","trigger_id":"t","response_url":"https://hooks.slack.com/x"}}`)
		p.Expect(`{"envelope_id":"e3"}`)
		p.Send(`{"type":"new_kind","envelope_id":"e4","payload":{}}`)
		p.Expect(`{"envelope_id":"e4"}`)
		p.Send(`{"type":"disconnect","reason":"refresh_requested"}`)
		p.Wait()
	}
	second.Socket = func(p *wiretest.Peer) { p.Close(1001) }
	third.Socket = func(p *wiretest.Peer) {
		p.Send(`{"type":"events_api","envelope_id":"e5","payload":` + someEvent + `}`)
		p.Wait() // what was not delivered is not acknowledged
	}
	s.Expect(elsewhere, limited, connect, first, connect, second, connect, third)
	full := errors.New("the store is full")
	var got []chat.Incoming
	err := c.Pull(t.Context(), "", func(_ string, in []chat.Incoming) error {
		if len(got) == 3 {
			return full
		}
		got = append(got, in...)
		return nil
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	want := []chat.Incoming{wantEvent(), wantButton(), {ID: "command/t", At: time.Unix(1_800_000_000, 0),
		From: chat.Person{ID: "U1"}, Message: chat.Ref{Chat: "D1"}, Text: "/do it", Token: "https://hooks.slack.com/x"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSocketModeIsRefused(t *testing.T) {
	c, s := open(t)
	s.Expect(wiretest.Exchange{Request: post + "apps.connections.open", Reply: `{"ok":false,"error":"invalid_auth"}`})
	if err := c.Pull(t.Context(), "", nil); chat.KindOf(err) != chat.Denied {
		t.Error(err)
	}
	c.a.Secrets["app_token"] = nil
	if err := c.Pull(t.Context(), "", nil); chat.KindOf(err) != chat.Denied {
		t.Error(err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte(someEvent), false)
	f.Add([]byte(url.Values{"payload": {someButton}}.Encode()), true)
	f.Add([]byte("command=%2Fdo&text=it&user_id=U1&trigger_id=t"), true)
	c, err := New(chat.Account{Secrets: map[string]chat.Secret{"signing_secret": func(context.Context) (string, error) {
		return "8f742231b10e8888abcd99yyyzzz85a5",
			nil
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, form bool) {
		kind := "application/json"
		if form {
			kind = "application/x-www-form-urlencoded"
		}
		in, _, _ := c.Receive(request(t, kind, "1800000000", sign("1800000000", string(body))), body,
			time.Unix(1_800_000_000, 0))
		for _, one := range in {
			if one.Text == "" && one.Pressed == "" && len(one.Files) == 0 || one.From.ID == "" ||
				!utf8.ValidString(one.Text) {
				t.Errorf("%+v", one)
			}
		}
	})
}
