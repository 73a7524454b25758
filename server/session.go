package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A session is one conversation with one client: the life of a stdio process,
// a legacy HTTP session, or, for the stateless era over HTTP, one request.
// Its caller and profile never change.
type session struct {
	id     string
	server *Server
	access Access

	mu         sync.Mutex
	client     client
	inflight   map[string]*flight                     // by the request's id as written
	asked      map[string]chan *jsonrpc.Message       // requests of the server, by id
	nextID     int                                    // of requests of the server
	push       func(msg []byte) error                 // for messages that answer no request; may be nil
	streams    map[*rpcRequest]mcp.SubscriptionFilter // open subscriptions/listen
	pending    pendingChanges                         // notifications that the client has not got yet
	notifying  bool                                   // a goroutine is sending notifications
	subscribed map[string]struct{}                    // resources that a client of an old era subscribed to
	lastUsed   time.Time
	closed     bool
	events     eventLog      // of POST streams
	persistent bool          // false for one request of the stateless era
	ended      chan struct{} // closed with the session
	rootsKnown chan struct{} // closed when the client has answered; nil if it was not asked for its roots
	root       string        // the workspace that the client has chosen; may be empty
}

// client is a client's declaration about itself.
type client struct {
	name         string // and version of the program
	capabilities mcp.ClientCapabilities
	version      string
	initialized  bool
}

// A flight is a request that has not been answered yet.
type flight struct {
	cancel    context.CancelCauseFunc
	cancelled bool
}

var (
	errCancelledByClient = fmt.Errorf("the client cancelled the request: %w", context.Canceled)
	errSessionClosed     = fmt.Errorf("the session has ended: %w", context.Canceled)
)

func (s *Server) newSession(a Access) *session {
	return &session{
		id: rand.Text(), server: s, access: a,
		inflight: make(map[string]*flight), lastUsed: time.Now(), ended: make(chan struct{}),
	}
}

// begin registers a request, so that it can be cancelled and its id is not
// used twice at once.
func (s *session) begin(ctx context.Context, id jsontext.Value) (context.Context, *flight, *jsonrpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "the session has ended")
	}
	if _, taken := s.inflight[string(id)]; taken {
		return nil, nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "the id %s belongs to a request that is still running",
			text.Clip(string(id), jsonrpc.MaxQuoted))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{cancel: cancel}
	s.inflight[string(id)] = f
	s.lastUsed = time.Now()
	return ctx, f, nil
}

// end forgets a request and reports whether its answer is still wanted.
func (s *session) end(id jsontext.Value, f *flight) (wanted bool) {
	f.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inflight, string(id))
	s.lastUsed = time.Now()
	return !f.cancelled
}

// cancel stops a running request. Its answer will not be sent.
func (s *session) cancel(id jsontext.Value) {
	s.mu.Lock()
	f := s.inflight[string(id)]
	if f != nil {
		f.cancelled = true
	}
	s.mu.Unlock()
	if f != nil {
		f.cancel(errCancelledByClient)
	}
}

// wasCancelled reports whether the client has cancelled a request.
func (s *session) wasCancelled(f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f != nil && f.cancelled
}

// close ends the conversation: running calls are stopped, questions too.
func (s *session) close() {
	s.mu.Lock()
	first := !s.closed
	if first {
		s.closed = true
		close(s.ended)
	}
	flights := make([]*flight, 0, len(s.inflight))
	for _, f := range s.inflight {
		flights = append(flights, f)
	}
	s.mu.Unlock()
	for _, f := range flights {
		f.cancel(errSessionClosed)
	}
	if first && s.persistent && s.server.Ended != nil {
		s.server.Ended(s.access.Caller)
	}
}

// cancelQuestions ends the open questions: the client can no longer answer.
func (s *session) cancelQuestions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, waiting := range s.asked {
		delete(s.asked, id)
		waiting <- &jsonrpc.Message{Error: jsontext.Value("null")}
	}
}

// idleSince returns when the session was last used. A session with a running
// request or an open stream is in use now.
func (s *session) idleSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inflight) > 0 || s.push != nil {
		return time.Now()
	}
	return s.lastUsed
}

// notice handles a notification or a response: messages that get no response.
func (s *session) notice(ctx context.Context, m *jsonrpc.Message) {
	switch {
	case m.IsResponse:
		s.mu.Lock()
		waiting := s.asked[string(m.ID)]
		delete(s.asked, string(m.ID))
		s.mu.Unlock()
		if waiting != nil {
			waiting <- m // has room for one
		}
	case m.Method == string(mcp.MethodNotificationCancelled):
		s.cancel(m.RequestID)
	case m.Method == "notifications/initialized":
		s.mu.Lock()
		s.client.initialized = true
		s.mu.Unlock()
		s.askRoots(ctx)
	case m.Method == mcp.MethodNotificationRootsListChanged:
		s.askRoots(ctx)
	}
}

