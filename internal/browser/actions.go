package browser

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	defaultWait    = 10 * time.Second
	maxWait        = 60 * time.Second
	pollInterval   = 250 * time.Millisecond
	actionTimeout  = 45 * time.Second
	loadTimeout    = 30 * time.Second
	idleTimeout    = 10 * time.Second
	cleanupTimeout = 2 * time.Second // to stop a page or a script whose request has ended

	defaultChars = 6000 // of a snapshot
	changeChars  = 3000 // of the changes
)

// do executes a request and returns the view of the browser after it.
func (s *session) do(ctx context.Context, req Request) (View, error) {
	ctx, cancel := context.WithTimeout(ctx, actionTimeout+time.Duration(req.Millis)*time.Millisecond)
	defer cancel()
	if req.Action == Open && req.Tab == "new" {
		if err := s.openTab(ctx); err != nil {
			return View{}, err
		}
		req.Tab = ""
	}
	t, err := s.selectTab(ctx, req)
	if err != nil {
		return View{}, err
	}
	switch req.Action {
	case Tabs:
		return s.listTabs(ctx)
	case Close:
		return s.closeTab(ctx, t)
	case Open:
		if err := s.open(ctx, t, req.URL); err != nil {
			return View{}, err
		}
		return s.changedView(ctx, t, req)
	}
	if err := s.checkUsable(t, req.Action); err != nil {
		return View{}, err
	}
	if site := s.siteFor(t, req); req.Basis != "" && SiteFacts(site).Basis() != req.Basis {
		return View{},
			tool.Errorf(tool.Conflict,
				"the approval is for another site than %.200q, which the page has opened since", site).
				Try("take a snapshot, then call it again to have it approved here")
	}
	switch req.Action {
	case printText:
		return s.printText(ctx, t, req.Text)
	case Snapshot:
		return s.snapshot(ctx, t, req)
	case Screenshot:
		return s.screenshot(ctx, t, req)
	case Evaluate:
		return s.evaluate(ctx, t, req)
	case Wait:
		return s.wait(ctx, t, req)
	case Title, Address, FindAction, Console, Frames, IsVisible, Network:
		return s.inspect(ctx, t, req)
	}
	s.mu.Lock()
	t.active = time.Now() // wait for the effects of the action
	s.mu.Unlock()
	if err := s.perform(ctx, t, req); err != nil {
		return View{}, err
	}
	return s.changedView(ctx, t, req)
}

// perform executes an action that changes the page.
func (s *session) perform(ctx context.Context, t *tab, req Request) error {
	switch req.Action {
	case Back:
		return s.back(ctx, t)
	case Click, Hover:
		return s.click(ctx, t, req)
	case Type:
		return s.typeText(ctx, t, req)
	case Press:
		return s.pressKey(ctx, t, req)
	case Select:
		return s.selectOptions(ctx, t, req)
	case Scroll:
		return s.scroll(ctx, t, req)
	case PDF:
		return s.savePDF(ctx, t)
	case Upload:
		return s.upload(ctx, t, req)
	case Dialog:
		s.armDialog(req)
		return nil
	case Drag:
		return s.drag(ctx, t, req)
	case Resize:
		return s.resize(ctx, t, req)
	case MouseMove, MouseClick:
		return t.mouse(ctx, req.At.X, req.At.Y, req)
	case MouseDrag:
		return t.dragMouse(ctx, req.At, req.To)
	case MouseWheel:
		return run(ctx, t.main.endpoint, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseWheel, X: req.At.X, Y: req.At.Y,
			DeltaX: cmp.Or(req.To.X, noWheel), DeltaY: cmp.Or(req.To.Y, noWheel)})
	}
	return tool.Errorf(tool.Invalid, "unknown action %q", req.Action).Try("use an action from the tool's description")
}

// noWheel is no way of the wheel: a zero would not be sent, and Chromium wants both numbers.
const noWheel = 1e-6

