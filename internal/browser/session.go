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
	startTime = 60 * time.Second
	mostTabs  = 8
	mostNotes = 8
)

// A session is the browser of one caller.
type session struct {
	o     Options
	who   owner
	turn  chan struct{} // who has put something in uses the browser
	rest  *time.Timer   // until it is closed
	used  atomic.Int64  // when it was left last
	ended chan struct{} // closed when nothing of it is left

	life     sync.Mutex // held while it starts or ends
	closed   bool
	program  *program
	link     *link
	ctx      context.Context // ends with the session
	stop     context.CancelFunc
	work     sync.WaitGroup
	elements *elements

	mu        sync.Mutex
	news      chan struct{} // closed, and made again, when something below has changed
	tabs      []*tab
	current   *tab
	lastTab   int
	parts     map[target.SessionID]*part
	notes     []string // what the model should know, in our words
	said      []string // and in the page's
	downloads []*download
	hoped     time.Time // until when a file is waited for that a link has promised

	refusals refusals
}

func newSession(o Options, who owner) *session {
	s := &session{
		o: o, who: who, turn: make(chan struct{}, 1), ended: make(chan struct{}), news: make(chan struct{}),
		parts: make(map[target.SessionID]*part), elements: newElements(),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.used.Store(time.Now().UnixNano())
	return s
}

// enter waits until nobody else uses it.
func (s *session) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) leave() {
	s.used.Store(time.Now().UnixNano())
	<-s.turn
}

func (s *session) busy() bool { return len(s.turn) > 0 }

func (s *session) lastUse() time.Time { return time.Unix(0, s.used.Load()) }

// alive reports whether the browser still answers.
func (s *session) alive() bool {
	if s.link == nil { // it did not start
		return false
	}
	select {
	case <-s.link.lost:
		return false
	case <-s.ctx.Done():
		return false
	default:
		return true
	}
}

func (s *session) gone() error {
	return tool.Errorf(tool.Unavailable, "the browser has ended by itself, or was closed").Try("open the page again; logins are lost")
}

// start starts the browser, and returns when it has a page.
func (s *session) start(ctx context.Context, home string) error {
	if err := s.launch(ctx, home); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := s.greet(ctx); err != nil {
		if ctx.Err() != nil {
			return tool.Errorf(tool.Timeout, "the browser did not start in time").Try("try again").Because(err)
		}
		return s.program.explain(err)
	}
	return nil
}

// launch starts the program and what belongs to it.
func (s *session) launch(ctx context.Context, home string) error {
	s.life.Lock()
	defer s.life.Unlock()
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
	serve(s.ctx, proxy, s.program.listen, &s.work)
	s.link = newLink(s.program.from, punctual{s.program.to}, s.hear)
	s.work.Go(s.link.listen)
	return nil
}

// greet tells a new browser what it is told once.
func (s *session) greet(ctx context.Context) error {
	whole := line{s.link, ""}
	err := tell(ctx, whole, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: s.program.place.downloads, EventsEnabled: new(true),
	})
	if err != nil {
		return err
	}
	if err := tell(ctx, whole, target.SetAutoAttach, attach("page")); err != nil {
		return err
	}
	return s.until(ctx, func() bool { return s.current != nil && s.current.ready })
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
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	var err error
	if s.program != nil {
		err = s.program.close()
	}
	s.work.Wait()
	close(s.ended)
	return err
}

// changed wakes who waits for news. The lock is held.
func (s *session) changed() {
	close(s.news)
	s.news = make(chan struct{})
}

// until waits until something is so, which is looked at under the lock.
func (s *session) until(ctx context.Context, so func() bool) error {
	for {
		s.mu.Lock()
		ok, news := so(), s.news
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.link.lost:
			return errLost
		}
	}
}

// note keeps something that the model should know. The lock is held.
func (s *session) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.notes) < mostNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// tell keeps a note, if there is one.
func (s *session) tell(text string) {
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
	notes, said = s.notes, s.said
	s.notes, s.said = nil, nil
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
	case !s.alive(), errors.Is(err, errLost):
		return s.gone()
	case errors.Is(err, errCrashed):
		return tool.Errorf(tool.Unavailable, "the page has crashed, as one does that takes too much memory").Try("open it again, or do without it").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "the page did not answer in time, to %s", req.Action).
			Try("take a snapshot to see how it is, or close the tab").Because(err)
	}
	return tool.Errorf(tool.Unavailable, "the page could not do it: %s", req.Action).Try("take a snapshot to see how it is").Because(err)
}
