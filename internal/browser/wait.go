package browser

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	defaultWait  = 10 * time.Second
	maxWait      = 60 * time.Second
	pollInterval = 250 * time.Millisecond
)

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
	if most == 0 {
		most = defaultWait
	}
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
