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
// before the answer. No answer (nil) means that none is wanted any more.
func (s *session) handle(ctx context.Context, m *jsonrpc.Message, a Access, out func([]byte) error) []byte {
	ctx, flight, refused := s.begin(ctx, m.ID)
	if refused != nil {
		return s.server.refusal(m.ID, refused)
	}
	return s.carry(ctx, flight, m, a, out)
}

// carry answers a request that has begun.
func (s *session) carry(ctx context.Context, flight *flight, m *jsonrpc.Message, a Access, out func([]byte) error) []byte {
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
		return jsonrpc.Failure(nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "a batch holds 1 to %d messages", jsonrpc.MaxBatch))
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
	return jsonrpc.Errorf(mcp.INVALID_REQUEST, "protocol %s has no batches; send one message at a time", text.Clip(version, jsonrpc.MaxQuoted))
}

// protected is answer for the worst case: a mistake anywhere below costs one
// answer and not the server.
func (x *exchange) protected(ctx context.Context) (reply []byte) {
	defer func() {
		if r := recover(); r != nil {
			x.session.server.log.Error("a request panicked", "method", x.msg.Method, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			reply = jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error"))
		}
	}()
	return x.answer(ctx)
}

// IsResponse finds who answers: tools and the library are ours, everything else is
// mcp-go's.
func (x *exchange) answer(ctx context.Context) []byte {
	switch x.msg.Method {
	case string(mcp.MethodToolsList):
		if reply := x.listTools(); reply != nil {
			return reply
		}
	case string(mcp.MethodToolsCall):
		if reply := x.callTool(ctx); reply != nil {
			return reply
		}
	case string(mcp.MethodResourcesList), string(mcp.MethodResourcesTemplatesList), string(mcp.MethodResourcesRead),
		string(mcp.MethodResourcesSubscribe), string(mcp.MethodResourcesUnsubscribe),
		string(mcp.MethodPromptsList), string(mcp.MethodPromptsGet), string(mcp.MethodCompletionComplete):
		if reply := x.consult(ctx); reply != nil {
			return reply
		}
	case string(mcp.MethodSubscriptionsListen):
		return x.listen(ctx)
	}
	return x.reply(x.session.server.mcp.HandleMessage(x.session.server.mcp.WithContext(ctx, x), x.msg.Raw))
}

// reply writes what mcp-go answered, scrubbed: it has not been through the
// pipeline.
func (x *exchange) reply(msg mcp.JSONRPCMessage) []byte {
	switch answer := msg.(type) {
	case mcp.JSONRPCResponse:
		return x.session.server.clean(jsonrpc.Success(x.msg.ID, answer.Result))
	case mcp.JSONRPCError:
		f := &jsonrpc.Error{Code: answer.Error.Code, Message: answer.Error.Message, Data: answer.Error.Data}
		if f.Code == mcp.INTERNAL_ERROR {
			x.session.server.log.Error("the protocol layer failed", "method", x.msg.Method, "err", f.Message)
			f = jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error")
		}
		if f.Data == nil && x.msg.Method == string(mcp.MethodResourcesRead) && x.msg.Name != "" {
			f.Data = map[string]string{"uri": x.msg.Name} // which one, for clients that read several
		}
		return x.session.server.refusal(x.msg.ID, f)
	}
	return jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(mcp.INTERNAL_ERROR, "internal error"))
}

// listen serves subscriptions/listen until the client or the server has had
// enough. What mcp-go wants to say on the stream is passed on as it comes.
func (x *exchange) listen(ctx context.Context) []byte {
	if refused := x.narrowListen(); refused != nil {
		return x.session.server.refusal(x.msg.ID, refused)
	}
	leave, ok := x.session.server.listeners.enter(x.access.owner())
	if !ok {
		x.session.server.Observer.Limited("connection")
		return jsonrpc.Failure(x.msg.ID, jsonrpc.Errorf(codeBusy, "busy: %d subscriptions are open already; end one of them, then try again", maxListening))
	}
	defer leave()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	release := context.AfterFunc(x.session.server.closing, stop)
	defer release()
	x.notes = make(chan mcp.JSONRPCNotification, 4)
	done := make(chan mcp.JSONRPCMessage, 1)
	go func() {
		done <- x.session.server.mcp.HandleMessage(x.session.server.mcp.WithContext(ctx, x), x.msg.Raw)
	}()
	for {
		select {
		case note := <-x.notes:
			if body, err := jsonrpc.Marshal(note); err != nil || x.send(body) != nil {
				stop()
			}
		case answer := <-done:
			select { // the acknowledgement of an empty subscription
			case note := <-x.notes:
				if body, err := jsonrpc.Marshal(note); err == nil && x.send(body) != nil {
					return nil
				}
			default:
			}
			return x.reply(answer)
		}
	}
}

// clean scrubs a message of ours that has no other way through the scrubber.
func (s *Server) clean(msg []byte) []byte { return jsontext.Value(s.scrub.JSON(msg)) }

// refusal writes an error that may quote the client.
func (s *Server) refusal(id jsontext.Value, f *jsonrpc.Error) []byte {
	return s.clean(jsonrpc.Failure(id, f))
}
