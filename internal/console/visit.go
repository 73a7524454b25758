package console

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file calls verbs that send a person to another site, such as the login of a server at its provider. Such a verb
// runs longer than the request that begins it: it ends when the person has come back to this console, or after
// visitAge. The state in the address finds it then, once, and only in the browser that has begun it.

const (
	visitAge = 10 * time.Minute
	// maxVisits is the maximum number of them in a session. One more ends the oldest.
	maxVisits = 4
)

// visits are the calls of verbs that send people to other sites.
type visits struct {
	tasks sync.WaitGroup

	mu      sync.Mutex
	waiting map[digest]*visit // by the state
}

// A visit is such a call. It is the [room.Browser] of the verb.
type visit struct {
	of      *visits
	session *session
	back    string // URL to return to
	page    string // path of the page to show after it
	end     context.CancelFunc

	cookie string        // of the browser; set before away is sent
	away   chan *url.URL // sent once
	came   chan url.Values
	done   chan struct{} // closed when the verb has ended, with result and err

	result tool.Result
	err    error
}

// Return returns the URL at which the person comes back.
func (v *visit) Return() (string, error) { return v.back, nil }

// Visit shows the person the way to an address, and waits.
func (v *visit) Visit(ctx context.Context, address string) (url.Values, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || at.Query().Get("state") == "" {
		return nil, errors.New("the address for the browser is not the one of a login")
	}
	if v.cookie != "" {
		return nil, errors.New("the person was sent to a page before")
	}
	state := digestOf(at.Query().Get("state"))
	v.cookie = newSecret()
	if !v.of.add(state, v) {
		return nil, errors.New("the state of the login is used by another one")
	}
	defer v.of.take(state, v.cookie)
	v.away <- at
	select {
	case q := <-v.came:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (v *visits) add(state digest, one *visit) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waiting == nil {
		v.waiting = map[digest]*visit{}
	}
	if v.waiting[state] != nil {
		return false
	}
	v.waiting[state] = one
	return true
}

// take uses up a state, if the browser with this cookie has begun the visit.
func (v *visits) take(state digest, cookie string) (*visit, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.waiting[state]
	if one == nil || digestOf(one.cookie) != digestOf(cookie) {
		return nil, false
	}
	delete(v.waiting, state)
	return one, true
}

// visitCookie returns the name of the cookie of a visit. The person comes back from pages of another site, so it is not
// strict.
func (c *Console) visitCookie(state digest) string {
	return c.cookieName() + "-visit-" + hex.EncodeToString(state[:6])
}

// begin calls a verb in the background, for the browser of a request.
func (v *visits) begin(c *Console, r *Request, home *room.Room, verb room.Verb, args []byte, page string) *visit {
	ctx, cancel := context.WithTimeout(c.ended, visitAge)
	scheme := "http://"
	if c.Secure {
		scheme = "https://"
	}
	one := &visit{
		of: v, session: r.session, page: page, end: cancel,
		back: scheme + r.Host + room.ReturnPath, // guard has checked the host
		away: make(chan *url.URL, 1), came: make(chan url.Values, 1), done: make(chan struct{}),
	}
	r.session.visit(one)
	who := r.Who
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() != nil { // close waits for those that have begun before it
		one.err = tool.Errorf(tool.Unavailable, "the console ends")
		close(one.done)
		cancel()
		return one
	}
	v.tasks.Go(func() {
		defer close(one.done)
		defer cancel()
		defer func() {
			if p := recover(); p != nil { // as in a request, it ends this one only
				one.err = fmt.Errorf("the verb panicked: %v", p)
				c.Log.Error("a verb of the console panicked", "verb", home.Name+" "+verb.Name, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		one.result, _, one.err = c.API.Do(room.WithBrowser(ctx, one), who, home, verb, args, true, nil)
	})
	return one
}

// close ends all visits of a console that ends, and waits for them.
func (v *visits) close(end func()) {
	v.mu.Lock()
	end()
	v.mu.Unlock()
	v.tasks.Wait()
}

// visit remembers a visit of a session.
func (s *session) visit(one *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.visits[:0]
	for _, old := range s.visits {
		select {
		case <-old.done:
		default:
			running = append(running, old)
		}
	}
	if len(running) == maxVisits {
		running[0].end()
		running = running[1:]
	}
	s.visits = append(running, one)
}

// endVisits ends the visits of a session that has ended.
func (s *session) endVisits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.visits {
		one.end()
	}
	s.visits = nil
}

// A departure is the page before another site.
type departure struct {
	Title, Host string
	Plain       bool // without TLS
	Address     string
	BackPath    string // beneath the base
}

// leave calls a verb that sends the person to another site, and shows the way there. It reports whether it has
// answered: a verb can end before.
func (c *Console) leave(w http.ResponseWriter, r *Request, home *room.Room, verb room.Verb, args map[string]any,
	page string) (result tool.Result, left bool, err error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return result, false, err
	}
	one := c.visits.begin(c, r, home, verb, encoded, page)
	select {
	case <-one.done:
		return one.result, false, one.err
	case <-r.Context().Done():
		one.end()
		return result, true, nil // the client has disconnected
	case at := <-one.away:
		http.SetCookie(w, &http.Cookie{
			Name: c.visitCookie(digestOf(at.Query().Get("state"))), Value: one.cookie, Path: room.ReturnPath, HttpOnly: true,
			Secure: c.Secure, SameSite: http.SameSiteLaxMode, MaxAge: int(visitAge.Seconds()),
		})
		host := at.Host
		if plain, err := idna.Lookup.ToASCII(at.Hostname()); err == nil { // shows look-alike characters
			host = strings.Replace(host, at.Hostname(), plain, 1)
		}
		c.write(w, http.StatusOK, "leave", r.view(Page{}, departure{
			verb.Title, host, at.Scheme == "http", at.String(), strings.TrimPrefix(page, r.Base+"/"),
		}))
		return result, true, nil
	}
}

// returned goes on with a verb after its person has come back from another site.
func (c *Console) returned(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	state, cookie := digestOf(q.Get("state")), ""
	if one, err := r.Cookie(c.visitCookie(state)); err == nil {
		cookie = one.Value
	}
	v, ok := c.visits.take(state, cookie)
	if ok && !c.lives(r.Context(), v.session) {
		v.end()
		ok = false
	}
	if !ok {
		c.refuse(w, r, http.StatusForbidden, "a return from another site that this browser has not begun, or that was used",
			"This login was not begun in this browser, was used already, or took too long. Nothing was changed. "+
				"Open the console and press the button there again.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: c.visitCookie(state), Path: room.ReturnPath, HttpOnly: true, Secure: c.Secure,
		SameSite: http.SameSiteLaxMode, MaxAge: -1})
	v.came <- q
	select {
	case <-v.done:
	case <-r.Context().Done():
		return
	}
	said := noteOf(v.result, false)
	if v.err != nil {
		said = &note{Failed: true, Text: c.Scrub(message(v.err))}
	}
	// The strict cookie is not sent with a redirect from another site, so a page of this site leads on.
	c.write(w, http.StatusOK, "gate", gate{Title: "You are back", Enter: withNote(v.page, v.session.keep(said))})
}

// lives reports whether a session is still open, and its person may still use it.
func (c *Console) lives(ctx context.Context, one *session) bool {
	return c.sessions.has(one) && (one.valid == nil || one.valid(ctx))
}
