package discord

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const base = " https://discord.com/api/v10/"

// seed makes the key of a test.
func seed() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
}

func header() map[string]string {
	return map[string]string{"Authorization": "Bot the.bot-token", "User-Agent": agent}
}

func open(t *testing.T) (*Channel, *wiretest.Service) {
	t.Helper()
	s := wiretest.New(t, "discord.com", "cdn.discordapp.com", "gateway.discord.gg", "gateway-us.discord.gg")
	public, _ := seed().Public().(ed25519.PublicKey)
	a := s.Account
	a.Values, a.Secrets = map[string]string{}, map[string]chat.Secret{}
	a.Values["public_key"], a.Now = hex.EncodeToString(public), func() time.Time { return time.Unix(1_800_000_000, 0) }
	a.Secrets["token"] = func(context.Context) (string, error) { return "the.bot-token", nil }
	c, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(context.Context, time.Duration) error { return nil }
	c.pulse = func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
	return c, s
}

func TestRender(t *testing.T) {
	c, _ := open(t)
	for markdown, want := range map[string]string{
		"a_b **c** *d* ~~e~~ `f_g` ``h`i``":                  "a\\_b **c** *d* ~~e~~ `f_g` `` h`i ``",
		"\\*x\\* <@1> @everyone":                             "\\*x\\* \\<@1\\> @everyone",
		"#### A\n\n- b\n  - c\n\n> d\n> e":                   "### A\n\n- b\n  - c\n\n> d\n> e",
		"```go\na_b\n```":                                    "```go\na_b\n```",
		"[a_b](https://x.example/a_b) https://y.example/a_b": "[a\\_b](<https://x.example/a_b>) https://y.example/a_b",
	} {
		if got := c.Render(markdown); got != want {
			t.Errorf("%q\n got %s\nwant %s", markdown, got, want)
		}
	}
}

const nobody = `"allowed_mentions":{"parse":[],"replied_user":false}`

