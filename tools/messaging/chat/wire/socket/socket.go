// Package socket is the client of WebSockets that carry JSON. Chat services send messages over
// them. It connects through a dialer that checks addresses, and bounds what it reads.
//
// Begin with [Open].
package socket

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	openTime   = 30 * time.Second
	maxMessage = 1 << 20
	pingEvery  = time.Minute // so that a connection that broke silently ends
)

// A Conn is an open connection. One goroutine may read while others write.
type Conn struct {
	ws   *websocket.Conn
	stop context.CancelFunc
	done chan struct{} // closed when nothing checks the connection anymore
}

// Open connects to a URL that begins with wss, or https. Its errors are of type [*chat.Error]
// and kind Down, and do not have the URL: it may contain a ticket.
func Open(ctx context.Context, name, target string, a chat.Account) (*Conn, error) {
	return open(ctx, name, target, a, pingEvery, openTime)
}

func open(ctx context.Context, name, target string, a chat.Account, every, within time.Duration) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: a.Dial, TLSClientConfig: &tls.Config{RootCAs: a.Roots}, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects to another address")
		},
	}
	ws, response, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		var shown *url.Error
		if errors.As(err, &shown) {
			err = shown.Err
		} else if response != nil {
			err = errors.New(response.Status)
		} else {
			err = errors.New("it is not a WebSocket")
		}
		return nil, &chat.Error{Kind: chat.Down, Text: "the connection to " + name + " cannot be opened", Cause: err}
	}
	ws.SetReadLimit(maxMessage)
	c := &Conn{ws: ws, done: make(chan struct{})}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	go c.ping(ctx, every, within)
	return c, nil
}

// ping ends the connection if the other side does not answer.
func (c *Conn) ping(ctx context.Context, every, within time.Duration) {
	defer close(c.done)
	for clock.Sleep(ctx, every) == nil {
		waiting, cancel := context.WithTimeout(ctx, within)
		err := c.ws.Ping(waiting)
		cancel()
		if err != nil {
			_ = c.ws.CloseNow()
			return
		}
	}
}

// Read reads a message as JSON.
func (c *Conn) Read(ctx context.Context, into any) error {
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return &chat.Error{Kind: chat.Down, Text: "the connection ended", Cause: err}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &chat.Error{Kind: chat.Down, Text: "the connection sent something that is not the expected JSON",
			Cause: err}
	}
	return nil
}

// Write sends a message as JSON.
func (c *Conn) Write(ctx context.Context, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		return &chat.Error{Kind: chat.Down, Text: "the connection ended", Cause: err}
	}
	return nil
}

// Close ends the connection at once.
func (c *Conn) Close() {
	c.stop()
	_ = c.ws.CloseNow()
	<-c.done
}

// Break ends the connection without waiting, so that reading from it ends.
func (c *Conn) Break() { _ = c.ws.CloseNow() }

// Code returns the close code of the other side, or -1.
func Code(err error) int { return int(websocket.CloseStatus(err)) }
