package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/policy"
)

// post takes one message of either era.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request, a Access) {
	if !isJSON(r) {
		writeText(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
		return
	}
	raw, ok := h.body(w, r)
	if !ok {
		return
	}
	m, broken := jsonrpc.Parse(raw)
	switch {
	case broken != nil:
		h.refuse(w, http.StatusBadRequest, m, broken)
	case m.Method == string(mcp.MethodToolsCall) && h.failing():
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusServiceUnavailable, m, jsonrpc.Errorf(mcp.INTERNAL_ERROR,
			"unavailable: this server cannot record calls now, so nothing was done; try again"))
	case m.Modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		h.serveStateless(w, r, a, m)
	default:
		h.serveSession(w, r, a, m)
	}
}

// failing reports whether no call can be recorded, so that a load balancer sends it to another server.
func (h *HTTP) failing() bool {
	failing := h.Server.Config.Failing
	return failing != nil && failing() != nil
}

// body reads the whole body, up to MaxMessage bytes and within the deadline that
// setDeadlines set.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxMessage))
	if err == nil {
		// Otherwise net/http would take the deadline for a disconnected client.
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

// narrowed returns the access of a session with the restrictions and the place of this
// request.
func narrowed(s *session, a Access) (Access, error) {
	own := s.access
	own.Narrow, own.Structured = a.Narrow, own.Structured || a.Structured
	return own.at(a.place())
}

// serveStateless serves the stateless era: a request needs no session.
func (h *HTTP) serveStateless(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message) {
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
		out.deliver(h.serveSubscription(r, s, m, a, out), true)
		return
	}
	out.deliver(s.handle(r.Context(), m, a, out.sender()), true)
}

// serveSubscription serves a subscriptions/listen request. The request may stay open for days.
func (h *HTTP) serveSubscription(r *http.Request, s *session, m *jsonrpc.Message, a Access, out *stream) delivery {
	h.Server.addSession(s)
	defer s.close()
	defer h.Server.removeSession(s)
	ctx, stop := context.WithCancel(r.Context())
	over := make(chan struct{})
	var tending sync.WaitGroup
	tending.Go(func() {
		defer stop()
		out.watch(h.stillAuthorized(r), over, nil)
	})
	defer tending.Wait()
	defer close(over)
	return s.handle(ctx, m, a, out.sender())
}

// checkModernHeaders checks that the headers of a request match its body, because
// proxies decide by the headers.
func checkModernHeaders(header http.Header, m *jsonrpc.Message) *jsonrpc.Error {
	version := header.Get(mcp.HeaderProtocolVersion)
	switch {
	case header.Get(mcp.HeaderLastEventID) != "":
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH,
			"streams cannot be resumed in protocol %s; send the request again with a new id",
			mcp.ProtocolVersion20260728)
	case version == "":
		return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "the header %s is missing", mcp.HeaderProtocolVersion)
	case m.Meta.Version == "" && m.ID == nil:
		return nil // only requests need the version in both; the Go SDK's cancellations do not
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
	if aboutTask(m.Method) {
		if name, ok := mcp.DecodeHeaderValue(header.Get(mcp.HeaderName)); !ok || name != taskIDOf(m.Params) {
			return jsonrpc.Errorf(mcp.HEADER_MISMATCH, "the header %s must have the taskId of the body", mcp.HeaderName)
		}
	}
	return nil
}