func TestSend(t *testing.T) {
	const sent = `{"id":"99","channel_id":"11"}`
	file := &chat.File{Name: "ä.png", MIME: "image/png", Size: 3,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("PNG")), nil }}
	for name, test := range map[string]struct {
		m    chat.Message
		want []wiretest.Exchange
		ref  chat.Ref
	}{
		"text": {m: chat.Message{Chat: "11", Text: "**a**"},
			want: []wiretest.Exchange{{Request: "POST" + base + "channels/11/messages", Header: header(), Reply: sent,
				JSON: `{"content":"**a**","components":[],"flags":4,` + nobody + `}`}},
			ref: chat.Ref{Chat: "11", ID: "99"}},
		"plain, silent, in a thread, a reply, with a key and buttons": {
			m: chat.Message{Chat: "11", Thread: "22", ReplyTo: "33", Key: "row-1", Plain: true,
				Text: "echo [a](https://b) ||rm||", Silent: true,
				Buttons: []chat.Button{{Label: "Yes", Data: "y"}, {Label: strings.Repeat("n", 90), Data: "n"}}},
			want: []wiretest.Exchange{{Request: "POST" + base + "channels/22/messages", Header: header(), Reply: sent,
				JSON: `{"content":"echo \\[a](https://b) \\|\\|rm\\|\\|","flags":4100,` + nobody + `,
				"nonce":"D3GbHzpCik3VPGGzvcXC7CecL","enforce_nonce":true,
				"message_reference":{"message_id":"33","fail_if_not_exists":false},"components":[{"type":1,"components":[
				{"type":2,"style":1,"label":"Yes","custom_id":"y"},
				{"type":2,"style":1,"label":"` + strings.Repeat("n", 80) + `","custom_id":"n"}]}]}`}},
			ref: chat.Ref{Chat: "11", Thread: "22", ID: "99"}},
		"to a person": {m: chat.Message{Chat: "@55", Text: "a"},
			want: []wiretest.Exchange{
				{Request: "POST" + base + "users/@me/channels", Header: header(), JSON: `{"recipient_id":"55"}`,
					Reply: `{"id":"66"}`},
				{Request: "POST" + base + "channels/66/messages", Header: header(), Reply: sent,
					JSON: `{"content":"a","components":[],"flags":4,` + nobody + `}`}},
			ref: chat.Ref{Chat: "66", ID: "99"}},
		"a file": {m: chat.Message{Chat: "11", Text: "*c*", File: file},
			want: []wiretest.Exchange{{Request: "POST" + base + "channels/11/messages", Header: header(), Reply: sent,
				Form: map[string]string{"payload_json": `{"content":"*c*","components":[],"flags":4,` + nobody + `,
					"attachments":[{"id":0,"filename":"ä.png"}]}`},
				Files: map[string]string{"files[0]": "ä.png image/png PNG"}}},
			ref: chat.Ref{Chat: "11", ID: "99"}},
		"a poll": {m: chat.Message{Chat: "11", Poll: &chat.Poll{Question: "q?", Options: []string{"a", "b"},
			Multiple: true}},
			want: []wiretest.Exchange{{Request: "POST" + base + "channels/11/messages", Header: header(), Reply: sent,
				JSON: `{"components":[],"flags":4,` + nobody + `,"poll":{"question":{"text":"q?"},"duration":24,
				"allow_multiselect":true,"answers":[{"poll_media":{"text":"a"}},{"poll_media":{"text":"b"}}]}}`}},
			ref: chat.Ref{Chat: "11", ID: "99"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			s.Expect(test.want...)
			got, err := c.Send(t.Context(), test.m)
			if err != nil || got.Ref != test.ref {
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
		text  string
	}{
		"rate limit": {wiretest.Exchange{Status: 429,
			Head:  map[string]string{"Retry-After": "65", "X-RateLimit-Scope": "user"},
			Reply: `{"message":"You are being rate limited.","retry_after":64.5,"global":false}`}, chat.Busy,
			64500 * time.Millisecond, "rate limited"},
		"global rate limit": {wiretest.Exchange{Status: 429,
			Reply: `{"message":"Slow","retry_after":0.5,"global":true}`},
			chat.Busy, 500 * time.Millisecond, ""},
		"blocked by the firewall": {wiretest.Exchange{Status: 429, Head: map[string]string{"Retry-After": "300"},
			Reply: `<html>1015`}, chat.Busy, 5 * time.Minute, ""},
		"no access": {wiretest.Exchange{Status: 403, Reply: `{"message":"Missing Access","code":50001}`}, chat.Refused,
			0,
			"Missing Access (50001)"},
		"no such channel": {wiretest.Exchange{Status: 404, Reply: `{"message":"Unknown Channel","code":10003}`},
			chat.Refused,
			0, ""},
		"too long": {wiretest.Exchange{Status: 400, Reply: `{"message":"Invalid Form Body","code":50035}`},
			chat.Refused, 0, ""},
		"token": {wiretest.Exchange{Status: 401, Reply: `{"message":"401: Unauthorized","code":0}`}, chat.Denied, 0,
			""},
		"fault": {wiretest.Exchange{Status: 500, Reply: `the.bot-token`}, chat.Unknown, 0, ""},
		"lost":  {wiretest.Exchange{Drop: true}, chat.Unknown, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t)
			test.x.Request = "POST" + base + "channels/11/messages"
			test.x.JSON = `{"content":"a","components":[],"flags":4,` + nobody + `}`
			s.Expect(test.x)
			_, err := c.Send(t.Context(), chat.Message{Chat: "11", Text: "a"})
			var e *chat.Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after ||
				!strings.Contains(e.Text, test.text) {
				t.Fatalf("%#v", err)
			}
			if strings.Contains(err.Error(), "bot-token") {
				t.Error(err)
			}
		})
	}
	c, _ := open(t)
	for _, m := range []chat.Message{{Chat: "", Text: "a"}, {Chat: "../users/@me", Text: "a"}, {Chat: "1", Thread: "x"},
		{Chat: "1", File: &chat.File{Name: "large", Size: maxFile + 1}}} {
		if _, err := c.Send(t.Context(), m); chat.KindOf(err) != chat.Refused {
			t.Errorf("%+v: %v", m, err)
		}
	}
	for _, at := range []chat.Ref{{Chat: "x", ID: "1"}, {Chat: "1", ID: "1/../2"}, {Chat: "1"}} {
		if err := c.Delete(t.Context(), at); chat.KindOf(err) != chat.Refused {
			t.Errorf("%+v: %v", at, err)
		}
	}
}

