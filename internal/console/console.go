// Package console is the web page on which people see what agents do, and decide.
//
// A [Console] is an HTTP handler. People come in with a link that counts once, see
// [Console.Link], or with a token typed in. Each of its views is a [Page]; a new one is a
// line in the function pages, a function that returns the data, and a template. What
// people do there are the verbs of rooms: the console has no action of its own.
//
// The templates are parsed when the first page is shown. A console that no person opens
// costs nothing but its listener.
//
// The console knows rooms, questions and the audit log, and neither tools nor
// transports. Begin with [New] and page.go; session.go and guard.go keep others out.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/webpage"
)

// Options configure a Console.
type Options struct {
	// API has the rooms and their host, and records what their verbs change.
	API room.API
	// Record writes refused requests and logins to the audit log.
	Record func(context.Context, audit.Record) error
	// Scrub masks secrets in errors.
	Scrub func(string) string
	// Identify returns the person with a token, or an error for a token that is not valid,
	// or whose person may not decide. nil: there is no login with a token.
	Identify func(ctx context.Context, token string) (room.Person, error)
	// Provider is where people log in; nil: there is no such login.
	Provider *Provider
	// Hosts are the names that requests may be addressed to, with the port unless it is the
	// one of the scheme.
	Hosts []string
	// Secure is set if browsers reach the console by https.
	Secure bool
	// Health runs the checks of doctor. nil: the checks of the rooms.
	Health func(context.Context) []room.Finding
	// Limits are those of the settings for calls.
	Limits CallLimits
	// Owner is the agent and the user of the settings, whose memories and the like are shown at first.
	Owner tool.Caller
	// Chart draws bars or a line as SVG, for people who would rather look than read. nil: the
	// pages have the numbers only.
	Chart func(kind string, labels []string, series []Series) ([]byte, error)
	Log   *slog.Logger
}

// CallLimits are the limits of calls, which the page Health compares with what is used; 0 is no limit.
type CallLimits struct {
	Minute  int // calls of a session in a minute
	Hour    int // calls of a caller in an hour of the clock
	Running int // calls of a session at the same time
}

// A Console serves the pages. Close it when the server ends.
type Console struct {
	Options
	look     func() (*look, error)
	sessions *sessions
	member   *member // nil without a provider
	visits   visits
	refusals webpage.Refusals
	recent   recent
	held     heldCount
	health   sync.Mutex // held while checks run
	audit    atomic.Pointer[verified]
	ended    context.Context
	end      context.CancelFunc
}

// New returns a Console. It reads nothing yet.
func New(o Options) *Console {
	c := &Console{Options: o, look: sync.OnceValues(parseLook), sessions: newSessions()}
	if o.Provider != nil {
		c.member = newMember(*o.Provider)
	}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends the streams to browsers, and logins of servers that wait. Open pages then say that the console has ended.
func (c *Console) Close() {
	c.visits.close(c.end)
}

// Handler returns the handler of all requests.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console.js", c.file("console.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /browser.js", c.file("browser.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /console.css", c.file("console.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /{$}", c.showGate)
	mux.HandleFunc("GET /questions/{id}", c.showGate)
	mux.HandleFunc("GET /open/{secret}", c.showLink)
	mux.HandleFunc("POST /open/{secret}", c.openLink)
	mux.HandleFunc("POST /login", c.logIn)
	mux.HandleFunc("GET "+room.ReturnPath, c.returned)
	if c.member != nil {
		mux.HandleFunc("GET "+loginPath, c.goLogIn)
		mux.HandleFunc("GET "+backPath, c.cameBack)
	}
	// Pages and actions are under the secret path of a session.
	in := "/" + sessionPath + "/{base}/"
	for _, p := range pages() {
		mux.HandleFunc("GET "+in+p.Path, c.known(func(w http.ResponseWriter, r *Request) { c.show(w, r, p) }))
	}
	mux.HandleFunc("GET "+in+"{$}", c.known(c.showFirst))
	mux.HandleFunc("GET "+in+"events", c.known(c.events))
	mux.HandleFunc("GET "+in+"browsers/{id}/picture", c.known(c.browserPicture))
	mux.HandleFunc("GET "+in+"browsers/{id}/frames", c.known(c.browserFrames))
	mux.HandleFunc("POST "+in+"do/{room}/{verb...}", c.known(c.do))
	mux.HandleFunc("POST "+in+"logout", c.known(c.logOut))
	mux.HandleFunc("/", c.known(c.notFound))
	return c.guard(mux)
}

const (
	// readLimit and writeLimit are the times for a request and its answer.
	readLimit  = 30 * time.Second
	writeLimit = 2 * time.Minute
)

// Serve returns an HTTP server for the console, for a listener of its own.
func (c *Console) Serve() *http.Server {
	return &http.Server{
		Handler: c.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readLimit, WriteTimeout: writeLimit,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
}
