// Package browser controls Chromium for agents. Each conversation of each caller has a browser with a user data directory of
// its own, which is deleted when the browser is closed. The logins of a browser with a profile are kept before, see profile.go.
//
// The package knows the DevTools protocol, how to start Chromium in isolation, and how to show a page as text to a
// model. It does not decide about hosts: a browser can connect only to a proxy that the caller of the package supplies.
// Package program starts the browser; on Linux it is in a sandbox with a network that contains nothing but that proxy,
// and without the files of this machine. Package web has the tool that models call.
//
// DevTools commands are sent through pipes and never to a port, since any process on
// the machine could connect to a port. Responses of a page are not trusted: they may be
// too long, or missing.
//
// Begin with [New] and [Browsers.Do]. start.go starts a browser, session.go is one browser,
// tab.go one page, profile.go what is kept, outline.go converts a page to text, actions.go and input.go execute requests.
package browser

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	defaultSessions    = 8
	defaultPerCaller   = 3
	defaultIdle        = 10 * time.Minute
	defaultMaxDownload = 100 << 20
	defaultMemory      = 2 << 30
)

// A Proxy connects one browser to the network.
type Proxy interface {
	// Serve accepts HTTP connections on l, including CONNECT, until ctx ends, and
	// closes l.
	Serve(ctx context.Context, l net.Listener) error
}

// Options configure Browsers. Tiers and Proxy are required.
type Options struct {
	Tiers sandbox.Tiers
	Path  string // of Chromium; default: search for it
	Dir   string // for profiles; default: the temporary directory
	// Proxy returns a proxy for the caller in ctx. The proxy calls refused before it
	// refuses a connection: the browser hides the text of the proxy's response.
	Proxy func(ctx context.Context, refused func(to string, err error)) (Proxy, error)
	Own   Own   // nil: there are no pages of the callers' own
	Files Files // receive downloads; nil: downloads are refused
	// Profiles keep logins for the next browser. nil: none are kept.
	Profiles *profiles.Profiles
	// Mask has values masked in all results, in place of those that it had under the same name. nil: they are not.
	Mask func(name string, values ...string) error

	Sessions    int           // maximum at the same time; default 8
	PerCaller   int           // maximum sessions of one caller; default 3
	Idle        time.Duration // a browser is closed after this time without requests; default 10 minutes
	MaxDownload int64         // bytes of one download; default 100 MiB
	Memory      int64         // maximum of each process of a browser in bytes, on Linux; default 2 GiB
	// Insecure lets Chromium run without a sandbox and in the network of this machine
	// if the system does not permit isolation.
	Insecure bool
	// Opened is called when a browser has started, and Closed when it has ended, with the principal and the name of the
	// browser: the session, and " own" after it for pages of the caller's own. nil: nobody has to know.
	Opened, Closed func(principal, name string)
	Log            *slog.Logger // default: discard
}

// Own are the pages of callers' own: files of their workspaces, and pages that their commands serve. They open in a
// browser that loads no other documents, so that no page of the web is in a browser that reaches them.
type Own interface {
	// Address returns the URL of the page that text names, and true if it is one of the
	// caller in ctx; else text and false. An error means that text names a page of the
	// caller that cannot be opened.
	Address(ctx context.Context, text string) (url string, own bool, err error)
	// Proxy returns a proxy to the pages of the caller in ctx, and to the hosts that they
	// may load files from. See Options.Proxy.
	Proxy(ctx context.Context, refused func(to string, err error)) (Proxy, error)
}

// Browsers are the browsers of all callers.
type Browsers struct {
	o   Options
	dir string // contains the profiles

	mu       sync.Mutex
	sessions map[owner]*session
	closed   bool
	closing  sync.WaitGroup
}

// An owner is the caller and the conversation that a browser belongs to. The browser with
// pages of the caller's own belongs to those who share commands and files with the caller.
type owner struct {
	principal, session        string
	own                       bool
	agent, workspace, profile string // only if own
}

func ownerOf(c tool.Caller, own bool) owner {
	who := owner{principal: c.Principal(), session: c.Session, own: own}
	if own {
		who.agent, who.workspace, who.profile = c.Agent, c.Workspace, c.Profile
	}
	return who
}

func (o owner) name() string {
	if o.own {
		return o.session + " own"
	}
	return o.session
}

// Has reports whether a session of a caller has a browser here.
func (b *Browsers) Has(c tool.Caller) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for who := range b.sessions {
		if who.principal == c.Principal() && who.session == c.Session {
			return true
		}
	}
	return false
}

// New returns Browsers. No browser is started yet.
func New(o Options) (*Browsers, error) {
	if o.Proxy == nil {
		return nil, errors.New("a browser needs a proxy")
	}
	o.Sessions = cmp.Or(o.Sessions, defaultSessions)
	o.PerCaller = cmp.Or(o.PerCaller, defaultPerCaller)
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.MaxDownload = cmp.Or(o.MaxDownload, defaultMaxDownload)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	home := o.Dir
	if home == "" {
		home = os.TempDir()
		if len(home) > maxHome {
			home = "/tmp"
		}
	}
	return &Browsers{o: o, dir: home, sessions: make(map[owner]*session)}, nil
}

