package server

import (
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// An exchange is one request on its way: it is what mcp-go sees as the client
// session, so that whatever it sends belongs to this request and to no other.
// In the stateless era it also holds what the request told of its client.
type exchange struct {
	session *session
	access  Access // of the session, narrowed for this request
	msg     *jsonrpc.Message
	flight  *flight
	out     func(msg []byte) error // towards the client, before the answer

	mu       sync.Mutex
	answered bool
	client   *client // of a modern request; nil until it is noted
	notes    chan mcp.JSONRPCNotification
}

// Send passes a message of ours to the client, unless the answer is out or no
// longer wanted.
// Whatever it says is scrubbed here.
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

// Progress tells a client that asked for it how far its call is.
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

// facts is what is known of the client: from this request in the stateless
// era, from the handshake before.
func (x *exchange) facts() client {
	if !x.msg.Modern() {
		return x.session.facts()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var c client
	if x.client != nil {
		c = *x.client
	}
	if json.Unmarshal(x.msg.Meta.Capabilities, &c.capabilities) != nil {
		c.capabilities = mcp.ClientCapabilities{} // said badly is not said
	}
	return c
}

// note changes what is known of the client.
func (x *exchange) note(change func(*client)) {
	if x.msg.Modern() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.client == nil {
			x.client = new(client)
		}
		change(x.client)
		return
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	change(&x.session.client)
}

// What follows is mcp-go's idea of a session, one small interface at a time.

// SessionID names the conversation.
func (x *exchange) SessionID() string { return x.session.id }

// Initialize marks the handshake as done.
func (x *exchange) Initialize() { x.note(func(c *client) { c.initialized = true }) }

// Initialized reports whether the handshake is done.
func (x *exchange) Initialized() bool { return x.facts().initialized }

// NotificationChannel takes notifications that mcp-go itself sends. Only
// subscriptions/listen reads them; for all other requests there are none.
func (x *exchange) NotificationChannel() chan<- mcp.JSONRPCNotification { return x.notes }

// SetClientInfo notes who the client says it is.
func (x *exchange) SetClientInfo(info mcp.Implementation) { x.note(func(c *client) { c.info = info }) }

// GetClientInfo tells who the client says it is.
func (x *exchange) GetClientInfo() mcp.Implementation { return x.facts().info }

// SetClientCapabilities notes what the client says it can do.
func (x *exchange) SetClientCapabilities(caps mcp.ClientCapabilities) {
	x.note(func(c *client) { c.capabilities = caps })
}

// GetClientCapabilities tells what the client says it can do.
func (x *exchange) GetClientCapabilities() mcp.ClientCapabilities { return x.facts().capabilities }

// SetProtocolVersion notes the version that the handshake agreed on.
func (x *exchange) SetProtocolVersion(v string) { x.note(func(c *client) { c.version = v }) }

// ProtocolVersion tells the version that the handshake agreed on.
func (x *exchange) ProtocolVersion() string { return x.facts().version }

// SetLogLevel notes which log messages the client wants.
func (x *exchange) SetLogLevel(level mcp.LoggingLevel) { x.note(func(c *client) { c.level = level }) }

// GetLogLevel tells which log messages the client wants.
func (x *exchange) GetLogLevel() mcp.LoggingLevel { return x.facts().level }

// SetSubscriptionFilter opens, changes or (empty) ends this stream's wishes.
func (x *exchange) SetSubscriptionFilter(filter mcp.SubscriptionFilter) {
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	if filter.IsEmpty() {
		delete(x.session.streams, x)
		return
	}
	if x.session.streams == nil {
		x.session.streams = make(map[*exchange]mcp.SubscriptionFilter)
	}
	x.session.streams[x] = filter
}

// SubscriptionFilter tells what this stream wants.
func (x *exchange) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	filter, ok := x.session.streams[x]
	return filter, ok
}
