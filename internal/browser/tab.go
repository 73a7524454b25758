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

// A tab is one page. The lock of the session guards all fields except shown.
type tab struct {
	name   string // t1; w1 in the browser for pages of the caller's own
	target target.ID
	main   *pageTarget
	url    string

	ready    bool // its target is configured
	crashed  bool
	loadErr  error  // why the page was not loaded; nil if it was
	netError string // network error of the last document, such as net::ERR_TIMED_OUT
	loading  map[cdp.FrameID]bool
	requests map[network.RequestID]time.Time // requests without a response, with their start times
	active   time.Time                       // time of the last event

	shown   lines    // lines that the model has seen
	console []string // messages of scripts
	network []*exchange
	dropped int // exchanges that are no longer in network
}

// A pageTarget is a target of DevTools: a page, or a frame in its own process.
type pageTarget struct {
	endpoint
	tab    *tab
	parent *pageTarget // nil for a page
	frame  cdp.FrameID // its outermost frame
	url    string      // URL of its document
}

// ownTab is the first letter of the names of tabs with pages of the caller's own.
const ownTab = "w"

func tabName(own bool, number int) string {
	if own {
		return fmt.Sprint(ownTab, number)
	}
	return fmt.Sprint("t", number)
}

func isOwnTab(name string) bool { return strings.HasPrefix(name, ownTab) }

// newTab adds a tab and makes it the current one. The caller holds s.mu.
func (s *session) newTab(info *target.Info, p *pageTarget) *tab {
	s.lastTab++
	t := &tab{
		name: tabName(s.owner.own, s.lastTab), target: info.TargetID, main: p, url: info.URL, active: time.Now(),
		loading: make(map[cdp.FrameID]bool), requests: make(map[network.RequestID]time.Time),
	}
	s.tabs = append(s.tabs, t)
	s.current = t
	return t
}

// dropTab removes a tab. If it was the current one, the tab before it becomes the
// current one. The caller holds s.mu.
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
	quietTime   = 200 * time.Millisecond // an idle page has had no event for this time
	slowRequest = 3 * time.Second        // slower requests do not count as activity
	maxBusy     = 3 * time.Second        // a page that is active for longer after loading counts as idle
)

// idle reports whether a page has loaded and is inactive. The caller holds s.mu.
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

// waitIdle waits until a tab is idle, at most for the time most. After the page has
// loaded it waits for maxBusy at most, since some pages are never inactive.
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

// checkLoaded returns an error if a tab shows the browser's error page.
func (s *session) checkLoaded(t *tab) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.loadErr
}

// checkAlive returns an error if a tab has crashed or was closed.
func (s *session) checkAlive(t *tab) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.crashed {
		return tool.Errorf(tool.Unavailable, "the page in %s has crashed, or was closed",
			t.name).Try("open it again, or use the action tabs to list the tabs")
	}
	return nil
}

// checkUsable returns an error if a tab does not support an action: a page that was not
// loaded supports only Open and Back.
func (s *session) checkUsable(t *tab, action Action) error {
	if err := s.checkAlive(t); err != nil || action == Back {
		return err
	}
	if err := s.checkLoaded(t); err != nil {
		known := tool.AsError(err)
		return tool.Errorf(known.Kind, "no page is open in %s: %s", t.name, known.What).
			Try("open a page first: %s", known.Next).Because(err)
	}
	return nil
}

// siteFor returns the site of a request in a tab: that of the frame with the element, or
// of the page.
func (s *session) siteFor(t *tab, req Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, err := s.elements.get(req.Ref); err == nil {
		return siteOf(el.target.url)
	}
	return siteOf(t.url)
}

// short cleans a text and shortens it to one line of at most so many bytes.
func short(text string, most int) string {
	text, _ = tool.Clean(text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return clip(text, most) + "..."
}

// clip cuts a text after at most so many bytes, between two characters.
func clip(text string, most int) string {
	for most = min(most, len(text)); most > 0 && most < len(text) && !utf8.RuneStart(text[most]); {
		most--
	}
	return text[:most]
}
