package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server/jsonrpc"
)

// post takes one message, or a batch, of either era.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request, a Access) {
	if !isJSON(r) {
		say(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
		return
	}
	raw, ok := h.body(w, r)
	if !ok {
		return
	}
	if items, ok := jsonrpc.Batch(raw); ok {
		h.old(w, r, a, &jsonrpc.Message{}, func(ctx context.Context, s *session, out *stream) []byte {
			return s.batched(ctx, items, narrowed(s, a), out.sender())
		})
		return
	}
	m, broken := jsonrpc.Parse(raw)
	switch {
	case broken != nil:
		h.refuse(w, http.StatusBadRequest, m, broken)
	case m.Modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		h.modern(w, r, a, m)
	default:
		h.old(w, r, a, m, func(ctx context.Context, s *session, out *stream) []byte {
			return s.handle(ctx, m, narrowed(s, a), out.sender())
		})
	}
}

// body reads the whole body, in bounded memory and in the time that it was
// given at the door.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxMessage))
	if err == nil {
		// Without this the end of the time would look like the client's going.
		if err = http.NewResponseController(w).SetReadDeadline(time.Time{}); err == nil {
			return raw, true
		}
	}
	status := http.StatusBadRequest
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		status = http.StatusRequestEntityTooLarge
	}
	h.refuse(w, status, nil,
		jsonrpc.Errorf(mcp.INVALID_REQUEST, "the body did not come whole within %s, or has more than %d bytes",
			bodyLimit, h.MaxMessage))
	return nil, false
}

const bodyLimit = 30 * time.Second

// narrowed is the access of a session, with the wishes of this one request.
func narrowed(s *session, a Access) Access {
	own := s.access
	own.Narrow = a.Narrow
	return own
}

// Modern serves the stateless era: the request says everything itself.
func (h *HTTP) modern(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message) {
	broken := checkModernHeaders(r.Header, m)
	if broken == nil {
		broken = h.Server.checkMirrored(r.Header, m, a)
	}
	if broken != nil {
		h.refuse(w, http.StatusBadRequest, m, broken)
		return
	}
	if m.ID == nil || m.IsResponse {
		w.WriteHeader(http.StatusAccepted) // nothing that a stateless server could do with it
		return
	}
	if name := m.Meta.Session; name != "" {
		a.Caller.Session += "/" + fingerprint(name)
	}
	s, out := h.Server.newSession(a), newStream(w, r)
	if m.Method == string(mcp.MethodSubscriptionsListen) {
		out.finish(h.listening(r, s, m, a, out), true)
		return
	}
	out.finish(s.handle(r.Context(), m, a, out.sender()), true)
}

// listening carries a subscription, which may last for days.
func (h *HTTP) listening(r *http.Request, s *session, m *jsonrpc.Message, a Access, out *stream) []byte {
	h.Server.hear(s)
	defer s.close()
	defer h.Server.unhear(s)
	ctx, stop := context.WithCancel(r.Context())
	over := make(chan struct{})
	var tending sync.WaitGroup
	tending.Go(func() {
		defer stop()
		out.tend(h.admitted(r), over, nil)
	})
	defer tending.Wait()
	defer close(over)
	return s.handle(ctx, m, a, out.sender())
}

// checkModernHeaders holds the headers of a request against its body: what
// stands between us and the client decides by the headers.
func checkModernHeaders(header http.Header, m *jsonrpc.Message) *jsonrpc.Error {
	version := header.Get(mcp.HeaderProtocolVersion)
	switch {
	case header.Get(mcp.HeaderLastEventID) != "":
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH,
			"streams cannot be resumed in protocol %s; send the request again with a new id", mcp.ProtocolVersion20260728)
	case version == "":
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "the header %s is missing", mcp.HeaderProtocolVersion)
	case m.Meta.Version == "" && m.ID == nil:
		return nil // only requests must say it twice; the Go SDK's cancellations do not
	case m.Meta.Version == "":
		return jsonrpc.Errorf(mcp.INVALID_PARAMS, "params._meta lacks %q", mcp.MetaKeyProtocolVersion)
	case version != m.Meta.Version:
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "the header %s says %q, the body says %q", mcp.HeaderProtocolVersion,
			version, m.Meta.Version)
	case !mcp.IsValidProtocolVersion(version):
		wrong := mcp.UnsupportedProtocolVersionError{Version: version,
			Supported: mcp.ValidProtocolVersions}.JSONRPCError().Error
		return &jsonrpc.Error{Code: wrong.Code, Message: wrong.Message, Data: wrong.Data}
	case m.ID == nil:
		return nil
	}
	if err := mcp.ValidateStandardHeaders(header.Get, version, mcp.MCPMethod(m.Method), m.Params); err != nil {
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "%v", err)
	}
	return nil
}

