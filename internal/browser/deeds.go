package browser

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	deedTime   = 45 * time.Second
	loadTime   = 30 * time.Second
	settleTime = 10 * time.Second
	tidyTime   = 2 * time.Second // to stop what nobody waits for any more

	usualChars  = 6000 // of a snapshot
	changeChars = 3000 // of what has changed
)

// do does one thing, and says what is to be seen then.
func (s *session) do(ctx context.Context, req Request) (View, error) {
	ctx, cancel := context.WithTimeout(ctx, deedTime+time.Duration(req.Millis)*time.Millisecond)
	defer cancel()
	if req.Action == Open && req.Tab == "new" {
		if err := s.another(ctx); err != nil {
			return View{}, err
		}
		req.Tab = ""
	}
	t, err := s.tabFor(ctx, req)
	if err != nil {
		return View{}, err
	}
	switch req.Action {
	case Tabs:
		return s.list(ctx)
	case Close:
		return s.closeTab(ctx, t)
	case Open:
		if err := s.open(ctx, t, req.URL); err != nil {
			return View{}, err
		}
		return s.changedView(ctx, t, req)
	}
	if err := s.serves(t, req.Action); err != nil {
		return View{}, err
	}
	if site := s.siteFor(t, req); req.Basis != "" && SiteFacts(site).Basis() != req.Basis {
		return View{}, tool.Errorf(tool.Conflict, "a person agreed to this at another site than %.200q, where the page has gone since", site).
			Try("take a snapshot, then call it again to have it approved here")
	}
	switch req.Action {
	case Snapshot:
		return s.snapshot(ctx, t, req)
	case Screenshot:
		return s.screenshot(ctx, t, req)
	case Evaluate:
		return s.evaluate(ctx, t, req)
	case Wait:
		return s.wait(ctx, t, req)
	}
	s.mu.Lock()
	t.active = time.Now() // what it does is still to come
	s.mu.Unlock()
	if err := s.act(ctx, t, req); err != nil {
		return View{}, err
	}
	return s.changedView(ctx, t, req)
}

// act does what changes a page.
func (s *session) act(ctx context.Context, t *tab, req Request) error {
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
		return s.choose(ctx, t, req)
	case Scroll:
		return s.scroll(ctx, t, req)
	}
	return tool.Errorf(tool.Invalid, "a browser does not %q", req.Action).Try("see the tool's actions")
}

// meant is the tab that something is to be done in: the one that is named, the
// one that an element is in, or the current one.
func (s *session) meant(req Request) (*tab, error) {
	if el, err := s.elements.get(req.Ref); err == nil && req.Tab == "" {
		return el.part.tab, nil
	}
	return s.find(req.Tab)
}

