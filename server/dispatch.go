package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// handle answers one request of s. out carries the messages that must reach the client before
// the answer. It returns nil if the client has cancelled the request.
func (s *session) handle(ctx context.Context, m *jsonrpc.Message, a Access, out func([]byte) error) delivery {
	ctx, flight, refused := s.begin(ctx, m.ID)
	if refused != nil {
		return delivery{msg: s.server.refusal(m.ID, refused)}
	}
	return s.respond(ctx, flight, m, a, out)
}

// A delivery is the response to a request, on its way.
type delivery struct {
	msg []byte // nil if the client has cancelled the request
	// sent must be called with whether the message was written. It is nil if that
	// does not matter.
	sent func(written bool)
}

// done calls sent.
func (r delivery) done(written bool) {
	if r.sent != nil {
		r.sent(written)
	}
}

// respond runs a request that was registered and returns its response.
func (s *session) respond(ctx context.Context, flight *flight, m *jsonrpc.Message, a Access,
	out func([]byte) error) delivery {
	x := &rpcRequest{session: s, access: s.withRoots(ctx, m.Method, a), msg: m, flight: flight, out: out}
	x.access.chooses = x.mayChoose()
	r := delivery{msg: x.answerSafely(ctx)}
	x.finish()
	if x.call != "" && s.server.Inbox.Took(x.call) {
		r.sent = func(written bool) { s.server.Inbox.Sent(ctx, x.access.Caller, x.call, written) }
	}
	if !s.end(m.ID, flight) {
		r.done(false)
		return delivery{}
	}
	return r
}

// answerSafely calls answer and recovers from panics: a bug costs one response,
// not the server.
func (x *rpcRequest) answerSafely(ctx context.Context) (reply []byte) {
	defer func() {
		if r := recover(); r != nil {
			x.session.server.log.Error("a request panicked", "method", x.msg.Method, "panic", fmt.Sprint(r), "stack",
				string(debug.Stack()))
			reply = jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error"))
		}
	}()
	return x.answer(ctx)
}

// answer calls the handler of the request's method.
func (x *rpcRequest) answer(ctx context.Context) []byte {
	if refused := x.checkEra(); refused != nil {
		return x.failure(refused)
	}
	access, err := x.access.at(x.msg.Meta.Place)
	if err != nil {
		return x.failure(jsonrpc.Errorf(mcp.INVALID_PARAMS, "%v", err))
	}
	x.access = access
	s, method := x.session.server, mcp.MCPMethod(x.msg.Method)
	switch method {
	case mcp.MethodToolsList:
		return x.listTools(ctx)
	case mcp.MethodToolsCall:
		return x.callTool(ctx)
	case mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		if s.Library != nil {
			return x.serveLibrary(ctx)
		}
	case mcp.MethodSubscriptionsListen:
		return x.listen(ctx)
	case methodTasksGet, methodTasksUpdate, methodTasksCancel:
		if x.msg.Modern() {
			return x.serveTask(ctx)
		}
	case methodSkillsList, methodSkillsGet, methodDirectoryRead:
		if x.seesSkills() {
			return x.serveSkills(ctx)
		}
	case mcp.MethodInitialize:
		return x.initialize(ctx)
	case mcp.MethodServerDiscover, mcp.MethodPing:
		return x.serveProtocol(ctx, nil)
	}
	if s.fallback != nil {
		if reply := s.fallback(ctx, x); reply != nil {
			return reply
		}
	}
	return x.failure(jsonrpc.Errorf(mcp.METHOD_NOT_FOUND, "there is no method %q here",
		text.Clip(x.msg.Method, jsonrpc.MaxQuoted)))
}

// clean scrubs a message of the server that is not scrubbed elsewhere.
func (s *Server) clean(msg []byte) []byte { return jsontext.Value(s.scrub.JSON(msg)) }

// refusal writes an error that may quote the client.
func (s *Server) refusal(id jsontext.Value, f *jsonrpc.Error) []byte {
	return s.clean(jsonrpc.Failure(id, f))
}

// An rpcRequest is one JSON-RPC request that is being answered. Notifications and
// questions that belong to the request are sent through it.
type rpcRequest struct {
	session *session
	access  Access // of the session, narrowed for this request
	msg     *jsonrpc.Message
	flight  *flight
	out     func(msg []byte) error // sends messages before the response

	asked   *LibraryRequest // of a request about the library
	refused *jsonrpc.Error  // by the pipeline, for the answer in place of mcp-go's

	notices int    // progress that was sent while the call waited for an answer
	call    string // the id of the call, if its response may contain events from the inbox

	parseClient sync.Once // sets client, in the stateless era
	client      *client

	mu       sync.Mutex
	answered bool
}

// send scrubs a message and sends it to the client. It drops messages after the response, and
// messages of a cancelled request.
func (x *rpcRequest) send(msg []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answered || x.out == nil || x.session.wasCancelled(x.flight) {
		return nil
	}
	return x.out(x.session.server.clean(msg))
}

// finish is called once, before the response is sent. Later messages are dropped.
func (x *rpcRequest) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered = true
}

// Progress sends a progress notification if the client asked for progress.
func (x *rpcRequest) Progress(done, total float64, message string) {
	if x.msg.Meta.Progress == nil {
		return
	}
	params := struct {
		Token   any     `json:"progressToken"`
		Done    float64 `json:"progress"`
		Total   float64 `json:"total,omitempty"`
		Message string  `json:"message,omitempty"`
	}{x.msg.Meta.Progress, done, total, x.session.server.scrubFor(x.access.Caller).Text(message)}
	if err := x.send(jsonrpc.Request(nil, "notifications/progress", params)); err != nil {
		x.session.server.log.Debug("progress was not delivered", "err", err)
	}
}

// clientInfo returns the client's declaration: in this request in the stateless era, else in
// the handshake.
func (x *rpcRequest) clientInfo() client {
	if !x.msg.Modern() {
		return x.session.clientInfo()
	}
	x.parseClient.Do(func() {
		declared := declaredClient(x.msg)
		x.client = &declared
	})
	return *x.client
}

// declaredClient returns the client's declaration in a message of the stateless era.
func declaredClient(m *jsonrpc.Message) (c client) {
	var program mcp.Implementation
	if json.Unmarshal(m.Meta.Program, &program) == nil {
		c.name = programName(program)
	}
	if json.Unmarshal(m.Meta.Capabilities, &c.capabilities) != nil {
		c.capabilities = mcp.ClientCapabilities{} // invalid capabilities count as none
	}
	return c
}
