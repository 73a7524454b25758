package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errAnsweredElsewhere ends a question to the client that was answered elsewhere.
var errAnsweredElsewhere = errors.New("it was answered elsewhere")

// noticeEvery is how often a client that waits for an approval is notified.
const noticeEvery = 10 * time.Second

// collect gets the answers for a call from the client or from elsewhere. It ends
// with the first answer to a question that was stored.
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

// race asks the client until the question was answered elsewhere.
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

// await waits for an answer from elsewhere, and sends progress to the client.
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
		x.session.server.log.Info("a question was not answered", "id", id, "err", err)
	}
	close(done)
	notices.Wait()
}
