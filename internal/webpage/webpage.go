// Package webpage protects pages for people: it sets the headers that keep other pages out, refuses
// requests to other hosts and forms of other pages, and limits how many refusals are recorded.
//
// The console and the pages of the login are behind it. It knows neither sessions nor templates.
// Begin with [Guard].
package webpage

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Guard refuses requests that no page of its site makes.
type Guard struct {
	// Policy is the Content-Security-Policy of every answer.
	Policy string
	// Hosts returns the names that requests may be addressed to, with the port unless it is the one of
	// the scheme: a page can make its own name lead here.
	Hosts func() []string
	// Secure is set if browsers reach the site by https.
	Secure bool
	// MaxForm is the maximum size of a form.
	MaxForm int64
	// Refuse answers a request. why is for the log; text is for the person.
	Refuse func(w http.ResponseWriter, r *http.Request, why, text string)
	// WrongHost is the text for a request to another host.
	WrongHost string
}

// Handler passes requests of the site's own pages to next.
func (g Guard) Handler(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", g.Policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // without a referrer the Origin of forms would be null
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.has(r.Host) {
			g.Refuse(w, r, "a request for another host: "+text.Clip(r.Host, 100), g.WrongHost)
			return
		}
		err := cross.Check(r)
		if origin := r.Header.Get("Origin"); err == nil && r.Method == http.MethodPost && origin != "" {
			err = g.ownOrigin(origin)
		}
		if err != nil {
			g.Refuse(w, r, "a form of another page: "+text.Clip(r.Header.Get("Origin"), 100),
				"This form was not sent by a page of this server. Open the page and try again there.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, g.MaxForm)
		next.ServeHTTP(w, r)
	})
}

func (g Guard) has(host string) bool {
	return slices.ContainsFunc(g.Hosts(), func(own string) bool { return strings.EqualFold(own, host) })
}

// ownOrigin returns an error for the origin of another page. Browsers without
// Sec-Fetch-Site are told from each other by it.
func (g Guard) ownOrigin(origin string) error {
	scheme, host, _ := strings.Cut(origin, "://")
	if (scheme == "https") != g.Secure || !g.has(host) {
		return errors.New("another origin")
	}
	return nil
}

// Refusals limits how many refusals are recorded: any page can make a browser send
// requests here. The zero value is ready.
type Refusals struct {
	mu    sync.Mutex
	since time.Time
	count int
}

// MaxRefusals is how many refusals are recorded in a minute.
const MaxRefusals = 60

// Record reports whether to record one more refusal.
func (r *Refusals) Record() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.since) > time.Minute {
		r.since, r.count = now, 0
	}
	r.count++
	return r.count <= MaxRefusals
}