// tabOf returns the tab of a request: the named one, the one with the element, or the
// current one.
func (s *session) tabOf(req Request) (*tab, error) {
	if el, err := s.elements.get(req.Ref); err == nil && req.Tab == "" {
		return el.target.tab, nil
	}
	return s.find(req.Tab)
}

// selectTab makes the tab of a request the current one and returns it.
func (s *session) selectTab(ctx context.Context, req Request) (*tab, error) {
	t, err := s.tabOf(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.current = t
	s.mu.Unlock()
	return t, s.waitUntil(ctx, func() bool { return t.ready || t.crashed })
}

// openTab opens a tab and makes it the current one.
func (s *session) openTab(ctx context.Context) error {
	s.mu.Lock()
	full, before := len(s.tabs) >= maxTabs, s.lastTab
	s.mu.Unlock()
	if full {
		return tool.Errorf(tool.Busy, "%d tabs are open, the maximum",
			maxTabs).Try("close one, or open the page in an existing tab")
	}
	if err := run(ctx, endpoint{s.conn, ""}, target.CreateTarget,
		target.CreateTargetParams{URL: "about:blank"}); err != nil {
		return err
	}
	return s.waitUntil(ctx, func() bool { return s.lastTab > before })
}

// open loads a URL in a tab.
func (s *session) open(ctx context.Context, t *tab, address string) error {
	s.mu.Lock()
	begun := len(s.downloads)
	dead := t.crashed
	s.mu.Unlock()
	if dead { // reloading starts a new process
		if err := run(ctx, t.main.endpoint, page.Reload, page.ReloadParams{}); err != nil {
			return s.checkAlive(t)
		}
	}
	result, err := call(ctx, t.main.endpoint, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		s.stopLoading(ctx, t)
		return err
	}
	s.mu.Lock()
	download := result.IsDownload || len(s.downloads) > begun
	s.mu.Unlock()
	if err := s.waitIdle(ctx, t, loadTimeout); err != nil {
		s.stopLoading(ctx, t)
		return err
	}
	if result.ErrorText != "" && !download {
		return s.loadError(t, address, result.ErrorText)
	}
	return nil
}

// loadError returns the error for a URL that could not be loaded. After a redirect it
// names the last URL.
func (s *session) loadError(t *tab, address, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.loadErr == nil {
		return s.refusals.loadError(address, why)
	}
	t.loadErr = s.refusals.loadError(t.url, why)
	return t.loadErr
}

// stopLoading stops loading if the request has ended.
func (s *session) stopLoading(ctx context.Context, t *tab) {
	if ctx.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = run(ctx, t.main.endpoint, page.StopLoading, cdp.Empty{}) // an error shows at the next request
}

// back opens the previous page of the history.
func (s *session) back(ctx context.Context, t *tab) error {
	past, err := call(ctx, t.main.endpoint, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return err
	}
	i := past.CurrentIndex - 1
	if i < 0 || int(i) >= len(past.Entries) || forbidden(past.Entries[i].URL) {
		return tool.Errorf(tool.NotFound, "the tab has no previous page").Try("open one")
	}
	return run(ctx, t.main.endpoint, page.NavigateToHistoryEntry,
		page.NavigateToHistoryEntryParams{EntryID: past.Entries[i].ID})
}

// closeTab closes one tab.
func (s *session) closeTab(ctx context.Context, t *tab) (View, error) {
	s.mu.Lock()
	last := len(s.tabs) == 1
	s.mu.Unlock()
	if last { // without a tab the browser would end
		if err := s.openTab(ctx); err != nil {
			return View{}, err
		}
	}
	if err := run(ctx, endpoint{s.conn, ""}, target.CloseTarget,
		target.CloseTargetParams{TargetID: t.target}); err != nil {
		return View{}, err
	}
	err := s.waitUntil(ctx, func() bool { return !slices.Contains(s.tabs, t) })
	if err != nil {
		return View{}, err
	}
	return s.listTabs(ctx)
}

// currentMark is beside the current tab in the list.
const currentMark = " (current)"

// listTabs returns a view with the list of tabs.
func (s *session) listTabs(ctx context.Context) (View, error) {
	view := s.view(ctx, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, t := range s.tabs {
		mark := ""
		if t == s.current {
			mark, view.Tab = currentMark, t.name
		}
		if t.loadErr != nil {
			mark += " (not loaded)"
		}
		all = append(all, fmt.Sprintf("%s %s%s", t.name, short(t.url, 200), mark))
	}
	view.Tabs, view.Source = len(s.tabs), "the tabs"
	view.Page = strings.Join(all, "\n")
	return view, nil
}

// view returns a view with the notes and dialogs since the last one.
func (s *session) view(ctx context.Context, t *tab) View {
	s.saveDownloads(ctx)
	notes, dialogs := s.takeNotes()
	v := View{Notes: notes, Page: strings.Join(dialogs, "\n")}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Tabs = len(s.tabs)
	if t != nil {
		v.Tab, v.Source = t.name, cmp.Or(short(t.url, 300), "about:blank")
	}
	return v
}

// add appends untrusted text to a view.
func add(v *View, text string) {
	if v.Page != "" && text != "" {
		v.Page += "\n"
	}
	v.Page += text
}

// outline returns the lines of a page, or of an element of it.
func (s *session) outline(ctx context.Context, t *tab, within *element) (lines, *treeReader, error) {
	root, r, err := s.read(ctx, t)
	if err != nil {
		return nil, nil, cmp.Or(s.checkAlive(t), err)
	}
	if err := s.checkLoaded(t); err != nil { // the error may have arrived while the page was read
		return nil, nil, err
	}
	if within != nil {
		if root = root.find(*within); root == nil {
			return nil, nil, tool.Errorf(tool.NotFound,
				"the element is not in the snapshot of the page").Try("take a snapshot of the page")
		}
	}
	s.mu.Lock()
	address := t.url
	s.mu.Unlock()
	if within != nil {
		return partOf(root, address), r, nil
	}
	all := outlineOf(root)
	if root.name != "" {
		all = append(lines{"title: " + text(root.name, 200)}, all...)
	}
	return all, r, nil
}

// snapshot returns a view with the text of a page.
func (s *session) snapshot(ctx context.Context, t *tab, req Request) (View, error) {
	var within *element
	if req.Ref != "" {
		el, err := s.element(ctx, t, req.Ref)
		if err != nil {
			return View{}, err
		}
		within = &el
	}
	all, r, err := s.outline(ctx, t, within)
	if err != nil {
		return View{}, err
	}
	v := s.view(ctx, t)
	if within == nil {
		t.shown = all
	}
	all = all.filter(req)
	shown, next := all.window(req.Offset, cmp.Or(req.MaxChars, defaultChars))
	if shown == "" && req.Offset > 0 && all.size() > 0 {
		return View{}, tool.Errorf(tool.Invalid, "offset is %d, and the page has %d characters", req.Offset,
			all.size()).
			Try("omit offset to begin at the start")
	}
	if next > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d of %d characters are shown; offset %d reads on, ref shows a part",
			next-req.Offset, all.size(), next))
	}
	if r.cut {
		v.Notes = append(v.Notes, "the page is too large to show all of it")
	}
	if r.left > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("texts that a person would not see are left out: %d", r.left))
	}
	if r.unchecked {
		v.Notes = append(v.Notes, "the page may contain texts that a person would not see")
	}
	if shown == "" {
		v.Notes = append(v.Notes, "the page has no text; a screenshot may show more")
	}
	add(&v, shown)
	return v, nil
}