// checkMirrored checks that headers match the arguments that a tool wants in both.
// It ignores tools that the caller may not see: Call refuses them.
func (s *Server) checkMirrored(header http.Header, m *jsonrpc.Message, a Access) *jsonrpc.Error {
	if m.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	t, ok := s.settings().tools.Lookup(m.Name)
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

// serveSession serves the eras with sessions: initialize opens a session, all other
// requests name it.
func (h *HTTP) serveSession(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message) {
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
	own, err := narrowed(s, a)
	if err != nil {
		h.refuse(w, http.StatusForbidden, m, jsonrpc.Errorf(mcp.INVALID_REQUEST, "%v", err))
		return
	}
	if m.ID == nil || m.IsResponse {
		s.notice(r.Context(), m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := newStream(w, r)
	ctx, done := h.outlive(r, out)
	defer done()
	out.log = &s.events
	stopPriming := func() {}
	if s.clientInfo().version >= mcp.ProtocolVersion20251125 {
		stopPriming = out.primeLater()
	}
	reply := s.handle(ctx, m, own, out.sender())
	stopPriming()
	if opened && s.clientInfo().version == "" {
		h.sessions.drop(s) // the handshake failed
		w.Header().Del(mcp.HeaderSessionID)
	} else if opened {
		h.sessions.save(ctx, s)
	}
	out.deliver(reply, false)
}

// outlive returns the context of a call that continues when its client disconnects:
// the client may come back for the result. A client without event streams cannot.
func (h *HTTP) outlive(r *http.Request, out *stream) (context.Context, context.CancelFunc) {
	if !out.accepted {
		return context.WithCancel(r.Context())
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	if h.calls == nil {
		return ctx, func() { cancel(nil) }
	}
	stop := context.AfterFunc(h.calls, func() { cancel(context.Cause(h.calls)) })
	return ctx, func() { stop(); cancel(nil) }
}

// session returns the session that r names, or writes an error and returns nil. It
// does not find sessions of other callers or other paths.
func (h *HTTP) session(w http.ResponseWriter, r *http.Request, a Access, m *jsonrpc.Message) *session {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		h.refuse(w, http.StatusBadRequest, m,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "the header %s is missing; send initialize first", mcp.HeaderSessionID))
		return nil
	}
	s := h.sessions.find(id, a)
	if s == nil {
		s = h.sessions.adopt(r.Context(), id, a)
	}
	if s == nil {
		h.refuse(w, http.StatusNotFound, m,
			jsonrpc.Errorf(mcp.INVALID_REQUEST, "there is no such session, or it has ended; send initialize again"))
	}
	return s
}

// get opens the stream for messages that are not responses.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request, a Access) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		w.Header().Set("Allow", http.MethodPost)
		writeText(w, http.StatusMethodNotAllowed, "this protocol revision has no GET; use subscriptions/listen")
		return
	}
	s := h.session(w, r, a, nil)
	if s == nil {
		return
	}
	out := newStream(w, r)
	if !out.accepted {
		writeText(w, http.StatusNotAcceptable, "send Accept: text/event-stream")
		return
	}
	if id := r.Header.Get(mcp.HeaderLastEventID); id != "" {
		defer out.end()
		h.resume(w, out, s, id)
		return
	}
	if !s.openPush(out.send) {
		writeText(w, http.StatusConflict, "this session has such a stream already")
		return
	}
	defer out.end()
	defer s.closePush()
	h.Server.addSession(s)
	defer h.Server.removeSession(s)
	out.hold(h.stillAuthorized(r), h.Server.closing.Done(), s.ended)
}

// delete ends a session.
func (h *HTTP) delete(w http.ResponseWriter, r *http.Request, a Access) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		w.Header().Set("Allow", http.MethodPost)
		writeText(w, http.StatusMethodNotAllowed, "this protocol revision has no sessions to end")
		return
	}
	if s := h.session(w, r, a, nil); s != nil {
		h.sessions.forget(r.Context(), s)
		h.sessions.drop(s)
		w.WriteHeader(http.StatusOK)
	}
}

// refuse writes a JSON-RPC error with an HTTP status.
func (h *HTTP) refuse(w http.ResponseWriter, status int, m *jsonrpc.Message, f *jsonrpc.Error) {
	if m == nil {
		m = &jsonrpc.Message{}
	}
	setWriteDeadline(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(h.Server.refusal(m.ID, f)); err != nil {
		return // the client has disconnected
	}
}

// statusOf returns the HTTP status that the stateless era requires for an error code.
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

// A stream writes the response to one HTTP request: a single JSON document, or an
// event stream if a message has to be sent before the result.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	gone     <-chan struct{}
	accepted bool      // the client takes event streams
	log      *eventLog // keeps the events; nil for none

	mu     sync.Mutex
	logged *loggedStream // in log
	events bool          // it has become a stream of events
	ended  bool          // the request has been dealt with, and w is no longer ours
}

var errStreamOver = errors.New("the stream has ended")

// end must be called before the handler of the request returns, if another
// goroutine may still hold the stream.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	setWriteDeadline(s.w)
}

const (
	// writeLimit is how long a client may leave a message unread.
	writeLimit = 30 * time.Second
	// keepAlive is the interval of keep-alive comments on an idle stream, so that
	// proxies do not close it.
	keepAlive = 20 * time.Second
)

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	accept := r.Header.Get("Accept")
	control := http.NewResponseController(w)
	if r.ProtoMajor > 1 {
		// The time before the first message may be long, and HTTP/2 ends a stream
		// at its deadline even if nothing is being written. An error means that
		// there is no deadline.
		_ = control.SetWriteDeadline(time.Time{})
	}
	return &stream{
		w: w, control: control, gone: r.Context().Done(),
		accepted: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*"),
	}
}

