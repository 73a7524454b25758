package exec

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

func TestTheEndOfABackgroundCommandIsReported(t *testing.T) {
	for _, c := range []struct {
		name   string
		action string // of process, while it runs
		ended  sandbox.Status
		want   string
	}{
		{"no one looks", "", sandbox.Status{State: sandbox.Exited, Code: 3},
			"process p_1 ended with status 3 after 2.0 s: make"},
		{"a call waits for it", `{"action":"wait","id":"p_1"}`, sandbox.Status{State: sandbox.Exited}, ""},
		{"a call has seen it running", `{"action":"poll","id":"p_1"}`, sandbox.Status{State: sandbox.TimedOut},
			"process p_1 was stopped when its time was up after 2.0 s: make"},
		{"a wait was too short", `{"action":"wait","id":"p_1","timeout_seconds":30}`,
			sandbox.Status{State: sandbox.LimitExceeded, Why: "memory"},
			"process p_1 was killed because it used too much: memory after 2.0 s: make"},
		{"its caller has killed it", "", sandbox.Status{State: sandbox.Killed}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				next := &actor{status: sandbox.Status{ID: "p_1", State: sandbox.Running}}
				next.act = func(ctx context.Context, _ *actor, u sandbox.WaitCondition) bool {
					select {
					case <-end:
					case <-ctx.Done():
						return true
					}
					return false
				}
				got, finished := "", ""
				tools := Tools(Options{Commands: &stage{site: isolated(), next: next},
					Finished: func(_ context.Context, st sandbox.Status) { finished = Ending(st) },
					Ended: func(_ context.Context, st sandbox.Status) {
						got = EndOf(st)
					}})
				run := func(name, args string) {
					t.Helper()
					plan, err := bind(t, tools, name, args).Prepare(within(t, nil))
					if err == nil {
						_, err = plan.Run(within(t, nil))
					}
					if err != nil {
						t.Error(err)
					}
				}
				run("exec", `{"command":"make","background":true}`)
				if c.action != "" {
					go run("process", c.action)
				}
				time.Sleep(time.Minute)
				if c.name == "a call waits for it" { // it waits for 30 seconds only
					go run("process", c.action)
					synctest.Wait()
				}
				next.set(func(st *sandbox.Status) {
					st.State, st.Code, st.Why, st.Took = c.ended.State, c.ended.Code, c.ended.Why, 2*time.Second
				})
				close(end)
				synctest.Wait()
				if got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if want := Ending(c.ended); finished != want {
					t.Errorf("finished %q, want %q", finished, want)
				}
			})
		})
	}
}