// changedView waits until a page is idle. It returns the lines that have changed since
// the last view, or a snapshot if most have changed.
func (s *session) changedView(ctx context.Context, t *tab, req Request) (View, error) {
	t, err := s.waitIdleCurrent(ctx, t)
	if err != nil {
		return View{}, err
	}
	before := t.shown
	all, _, err := s.outline(ctx, t, nil)
	if err != nil {
		return View{}, err
	}
	changes, gone := all.changes(before)
	if req.Action == Open || len(before) == 0 || changes.size() > all.size()/2 || req.MaxChars > 0 {
		return s.snapshot(ctx, t, Request{MaxChars: cmp.Or(req.MaxChars, changeChars)})
	}
	t.shown = all
	v := s.view(ctx, t)
	if len(changes) == 0 && gone == 0 {
		v.Notes = append(v.Notes, "done; the page shows the same as before")
		return v, nil
	}
	note := fmt.Sprintf("%d of %d lines are new or changed", len(changes), len(all))
	if gone > len(changes) {
		note += fmt.Sprintf(", %d were removed", gone-len(changes))
	}
	v.Notes = append(v.Notes, note)
	shown, next := changes.window(0, changeChars)
	if next > 0 {
		v.Notes = append(v.Notes, "there are more changes; a snapshot shows all")
	}
	add(&v, shown)
	return v, nil
}

