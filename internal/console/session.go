package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-tools/mcp-tools/internal/room"
)

const (
	// sessionPath begins the paths of all sessions. The secret of the session follows.
	sessionPath = "c"
	// linkAge is how long a link can be used, and sessionAge how long a session lasts
	// after its last request.
	linkAge     = 5 * time.Minute
	sessionAge  = 12 * time.Hour
	maxSessions = 100
	maxLinks    = 20
	// noteAge and maxNotes limit the results that a session keeps for the next page.
	noteAge  = 10 * time.Minute
	maxNotes = 8
)

// sessions are the logins of people, and the unused links. All secrets have at least 128 bits.
// They are found by their digests, so that the time of a lookup discloses nothing.
type sessions struct {
	mu     sync.Mutex
	now    func() time.Time
	links  map[digest]link
	byPath map[digest]*session
	tries  map[string]*rate.Limiter // logins with a token, by address
}

type digest = [sha256.Size]byte

type link struct {
	who     room.Person
	expires time.Time
}

// A session is the login of a person in one browser. It is found by the secret in the path, and
// counts only with the cookie: the path may be seen over a shoulder, and cookies are sent to
// every port of a machine.
type session struct {
	base   string // path of all its pages, without a slash at the end
	cookie digest
	csrf   string // in every form
	who    room.Person
	// valid reports whether the token of the person is still valid; nil for a link.
	valid   func(context.Context) bool
	streams atomic.Int64 // that are open

	mu     sync.Mutex
	used   time.Time
	notes  map[string]*note
	visits []*visit // oldest first
}

func newSessions() *sessions {
	return &sessions{
		now: time.Now, links: map[digest]link{}, byPath: map[digest]*session{}, tries: map[string]*rate.Limiter{},
	}
}

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// newSecret returns 128 random bits or more, for a path or a cookie.
func newSecret() string { return strings.ToLower(rand.Text()) }

// Link returns the path of a page that opens the console for a person. It can be used once,
// within five minutes. To look at the page uses up nothing: the person presses a button.
func (c *Console) Link(who room.Person) string {
	s := c.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.links {
		if len(s.links) >= maxLinks || s.now().After(l.expires) {
			delete(s.links, key)
		}
	}
	secret := newSecret() + newSecret()
	s.links[digestOf(secret)] = link{who, s.now().Add(linkAge)}
	return "/open/" + secret
}

// spend uses up a link.
func (s *sessions) spend(secret string) (room.Person, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := digestOf(secret)
	l, ok := s.links[key]
	delete(s.links, key)
	return l.who, ok && !s.now().After(l.expires)
}

// begin makes a session with a new path and a new cookie, whatever the browser has sent.
func (s *sessions) begin(who room.Person, valid func(context.Context) bool) (one *session, cookie string) {
	base, cookie := newSecret(), newSecret()
	one = &session{
		base: "/" + sessionPath + "/" + base, cookie: digestOf(cookie), csrf: newSecret(), who: who, valid: valid,
		used: s.now(), notes: map[string]*note{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest digest
	for key, other := range s.byPath {
		if at := other.lastUse(); s.now().Sub(at) > sessionAge {
			s.drop(key)
		} else if first := s.byPath[oldest]; first == nil || at.Before(first.lastUse()) {
			oldest = key
		}
	}
	if len(s.byPath) >= maxSessions {
		s.drop(oldest)
	}
	s.byPath[digestOf(base)] = one
	return one, cookie
}

// find returns the session of a path and its cookie, or why there is none.
func (s *sessions) find(base string, cookies []*http.Cookie) (one *session, refused string) {
	s.mu.Lock()
	one = s.byPath[digestOf(base)]
	s.mu.Unlock()
	switch {
	case one == nil && len(cookies) > 0:
		return nil, "a cookie without the path of its session"
	case one == nil:
		return nil, "a path without a session"
	case s.now().Sub(one.lastUse()) > sessionAge:
		s.end(base)
		return nil, "a session that has expired"
	}
	for _, cookie := range cookies {
		got := digestOf(cookie.Value)
		if subtle.ConstantTimeCompare(got[:], one.cookie[:]) == 1 {
			one.mu.Lock()
			defer one.mu.Unlock()
			one.used = s.now()
			return one, ""
		}
	}
	return nil, "a path without the cookie of its session"
}

// mayTry reports whether an address may send a token now: ten at once, and one in six seconds.
func (s *sessions) mayTry(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tries) >= maxAddresses {
		clear(s.tries)
	}
	if s.tries[host] == nil {
		s.tries[host] = rate.NewLimiter(rate.Every(6*time.Second), 10)
	}
	return s.tries[host].AllowN(s.now(), 1)
}

// maxAddresses is how many addresses mayTry remembers.
const maxAddresses = 1000

func (s *sessions) end(base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(digestOf(base))
}

// drop ends a session, if there is one. The caller holds mu.
func (s *sessions) drop(path digest) {
	if one := s.byPath[path]; one != nil {
		one.endVisits()
	}
	delete(s.byPath, path)
}

// has reports whether a session is open.
func (s *sessions) has(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byPath[digestOf(strings.TrimPrefix(one.base, "/"+sessionPath+"/"))] == one && s.now().Sub(one.lastUse()) <= sessionAge
}

func (s *session) lastUse() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// A note is the result of an action, to be shown by the next page.
type note struct {
	at     time.Time
	Failed bool
	Text   string
	Rows   [][]string
	Diffs  []room.Difference
}

// keep keeps a note, and returns its id.
func (s *session) keep(n *note) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.at = time.Now()
	for key, old := range s.notes {
		if len(s.notes) >= maxNotes || n.at.Sub(old.at) > noteAge {
			delete(s.notes, key)
		}
	}
	id = newSecret()[:12]
	s.notes[id] = n
	return id
}

// note returns a note that was kept, or nil.
func (s *session) note(id string) *note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notes[id]
}

// cookieName returns the name of the cookie. Browsers send it to the path of its session
// only.
func (c *Console) cookieName() string {
	if c.Secure {
		return "__Secure-mcp-tools"
	}
	return "mcp-tools"
}

// letIn begins a session, and sends the browser to a page of it.
func (c *Console) letIn(w http.ResponseWriter, r *http.Request, who room.Person, valid func(context.Context) bool,
	page string) {
	http.Redirect(w, r, c.begin(w, r, who, valid)+"/"+page, http.StatusSeeOther)
}

// begin begins a session, and returns the path of its pages.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, who room.Person, valid func(context.Context) bool) string {
	s, cookie := c.sessions.begin(who, valid)
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Value: cookie, Path: s.base + "/", HttpOnly: true, Secure: c.Secure,
		SameSite: http.SameSiteStrictMode, MaxAge: int(sessionAge.Seconds()),
	})
	c.record(r, who.Name, "login", "ok", "")
	return s.base
}
