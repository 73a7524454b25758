package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// revocable identifies one operator until the token is revoked.
type revocable struct {
	Identities
	revoked atomic.Bool
}

func (r *revocable) Identify(context.Context, string, string) (Identity, error) {
	if r.revoked.Load() {
		return Identity{}, &Challenge{Status: http.StatusUnauthorized}
	}
	return Identity{ID: "t9", Approves: true}, nil
}

// TestStreamsOfOperatorsEnd: a stream outlives neither its token, nor the begin of the shutdown.
func TestStreamsOfOperatorsEnd(t *testing.T) {
	for _, why := range []string{"revoked", "shutdown"} {
		synctest.Test(t, func(t *testing.T) {
			ids := &revocable{Identities: guests()}
			causes := make(chan error, 1)
			s, _, shut := stillSite(t, func(h *HTTP) {
				h.Identities, h.Grace = ids, time.Hour
				h.Verbs = &OperatorVerbs{Call: func(w http.ResponseWriter, r *http.Request, _ Identity) {
					ctx, release := h.Hold(r)
					defer release()
					<-ctx.Done()
					causes <- context.Cause(ctx)
					w.WriteHeader(http.StatusOK)
				}, List: func(http.ResponseWriter, *http.Request, Identity) {}}
			})
			v := s.visitor("console")
			v.path = "/operator/audit/tail"
			answered := make(chan answer, 1)
			go func() { answered <- v.do(t.Context(), http.MethodPost, "{}") }()
			synctest.Wait()
			begun, want := time.Now(), tool.Unavailable
			if why == "revoked" {
				want = tool.Refused
				ids.revoked.Store(true)
				<-answered
			}
			shut()
			var known *tool.Error
			if err := <-causes; !errors.As(err, &known) || known.Kind != want {
				t.Errorf("%s: it ended with %v", why, err)
			}
			if took := time.Since(begun); took > 2*holdCheck {
				t.Errorf("%s: it took %s of the time of the bubble", why, took)
			}
		})
	}
}
