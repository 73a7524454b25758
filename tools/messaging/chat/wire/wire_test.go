package wire_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire/wiretest"
)

const token = "1234:secret"

func newClient(t *testing.T, s *wiretest.Service) *wire.Client {
	t.Helper()
	c, err := wire.New(wire.Options{
		Name: "Example", Base: "https://api.example.com/v1", Domains: []string{"slack.com"}, HTTP: s.HTTP,
		Token:  func(context.Context) (string, error) { return token, nil },
		Attach: func(r *http.Request, token string) { r.URL.Path = "/bot" + token + r.URL.Path },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBodies(t *testing.T) {
	s := wiretest.New(t, "api.example.com")
	c := newClient(t, s)
	form := outbound.NewForm()
	form.Set("chat", "7")
	form.Set("empty", "")
	form.Add("photo", "schöne \"Katze\"\r\n.png", "image/png", []byte("PNG"))
	s.Expect(
		wiretest.Exchange{Request: "POST https://api.example.com/bot1234:secret/v1/send", JSON: `{"a":1}`,
			Header: map[string]string{"Authorization": "", "X": "y"}, Reply: `{"ok":true}`},
		wiretest.Exchange{Request: "PUT https://api.example.com/bot1234:secret/v1/send?q=%26",
			Form: map[string]string{"b": "c d"}, Reply: `{}`},
		wiretest.Exchange{Request: "POST https://api.example.com/bot1234:secret/v1/send",
			Form:  map[string]string{"chat": "7"},
			Files: map[string]string{"photo": "schöne %22Katze%22%0D%0A.png image/png PNG"}, Reply: `{}`},
		wiretest.Exchange{Request: "GET https://api.example.com/v1/open", Reply: `{}`},
	)
	var answer struct{ OK bool }
	if err := c.JSON(t.Context(), wire.Call{Path: "send", Body: map[string]int{"a": 1},
		Header: http.Header{"X": {"y"}}}, &answer); err != nil || !answer.OK {
		t.Error(answer, err)
	}
	for _, call := range []wire.Call{
		{Method: http.MethodPut, Path: "send", Body: url.Values{"b": {"c d"}}, Query: url.Values{"q": {"&"}}},
		{Path: "send", Body: form},
		{Method: http.MethodGet, Path: "open", Bare: true},
	} {
		if _, err := c.Do(t.Context(), call); err != nil {
			t.Error(err)
		}
	}
}

// TestErrors: what can go wrong has its kind, and no error has the token in it.
func TestErrors(t *testing.T) {
	const send = "POST https://api.example.com/bot1234:secret/v1/send"
	for name, test := range map[string]struct {
		x     wiretest.Exchange
		call  wire.Call
		kind  chat.Kind
		after time.Duration
		text  string
	}{
		"rate limit": {x: wiretest.Exchange{Status: 429, Head: map[string]string{"Retry-After": "7"},
			Reply: "slow down"},
			kind: chat.Busy, after: 7 * time.Second, text: "Example: slow down"},
		"credentials": {x: wiretest.Exchange{Status: 401, Reply: "no bot 1234:secret here"},
			kind: chat.Denied, text: "Example: no bot ... here"},
		"bad request":   {x: wiretest.Exchange{Status: 400}, kind: chat.Refused, text: "Example: status 400"},
		"redirect":      {x: wiretest.Exchange{Status: 302, Reply: "<html>"}, kind: chat.Down, text: "redirects"},
		"maintenance":   {x: wiretest.Exchange{Status: 503}, kind: chat.Down},
		"gateway":       {x: wiretest.Exchange{Status: 502}, kind: chat.Unknown},
		"gateway, safe": {x: wiretest.Exchange{Status: 502}, call: wire.Call{Safe: true}, kind: chat.Down},
		"lost":          {x: wiretest.Exchange{Drop: true}, kind: chat.Unknown, text: "ended before the response"},
		"lost, safe":    {x: wiretest.Exchange{Drop: true}, call: wire.Call{Safe: true}, kind: chat.Down},
		"no JSON":       {x: wiretest.Exchange{Reply: "<html>"}, kind: chat.Unknown, text: "not the expected JSON"},
		"too large": {x: wiretest.Exchange{Reply: `"` + strings.Repeat("a", 100) + `"`}, call: wire.Call{Max: 50},
			kind: chat.Unknown, text: "larger than the limit"},
		"not a success": {x: wiretest.Exchange{Reply: `{"ok":false}`},
			call: wire.Call{Check: func(body []byte) bool { return false }}, kind: chat.Refused, text: `{"ok":false}`},
		"long": {x: wiretest.Exchange{Status: 400, Reply: strings.Repeat("ä", 1000)}, kind: chat.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.New(t, "api.example.com")
			test.x.Request, test.call.Path = send, "send"
			s.Expect(test.x)
			var into any
			err := newClient(t, s).JSON(t.Context(), test.call, &into)
			var e *chat.Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.After != test.after ||
				!strings.Contains(e.Text, test.text) {
				t.Fatalf("%#v", err)
			}
			if len(e.Text) > 500 || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	s := wiretest.New(t, "other.example.com")
	c := newClient(t, s)
	_, err := c.Do(t.Context(), wire.Call{Path: "send"})
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.Down || strings.Contains(err.Error(), "secret") {
		t.Errorf("an unknown host: %#v", err)
	}
	_, err = c.Do(t.Context(), wire.Call{Path: "http://127.0.0.1:1/"})
	if !errors.As(err, &e) || e.Kind != chat.Refused {
		t.Errorf("a private address: %#v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Do(ctx, wire.Call{Path: "https://other.example.com/"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %#v", err)
	}
}

func TestFetch(t *testing.T) {
	s := wiretest.New(t, "api.example.com")
	c := newClient(t, s)
	x := wiretest.Exchange{Request: "GET https://api.example.com/bot1234:secret/v1/file", Reply: "12345"}
	s.Expect(x, x, x)
	var b bytes.Buffer
	if err := c.Fetch(t.Context(), wire.Call{Path: "file"}, 5, &b); err != nil || b.String() != "12345" {
		t.Error(b.String(), err)
	}
	var e *chat.Error
	if err := c.Fetch(t.Context(), wire.Call{Path: "file"}, 4, &b); !errors.As(err, &e) || e.Kind != chat.Refused {
		t.Error(err)
	}
	full := errors.New("the disk is full")
	if err := c.Fetch(t.Context(), wire.Call{Path: "file"}, 5, failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestToken(t *testing.T) {
	s := wiretest.New(t, "api.example.com")
	for _, bad := range []string{"", "a b", "a\r\nX: y"} {
		c, err := wire.New(wire.Options{Name: "Example", Base: "https://api.example.com", HTTP: s.HTTP,
			Token: func(context.Context) (string, error) { return bad, nil }})
		if err != nil {
			t.Fatal(err)
		}
		var e *chat.Error
		if _, err := c.Do(t.Context(), wire.Call{}); !errors.As(err, &e) || e.Kind != chat.Denied {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := wire.New(wire.Options{Name: "Example", Base: "https://user:secret@example.com"}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestSigned(t *testing.T) {
	// RFC 4231, test case 2.
	sum, err := hex.DecodeString("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
	if err != nil {
		t.Fatal(err)
	}
	if !wire.Signed("Jefe", sum, "what do ya want ", "for nothing?") {
		t.Error("the signature is valid")
	}
	for _, bad := range []bool{
		wire.Signed("jefe", sum, "what do ya want for nothing?"), wire.Signed("", sum, "what do ya want for nothing?"),
		wire.Signed("Jefe", nil, "what do ya want for nothing?"),
		wire.Signed("Jefe", sum[:31], "what do ya want for nothing?"),
	} {
		if bad {
			t.Error("the signature is not valid")
		}
	}
}

func TestFresh(t *testing.T) {
	for age, want := range map[time.Duration]bool{
		0: true, 299 * time.Second: true, -299 * time.Second: true, 5 * time.Minute: false, -5 * time.Minute: false,
	} {
		at := time.Unix(1_800_000_000, 0)
		if _, err := wire.Fresh("1800000000", at.Add(age)); (err == nil) != want {
			t.Error(age, err)
		}
	}
	if _, err := wire.Fresh("now", time.Now()); chat.KindOf(err) != chat.Forged {
		t.Error(err)
	}
}

// TestReadFile: a file that grows while it is read, and one that lies about its size.
func TestReadFile(t *testing.T) {
	for content, want := range map[string]bool{"12345": true, "123456": false} {
		f := &chat.File{Name: "f", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(content)), nil
		}}
		data, err := wire.ReadFile(f, 5)
		if (err == nil) != want || want && string(data) != content {
			t.Errorf("%q: %q %v", content, data, err)
		}
	}
}
