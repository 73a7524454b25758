package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	startTimeout = 60 * time.Second
	maxTabs      = 8
	maxNotes     = 8
)

// A session is the browser of one owner.
type session struct {
	id    string // for people
	o     Options
	owner owner
	who   tool.Caller // of the request that began it
	// profileName names the profile of the session, "" for none.
	profileName string
	profile     *profile      // nil before the start, and without a profile
	inUse       chan struct{} // holds one element while a request is executed
	idleTimer   *time.Timer   // closes the session
	usedAt      atomic.Int64  // time of the last unlock
	ended       chan struct{} // closed when the browser has ended and its files are deleted

	startStop  sync.Mutex // held while the browser is started or closed
	closed     bool
	program    *chromium
	conn       *connection
	ctx        context.Context // ends with the session
	stop       context.CancelFunc
	goroutines sync.WaitGroup
	elements   *elements

	mu               sync.Mutex
	change           chan struct{} // closed and replaced when a field below has changed
	tabs             []*tab
	current          *tab
	lastTab          int
	targets          map[target.SessionID]*pageTarget
	notes            []string                           // trusted messages for the model
	dialogs          []string                           // untrusted texts of dialogs
	dialogAnswer     *page.HandleJavaScriptDialogParams // to the next dialog; nil: dismiss it
	downloads        []*download
	downloadExpected time.Time // a link promised a download: wait for it until then

	person   person
	refusals refusals
}

func newSession(o Options, who owner, caller tool.Caller, profile string) *session {
	s := &session{
		id: strings.ToLower(rand.Text()[:8]), o: o, owner: who, who: caller, profileName: profile, inUse: make(chan struct{}, 1), ended: make(chan struct{}), change: make(chan struct{}),
		targets: make(map[target.SessionID]*pageTarget), elements: newElements(),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.usedAt.Store(time.Now().UnixNano())
	return s
}

// lock waits until no other request uses the session.
func (s *session) lock(ctx context.Context) error {
	select {
	case s.inUse <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) unlock() {
	s.usedAt.Store(time.Now().UnixNano())
	<-s.inUse
}

func (s *session) busy() bool { return len(s.inUse) > 0 || s.taken() != "" }

func (s *session) lastUse() time.Time { return time.Unix(0, s.usedAt.Load()) }

// alive reports whether the browser is running and connected.
func (s *session) alive() bool {
	if s.conn == nil { // it was not started
		return false
	}
	select {
	case <-s.conn.lost:
		return false
	case <-s.ctx.Done():
		return false
	default:
		return true
	}
}

func (s *session) endedError() error {
	next := "open the page again; logins are lost"
	if s.profileName != "" {
		next = fmt.Sprintf("open the page again with the profile %q, which has its logins", s.profileName)
	}
	return tool.Errorf(tool.Unavailable, "the browser has ended or was closed").Try("%s", next)
}

// start starts the browser and waits until it has a page.
func (s *session) start(ctx context.Context, home string) error {
	if err := s.launch(ctx, home); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.setUp(ctx); err != nil {
		if ctx.Err() != nil {
			return tool.Errorf(tool.Timeout, "the browser did not start in time").Try("try again").Because(err)
		}
		return s.program.explain(err)
	}
	return nil
}

// launch starts the process, its proxy and the connection.
func (s *session) launch(ctx context.Context, home string) error {
	s.startStop.Lock()
	defer s.startStop.Unlock()
	if s.closed {
		return tool.Errorf(tool.Unavailable, "the browser was closed")
	}
	open := s.o.Proxy
	if s.owner.own {
		open = s.o.Own.Proxy
	}
	if err := s.takeProfile(ctx); err != nil {
		return err
	}
	proxy, err := open(ctx, s.refused)
	if err != nil {
		return err
	}
	if s.program, err = startChromium(ctx, s.o, home, s.profile.restore); err != nil {
		return err
	}
	serve(s.ctx, proxy, s.program.proxy, &s.goroutines)
	s.conn = newConnection(s.program.from, commands{s.program.process}, s.onEvent)
	s.goroutines.Go(s.conn.listen)
	return nil
}

// setUp configures a new browser and waits for its first page.
func (s *session) setUp(ctx context.Context) error {
	whole := endpoint{s.conn, ""}
	err := run(ctx, whole, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: s.program.dirs.downloads,
		EventsEnabled: new(true),
	})
	if err != nil {
		return err
	}
	if err := run(ctx, whole, target.SetAutoAttach, attach("page")); err != nil {
		return err
	}
	if err := s.waitUntil(ctx, func() bool { return s.current != nil && s.current.ready }); err != nil || s.profile == nil {
		return err
	}
	s.goroutines.Go(s.keepSaving)
	return s.restoreCookies(ctx)
}

// attach returns parameters that make the browser attach to new targets of some types, and
// keep them paused until they are configured.
func attach(kinds ...string) target.SetAutoAttachParams {
	var filter target.Filter
	for _, kind := range kinds {
		filter = append(filter, target.FilterEntry{Type: kind})
	}
	return target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true), Filter: filter}
}

// close ends the browser and deletes its files.
func (s *session) close() error {
	s.startStop.Lock()
	defer s.startStop.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.keepProfile()
	s.stop()
	if s.program != nil {
		err = errors.Join(err, s.program.close())
	}
	s.goroutines.Wait()
	close(s.ended)
	return err
}

// refused keeps why the proxy refused a connection. A page of the caller's own may lack a file because of that, so the
// model gets a note.
func (s *session) refused(to string, err error) {
	s.refusals.add(to, err)
	if known := tool.AsError(err); s.owner.own && known.Kind == tool.Refused {
		s.addNote("not loaded: " + known.What)
	}
}

// changed wakes all calls of waitUntil. The caller holds s.mu.
func (s *session) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// waitUntil waits until a condition is true. It calls the condition with s.mu held.
func (s *session) waitUntil(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		ok, change := condition(), s.change
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.conn.lost:
			return errBrowserEnded
		}
	}
}

// note adds a note for the model, unless it is there already. The caller holds s.mu.
func (s *session) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.notes) < maxNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// addNote adds a note, unless the text is empty.
func (s *session) addNote(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		s.note("%s", text)
	}
}

// takeNotes returns the notes and the texts of dialogs, and removes them.
func (s *session) takeNotes() (notes, dialogs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes, dialogs = s.notes, s.dialogs
	s.notes, s.dialogs = nil, nil
	return notes, dialogs
}

// find returns the tab with a name; "" is the current tab.
func (s *session) find(name string) (*tab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" && s.current != nil {
		return s.current, nil
	}
	if name == "" {
		return nil, noPage()
	}
	for _, t := range s.tabs {
		if t.name == name {
			return t, nil
		}
	}
	return nil, tool.Errorf(tool.NotFound, "tab %.20q not found", name).Try("use the action tabs to list the tabs")
}

// explain converts the error of a request to one for the model.
func (s *session) explain(ctx context.Context, req Request, err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known), ctx.Err() != nil:
		return err
	case !s.alive(), errors.Is(err, errBrowserEnded):
		return s.endedError()
	case errors.Is(err, errCrashed):
		return tool.Errorf(tool.Unavailable, "the page has crashed, probably because it used too much memory").
			Try("open it again, or use another page").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "timeout: the page did not respond to the action %s", req.Action).
			Try("take a snapshot to see its state, or close the tab").Because(err)
	}
	return tool.Errorf(tool.Unavailable, "the action %s failed on this page",
		req.Action).Try("take a snapshot to see its state").Because(err)
}
