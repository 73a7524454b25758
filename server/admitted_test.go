package server

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fickle accepts every token until it is switched to refuse all.
type fickle struct {
	guestList
	changed *atomic.Bool
}

func (f fickle) Identify(ctx context.Context, token, profile string) (Identity, error) {
	if f.changed.Load() {
		return Identity{}, f.Challenge(profile)
	}
	return f.guestList.Identify(ctx, token, profile)
}

// TestStreamsEndWithTheirToken checks that every kind of open stream ends when its token is revoked.
func TestStreamsEndWithTheirToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changed atomic.Bool
		s, _, shut := stillSite(t, func(h *HTTP) { h.Identities = fickle{guests(), &changed} })
		listen := modernLine("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
		old := s.visitor("alice")
		old.path = "/sse"
		streams := map[string]*events{
			"GET":    s.visitor("alice").hello(t, "2025-11-25").listen(t, ""),
			"listen": s.visitor("alice").modern("subscriptions/listen", "").listen(t, listen),
			"SSE":    old.listen(t, ""),
		}
		<-time.After(10 * keepAlive)
		changed.Store(true)
		<-time.After(2 * keepAlive)
		synctest.Wait()
		for name, e := range streams {
			ended := false
			for !ended {
				select {
				case _, open := <-e.data:
					ended = !open
				default:
					t.Errorf("the %s stream stays open without a valid token", name)
					ended = true
				}
			}
			e.close()
		}
		shut()
	})
}