func TestOtherMethods(t *testing.T) {
	c, s := open(t)
	at := chat.Ref{Chat: "11", Thread: "22", ID: "33"}
	path := base + "channels/22/messages/33"
	s.Expect(
		wiretest.Exchange{Request: "GET" + base + "users/@me", Header: header(), Reply: `{"id":"1","username":"bot"}`},
		wiretest.Exchange{Request: "PATCH" + path, Header: header(), Reply: `{"id":"33"}`,
			JSON: `{"content":"**b**","components":[],` + nobody + `}`},
		wiretest.Exchange{Request: "DELETE" + path, Header: header(), Status: 204},
		wiretest.Exchange{Request: "DELETE" + path, Status: 404, Reply: `{"message":"Unknown Message","code":10008}`},
		wiretest.Exchange{Request: "DELETE" + path, Status: 404, Reply: `{"message":"Unknown Channel","code":10003}`},
		wiretest.Exchange{Request: "PUT" + path + "/reactions/%F0%9F%91%8D/@me", Header: header(), Status: 204},
		wiretest.Exchange{Request: "DELETE" + path + "/reactions/parrot:123/@me", Header: header(), Status: 204},
		wiretest.Exchange{Request: "PUT" + path + "/reactions/..%2Fx/@me", Status: 400,
			Reply: `{"message":"Unknown Emoji","code":10014}`},
		wiretest.Exchange{Request: "POST" + base + "channels/11/threads", Header: header(), Reply: `{"id":"44"}`,
			JSON: `{"name":"Plans","type":11}`},
		wiretest.Exchange{Request: "POST" + base + "webhooks/77/tok.en", Header: map[string]string{"Authorization": ""},
			JSON: `{"content":"done","flags":64,"allowed_mentions":{"parse":[]}}`, Reply: `{}`},
	)
	if name, err := c.Check(t.Context()); name != "@bot" || err != nil {
		t.Error(name, err)
	}
	if err := c.Edit(t.Context(), at, chat.Message{Text: "**b**"}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := c.Delete(t.Context(), at); err != nil {
			t.Error(err)
		}
	}
	if err := c.Delete(t.Context(), at); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
	if err := c.React(t.Context(), at, "👍", false); err != nil {
		t.Error(err)
	}
	if err := c.React(t.Context(), at, "parrot:123", true); err != nil {
		t.Error(err)
	}
	for _, emoji := range []string{"../x", ""} {
		if err := c.React(t.Context(), at, emoji, false); chat.KindOf(err) != chat.Refused {
			t.Error(err)
		}
	}
	if thread, err := c.CreateTopic(t.Context(), "11", chat.NewTopic{Name: "Plans"}); thread != "44" || err != nil {
		t.Error(thread, err)
	}
	if _, err := c.CreateTopic(t.Context(), "11", chat.NewTopic{Name: strings.Repeat("x", 101)}); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
	if err := c.Acknowledge(t.Context(), chat.Incoming{Token: "77/tok.en"}, "done"); err != nil {
		t.Error(err)
	}
	if err := c.Acknowledge(t.Context(), chat.Incoming{Token: "../x"}, "done"); err != nil {
		t.Error(err)
	}
}