// Sweep removes the files of crashed servers from the directory. It reads the whole directory, which is too slow for
// the start of a browser.
func (b *Browsers) Sweep() {
	if err := sweep(b.dir); err != nil {
		b.o.Log.Warn("the directories of old browsers cannot be removed", "err", err)
	}
}

// Do executes a request in the browser of the caller in ctx and returns what the
// browser shows then. Open starts a browser if the caller has none. Requests of one
// session are executed one after the other. If ctx ends, the browser stays open.
func (b *Browsers) Do(ctx context.Context, req Request) (View, error) {
	caller := tool.CallerFrom(ctx)
	switch {
	case req.Action == Close && req.Tab == "":
		for _, own := range []bool{false, true} {
			if s := b.find(ownerOf(caller, own)); s != nil && s.taken() != "" {
				return View{}, s.awaitPerson(ctx, req)
			}
		}
		err := errors.Join(b.closeFor(ctx, ownerOf(caller, false)), b.closeFor(ctx, ownerOf(caller, true)))
		return View{Notes: []string{"closed"}}, err
	case req.Action == Open:
		address, own, err := b.address(ctx, req.URL)
		if err != nil {
			return View{}, err
		}
		if own && req.Profile != "" {
			return View{}, tool.Errorf(tool.Invalid, "pages of your own have no profile").Try("omit profile")
		}
		if req.Tab != "new" && own != isOwnTab(req.Tab) {
			req.Tab = ""
		}
		req.URL = address
		return b.doIn(ctx, ownerOf(caller, own), req)
	}
	who := b.current(caller, req.Tab)
	view, err := b.doIn(ctx, who, req)
	if other := ownerOf(caller, !who.own); err == nil && req.Action == Tabs && req.Tab == "" && b.has(other) {
		if more, err := b.doIn(ctx, other, req); err == nil { // else it was closed just now
			add(&view, strings.ReplaceAll(more.Page, currentMark, ""))
			view.Tabs, view.Own = view.Tabs+more.Tabs, false
		}
	}
	return view, err
}

// doIn executes a request in the browser of an owner.
func (b *Browsers) doIn(ctx context.Context, who owner, req Request) (View, error) {
	s, err := b.session(ctx, who, req)
	if err != nil {
		return View{}, err
	}
	for s.taken() != "" {
		s.unlock() // a person may give it back meanwhile, or another one take it
		if err := s.awaitPerson(ctx, req); err != nil {
			return View{}, err
		}
		req.Millis = 0 // it has waited
		if s, err = b.session(ctx, who, req); err != nil {
			return View{}, err
		}
	}
	defer s.unlock()
	view, err := s.do(ctx, req)
	if err != nil {
		err = s.explain(ctx, req, err)
	}
	if view, err = s.afterRequest(ctx, view, err); err != nil {
		return View{}, err
	}
	view.Own = who.own
	if req.Seen && req.Action.shows() && ctx.Err() == nil {
		view.Seen = s.glance(ctx, view.Tab)
	}
	return view, nil
}

// address returns the URL of a request to open a page, and whether the page is the caller's
// own.
func (b *Browsers) address(ctx context.Context, text string) (address string, own bool, err error) {
	if b.o.Own != nil {
		if address, own, err = b.o.Own.Address(ctx, text); err != nil || own {
			return address, own, err
		}
	}
	address, err = checkURL(text)
	return address, false, err
}

// current returns the owner of the browser that a request without an address is for: the one
// with the named tab, or the one that was used last.
func (b *Browsers) current(caller tool.Caller, tab string) owner {
	web, own := ownerOf(caller, false), ownerOf(caller, true)
	if tab != "" {
		return ownerOf(caller, isOwnTab(tab))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	first, second := b.sessions[web], b.sessions[own]
	if second != nil && (first == nil || second.lastUse().After(first.lastUse())) {
		return own
	}
	return web
}

func (b *Browsers) has(who owner) bool { return b.find(who) != nil }

// find returns the browser of an owner, nil if there is none.
func (b *Browsers) find(who owner) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[who]
}

// Where returns the site at which a request would be executed, such as
// https://a.example, or the error that Do would return. It is "" for requests without a
// site. Where neither waits nor starts a browser.
func (b *Browsers) Where(ctx context.Context, req Request) (string, error) {
	switch {
	case req.Action == Open:
		_, _, err := b.address(ctx, req.URL)
		return "", err
	case req.Action == Close && req.Tab == "":
		return "", nil
	}
	who := b.current(tool.CallerFrom(ctx), req.Tab)
	b.mu.Lock()
	s := b.sessions[who]
	b.mu.Unlock()
	if s == nil {
		return "", noPage()
	}
	t, err := s.tabOf(req)
	if err != nil || req.Action == Tabs || req.Action == Close {
		return "", err
	}
	if err = s.checkUsable(t, req.Action); err == nil && isRef.MatchString(req.Ref) {
		_, err = s.elements.get(req.Ref)
	}
	if err != nil {
		return "", err
	}
	return s.siteFor(t, req), nil
}

