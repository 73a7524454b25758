package browser

import (
	"context"
	"math"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxPictureBytes  = 1 << 20  // bytes
	maxPictureHeight = 6 * 2048 // pixels
	maxPictureWidth  = 4 * 1024
	maxGlance        = 200 << 10 // bytes
	glanceTime       = 2 * time.Second
)

// screenshot returns a view with an image.
func (s *session) screenshot(ctx context.Context, t *tab, req Request) (View, error) {
	clip, err := s.clip(ctx, t, req)
	if err != nil {
		return View{}, err
	}
	v := s.view(ctx, t)
	if clip != nil && (clip.Height > maxPictureHeight || clip.Width > maxPictureWidth) {
		clip.Height, clip.Width = min(clip.Height, maxPictureHeight), min(clip.Width, maxPictureWidth)
		v.Notes = append(v.Notes, "only the beginning is shown: the page is too large for one screenshot")
	}
	v.Picture, v.MIME, err = t.picture(ctx, clip)
	return v, err
}

// shows reports whether the result of an action is a snapshot of the page.
func (a Action) shows() bool {
	switch a {
	case Screenshot, Evaluate, Tabs, Close, Title, Address, FindAction, Console, Frames, PDF, IsVisible, Network:
		return false
	}
	return true
}

// glance returns a small picture of the visible part of a tab for a person, or nil if there is none soon.
func (s *session) glance(ctx context.Context, name string) []byte {
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	t, err := s.tabOf(Request{Tab: name})
	if err != nil || s.checkUsable(t, Screenshot) != nil {
		return nil
	}
	metrics, err := call(ctx, t.main.endpoint, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil || metrics.CSSVisualViewport == nil {
		return nil
	}
	v := metrics.CSSVisualViewport
	taken, err := call(ctx, t.main.endpoint, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatJpeg, Quality: new(int64(55)),
		Clip: &page.Viewport{X: v.PageX, Y: v.PageY, Width: v.ClientWidth, Height: v.ClientHeight, Scale: 0.6},
	})
	if err != nil || len(taken.Data) > maxGlance {
		return nil // the outline is there
	}
	return taken.Data
}

// clip returns the area of a screenshot; nil for the visible part of the page.
func (s *session) clip(ctx context.Context, t *tab, req Request) (*page.Viewport, error) {
	metrics, err := call(ctx, t.main.endpoint, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	if req.Ref == "" && (!req.FullPage || metrics.CSSContentSize == nil) {
		return nil, nil
	}
	if req.Ref == "" {
		size := metrics.CSSContentSize
		return &page.Viewport{Width: math.Ceil(size.Width), Height: math.Ceil(size.Height), Scale: 1}, nil
	}
	el, err := s.element(ctx, t, req.Ref)
	if err != nil {
		return nil, err
	}
	_ = el.scrollIntoView(ctx) // if it fails, it has no box
	box, err := call(ctx, el.target.endpoint, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: el.node})
	if err != nil || box.Model == nil || len(box.Model.Border) != 8 || box.Model.Width < 1 || box.Model.Height < 1 {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, notVisible(err)
	}
	dx, dy, err := s.origin(ctx, el.target)
	if err != nil {
		return nil, err
	}
	// The page may have been scrolled by the call above.
	if metrics, err = call(ctx, t.main.endpoint, page.GetLayoutMetrics, cdp.Empty{}); err == nil &&
		metrics.CSSVisualViewport != nil {
		dx, dy = dx+metrics.CSSVisualViewport.PageX, dy+metrics.CSSVisualViewport.PageY
	}
	q := box.Model.Border
	left, top := min(q[0], q[2], q[4], q[6]), min(q[1], q[3], q[5], q[7])
	return &page.Viewport{
		X: max(left+dx, 0), Y: max(top+dy, 0), Width: max(q[0], q[2], q[4], q[6]) - left,
		Height: max(q[1], q[3], q[5], q[7]) - top, Scale: 1,
	}, err
}

// picture takes a screenshot of at most maxPictureBytes: a PNG if it is small enough,
// else a JPEG, smaller if necessary.
func (t *tab) picture(ctx context.Context, clip *page.Viewport) ([]byte, string, error) {
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, Clip: clip,
		CaptureBeyondViewport: new(clip != nil)}
	for _, scale := range []float64{1, 0.6, 0.3} {
		taken, err := call(ctx, t.main.endpoint, page.CaptureScreenshot, params)
		if err != nil {
			return nil, "", err
		}
		if len(taken.Data) > 0 && len(taken.Data) <= maxPictureBytes {
			return taken.Data, "image/" + string(params.Format), nil
		}
		smaller := page.Viewport{Width: windowWidth, Height: windowHeight}
		if clip != nil {
			smaller = *clip
		}
		smaller.Scale = scale
		params.Format, params.Quality, params.Clip = page.CaptureScreenshotFormatJpeg, new(int64(60)), &smaller
	}
	return nil, "",
		tool.Errorf(tool.TooLarge, "the screenshot is too large").Try("take one of the visible part, or of one element")
}
