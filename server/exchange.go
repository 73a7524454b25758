package server

import (
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// An exchange is one request being answered. Whatever is sent to the client
// during the request goes through it, so that it reaches this request alone.
type exchange struct {
	session *session
	access  Access // of the session, narrowed for this request
	msg     *jsonrpc.Message
	flight  *flight
	out     func(msg []byte) error // towards the client, before the answer

	mu       sync.Mutex
	answered bool
}

// Send passes a message of ours to the client, unless the answer is out or no
// longer wanted.
// The message is scrubbed here.
func (x *exchange) send(msg []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answered || x.out == nil || x.session.gaveUp(x.flight) {
		return nil
	}
	return x.out(x.session.server.clean(msg))
}

// finish is called once, before the answer is sent: nothing follows it.
func (x *exchange) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered = true
}

// Progress reports how far the call is, to a client that asked for it.
func (x *exchange) Progress(done, total float64, message string) {
	if x.msg.Meta.Progress == nil {
		return
	}
	params := struct {
		Token   any     `json:"progressToken"`
		Done    float64 `json:"progress"`
		Total   float64 `json:"total,omitempty"`
		Message string  `json:"message,omitempty"`
	}{x.msg.Meta.Progress, done, total, message}
	if err := x.send(jsonrpc.Request(nil, "notifications/progress", params)); err != nil {
		x.session.server.log.Debug("progress was not delivered", "err", err)
	}
}

// facts returns what is known of the client: from this request in the stateless
// era, else from the handshake.
func (x *exchange) facts() client {
	if !x.msg.Modern() {
		return x.session.facts()
	}
	var c client
	if json.Unmarshal(x.msg.Meta.Capabilities, &c.capabilities) != nil {
		c.capabilities = mcp.ClientCapabilities{} // invalid capabilities count as none
	}
	return c
}