// sender returns the function that sends messages before the response. It is nil
// for a client that does not accept event streams: it gets no progress and no
// questions.
func (s *stream) sender() func(msg []byte) error {
	if !s.accepted {
		return nil
	}
	return s.send
}

func (s *stream) send(msg []byte) error { return s.event("", msg) }

func (s *stream) event(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errStreamOver
	}
	s.open()
	if s.log == nil {
		return s.write(encodeEvent(name, "", data))
	}
	if s.logged == nil {
		s.logged = s.log.open()
	}
	_ = s.write(encodeEvent(name, s.log.add(s.logged, data), data)) // a client that has gone can come back for it
	return nil
}

// encodeEvent returns an event as it is written.
func encodeEvent(name, id string, data []byte) []byte {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(data) // JSON as we write it has no line breaks
	b.WriteString("\n\n")
	return b.Bytes()
}

// primeLater sends an id to resume with if nothing was sent after a while. stop
// must be called before the response is sent.
func (s *stream) primeLater() (stop func()) {
	if !s.accepted {
		return func() {}
	}
	primed := make(chan struct{})
	timer := time.AfterFunc(resumeAfter, func() {
		defer close(primed)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.logged == nil {
			s.open()
			s.logged = s.log.open()
			_ = s.write(encodeEvent("", s.logged.id(0), nil))
		}
	})
	return func() {
		if !timer.Stop() {
			<-primed
		}
	}
}

// open turns the response into a stream of events.
func (s *stream) open() {
	if s.events {
		return
	}
	s.events = true
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) write(b []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	// HTTP/2 ends a stream when its deadline passes, written to or not.
	return s.control.SetWriteDeadline(time.Time{})
}

// finish sends the response. It is nil if the request was cancelled or held only
// notifications.
func (s *stream) finish(reply []byte, modern bool) {
	s.mu.Lock()
	events := s.events
	s.mu.Unlock()
	setWriteDeadline(s.w)
	if s.logged != nil {
		defer func() { s.log.end(s.logged) }()
	}
	switch {
	case reply == nil && events:
	case reply == nil:
		s.w.WriteHeader(http.StatusAccepted)
	case events:
		_ = s.event("", reply) // if this fails, the client has gone
		setWriteDeadline(s.w)
	default:
		s.w.Header().Set("Content-Type", "application/json")
		s.w.Header().Set("Content-Length", strconv.Itoa(len(reply))) // so that it is whole when it is flushed
		if modern {
			s.w.WriteHeader(statusOf(errorCode(reply)))
		}
		_, _ = s.w.Write(reply) // likewise
	}
}

// deliver sends the response to a request. If it matters whether it was written, it is
// flushed before that is noted.
func (s *stream) deliver(r delivery, modern bool) {
	s.finish(r.msg, modern)
	if r.sent == nil {
		return
	}
	err := s.control.Flush()
	select {
	case <-s.gone: // it may come back for the response, and else gets them again
	default:
		r.sent(err == nil)
	}
}

// errorCode returns the code of an error response, or 0 for a result.
func errorCode(reply []byte) int {
	if !bytes.Contains(reply[:min(len(reply), 300)], []byte(`,"error":`)) {
		return 0
	}
	var answer struct{ Error struct{ Code int } }
	if json.Unmarshal(reply, &answer) != nil {
		return 0
	}
	return answer.Error.Code
}

// hold opens an event stream and keeps it open until the client disconnects, end
// or other is closed, or the token is no longer valid.
func (s *stream) hold(admitted func() bool, end, other <-chan struct{}) {
	if s.comment("hello") == nil {
		s.watch(admitted, end, other)
	}
}

// comment opens an event stream with a comment.
func (s *stream) comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
	return s.write([]byte(": " + text + "\n\n"))
}

// watch sends keep-alives on an open stream and checks its token at the same
// interval. It returns when the stream has to end.
func (s *stream) watch(admitted func() bool, end, other <-chan struct{}) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-end:
			return
		case <-other:
			return
		case <-tick.C:
			if !admitted() || s.sendKeepAlive() != nil {
				return
			}
		}
	}
}

// sendKeepAlive sends a keep-alive on a stream of events, unless another goroutine is
// writing to it.
func (s *stream) sendKeepAlive() error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if !s.events || s.ended {
		return nil
	}
	return s.write([]byte(": still here\n\n"))
}
