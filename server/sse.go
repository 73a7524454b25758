package server

import (
	"crypto/rand"
	"mime"
	"net/http"
	"sync"
	"time"
)

// A connTable holds the open connections of the old HTTP+SSE transport.
type connTable struct {
	mu   sync.Mutex
	byID map[string]*conn
}

// find returns the connection id if it belongs to the caller a.
func (t *connTable) find(id string, a Access) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byID[id]
	if c == nil || !sameOwner(c.session.access, a) {
		return nil
	}
	return c
}

// add adds a connection, unless there are too many in all or of the same caller:
// one caller must not use up the connections of the others.
func (t *connTable) add(id string, c *conn, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := 0
	for _, other := range t.byID {
		if sameOwner(other.session.access, c.session.access) {
			own++
		}
	}
	if len(t.byID) >= most || own >= max(most/10, 1) {
		return false
	}
	t.byID[id] = c
	return true
}

func (t *connTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// drain lets the calls of all connections finish, at once.
func (t *connTable) drain(grace time.Duration) {
	t.mu.Lock()
	var all sync.WaitGroup
	for _, c := range t.byID {
		all.Go(func() { c.drain(grace) })
	}
	t.mu.Unlock()
	all.Wait()
}

// openSSE opens the stream of events to the client. The first event names the address for the
// client's messages.
func (h *HTTP) openSSE(w http.ResponseWriter, r *http.Request, a Access) {
	out := newStream(w, r)
	if !out.accepted {
		writeText(w, http.StatusNotAcceptable, "send Accept: text/event-stream")
		return
	}
	defer out.end()
	id := rand.Text()
	a.Transport = "sse"
	a.Caller.Session = "sse-" + fingerprint(id)
	c := h.Server.newConn(r.Context(), a, func(msg []byte) error { return out.event("message", msg) })
	if !h.conns.add(id, c, h.MaxSessions) {
		c.drain(0)
		writeText(w, http.StatusServiceUnavailable, "too many connections; try again later")
		return
	}
	defer h.conns.remove(id)
	address := "/message?sessionId=" + id
	if profile := r.PathValue("profile"); profile != "" {
		address = "/message/" + profile + "?sessionId=" + id
	}
	if err := out.event("endpoint", []byte(address)); err != nil {
		c.drain(0)
		return
	}
	out.hold(h.stillAuthorized(r), nil, c.session.ended)
	c.stop(errSessionClosed) // the client can no longer get responses
	c.drain(lastGrace)
}

// postSSE takes one message. Its response goes over the stream. The request may
// restrict itself if the one that opened the stream did not.
func (h *HTTP) postSSE(w http.ResponseWriter, r *http.Request, a Access) {
	a.Transport = "sse"
	c := h.conns.find(r.URL.Query().Get("sessionId"), a)
	if c == nil {
		writeText(w, http.StatusNotFound, "there is no such session, or it has ended; open /sse again")
		return
	}
	if !isJSON(r) {
		writeText(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
		return
	}
	access, ok := c.session.access.narrow(a.Narrow)
	if ok {
		var err error
		access, err = access.at(a.place())
		ok = err == nil
	}
	if !ok {
		writeText(w, http.StatusForbidden, "the headers X-MCP-* differ from those with which the stream was opened")
		return
	}
	raw, ok := h.body(w, r)
	if !ok {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	c.receive(raw, &access)
}

// isJSON reports whether the body is declared as JSON. A web page cannot send that
// to another origin without a preflight request.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
