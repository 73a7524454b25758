package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A tab is one page. All of it but shown is guarded by its session's lock.
type tab struct {
	name   string // t1
	target target.ID
	main   *pageTarget
	url    string

	ready     bool // it was told what it is told
	crashed   bool
	loadErr   error  // why it shows no page; nil where it shows one
	netError  string // why the last document did not come, as the browser calls it
	documents int    // how many it has shown
	loading   map[cdp.FrameID]bool
	requests  map[network.RequestID]time.Time // that are not answered, and when they were made
	active    time.Time                       // when it last told something

	shown lines // that the model has seen
}

// A section of a page is what runs in one process: all of it, or a frame.
type pageTarget struct {
	endpoint
	tab    *tab
	parent *pageTarget // nil for the page itself
	frame  cdp.FrameID // the outermost in it
	url    string      // that it shows
}

// newTab adds a tab, which is the current one from then on. The lock is held.
func (s *session) newTab(info *target.Info, p *pageTarget) *tab {
	s.lastTab++
	t := &tab{
		name: fmt.Sprintf("t%d", s.lastTab), target: info.TargetID, main: p, url: info.URL, active: time.Now(),
		loading: make(map[cdp.FrameID]bool), requests: make(map[network.RequestID]time.Time),
	}
	s.tabs = append(s.tabs, t)
	s.current = t
	return t
}

// dropTab forgets a tab. The one opened before it is the current one then. The
// lock is held.
func (s *session) dropTab(t *tab) {
	i := slices.Index(s.tabs, t)
	if i < 0 {
		return
	}
	s.tabs = slices.Delete(s.tabs, i, i+1)
	t.crashed = true
	if s.current == t {
		s.current = nil
		if len(s.tabs) > 0 {
			s.current = s.tabs[max(i-1, 0)]
		}
	}
}

const (
	quietTime   = 200 * time.Millisecond // without news, for a page to have settled
	slowRequest = 3 * time.Second        // waitUntil a request is one that will not be answered soon
	maxBusy     = 3 * time.Second        // after which a page that has loaded is one that is never done
)

// idle reports whether a page is done with what it was doing. The lock is held.
func (t *tab) idle(now time.Time) bool {
	if t.crashed {
		return true
	}
	for id, since := range t.requests {
		if now.Sub(since) > slowRequest {
			delete(t.requests, id)
		}
	}
	return t.ready && len(t.loading) == 0 && len(t.requests) == 0 && now.Sub(t.active) >= quietTime
}

// finishClickable waits until a page is done with what it was doing. It waits for no
// longer than most until it has loaded, and for little longer then: pages that
// are never done can be used, too.
func (s *session) waitIdle(ctx context.Context, t *tab, most time.Duration) error {
	end := time.After(most)
	tick := time.NewTicker(quietTime / 4)
	defer tick.Stop()
	var loaded time.Time
	for {
		s.mu.Lock()
		now := time.Now()
		if waits := !t.ready || len(t.loading) > 0 || s.downloadPending(now); waits || loaded.IsZero() {
			loaded = now
		}
		done := t.crashed || t.idle(now) && !s.downloadPending(now) || now.Sub(loaded) > maxBusy
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case <-end:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.conn.lost:
			return errBrowserEnded
		}
	}
}

// checkLoaded is an error where a tab shows no page, but the browser's word that it
// could not load one.
func (s *session) checkLoaded(t *tab) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.loadErr
}

// checkAlive is an error where a tab has crashed.
func (s *session) checkAlive(t *tab) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.crashed {
		return tool.Errorf(tool.Unavailable, "the page in %s has crashed, or was closed",
			t.name).Try("open it again, or see tabs")
	}
	return nil
}

// checkUsable is an error where nothing can be done in a tab but to open another page,
// or to go back to one.
func (s *session) checkUsable(t *tab, action Action) error {
	if err := s.checkAlive(t); err != nil || action == Back {
		return err
	}
	return s.checkLoaded(t)
}

// siteFor is the site at which something is done in a tab: that of its page, or of
// the frame that an element is in.
func (s *session) siteFor(t *tab, req Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, err := s.elements.get(req.Ref); err == nil {
		return siteOf(el.target.url)
	}
	return siteOf(t.url)
}

// short cleans and cuts what a page says, to one line.
func short(text string, most int) string {
	text, _ = tool.Clean(text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}
