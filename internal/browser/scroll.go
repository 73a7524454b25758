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

// wheelStep is the distance of one scroll action, as a fraction of the visible height.
const wheelStep = 0.8

// wheel is a mouse wheel event. Chromium requires both distances, also zero, which the
// type in package input omits.
type wheel struct {
	Type input.DispatchMouseEventType `json:"type"`
	X    float64                      `json:"x"`
	Y    float64                      `json:"y"`
	// DeltaX and DeltaY are the distances to the right and down, in pixels.
	DeltaX float64 `json:"deltaX"`
	DeltaY float64 `json:"deltaY"`
}

var dispatchWheel = cdp.Command[wheel, cdp.Empty]{Method: input.DispatchMouseEvent.Method}

// scrollableScript finds what scrolls with an element: the element, its closest
// scrollable ancestor, or the page. If the page does not scroll, the script looks at the
// element in the middle of the window.
const scrollableScript = `
	const scrolls = e => e.scrollHeight > e.clientHeight + 1 &&
		(e === document.scrollingElement || /auto|scroll/.test(getComputedStyle(e).overflowY));
	const around = e => { for (; e && !scrolls(e); e = e.parentElement || e.getRootNode().host); return e; };
	const from = this.nodeType === 1 ? this : this.parentElement;
	const found = around(from) || from === document.documentElement &&
		around(document.elementFromPoint(innerWidth / 2, innerHeight / 2)) || document.scrollingElement;`

// scrollToEndScript scrolls to the top or the bottom.
const scrollToEndScript = `function(way) {` + scrollableScript + `
	if (found) found.scrollTo({top: way === 'top' ? 0 : found.scrollHeight, behavior: 'instant'});
	return '';
}`

// scrollPositionScript returns what scrolls and its position in percent. A page can
// change the result.
const scrollPositionScript = `function() {` + scrollableScript + `
	const most = found ? found.scrollHeight - found.clientHeight : 0;
	if (most <= 1) return 'none 0';
	const at = found.scrollTop < 1 ? 0 : found.scrollTop > most - 2 ? 100 :
		Math.min(99, Math.max(1, Math.round(100 * found.scrollTop / most)));
	return (found === document.scrollingElement ? 'page ' : 'part ') + at;
}`

// scroll scrolls to an element, or scrolls the page or the area around an element.
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

// scrollTarget returns the element of a request; the root element by default.
func (s *session) scrollTarget(ctx context.Context, t *tab, req Request) (element, error) {
	if req.Ref == "" {
		return s.element(ctx, t, "html")
	}
	return s.element(ctx, t, req.Ref)
}

// moveWheel sends a wheel event at an element, or in the middle of the page.
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

// scrollPosition describes the scroll position after a scroll action, or returns "" if
// it is unknown. The model needs it, since a snapshot also contains what is not visible
// and does not change.
func (s *session) scrollPosition(ctx context.Context, t *tab, req Request) string {
	el, err := s.scrollTarget(ctx, t, req)
	if err != nil {
		return ""
	}
	position, _, err := el.call(ctx, scrollPositionScript)
	if err != nil {
		return ""
	}
	of, percent, _ := strings.Cut(position, " ")
	name, known := map[string]string{"page": "the page", "part": "the scrollable area"}[of]
	at, err := strconv.ParseUint(percent, 10, 7)
	switch {
	case of == "none":
		return "nothing is scrollable"
	case !known || err != nil || at > 100:
		return ""
	case at == 0:
		return name + " is at the top"
	case at == 100:
		return name + " is at the bottom"
	}
	return fmt.Sprintf("%s is at %d %%", name, at)
}