// waitIdleCurrent waits until a tab is idle. If another tab became the current one,
// it waits for that tab. It returns the current tab.
func (s *session) waitIdleCurrent(ctx context.Context, t *tab) (*tab, error) {
	for was := t; ; {
		if err := s.waitIdle(ctx, t, idleTimeout); err != nil {
			return nil, err
		}
		s.mu.Lock()
		next := s.current
		if next == nil || next == t {
			if t != was {
				s.note("%s is the current tab now", t.name)
			}
			s.mu.Unlock()
			return t, nil
		}
		s.mu.Unlock()
		t = next
	}
}

// wait waits until the page shows a text or an element, until it no longer shows a text,
// or until it is idle.
func (s *session) wait(ctx context.Context, t *tab, req Request) (View, error) {
	most := min(time.Duration(req.Millis)*time.Millisecond, maxWait)
	if req.Text == "" && req.TextGone == "" && req.Ref == "" {
		if most > 0 {
			if err := clock.Sleep(ctx, most); err != nil {
				return View{}, err
			}
		} else if err := s.waitIdle(ctx, t, defaultWait); err != nil {
			return View{}, err
		}
		return s.changedView(ctx, t, req)
	}
	most = cmp.Or(most, defaultWait)
	for end := time.Now().Add(most); ; {
		so, err := s.conditionMet(ctx, t, req)
		if err != nil {
			return View{}, err
		}
		if so {
			return s.changedView(ctx, t, req)
		}
		if time.Now().After(end) {
			return View{}, tool.Errorf(tool.Timeout, "the condition is not met after %s",
				most).Try("take a snapshot to see its state, or wait again")
		}
		if err := clock.Sleep(ctx, pollInterval); err != nil {
			return View{}, err
		}
	}
}

// conditionMet reports whether the condition of a wait request is true.
func (s *session) conditionMet(ctx context.Context, t *tab, req Request) (bool, error) {
	if err := s.checkAlive(t); err != nil {
		return false, err
	}
	if req.Ref != "" {
		el, err := s.element(ctx, t, req.Ref)
		if err == nil {
			_, err = el.object(ctx)
		}
		if err != nil {
			if tool.AsError(err).Kind == tool.NotFound && !isRef.MatchString(req.Ref) {
				return false, nil
			}
			return false, err
		}
	}
	if req.Text == "" && req.TextGone == "" {
		return true, nil
	}
	all, _, err := s.outline(ctx, t, nil)
	if err != nil {
		return false, nil // another page may be loading
	}
	return (req.Text == "" || all.contains(req.Text)) && (req.TextGone == "" || !all.contains(req.TextGone)), nil
}
