package socket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// serve returns the URL of a server.
func serve(t *testing.T, o websocket.AcceptOptions, talk func(ws *websocket.Conn)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &o)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		talk(ws)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http", "ws", 1) + "/?ticket=secret"
}

func options() chat.Account { return chat.Account{Dial: (&net.Dialer{}).DialContext} }

func TestPings(t *testing.T) {
	enough := make(chan struct{})
	pings := 0
	count := websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
		if pings++; pings == 3 {
			close(enough)
		}
		return true
	}}
	target := serve(t, count, func(ws *websocket.Conn) {
		ctx := ws.CloseRead(t.Context())
		<-enough
		if err := ws.Write(ctx, websocket.MessageText, []byte(`{"a":1}`)); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
	})
	c, err := open(t.Context(), "Example", target, options(), time.Millisecond, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got struct{ A int }
	if err := c.Read(t.Context(), &got); err != nil || got.A != 1 {
		t.Error(got, err)
	}
}

// TestSilence: a connection whose other side does not answer ends.
func TestSilence(t *testing.T) {
	done := make(chan struct{})
	target := serve(t, websocket.AcceptOptions{}, func(*websocket.Conn) { <-done })
	c, err := open(t.Context(), "Example", target, options(), time.Millisecond, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	defer close(done)
	var e *chat.Error
	if err := c.Read(t.Context(), new(any)); !errors.As(err, &e) || e.Kind != chat.Down {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	target := serve(t, websocket.AcceptOptions{}, func(ws *websocket.Conn) {
		_ = ws.Write(t.Context(), websocket.MessageText, []byte("no JSON"))
		_ = ws.Write(t.Context(), websocket.MessageText, []byte(`"`+strings.Repeat("x", maxMessage)+`"`))
		_, _, _ = ws.Read(t.Context())
	})
	c, err := Open(t.Context(), "Example", target, options())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, what := range []string{"no JSON", "too large"} {
		if err := c.Read(t.Context(), new(any)); err == nil {
			t.Errorf("%s was read", what)
		}
	}
	web := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	defer web.Close()
	for _, bad := range []string{"ws://127.0.0.1:1/?ticket=secret", web.URL + "/?ticket=secret"} {
		var e *chat.Error
		if _, err := Open(t.Context(), "Example", bad, options()); !errors.As(err, &e) || e.Kind != chat.Down ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
