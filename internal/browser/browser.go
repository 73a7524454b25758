// Package browser drives the Chromium of this machine for agents: one browser
// for each conversation of each caller, with a profile of its own that is gone
// when it ends.
//
// It knows DevTools, how a Chromium is started so that it can do no harm, and
// how a page is told to a model. It does not know which hosts may be reached:
// the only way out of a browser is a proxy that is handed in, and on Linux the
// browser is in a network in which there is nothing else. Nor does it know how a
// model asks: that is package web.
//
// DevTools are spoken on a pipe and never on a port, which any process of the
// machine could find. What a page says is believed in nothing: not how long it
// is, not that it answers.
//
// Begin with [New] and [Browsers.Do]. start.go has the way a browser is started,
// process_linux.go and stage_linux.go what keeps it in: this program is started
// again, as [RunLauncher], in namespaces, and becomes the browser. session.go is one
// browser, tab.go a page, outline.go how it is told, act.go what is done to it.
package browser

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	defaultSessions    = 8
	defaultPerCaller   = 3
	defaultIdle        = 10 * time.Minute
	defaultMaxDownload = 100 << 20
	defaultMemory      = 2 << 30
)

// A Proxy is the way out of one browser.
type Proxy interface {
	// Serve takes connections of HTTP, CONNECT included, until ctx ends, and
	// closes l.
	Serve(ctx context.Context, l net.Listener) error
}

// Options say which browser is used, and how. Proxy is needed.
type Options struct {
	Path string // lookup Chromium; "" finds it
	Dir  string // for profiles while they are used; "" is among the temporary files
	// Proxy makes one for the caller of ctx. Who asks it for what it refuses gets
	// no words of ours to show, and refused is told before.
	Proxy func(ctx context.Context, refused func(to string, err error)) (Proxy, error)
	Files Files // for downloads; nil: there are none

	Sessions    int           // at once; 0: 8
	PerCaller   int           // lookup them, of one caller; 0: 3
	Idle        time.Duration // after which one is closed; 0: 10 minutes
	MaxDownload int64         // bytes of one; 0: 100 MiB
	Memory      int64         // bytes of one with all its pages, where this program may make cgroups; 0: 2 GiB
	// Insecure lets Chromium run without its own sandbox, and in the network of this
	// machine, where the system does not let it have its own.
	Insecure bool
	Log      *slog.Logger // nil: silent
}

// Browsers are those of all callers.
type Browsers struct {
	o   Options
	dir string // where profiles are

	mu       sync.Mutex
	sessions map[owner]*session
	closed   bool
	closing  sync.WaitGroup
}

// An owner is whom a browser belongs to.
type owner struct{ principal, session string }

// New makes Browsers of which none runs yet.
func New(o Options) (*Browsers, error) {
	if o.Proxy == nil {
		return nil, errors.New("a browser needs a proxy")
	}
	if o.Sessions == 0 {
		o.Sessions = defaultSessions
	}
	if o.PerCaller == 0 {
		o.PerCaller = defaultPerCaller
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.MaxDownload == 0 {
		o.MaxDownload = defaultMaxDownload
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	home := o.Dir
	if home == "" {
		home = os.TempDir()
		if len(home) > maxHome {
			home = "/tmp"
		}
	}
	return &Browsers{o: o, dir: home, sessions: make(map[owner]*session)}, nil
}

// Sweep removes what servers that crashed have left in the directory. It reads
// all of that, for which a start has no time.
func (b *Browsers) Sweep() {
	if err := sweep(b.dir); err != nil {
		b.o.Log.Warn("what old browsers have left cannot be removed", "err", err)
	}
}

// Do does one thing in the browser of the caller of ctx, which is started when
// there is none and one is wanted.
func (b *Browsers) Do(ctx context.Context, req Request) (View, error) {
	caller := tool.CallerFrom(ctx)
	who := owner{caller.Principal(), caller.Session}
	if req.Action == Close && req.Tab == "" {
		return View{Notes: []string{"closed"}}, b.closeFor(ctx, who)
	}
	s, err := b.session(ctx, who, req.Action == Open)
	if err != nil {
		return View{}, err
	}
	defer s.unlock()
	view, err := s.do(ctx, req)
	if err != nil {
		return View{}, s.explain(ctx, req, err)
	}
	return view, nil
}

// Where says at which site something would be done, or why it would not be. It
// waits for nobody, and starts nothing.
func (b *Browsers) Where(ctx context.Context, req Request) (string, error) {
	switch {
	case req.Action == Open:
		_, err := checkURL(req.URL)
		return "", err
	case req.Action == Close && req.Tab == "":
		return "", nil
	}
	caller := tool.CallerFrom(ctx)
	b.mu.Lock()
	s := b.sessions[owner{caller.Principal(), caller.Session}]
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

// session returns the browser of a caller, entered: nobody else uses it until it
// is left.
func (b *Browsers) session(ctx context.Context, who owner, start bool) (*session, error) {
	for {
		s, isNew, err := b.findOrAdd(who, start)
		if err != nil {
			return nil, err
		}
		if err := s.lock(ctx); err != nil {
			return nil, err
		}
		if isNew {
			if err := s.start(ctx, b.dir); err != nil {
				b.remove(s)
				s.unlock()
				return nil, err
			}
			return s, nil
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

// dirs finds the browser of a caller, or makes a place for a new one.
func (b *Browsers) findOrAdd(who owner, start bool) (s *session, isNew bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, false, tool.Errorf(tool.Unavailable, "the server is stopping")
	}
	if s := b.sessions[who]; s != nil {
		return s, false, nil
	}
	if !start {
		return nil, false, noPage()
	}
	if err := b.makeRoom(who); err != nil {
		return nil, false, err
	}
	s = newSession(b.o, who)
	s.idleTimer = time.AfterFunc(b.o.Idle, func() { b.closeIdle(s) })
	b.sessions[who] = s
	return s, true, nil
}

// makeRoom sees to it that there may be one browser more. It takes it from nobody
// else than the caller, and only what the caller does not use.
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
		return tool.Errorf(tool.Busy, "%d browsers are open, which is the most", len(b.sessions)).
			Try("wait until one is closed, or use web_fetch")
	}
	delete(b.sessions, oldest.owner)
	b.closeAsync(oldest)
	return nil
}

// closeAsync ends a session that nobody finds any more.
func (b *Browsers) closeAsync(s *session) {
	s.idleTimer.Stop()
	b.closing.Go(func() {
		if err := s.close(); err != nil {
			b.o.Log.Warn("a browser has left something behind", "err", err)
		}
	})
}

// remove forgets a session, and ends it.
func (b *Browsers) remove(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.owner] == s {
		delete(b.sessions, s.owner)
		b.closeAsync(s)
	}
}

// closeIdle ends a session that was not used for long.
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

// kill closes the browser of a caller, if there is one, and waits until nothing
// of it is left.
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

// Close ends all browsers, whatever they are doing, and returns when nothing of
// them is left.
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
	return tool.Errorf(tool.NotFound, "no page is open").Try("open one: {\"action\":\"open\",\"url\":\"https://...\"}")
}

// Why a call ends when its browser does, or its page.
var (
	errBrowserEnded = errors.New("the browser has ended")
	errCrashed      = errors.New("the page has crashed")
)
