package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// setupTimeout limits the configuration of a new target.
const setupTimeout = 20 * time.Second

// onEvent handles an event of the browser. The goroutine that calls it also reads the
// responses, so onEvent must not wait for a response.
func (s *session) onEvent(from target.SessionID, method string, params jsonv2.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.targets[from]
	switch method {
	case target.AttachedToTarget.Method:
		if e, ok := decodeEvent(target.AttachedToTarget, params); ok {
			s.attached(p, e)
		}
	case target.DetachedFromTarget.Method:
		if e, ok := decodeEvent(target.DetachedFromTarget, params); ok {
			s.detached(e.SessionID)
		}
	case cdpbrowser.DownloadWillBegin.Method:
		if e, ok := decodeEvent(cdpbrowser.DownloadWillBegin, params); ok {
			s.downloadStarted(e)
		}
	case cdpbrowser.DownloadProgress.Method:
		if e, ok := decodeEvent(cdpbrowser.DownloadProgress, params); ok {
			s.downloadProgress(e)
		}
	default:
		if p != nil && s.onConsoleEvent(p, method, params) {
			return
		}
		if p == nil || !s.onPageEvent(p, method, params) && !s.onNetworkEvent(p, method, params) {
			return
		}
	}
	s.changed()
}

// onPageEvent handles an event of a page.
func (s *session) onPageEvent(p *pageTarget, method string, params jsonv2.Value) bool {
	switch method {
	case page.FrameNavigated.Method:
		if e, ok := decodeEvent(page.FrameNavigated, params); ok && (e.Frame.ParentID == "" || e.Frame.ID == p.frame) {
			s.navigated(p, e.Frame)
		}
	case page.NavigatedWithinDocument.Method:
		if e, ok := decodeEvent(page.NavigatedWithinDocument, params); ok && e.FrameID == p.frame && p.parent == nil {
			p.tab.url = e.URL
		}
	case page.FrameStartedLoading.Method:
		if e, ok := decodeEvent(page.FrameStartedLoading, params); ok {
			p.tab.loading[e.FrameID] = true
		}
	case page.FrameStoppedLoading.Method:
		if e, ok := decodeEvent(page.FrameStoppedLoading, params); ok {
			delete(p.tab.loading, e.FrameID)
		}
	case page.FrameDetached.Method:
		if e, ok := decodeEvent(page.FrameDetached, params); ok {
			delete(p.tab.loading, e.FrameID)
		}
	case page.JavascriptDialogOpening.Method:
		if e, ok := decodeEvent(page.JavascriptDialogOpening, params); ok {
			s.dismissDialog(p, e)
		}
	case page.FileChooserOpened.Method:
		s.note("the page asked for a file to upload; use the action upload with the ref of its file input")
	case inspector.TargetCrashed.Method:
		p.tab.crashed = p.tab.crashed || p.parent == nil
		s.conn.failPending(p.id)
	default:
		return false
	}
	p.tab.active = time.Now()
	return true
}

// onNetworkEvent handles a network event of a page.
func (s *session) onNetworkEvent(p *pageTarget, method string, params jsonv2.Value) bool {
	p.tab.logNetwork(method, params)
	switch method {
	case network.RequestWillBeSent.Method:
		e, ok := decodeEvent(network.RequestWillBeSent, params)
		if ok && e.Type != network.ResourceTypeEventSource && e.Type != network.ResourceTypeWebSocket &&
			e.Type != network.ResourceTypePing && len(p.tab.requests) < 1000 {
			p.tab.requests[e.RequestID] = time.Now()
		}
	case network.LoadingFinished.Method:
		if e, ok := decodeEvent(network.LoadingFinished, params); ok {
			delete(p.tab.requests, e.RequestID)
		}
	case network.LoadingFailed.Method:
		if e, ok := decodeEvent(network.LoadingFailed, params); ok {
			delete(p.tab.requests, e.RequestID)
			if e.Type == network.ResourceTypeDocument && p.parent == nil {
				p.tab.netError = e.ErrorText
			}
		}
	case fetch.RequestPaused.Method:
		if e, ok := decodeEvent(fetch.RequestPaused, params); ok {
			if s.owner.own && e.ResourceType == network.ResourceTypeDocument && ownDocument(e.Request.URL) {
				s.inBackground(func(ctx context.Context) {
					_ = run(ctx, p.endpoint, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
				})
				break
			}
			reason := network.ErrorReasonAccessDenied
			if s.owner.own {
				reason = network.ErrorReasonAborted // the page stays open
				s.note("the page led to %s, which opens only by itself: use open if you need it", short(e.Request.URL, 300))
			} else {
				s.note("the page requested a URL that is not from the web; it was refused")
			}
			s.inBackground(func(ctx context.Context) {
				_ = run(ctx, p.endpoint, fetch.FailRequest,
					fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: reason})
			})
		}
	default:
		return false
	}
	p.tab.active = time.Now()
	return true
}

// inBackground calls a function that waits for responses. Errors are ignored: they occur
// when the page was closed.
func (s *session) inBackground(do func(context.Context)) {
	if s.ctx.Err() != nil {
		return
	}
	s.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, setupTimeout)
		defer cancel()
		do(ctx)
	})
}

