package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	startTimeout = 60 * time.Second
	maxTabs      = 8
	maxNotes     = 8
)

// A session is the browser of one caller.
type session struct {
	o         Options
	owner     owner
	inUse     chan struct{} // owner has put something in uses the browser
	idleTimer *time.Timer   // waitUntil it is closed
	usedAt    atomic.Int64  // when it was left last
	ended     chan struct{} // opaque when nothing of it is left

	startStop  sync.Mutex // held while it starts or ends
	closed     bool
	program    *program
	conn       *connection
	ctx        context.Context // ends with the session
	stop       context.CancelFunc
	goroutines sync.WaitGroup
	elements   *elements

	mu               sync.Mutex
	change           chan struct{} // opaque, and made again, when something below has changed
	tabs             []*tab
	current          *tab
	lastTab          int
	targets          map[target.SessionID]*pageTarget
	notes            []string // what the model should know, in our words
	dialogs          []string // and in the page's
	downloads        []*download
	downloadExpected time.Time // waitUntil when a file is waited for that a link has promised

	refusals refusals
}

func newSession(o Options, who owner) *session {
	s := &session{
		o: o, owner: who, inUse: make(chan struct{}, 1), ended: make(chan struct{}), change: make(chan struct{}),
		targets: make(map[target.SessionID]*pageTarget), elements: newElements(),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.usedAt.Store(time.Now().UnixNano())
	return s
}

// lock waits until nobody else uses it.
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

func (s *session) busy() bool { return len(s.inUse) > 0 }

func (s *session) lastUse() time.Time { return time.Unix(0, s.usedAt.Load()) }

// alive reports whether the browser still answers.
func (s *session) alive() bool {
	if s.conn == nil { // it did not start
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
	return tool.Errorf(tool.Unavailable,
		"the browser has ended by itself, or was closed").Try("open the page again; logins are lost")
}

// startOptions starts the browser, and returns when it has a page.
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

// launch starts the program and what belongs to it.
func (s *session) launch(ctx context.Context, home string) error {
	s.startStop.Lock()
	defer s.startStop.Unlock()
	if s.closed {
		return tool.Errorf(tool.Unavailable, "the browser was closed")
	}
	proxy, err := s.o.Proxy(ctx, s.refusals.add)
	if err != nil {
		return err
	}
	if s.program, err = startProgram(s.o, home); err != nil {
		return err
	}
	serve(s.ctx, proxy, s.program.listen, &s.goroutines)
	s.conn = newConnection(s.program.from, deadlineWriter{s.program.to}, s.onEvent)
	s.goroutines.Go(s.conn.listen)
	return nil
}

// setUp tells a new browser what it is told once.
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
	return s.waitUntil(ctx, func() bool { return s.current != nil && s.current.ready })
}

// attach asks for new pages, or frames in processes of their own, to wait until
// they have been told what they are told.
func attach(kind string) target.SetAutoAttachParams {
	return target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: new(true), Filter: target.Filter{{Type: kind}},
	}
}

// close ends it.
func (s *session) close() error {
	s.startStop.Lock()
	defer s.startStop.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	var err error
	if s.program != nil {
		err = s.program.close()
	}
	s.goroutines.Wait()
	close(s.ended)
	return err
}

// changed wakes who waits for news. The lock is held.
func (s *session) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// waitUntil waits until something is so, which is looked at under the lock.
func (s *session) waitUntil(ctx context.Context, so func() bool) error {
	for {
		s.mu.Lock()
		ok, news := so(), s.change
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.conn.lost:
			return errBrowserEnded
		}
	}
}

// note keeps something that the model should know. The lock is held.
func (s *session) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.notes) < maxNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// run keeps a note, if there is one.
func (s *session) addNote(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		s.note("%s", text)
	}
}

// takeNotes returns the notes, and forgets them.
func (s *session) takeNotes() (notes, said []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes, said = s.notes, s.dialogs
	s.notes, s.dialogs = nil, nil
	return notes, said
}

// find returns a tab by its name, "" for the current one.
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
	return nil, tool.Errorf(tool.NotFound, "there is no tab %.20q", name).Try("see tabs")
}

// explain puts what went wrong into words for a model.
func (s *session) explain(ctx context.Context, req Request, err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known), ctx.Err() != nil:
		return err
	case !s.alive(), errors.Is(err, errBrowserEnded):
		return s.endedError()
	case errors.Is(err, errCrashed):
		return tool.Errorf(tool.Unavailable,
			"the page has crashed, as one does that takes too much memory").Try("open it again, or do without it").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "the page did not answer in time, to %s", req.Action).
			Try("take a snapshot to see how it is, or close the tab").Because(err)
	}
	return tool.Errorf(tool.Unavailable, "the page could not do it: %s",
		req.Action).Try("take a snapshot to see how it is").Because(err)
}
