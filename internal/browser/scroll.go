package browser

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
)

// wheelStep is how far a wheel is turned at once, in parts of what is in view.
const wheelStep = 0.8

// wheel is the event of a mouse's wheel. Chromium wants both ways in it, also
// the one of nothing, which the type for all events of a mouse leaves out.
type wheel struct {
	Type input.DispatchMouseEventType `json:"type"`
	X    float64                      `json:"x"`
	Y    float64                      `json:"y"`
	// DeltaX and DeltaY are how far, to the right and down.
	DeltaX float64 `json:"deltaX"`
	DeltaY float64 `json:"deltaY"`
}

var dispatchWheel = cdp.Command[wheel, cdp.Empty]{Method: input.DispatchMouseEvent.Method}

// scrollableScript finds what is scrolled with an element: it, what it is in, or else
// the page. Of a page that does not scroll it is what is in the middle.
const scrollableScript = `
	const scrolls = e => e.scrollHeight > e.clientHeight + 1 && (e === document.scrollingElement || /auto|scroll/.test(getComputedStyle(e).overflowY));
	const around = e => { for (; e && !scrolls(e); e = e.parentElement || e.getRootNode().host); return e; };
	const from = this.nodeType === 1 ? this : this.parentElement;
	const found = around(from) || from === document.documentElement && around(document.elementFromPoint(innerWidth / 2, innerHeight / 2)) || document.scrollingElement;`

// scrollToEndScript scrolls to the top or the bottom.
const scrollToEndScript = `function(way) {` + scrollableScript + `
	if (found) found.scrollTo({top: way === 'top' ? 0 : found.scrollHeight, behavior: 'instant'});
	return '';
}`

// scrollPositionScript says how far it is scrolled: of what, and in percent. A page can have
// it say anything.
const scrollPositionScript = `function() {` + scrollableScript + `
	const most = found ? found.scrollHeight - found.clientHeight : 0;
	if (most <= 1) return 'none 0';
	const at = found.scrollTop < 1 ? 0 : found.scrollTop > most - 2 ? 100 : Math.min(99, Math.max(1, Math.round(100 * found.scrollTop / most)));
	return (found === document.scrollingElement ? 'page ' : 'part ') + at;
}`

// scroll brings an element into view, or moves what is in view: of the page, or
// of the part of it that the element is in.
func (s *session) scroll(ctx context.Context, t *tab, req Request) error {
	el, err := s.scrollTarget(ctx, t, req)
	if err != nil {
		return err
	}
	if req.Ref != "" {
		err := run(ctx, el.target.endpoint, dom.ScrollIntoViewIfNeeded,
			dom.ScrollIntoViewIfNeededParams{BackendNodeID: el.node})
		if err != nil || req.Direction == "" {
			return err
		}
	}
	switch req.Direction {
	case "top", "bottom":
		_, _, err := el.call(ctx, scrollToEndScript, req.Direction)
		return err
	}
	return s.moveWheel(ctx, t, el, req)
}

// scrollTarget is the element that says what is scrolled: without one, the page.
func (s *session) scrollTarget(ctx context.Context, t *tab, req Request) (element, error) {
	if req.Ref == "" {
		return s.element(ctx, t, "html")
	}
	return s.element(ctx, t, req.Ref)
}

// dispatchWheel turns the wheel of the mouse, where the element is or in the middle
// of the page.
func (s *session) moveWheel(ctx context.Context, t *tab, el element, req Request) error {
	seen, err := call(ctx, t.main.endpoint, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return err
	}
	width, height := float64(windowWidth), float64(windowHeight)
	if v := seen.CSSLayoutViewport; v != nil {
		width, height = float64(v.ClientWidth), float64(v.ClientHeight)
	}
	w := wheel{Type: input.DispatchMouseEventTypeMouseWheel, X: width / 2, Y: height / 2, DeltaY: height * wheelStep}
	if req.Ref != "" {
		x, y, err := s.center(ctx, el)
		if err != nil {
			return err
		}
		w.X, w.Y = min(max(x, 1), width-1), min(max(y, 1), height-1)
	}
	if req.Direction == "up" {
		w.DeltaY = -w.DeltaY
	}
	return run(ctx, t.main.endpoint, dispatchWheel, w)
}

// dirs says how far something is scrolled, "" when that is not known: an outline
// has what is not in view, too, and looks the same before and after.
func (s *session) scrollPosition(ctx context.Context, t *tab, req Request) string {
	el, err := s.scrollTarget(ctx, t, req)
	if err != nil {
		return ""
	}
	said, _, err := el.call(ctx, scrollPositionScript)
	if err != nil {
		return ""
	}
	of, percent, _ := strings.Cut(said, " ")
	name, known := map[string]string{"page": "the page", "part": "what scrolls there"}[of]
	at, err := strconv.ParseUint(percent, 10, 7)
	switch {
	case of == "none":
		return "nothing scrolls there"
	case !known || err != nil || at > 100:
		return ""
	case at == 0:
		return name + " is at the top"
	case at == 100:
		return name + " is at the bottom"
	}
	return fmt.Sprintf("%s is at %d %%", name, at)
}
