package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// handle answers one request of s. out carries what must reach the client
// before the answer. It returns nil if the client has cancelled the request.
func (s *session) handle(ctx context.Context, m *jsonrpc.Message, a Access, out func([]byte) error) []byte {
	ctx, flight, refused := s.begin(ctx, m.ID)
	if refused != nil {
		return s.server.refusal(m.ID, refused)
	}
	return s.carry(ctx, flight, m, a, out)
}

// carry answers a request that has begun.
func (s *session) carry(ctx context.Context, flight *flight, m *jsonrpc.Message, a Access,
	out func([]byte) error) []byte {
	x := &exchange{session: s, access: a, msg: m, flight: flight, out: out}
	reply := x.protected(ctx)
	x.finish()
	if !s.end(m.ID, flight) {
		return nil
	}
	return reply
}

// batched answers the messages of a batch together, as the revisions before
// 2025-06-18 allow.
func (s *session) batched(ctx context.Context, items []json.RawMessage, a Access, out func([]byte) error) []byte {
	if v := s.facts().version; v != "" && v > mcp.ProtocolVersion20250326 {
		return jsonrpc.Failure(nil, noBatches(v))
	}
	if len(items) == 0 || len(items) > jsonrpc.MaxBatch {
		return jsonrpc.Failure(nil,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "a batch holds 1 to %d messages", jsonrpc.MaxBatch))
	}
	var replies [][]byte
	for _, raw := range items {
		m, broken := jsonrpc.Parse(raw)
		switch {
		case broken != nil:
			replies = append(replies, s.server.refusal(m.ID, broken))
		case m.Modern():
			replies = append(replies, s.server.refusal(m.ID, noBatches(m.Meta.Version)))
		case m.ID == nil || m.IsResponse:
			s.notice(ctx, m)
		default:
			if reply := s.handle(ctx, m, a, out); reply != nil {
				replies = append(replies, reply)
			}
		}
	}
	if replies == nil {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(replies, []byte{','})...), ']')
}

func noBatches(version string) *jsonrpc.Error {
	return jsonrpc.Errorf(mcp.INVALID_REQUEST, "protocol %s has no batches; send one message at a time",
		text.Clip(version, jsonrpc.MaxQuoted))
}

// protected is answer for the worst case: a mistake anywhere below costs one
// answer and not the server.
func (x *exchange) protected(ctx context.Context) (reply []byte) {
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
func (x *exchange) answer(ctx context.Context) []byte {
	if refused := x.checkEra(); refused != nil {
		return x.failure(refused)
	}
	s, method := x.session.server, mcp.MCPMethod(x.msg.Method)
	switch method {
	case mcp.MethodToolsList:
		return x.listTools()
	case mcp.MethodToolsCall:
		return x.callTool(ctx)
	case mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		if s.Library != nil {
			return x.consult(ctx)
		}
	case mcp.MethodSubscriptionsListen:
		return x.listen(ctx)
	case mcp.MethodInitialize:
		return x.initialize()
	case mcp.MethodServerDiscover:
		return x.discover()
	case mcp.MethodPing:
		return jsonrpc.Success(x.msg.ID, struct{}{})
	}
	if s.fallback != nil {
		if reply := s.fallback(ctx, x); reply != nil {
			return reply
		}
	}
	return x.failure(jsonrpc.Errorf(mcp.METHOD_NOT_FOUND, "there is no method %q here", text.Clip(x.msg.Method, jsonrpc.MaxQuoted)))
}

// clean scrubs a message of ours that has no other way through the scrubber.
func (s *Server) clean(msg []byte) []byte { return jsontext.Value(s.scrub.JSON(msg)) }

// refusal writes an error that may quote the client.
func (s *Server) refusal(id jsontext.Value, f *jsonrpc.Error) []byte {
	return s.clean(jsonrpc.Failure(id, f))
}