func TestFetch(t *testing.T) {
	c, s := open(t)
	s.Expect(wiretest.Exchange{Request: "GET https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", Reply: "12345",
		Header: map[string]string{"Authorization": ""}})
	var b bytes.Buffer
	good := chat.Attachment{ID: "https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", Size: 5}
	if err := c.Fetch(t.Context(), good, 5, &b); err != nil || b.String() != "12345" {
		t.Error(b.String(), err)
	}
	for _, id := range []string{"https://evilcdn.discordapp.com/a", "http://cdn.discordapp.com/a",
		"https://x@cdn.discordapp.com/a",
		"https://cdn.discordapp.com:444/a", "https://evil.example/", "a"} {
		if err := c.Fetch(t.Context(), chat.Attachment{ID: id}, 5, io.Discard); chat.KindOf(err) != chat.Refused {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := c.Fetch(t.Context(), good, 4, io.Discard); chat.KindOf(err) != chat.Refused {
		t.Error(err)
	}
}

const (
	someButton = `{"id":"175928847299117063","application_id":"77","type":3,"token":"tok.en","guild_id":"5","channel_id":"11",
		"member":{"user":{"id":"8","username":"ann","global_name":"Ann\u202e"}},"message":{"id":"33"},
		"data":{"custom_id":"yes","component_type":2}}`
	someCommand = `{"id":"175928847299117063","application_id":"77","type":2,"token":"t","channel_id":"12",
		"user":{"id":"9","username":"bob"},"data":{"name":"do","options":[{"name":"what","value":"it"},{"name":"n","value":3}]}}`
	someNote = `{"id":"175928847299117063","channel_id":"11","guild_id":"5","type":19,"content":"hi\u0000 <@1>",
		"author":{"id":"8","username":"ann"},"message_reference":{"message_id":"32"},"attachments":[{"id":"1",
		"filename":"a.txt","content_type":"text/plain","size":5,"url":"https://cdn.discordapp.com/attachments/1/2/a.txt"}]}`
)

func at() time.Time { return time.Date(2016, 4, 30, 11, 18, 25, 796e6, time.UTC) }

func wantButton() chat.Incoming {
	return chat.Incoming{ID: "175928847299117063", At: at(), From: chat.Person{ID: "8", Name: "Ann"}, Group: true,
		Message: chat.Ref{Chat: "11", ID: "33"}, Pressed: "yes", Token: "77/tok.en"}
}

func wantNote() chat.Incoming {
	return chat.Incoming{ID: "175928847299117063", At: at(), From: chat.Person{ID: "8", Name: "ann"}, Group: true,
		Message: chat.Ref{Chat: "11", ID: "175928847299117063"}, ReplyTo: "32", Text: "hi <@1>",
		Files: []chat.Attachment{{Name: "a.txt", MIME: "text/plain", Size: 5,
			ID: "https://cdn.discordapp.com/attachments/1/2/a.txt"}}}
}

func request(t *testing.T, stamp, signed string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://hooks.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Signature-Timestamp", stamp)
	r.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(seed(), []byte(signed))))
	return r
}

func TestReceive(t *testing.T) {
	c, _ := open(t)
	now := time.Unix(1_800_000_000, 0)
	stamp := "1800000000"
	for _, test := range []struct {
		body, response string
		want           []chat.Incoming
	}{
		{`{"type":1,"id":"1","application_id":"77","token":"t"}`, `{"type":1}`, nil},
		{someButton, `{"type":6}`, []chat.Incoming{wantButton()}},
		{someCommand, `{"type":4,"data":{"content":"Received.","flags":64}}`,
			[]chat.Incoming{{ID: "175928847299117063", At: at(),
				From: chat.Person{ID: "9", Name: "bob"}, Message: chat.Ref{Chat: "12"}, Text: "/do what: it n: 3",
				Token: "77/t"}}},
	} {
		in, response, err := c.Receive(request(t, stamp, stamp+test.body), []byte(test.body), now)
		if diff := cmp.Diff(test.want, in); diff != "" || err != nil || string(response.Body) != test.response {
			t.Errorf("%s %s %v", diff, response.Body, err)
		}
	}
}