// checkMirrored holds the headers against the arguments that a tool wants in
// both. A tool that the caller does not see is left to the pipeline.
func (s *Server) checkMirrored(header http.Header, m *jsonrpc.Message, a Access) *jsonrpc.Error {
	if m.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	t, ok := s.Config.Tools.Lookup(m.Name)
	if !ok || !bytes.Contains(t.Schema(), []byte(`"x-mcp-header"`)) ||
		s.settings().Policy.Verdict(a.subject(), t.Spec.Name) == policy.Deny {
		return nil
	}
	described := mcp.NewToolWithRawSchema(t.Spec.Name, t.Spec.Doc, t.Schema())
	lookup := func(name string) (string, bool) {
		values := header.Values(name)
		return strings.Join(values, ","), len(values) > 0
	}
	if err := mcp.ValidateParamHeadersLookup(lookup, &described, m.Params); err != nil {
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "%v", err)
	}
	return nil
}

// old serves the eras with sessions: initialize opens one, everything else
// names it.
func (h *HTTP) old(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message,
	handle func(context.Context, *session, *stream) []byte) {
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		h.refuse(w, http.StatusBadRequest, m,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "protocol version %q is not known here", text.Clip(version, 40)))
		return
	}
	var s *session
	opened := m.Method == string(mcp.MethodInitialize) && m.ID != nil
	if opened {
		s = h.sessions.open(a)
		w.Header().Set(mcp.HeaderSessionID, s.id)
	} else if s = h.session(w, r, a, m); s == nil {
		return
	}
	if m.Raw != nil && (m.ID == nil || m.IsResponse) {
		s.notice(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := newStream(w, r)
	reply := handle(r.Context(), s, out)
	if opened && s.facts().version == "" {
		h.sessions.drop(s) // the handshake failed
		w.Header().Del(mcp.HeaderSessionID)
	}
	out.finish(reply, false)
}

// Session finds the session that r names. One that belongs to another caller
// or another path does not exist for this one.
func (h *HTTP) session(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message) *session {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		h.refuse(w, http.StatusBadRequest, m,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "the header %s is missing; send initialize first", mcp.HeaderSessionID))
		return nil
	}
	s := h.sessions.find(id, a)
	if s == nil {
		h.refuse(w, http.StatusNotFound, m,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "there is no such session, or it has ended; send initialize again"))
	}
	return s
}

// get opens the stream for what answers no request.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request, a Access) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		w.Header().Set("Allow", http.MethodPost)
		say(w, http.StatusMethodNotAllowed, "this protocol revision has no GET; use subscriptions/listen")
		return
	}
	s := h.session(w, r, a, nil)
	if s == nil {
		return
	}
	out := newStream(w, r)
	if !out.accepted {
		say(w, http.StatusNotAcceptable, "send Accept: text/event-stream")
		return
	}
	if !s.openPush(out.send) {
		say(w, http.StatusConflict, "this session has such a stream already")
		return
	}
	defer out.end()
	defer s.closePush()
	h.Server.hear(s)
	defer h.Server.unhear(s)
	out.stay(h.admitted(r), h.Server.closing.Done(), s.ended)
}

// delete ends a session.
func (h *HTTP) delete(w http.ResponseWriter, r *http.Request, a Access) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		w.Header().Set("Allow", http.MethodPost)
		say(w, http.StatusMethodNotAllowed, "this protocol revision has no sessions to end")
		return
	}
	if s := h.session(w, r, a, nil); s != nil {
		h.sessions.drop(s)
		w.WriteHeader(http.StatusOK)
	}
}

// refuse answers on the level of the protocol, with the status that says the
// same to everything in between.
func (h *HTTP) refuse(w http.ResponseWriter, status int, m *jsonrpc.Message, f *jsonrpc.Error) {
	if m == nil {
		m = &jsonrpc.Message{}
	}
	hurry(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(h.Server.refusal(m.ID, f)); err != nil {
		return // the client has disconnected
	}
}

// statusOf is the HTTP status that the stateless era prescribes for a reply.
func statusOf(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.HEADER_MISMATCH,
		mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