// session returns the browser of an owner, locked for the caller. The caller has to
// unlock it.
func (b *Browsers) session(ctx context.Context, who owner, req Request) (*session, error) {
	start := req.Action == Open
	for {
		s, isNew, err := b.findOrAdd(ctx, who, req)
		if err != nil {
			return nil, err
		}
		if isNew {
			if err := s.start(ctx, b.dir); err != nil {
				b.remove(s)
				s.unlock()
				return nil, err
			}
			if b.o.Opened != nil {
				b.o.Opened(who.principal, who.name())
			}
			return s, nil
		}
		if err := s.lock(ctx); err != nil {
			return nil, err
		}
		if s.alive() && req.Profile != "" && req.Profile != s.profileName {
			s.unlock()
			return nil, s.otherProfile(req.Profile)
		}
		if s.alive() {
			return s, nil
		}
		gone := s.endedError()
		b.remove(s)
		s.unlock()
		if !start {
			return nil, gone
		}
	}
}

// findOrAdd returns the session of an owner, or adds one that is not started. A new one is locked for the caller, so
// that no other request takes it for one that has ended.
func (b *Browsers) findOrAdd(ctx context.Context, who owner, req Request) (s *session, isNew bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, false, tool.Errorf(tool.Unavailable, "the server is stopping")
	}
	if s := b.sessions[who]; s != nil {
		return s, false, nil
	}
	if req.Action != Open {
		return nil, false, noPage()
	}
	if err := b.makeRoom(who); err != nil {
		return nil, false, err
	}
	s = newSession(b.o, who, tool.CallerFrom(ctx), req.Profile)
	s.inUse <- struct{}{}
	s.idleTimer = time.AfterFunc(b.o.Idle, func() { b.closeIdle(s) })
	b.sessions[who] = s
	return s, true, nil
}

// makeRoom returns nil if another browser may be started. If there are too many, it
// closes an unused browser of the same caller, never of another caller.
func (b *Browsers) makeRoom(who owner) error {
	var own []*session
	for _, s := range b.sessions {
		if s.owner.principal == who.principal {
			own = append(own, s)
		}
	}
	if len(b.sessions) < b.o.Sessions && len(own) < b.o.PerCaller {
		return nil
	}
	var oldest *session
	for _, s := range own {
		if !s.busy() && (oldest == nil || s.lastUse().Before(oldest.lastUse())) {
			oldest = s
		}
	}
	if oldest == nil {
		return tool.Errorf(tool.Busy, "%d browsers are open, the maximum", len(b.sessions)).
			Try("wait until one is closed, or use web_fetch")
	}
	delete(b.sessions, oldest.owner)
	b.closeAsync(oldest)
	return nil
}

// closeAsync closes a session that was removed from b.sessions.
func (b *Browsers) closeAsync(s *session) {
	s.idleTimer.Stop()
	b.closing.Go(func() {
		if err := s.close(); err != nil {
			b.o.Log.Warn("closing a browser failed", "err", err)
		}
		if b.o.Closed != nil {
			b.o.Closed(s.owner.principal, s.owner.name())
		}
	})
}

// remove removes a session from b.sessions and closes it.
func (b *Browsers) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.owner] == s {
		delete(b.sessions, s.owner)
		b.closeAsync(s)
	}
}

// closeIdle closes a session that was idle for the configured time.
func (b *Browsers) closeIdle(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.owner] != s {
		return
	}
	if left := b.o.Idle - time.Since(s.lastUse()); s.busy() || left > 0 {
		s.idleTimer.Reset(max(left, time.Second))
		return
	}
	delete(b.sessions, s.owner)
	b.closeAsync(s)
}

// closeFor closes the browser of an owner, if there is one, and waits until it is
// closed.
func (b *Browsers) closeFor(ctx context.Context, who owner) error {
	b.mu.Lock()
	s := b.sessions[who]
	b.mu.Unlock()
	if s == nil {
		return nil
	}
	b.remove(s)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes all browsers, also while they execute requests, and waits until all are
// closed.
func (b *Browsers) Close() error {
	b.mu.Lock()
	b.closed = true
	for who, s := range b.sessions {
		delete(b.sessions, who)
		b.closeAsync(s)
	}
	b.mu.Unlock()
	b.closing.Wait()
	return nil
}

func noPage() error {
	return tool.Errorf(tool.NotFound, "this server has no page of yours open").Try("open one: {\"action\":\"open\",\"url\":\"https://...\"}")
}

// Causes for the end of a DevTools call.
var (
	errBrowserEnded = errors.New("the browser has ended")
	errCrashed      = errors.New("the page has crashed")
)