func TestForged(t *testing.T) {
	c, _ := open(t)
	now := time.Unix(1_800_000_000, 0)
	stamp, old := "1800000000", strconv.Itoa(1_800_000_000-300)
	for name, test := range map[string]struct{ stamp, signed, body string }{
		"another body":   {stamp, stamp + someButton + " ", someButton},
		"another time":   {stamp, old + someButton, someButton},
		"a replay":       {old, old + someButton, someButton},
		"without a time": {"", someButton, someButton},
		"no JSON":        {stamp, stamp + "{", "{"},
	} {
		in, _, err := c.Receive(request(t, test.stamp, test.signed), []byte(test.body), now)
		want := chat.Forged
		if strings.HasPrefix(name, "no JSON") {
			want = chat.Refused
		}
		if chat.KindOf(err) != want || in != nil {
			t.Errorf("%s: %v %v", name, in, err)
		}
	}
	r := request(t, stamp, stamp+someButton)
	for _, signature := range []string{"", "zz", hex.EncodeToString(make([]byte, 64))} {
		r.Header.Set("X-Signature-Ed25519", signature)
		if _, _, err := c.Receive(r, []byte(someButton), now); chat.KindOf(err) != chat.Forged {
			t.Errorf("%q: %v", signature, err)
		}
	}
	for _, key := range []string{"", "00", strings.Repeat("0", 64)} {
		c.a.Values["public_key"] = key
		if _, _, err := c.Receive(request(t, stamp, stamp+someButton), []byte(someButton),
			now); chat.KindOf(err) != chat.Forged {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

const (
	identify = `{"op":2,"d":{"token":"the.bot-token","intents":37376,"properties":{"os":"linux","browser":"mcp-tools",
		"device":"mcp-tools"}}}`
	hello = `{"op":10,"d":{"heartbeat_interval":41250}}`
	ready = `{"op":0,"s":1,"t":"READY","d":{"session_id":"s1","resume_gateway_url":"wss://gateway-us.discord.gg","user":{"id":"1"}}}`
)

func find(reply string) wiretest.Exchange {
	return wiretest.Exchange{Request: "GET" + base + "gateway/bot", Header: header(), Reply: reply}
}

func socketAt(host string, talk func(p *wiretest.Peer)) wiretest.Exchange {
	return wiretest.Exchange{Request: "GET https://" + host + "/?v=10&encoding=json", Socket: talk,
		Header: map[string]string{"Authorization": ""}}
}

// TestGateway: a new session, which is resumed, ends, and begins again.
func TestGateway(t *testing.T) {
	c, s := open(t)
	resume := `{"op":6,"d":{"token":"the.bot-token","session_id":"s1","seq":4}}`
	s.Expect(
		find(`{"url":"wss://gateway.discord.gg.evil.example"}`),
		find(`{"url":"wss://gateway.discord.gg"}`),
		socketAt("gateway.discord.gg", func(p *wiretest.Peer) {
			p.Send(hello)
			p.Expect(identify)
			p.Send(ready)
			p.Send(`{"op":0,"s":2,"t":"GUILD_CREATE","d":{"id":"5"}}`)
			p.Send(`{"op":1,"d":null}`)
			p.Expect(`{"op":1,"d":2}`)
			p.Send(`{"op":0,"s":3,"t":"MESSAGE_CREATE","d":` + someNote + `}`)
			p.Send(`{"op":0,"s":4,"t":"INTERACTION_CREATE","d":` + someButton + `}`)
			p.Send(`{"op":7,"d":null}`)
			p.Wait()
		}),
		wiretest.Exchange{Request: "POST" + base + "interactions/175928847299117063/tok.en/callback", Status: 204,
			Header: map[string]string{"Authorization": ""}, JSON: `{"type":6}`},
		socketAt("gateway-us.discord.gg", func(p *wiretest.Peer) {
			p.Send(hello)
			p.Expect(resume)
			p.Close(4000)
		}),
		socketAt("gateway-us.discord.gg", func(p *wiretest.Peer) {
			p.Send(hello)
			p.Expect(resume)
			p.Send(`{"op":9,"d":false}`)
			p.Wait()
		}),
		find(`{"url":"wss://gateway.discord.gg"}`),
		socketAt("gateway.discord.gg", func(p *wiretest.Peer) {
			p.Send(hello)
			p.Expect(identify)
			p.Close(4004)
		}),
	)
	var cursors []string
	var got []chat.Incoming
	err := c.Pull(t.Context(), "", func(cursor string, in []chat.Incoming) error {
		cursors, got = append(cursors, cursor), append(got, in...)
		return nil
	})
	if chat.KindOf(err) != chat.Denied || strings.Contains(err.Error(), "bot-token") {
		t.Error(err)
	}
	if diff := cmp.Diff([]chat.Incoming{wantNote(), wantButton()}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{`{"session":"s1","url":"wss://gateway-us.discord.gg","seq":3}`,
		`{"session":"s1","url":"wss://gateway-us.discord.gg","seq":4}`}
	if diff := cmp.Diff(want, cursors); diff != "" {
		t.Error(diff)
	}
}

// TestGatewayResumes: another process continues where one has ended, also with what it had
// not delivered.
func TestGatewayResumes(t *testing.T) {
	c, s := open(t)
	talk := func(p *wiretest.Peer) {
		p.Send(hello)
		p.Expect(`{"op":6,"d":{"token":"the.bot-token","session_id":"s1","seq":3}}`)
		p.Send(`{"op":0,"s":4,"t":"MESSAGE_CREATE","d":` + someNote + `}`)
		p.Wait()
	}
	s.Expect(socketAt("gateway-us.discord.gg", talk), socketAt("gateway-us.discord.gg", talk))
	from := `{"session":"s1","url":"wss://gateway-us.discord.gg","seq":3}`
	full := errors.New("the store is full")
	for range 2 {
		if err := c.Pull(t.Context(), from, func(string, []chat.Incoming) error { return full }); !errors.Is(err,
			full) {
			t.Error(err)
		}
	}
}

// TestHeartbeats: they have the last sequence, and a connection that does not answer ends.
func TestHeartbeats(t *testing.T) {
	c, s := open(t)
	beat := make(chan struct{})
	c.pulse = func(ctx context.Context, _ time.Duration) error {
		select {
		case <-beat:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Expect(find(`{"url":"wss://gateway.discord.gg"}`), socketAt("gateway.discord.gg", func(p *wiretest.Peer) {
		p.Send(hello)
		p.Expect(identify)
		beat <- struct{}{}
		p.Expect(`{"op":1,"d":null}`)
		p.Send(`{"op":11}`)
		p.Send(ready)
		p.Send(`{"op":1,"d":null}`) // its answer shows that what was sent before is read
		p.Expect(`{"op":1,"d":1}`)
		beat <- struct{}{}
		p.Expect(`{"op":1,"d":1}`)
		beat <- struct{}{} // the last one was not acknowledged
		p.Wait()
		cancel()
	}))
	c.wait = func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
	if err := c.Pull(ctx, "", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzReceive(f *testing.F) {
	for _, body := range []string{someButton, someCommand, someNote} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var i interaction
		var n note
		var in []chat.Incoming
		if json.Unmarshal(body, &i) == nil {
			in = i.incoming(time.Now())
			if !json.Valid([]byte(i.response())) {
				t.Error(i.response())
			}
		}
		if json.Unmarshal(body, &n) == nil {
			in = append(in, n.incoming(time.Now())...)
		}
		for _, one := range in {
			if one.Text == "" && one.Pressed == "" && len(one.Files) == 0 || one.From.ID == "" ||
				!utf8.ValidString(one.Text) {
				t.Errorf("%+v", one)
			}
		}
	})
}

// TestNoRequestsRemain: Discord says when a route takes no further request, and bans bots that send one nevertheless.
func TestNoRequestsRemain(t *testing.T) {
	c, s := open(t)
	sent := func(channel, remaining string) wiretest.Exchange {
		return wiretest.Exchange{Request: "PUT https://discord.com/api/v10/channels/" + channel +
			"/messages/5/reactions/%F0%9F%91%8D/@me", Status: http.StatusNoContent,
			Head: map[string]string{"X-RateLimit-Remaining": remaining, "X-RateLimit-Reset-After": "60"}}
	}
	s.Expect(sent("11", "1"), sent("11", "0"), sent("12", "1"))
	for i, at := range []string{"11", "11", "11", "12"} {
		err := c.React(t.Context(), chat.Ref{Chat: at, ID: "5"}, "👍", false)
		if busy := i == 2; busy != (err != nil) || busy && chat.KindOf(err) != chat.Busy {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
