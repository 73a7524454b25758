package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	// maxMessage is the maximum length of a message of the API server.
	maxMessage = 4 << 20
	// piece is the maximum length of a message to it.
	piece = 32 << 10
	// grace is how long the agent may take to end by itself.
	grace = time.Second
	// settles is how often the status of a pod whose stream has ended is read again, and settle the time in between.
	settles, settle = 10, 200 * time.Millisecond
	// alive is the interval of pings: without traffic proxies on the way would end the connection.
	alive = 30 * time.Second
)

// The channels of the protocol: the first byte of each message.
const (
	stdin    = 0
	stdout   = 1
	stderr   = 2
	failed   = 3   // a Status at the end
	endInput = 255 // the next byte is the channel that ends
)

// A link is the connection to the agent in a pod.
type link struct {
	launcher *Launcher
	api      *api
	name     string
	holds    []sandbox.Guarantee
	carried  sandbox.Carried
	conn     *websocket.Conn
	ctx      context.Context
	stop     context.CancelFunc
	words    sandbox.Tail // stderr of the agent

	rest []byte // of the current message
	once sync.Once
}

// Guarantees returns the guarantees of the pod.
func (k *link) Guarantees() []sandbox.Guarantee { return k.holds }

// Carries implements [sandbox.Carrier].
func (k *link) Carries() sandbox.Carried { return k.carried }

// Read reads stdout of the agent.
func (k *link) Read(p []byte) (int, error) {
	for len(k.rest) == 0 {
		_, message, err := k.conn.Read(k.ctx)
		if err != nil {
			return 0, k.end("")
		}
		if len(message) == 0 {
			continue
		}
		switch message[0] {
		case stdout:
			k.rest = message[1:]
		case stderr:
			_, _ = k.words.Write(message[1:]) // a Tail does not fail
		case failed:
			var s struct{ Message string }
			_ = json.Unmarshal(message[1:], &s) // without a message the pod says why
			return 0, k.end(s.Message)
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// end returns why the agent has ended: evicted, out of memory, deleted.
func (k *link) end(said string) error {
	if k.ctx.Err() != nil {
		return io.EOF
	}
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	p, err := k.api.get(ctx, k.launcher.o.Namespace, k.name)
	for range settles { // the status comes after the end of the stream
		if err != nil || p.Metadata.Deleted != "" || p.Status.Reason != "" || p.Status.ended() {
			break
		}
		select {
		case <-k.ctx.Done():
		case <-time.After(settle):
		}
		p, err = k.api.get(ctx, k.launcher.o.Namespace, k.name)
	}
	var why string
	switch {
	case status(err) == http.StatusNotFound:
		why = "the pod was deleted"
	case err != nil:
		why = "the API server of Kubernetes does not answer"
	case p.Status.Reason == "" && p.Metadata.Deleted != "":
		why = "the pod was deleted" + p.Status.disruption()
	case p.Status.Reason != "" || p.Status.ended():
		why = "the pod has ended: " + p.Status.words()
	default:
		why = cmp.Or(said, k.words.String(), "the connection was lost")
	}
	return unavailable("%s", why).Try("try again")
}

// Write writes to stdin of the agent.
func (k *link) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		part := p[n:min(len(p), n+piece)]
		if err := k.conn.Write(k.ctx, websocket.MessageBinary, append([]byte{stdin}, part...)); err != nil {
			return n, fmt.Errorf("writing to the pod: %w", err)
		}
		n += len(part)
	}
	return len(p), nil
}

// keepAlive sends signs of life, and ends a connection that returns none.
func (k *link) keepAlive() {
	ticker := time.NewTicker(alive)
	defer ticker.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-ticker.C:
			ctx, cancel := context.WithTimeout(k.ctx, alive)
			err := k.conn.Ping(ctx)
			cancel()
			if err != nil {
				k.conn.CloseNow()
				return
			}
		}
	}
}

// Close ends stdin of the agent so that it ends, and removes the pod.
func (k *link) Close() error {
	k.once.Do(func() {
		ctx, cancel := context.WithTimeout(k.ctx, grace)
		defer cancel()
		_ = k.conn.Write(ctx, websocket.MessageBinary, []byte{endInput, stdin}) // the removal ends it too
		k.launcher.remove(k.api, k.name)
		k.stop()
		k.conn.CloseNow()
	})
	return nil
}
