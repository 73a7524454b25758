package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errAnsweredElsewhere ends a question to the client that somebody else has
// answered.
var errAnsweredElsewhere = errors.New("it was answered elsewhere")

// noticeEvery is how often one who waits for a person is told so.
const noticeEvery = 10 * time.Second

// collect gets the answers for a call from wherever they can come. It ends with
// the first answer to a question that lies on the desk too.
func (x *exchange) collect(ctx context.Context, ask *Ask) map[string]json.RawMessage {
	if ask.Waiting == "" {
		return x.put(ctx, ask.Questions)
	}
	s := x.session.server
	ctx, cancel := context.WithTimeout(ctx, s.settings().ApprovalTimeout)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	var answers map[string]json.RawMessage
	if ask.forClient() {
		answers = x.race(ctx, ask)
	}
	if answers[approvalKey] == nil && (!ask.forClient() || s.mayWait(ctx, s.settings())) {
		x.await(ctx, ask.Waiting)
	}
	if ctx.Err() != nil && answers[approvalKey] == nil {
		// An IsResponse that comes now comes too late. A question that cannot be withdrawn expires.
		_ = s.Approvals.Withdraw(context.WithoutCancel(ctx), ask.Waiting)
	}
	return answers
}

// race asks the client until somebody else has answered.
func (x *exchange) race(ctx context.Context, ask *Ask) map[string]json.RawMessage {
	asking, answered := context.WithCancelCause(ctx)
	defer answered(nil)
	watching, done := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if x.session.server.Approvals.Await(watching, ask.Waiting) == nil {
			answered(errAnsweredElsewhere)
		}
	})
	defer watcher.Wait()
	defer done()
	return x.put(asking, ask.Questions)
}

// await waits for the desk, and says so to a client that listens.
func (x *exchange) await(ctx context.Context, id string) {
	var notices sync.WaitGroup
	done := make(chan struct{})
	notices.Go(func() {
		tick := time.NewTicker(noticeEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			// In thousandths, so that what the tool reports later is always more.
			x.Progress(float64(n)/1000, 0, fmt.Sprintf(
				"not started: waiting for a person's approval %s; on the server's machine: mcp-tools approvals allow %s", id, id))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	if err := x.session.server.Approvals.Await(ctx, id); err != nil {
		x.session.server.log.Info("nobody answered a question on the desk", "id", id, "err", err)
	}
	close(done)
	notices.Wait()
}
