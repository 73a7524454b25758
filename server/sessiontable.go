package server

import (
	"sync"
	"time"
)

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

// open makes a session. If there are too many, it evicts the one that was idle for
// longest: first among those of the same caller, so that no caller can evict the
// sessions of others before its own.
func (t *sessionTable) open(a Access) *session {
	s := t.server.newSession(a)
	s.access.Caller.Session, s.lasting = "http-"+fingerprint(s.id), true
	t.mu.Lock()
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
	t.server.count(1)
	if evicted != nil {
		evicted.close()
		t.server.count(-1)
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

// find returns the session id of the caller a, or nil. The caller's narrowing
// is that of the present request.
func (t *sessionTable) find(id string, a Access) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || !sameOwner(s.access, a) {
		return nil
	}
	return s
}

// sameOwner compares what a session is bound to: identity, profile and transport.
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
		t.server.count(-1)
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