// tabFor returns the tab that something is to be done in, which is the current
// one from then on.
func (s *session) tabFor(ctx context.Context, req Request) (*tab, error) {
	t, err := s.meant(req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.current = t
	s.mu.Unlock()
	return t, s.until(ctx, func() bool { return t.ready || t.crashed })
}

// another opens a tab, which is the current one from then on.
func (s *session) another(ctx context.Context) error {
	s.mu.Lock()
	full, before := len(s.tabs) >= mostTabs, s.lastTab
	s.mu.Unlock()
	if full {
		return tool.Errorf(tool.Busy, "%d tabs are open, which is the most", mostTabs).Try("close one, or open it in a tab that is there")
	}
	if err := tell(ctx, line{s.link, ""}, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"}); err != nil {
		return err
	}
	return s.until(ctx, func() bool { return s.lastTab > before })
}

// open leads a tab to an address.
func (s *session) open(ctx context.Context, t *tab, address string) error {
	address, err := checkURL(address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	begun := len(s.downloads)
	dead := t.crashed
	s.mu.Unlock()
	if dead { // it is given another process
		if err := tell(ctx, t.main.line, page.Reload, page.ReloadParams{}); err != nil {
			return s.usable(t)
		}
	}
	result, err := ask(ctx, t.main.line, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		s.stopLoading(ctx, t)
		return err
	}
	s.mu.Lock()
	download := result.IsDownload || len(s.downloads) > begun
	s.mu.Unlock()
	if err := s.settle(ctx, t, loadTime); err != nil {
		s.stopLoading(ctx, t)
		return err
	}
	if result.ErrorText != "" && !download {
		return s.fails(t, address, result.ErrorText)
	}
	return nil
}

// fails says why an address that a tab was led to was not loaded. Where it was
// redirected to another, that is the one.
func (s *session) fails(t *tab, address, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.failed == nil {
		return s.refusals.unreachable(address, why)
	}
	t.failed = s.refusals.unreachable(t.url, why)
	return t.failed
}

// stopLoading ends what nobody waits for any more.
func (s *session) stopLoading(ctx context.Context, t *tab) {
	if ctx.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	_ = tell(ctx, t.main.line, page.StopLoading, cdp.Empty{}) // where that fails, it will be tried in vain to use it
}

// back goes to the page before.
func (s *session) back(ctx context.Context, t *tab) error {
	past, err := ask(ctx, t.main.line, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return err
	}
	i := past.CurrentIndex - 1
	if i < 0 || int(i) >= len(past.Entries) || forbidden(past.Entries[i].URL) {
		return tool.Errorf(tool.NotFound, "there is no page before this one").Try("open one")
	}
	return tell(ctx, t.main.line, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: past.Entries[i].ID})
}

// closeTab closes one tab.
func (s *session) closeTab(ctx context.Context, t *tab) (View, error) {
	s.mu.Lock()
	last := len(s.tabs) == 1
	s.mu.Unlock()
	if last { // or the browser would end
		if err := s.another(ctx); err != nil {
			return View{}, err
		}
	}
	if err := tell(ctx, line{s.link, ""}, target.CloseTarget, target.CloseTargetParams{TargetID: t.target}); err != nil {
		return View{}, err
	}
	err := s.until(ctx, func() bool {
		for _, open := range s.tabs {
			if open == t {
				return false
			}
		}
		return true
	})
	if err != nil {
		return View{}, err
	}
	return s.list(ctx)
}

// list tells which tabs there are.
func (s *session) list(ctx context.Context) (View, error) {
	view := s.view(ctx, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, t := range s.tabs {
		mark := ""
		if t == s.current {
			mark, view.Tab = " (current)", t.name
		}
		if t.failed != nil {
			mark += " (not loaded)"
		}
		all = append(all, fmt.Sprintf("%s %s%s", t.name, short(t.url, 200), mark))
	}
	view.Tabs, view.Source = len(s.tabs), "the tabs"
	view.Page = strings.Join(all, "\n")
	return view, nil
}

// view begins to tell, with what has happened besides.
func (s *session) view(ctx context.Context, t *tab) View {
	s.saveDownloads(ctx)
	notes, said := s.takeNotes()
	v := View{Notes: notes, Page: strings.Join(said, "\n")}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Tabs = len(s.tabs)
	if t != nil {
		v.Tab, v.Source = t.name, cmp.Or(short(t.url, 300), "about:blank")
	}
	return v
}

// add puts the page's words beneath those that are there.
func add(v *View, text string) {
	if v.Page != "" && text != "" {
		v.Page += "\n"
	}
	v.Page += text
}

// outline reads a page.
func (s *session) outline(ctx context.Context, t *tab, within *element) (lines, *reading, error) {
	root, r, err := s.read(ctx, t)
	if err != nil {
		return nil, nil, cmp.Or(s.usable(t), err)
	}
	if err := s.loaded(t); err != nil { // which may have become known only while it was read
		return nil, nil, err
	}
	if within != nil {
		if root = root.beneath(*within); root == nil {
			return nil, nil, tool.Errorf(tool.NotFound, "there is nothing to be seen of that element").Try("take a snapshot of the page")
		}
	}
	s.mu.Lock()
	address := t.url
	s.mu.Unlock()
	all := outlineOf(root, address)
	if within == nil && root.name != "" {
		all = append(lines{"title: " + text(root.name, 200)}, all...)
	}
	return all, r, nil
}

// snapshot tells a page.
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
	shown, next := all.window(req.Offset, cmp.Or(req.MaxChars, usualChars))
	if shown == "" && req.Offset > 0 && all.size() > 0 {
		return View{}, tool.Errorf(tool.Invalid, "offset is %d, and the page has %d characters", req.Offset, all.size()).
			Try("leave it out to begin at the start")
	}
	if next > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d of %d characters are shown; offset %d reads on, ref shows a part", next-req.Offset, all.size(), next))
	}
	if r.cut {
		v.Notes = append(v.Notes, "the page is too large to be told in full")
	}
	if shown == "" {
		v.Notes = append(v.Notes, "there is nothing to read on the page; a screenshot may show more")
	}
	add(&v, shown)
	return v, nil
}

// changedView waits until a page has settled and tells what has changed, or all
// of it when most has.
func (s *session) changedView(ctx context.Context, t *tab, req Request) (View, error) {
	t, err := s.settled(ctx, t)
	if err != nil {
		return View{}, err
	}
	if req.Action == Scroll {
		s.tell(s.place(ctx, t, req))
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
	said := fmt.Sprintf("%d of %d lines are new or changed", len(changes), len(all))
	if gone > len(changes) {
		said += fmt.Sprintf(", %d are gone", gone-len(changes))
	}
	v.Notes = append(v.Notes, said)
	shown, next := changes.window(0, changeChars)
	if next > 0 {
		v.Notes = append(v.Notes, "there are more changes; a snapshot shows all")
	}
	add(&v, shown)
	return v, nil
}

// settled waits until a page has settled, or the one that it has opened, or left
// behind, and returns which it is.
func (s *session) settled(ctx context.Context, t *tab) (*tab, error) {
	for was := t; ; {
		if err := s.settle(ctx, t, settleTime); err != nil {
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