// attached handles a new target.
func (s *session) attached(parent *pageTarget, e target.EventAttachedToTarget) {
	p := &pageTarget{endpoint: endpoint{s.conn, e.SessionID}, parent: parent, frame: cdp.FrameID(e.TargetInfo.TargetID),
		url: e.TargetInfo.URL}
	switch {
	case e.TargetInfo.Type == worker:
		s.inBackground(p.letRun)
		return
	case parent != nil:
		p.tab = parent.tab
	case e.TargetInfo.Type != "page" || len(s.tabs) >= maxTabs:
		s.note("the page tried to open a tab; %d are open, the maximum", len(s.tabs))
		s.inBackground(p.closeUnwanted)
		return
	default:
		p.tab = s.newTab(e.TargetInfo, p)
	}
	s.targets[e.SessionID] = p
	s.inBackground(func(ctx context.Context) {
		err := p.prepare(ctx, s.owner.own)
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.parent == nil {
			p.tab.ready, p.tab.crashed = true, p.tab.crashed || err != nil
		}
		s.changed()
	})
}

// worker is the type of the targets of web workers. Chromium pauses them with the frames
// of a page, also if the filter of types excludes them.
const worker = "worker"

// letRun lets a web worker run, and leaves it alone: its requests take the proxy, and the
// page has its messages.
func (p *pageTarget) letRun(ctx context.Context) {
	_ = run(ctx, p.endpoint, runtime.RunIfWaitingForDebugger, cdp.Empty{})
	_ = run(ctx, p.parent.endpoint, target.DetachFromTarget, target.DetachFromTargetParams{SessionID: p.id})
}

// closeUnwanted closes a new page. The page must run first, with all its requests held
// back: the page that opened it waits until it runs, and would wait forever if it were
// closed before.
func (p *pageTarget) closeUnwanted(ctx context.Context) {
	held, err := p.sendAsync(ctx, p.id, fetch.Enable.Method, fetch.EnableParams{})
	if err == nil {
		_ = run(ctx, p.endpoint, runtime.RunIfWaitingForDebugger, cdp.Empty{}) // it may be closed already
		_, _ = held()
	}
	_ = run(ctx, endpoint{p.connection, ""}, target.CloseTarget, target.CloseTargetParams{TargetID: target.ID(p.frame)})
}

// prepare configures a new target before its scripts run. It sends all commands before it
// waits for a response, because a paused target responds only after the last command,
// which lets it run. own is set for pages of the caller's own: these change often, so they
// are not cached.
func (p *pageTarget) prepare(ctx context.Context, own bool) error {
	type step struct {
		method string
		params any
	}
	patterns := refusedSchemes()
	if own {
		patterns = append(patterns, documents())
	}
	steps := []step{
		{page.Enable.Method, page.EnableParams{}},
		{fetch.Enable.Method, fetch.EnableParams{Patterns: patterns}},
		{runtime.Enable.Method, cdp.Empty{}},
		{network.Enable.Method, network.EnableParams{MaxTotalBufferSize: new(int64(1)),
			MaxResourceBufferSize: new(int64(1))}},
		{page.SetInterceptFileChooserDialog.Method,
			page.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: new(true)}},
		{target.SetAutoAttach.Method, attach("iframe", worker)},
	}
	if own {
		steps = append(steps, step{network.SetCacheDisabled.Method, network.SetCacheDisabledParams{CacheDisabled: true}})
	}
	if p.parent == nil {
		steps = append(steps,
			step{inspector.Enable.Method, cdp.Empty{}},
			step{emulation.SetFocusEmulationEnabled.Method, emulation.SetFocusEmulationEnabledParams{Enabled: true}})
	}
	steps = append(steps, step{runtime.RunIfWaitingForDebugger.Method, cdp.Empty{}})
	var answers []func() (jsonv2.Value, error)
	for _, s := range steps {
		answer, err := p.sendAsync(ctx, p.id, s.method, s.params)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	var problems []error
	for _, answer := range answers {
		_, err := answer()
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// detached removes a target, and the tab of a page.
func (s *session) detached(id target.SessionID) {
	p := s.targets[id]
	if p == nil {
		return
	}
	delete(s.targets, id)
	s.elements.forget(p)
	if p.parent == nil {
		s.dropTab(p.tab)
	}
}

// navigated handles a new document of a target.
func (s *session) navigated(p *pageTarget, f *cdp.Frame) {
	s.elements.forget(p)
	p.frame, p.url = f.ID, f.URL
	if p.parent != nil {
		return
	}
	t := p.tab
	t.url, t.crashed, t.loadErr, t.console = f.URL+f.URLFragment, false, nil, nil
	clear(t.requests)
	if f.UnreachableURL != "" {
		t.url, t.loadErr = f.UnreachableURL, s.refusals.loadError(f.UnreachableURL, t.netError)
	}
	t.netError = ""
	if forbidden(f.URL) {
		s.note("the page opened a URL that is not from the web, and was closed")
		s.inBackground(func(ctx context.Context) {
			_ = run(ctx, endpoint{s.conn, ""}, target.CloseTarget, target.CloseTargetParams{TargetID: t.target})
		})
	}
}

// dismissDialog answers a dialog as the model has set, or else dismisses it. It accepts
// that a page is left.
func (s *session) dismissDialog(p *pageTarget, e page.EventJavascriptDialogOpening) {
	answer := page.HandleJavaScriptDialogParams{Accept: e.Type == page.DialogTypeBeforeunload}
	if !answer.Accept {
		note := "the page showed a dialog, which was dismissed; use the action dialog before to accept it"
		if s.dialogAnswer != nil {
			answer, s.dialogAnswer = *s.dialogAnswer, nil
			note = "the page showed a dialog, which was answered"
		}
		s.note("%s", note)
		s.dialogs = append(s.dialogs[:min(len(s.dialogs), maxNotes-1)],
			fmt.Sprintf("dialog (%s): %s", e.Type, short(e.Message, 500)))
	}
	s.inBackground(func(ctx context.Context) {
		_ = run(ctx, p.endpoint, page.HandleJavaScriptDialog, answer)
	})
}