// ask sends a request of the server over out and waits for the response.
func (s *session) ask(ctx context.Context, out func([]byte) error, method string, params any) (json.RawMessage, error) {
	reply := make(chan *jsonrpc.Message, 1)
	s.mu.Lock()
	s.nextID++
	id := jsontext.Value(strconv.Itoa(s.nextID))
	if s.asked == nil {
		s.asked = make(map[string]chan *jsonrpc.Message)
	}
	s.asked[string(id)] = reply
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, string(id))
		s.mu.Unlock()
	}()
	if err := out(s.server.clean(jsonrpc.Request(id, method, params))); err != nil {
		return nil, err
	}
	select {
	case m := <-reply:
		if m.Error != nil {
			return nil, errors.New("the client answered with an error")
		}
		return json.RawMessage(m.Result), nil
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, errAnsweredElsewhere) {
			return nil, cause
		}
		params := map[string]any{"requestId": id, "reason": errAnsweredElsewhere.Error()}
		return nil, errors.Join(errAnsweredElsewhere,
			out(jsonrpc.Request(nil, string(mcp.MethodNotificationCancelled), params)))
	}
}

func (s *session) clientInfo() client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// openPush sets where messages go that answer no request, unless it is set already.
func (s *session) openPush(push func([]byte) error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.push != nil || s.closed {
		return false
	}
	s.push = push
	return true
}

func (s *session) closePush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push = nil
	s.lastUsed = time.Now()
}

// A sessionTable holds the HTTP sessions of the eras that have them. Only the
// caller and the profile that opened a session may use it.
type sessionTable struct {
	server *Server
	most   int

	mu   sync.Mutex
	byID map[string]*session
}

func newSessionTable(s *Server, most int) *sessionTable {
	return &sessionTable{server: s, most: most, byID: make(map[string]*session)}
}

// open makes a session. If there are too many, it evicts the one that was idle for longest:
// first among the sessions of the same caller, so that no caller can evict the sessions of
// others before its own.
func (t *sessionTable) open(a Access) *session { return t.add(a, rand.Text(), client{}) }

// add adds a session with an id. If another request has added it meanwhile, it returns that one.
func (t *sessionTable) add(a Access, id string, known client) *session {
	s := t.server.newSession(a)
	s.id, s.client = id, known
	s.access.Caller.Session, s.persistent = "http-"+fingerprint(s.id), true
	t.mu.Lock()
	if there := t.byID[id]; there != nil {
		t.mu.Unlock()
		return there
	}
	var evicted *session
	own := func(other *session) bool { return sameOwner(other.access, a) }
	switch {
	case t.count(own) >= max(t.most/10, 1):
		evicted = t.idlest(own)
	case len(t.byID) >= t.most:
		evicted = t.idlest(func(*session) bool { return true })
	}
	if evicted != nil {
		delete(t.byID, evicted.id)
	}
	t.byID[s.id] = s
	t.mu.Unlock()
	t.server.countSessions(1)
	if evicted != nil {
		evicted.close()
		t.server.countSessions(-1)
	}
	return s
}

func (t *sessionTable) count(among func(*session) bool) int {
	n := 0
	for _, s := range t.byID {
		if among(s) {
			n++
		}
	}
	return n
}

func (t *sessionTable) idlest(among func(*session) bool) *session {
	var found *session
	var since time.Time
	for _, s := range t.byID {
		if !among(s) {
			continue
		}
		if idle := s.idleSince(); found == nil || idle.Before(since) {
			found, since = s, idle
		}
	}
	return found
}

// find returns the session id of the caller a, or nil. The caller's narrowing comes from the
// present request.
func (t *sessionTable) find(id string, a Access) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || !sameOwner(s.access, a) {
		return nil
	}
	return s
}

// sameOwner compares the owner of a session: identity, profile and transport.
func sameOwner(a, b Access) bool {
	x, y := a.Caller, b.Caller
	return x.Agent == y.Agent && x.User == y.User && x.Profile == y.Profile && x.Workspace == y.Workspace &&
		a.Token == b.Token && a.Transport == b.Transport
}

func (t *sessionTable) drop(s *session) {
	t.mu.Lock()
	_, there := t.byID[s.id]
	delete(t.byID, s.id)
	t.mu.Unlock()
	if there {
		t.server.countSessions(-1)
	}
	s.close()
}

// sweep ends the sessions that were not used since then.
func (t *sessionTable) sweep(since time.Time) {
	t.mu.Lock()
	var old []*session
	for _, s := range t.byID {
		if s.idleSince().Before(since) {
			old = append(old, s)
		}
	}
	t.mu.Unlock()
	for _, s := range old {
		t.drop(s)
	}
}
