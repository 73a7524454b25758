package pauses_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func newWatch(t *testing.T, s *store.Store) (w *pauses.Watch, ended chan string) {
	t.Helper()
	ended = make(chan string, 10)
	w = pauses.NewWatch(s, slog.New(slog.DiscardHandler), func(covered func(agent, session string) bool, why string) {
		for _, who := range [][2]string{{"builder", "s1"}, {"builder", "s2"}, {"tester", "s3"}} {
			if covered(who[0], who[1]) {
				why += " " + who[1]
			}
		}
		ended <- why
	})
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, ended
}

func TestWatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, ended := newWatch(t, s)
		enter := func(session string, agents ...string) context.Context {
			t.Helper()
			ctx, end := context.WithCancelCause(t.Context())
			leave, err := w.Enter(ctx, end, session, agents...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(leave)
			return ctx
		}
		first, second, third := enter("s1", "builder"), enter("s2", "builder"), enter("s3", "tester")
		child := enter("s4", "tester", "builder") // which works for builder
		add := func(p pauses.Pause, want string) {
			t.Helper()
			if err := pauses.Add(t.Context(), s, p); err != nil {
				t.Fatal(err)
			}
			if got := <-ended; got != want {
				t.Errorf("ended: %q, want %q", got, want)
			}
		}
		open := func(want ...bool) {
			t.Helper()
			for i, ctx := range []context.Context{first, second, third, child} {
				if got := ctx.Err() == nil; got != want[i] {
					t.Errorf("call %d runs: %v", i+1, got)
				}
			}
		}
		add(pauses.Pause{Session: "s2", Reason: "loops", By: "ann"}, "paused: loops s2")
		open(true, false, true, true)
		if known := (*tool.Error)(nil); !errors.As(context.Cause(second), &known) || known.Kind != tool.Refused ||
			!strings.Contains(known.What, "the calls of this session: loops") {
			t.Errorf("the reason is %v", context.Cause(second))
		}
		add(pauses.Pause{Agent: "builder", Reason: "wrong"}, "paused: wrong s1 s2")
		open(false, false, true, false)
		if _, err := w.Enter(t.Context(), nil, "new", "tester", "builder"); err == nil {
			t.Error("a caller that works for a paused agent was let in")
		}
		enter("new", "tester")
		if n, err := pauses.Remove(t.Context(), s, "builder", "s2", false); err != nil || n != 0 {
			t.Errorf("removed %d, %v", n, err)
		}
		add(pauses.Pause{Reason: "stop"}, "paused: stop s1 s2 s3")
		open(false, false, false, false)
		if list, err := pauses.List(t.Context(), s); err != nil || len(list) != 3 || list[0].Reason == "" {
			t.Errorf("%v, %v", list, err)
		}
		if n, err := pauses.Remove(t.Context(), s, "", "", true); err != nil || n != 3 {
			t.Errorf("removed %d, %v", n, err)
		}
		for { // what the Watch has read has no signal
			if _, err := w.Enter(t.Context(), nil, "s1", "builder"); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

func TestNewWatchReadsFirst(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := pauses.Add(t.Context(), s, pauses.Pause{Reason: "stop"}); err != nil {
			t.Fatal(err)
		}
		w, _ := newWatch(t, s)
		if _, err := w.Enter(t.Context(), nil, "s1", "builder"); err == nil {
			t.Error("the first call was let in")
		}
	})
}

func TestPausedJobs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun := make(chan string)
		q := &jobs.Queue{Store: s, Kind: "k", Slots: 2, Do: func(ctx context.Context, h *jobs.Held) (string, error) {
			begun <- h.Owner
			<-ctx.Done()
			return "", context.Cause(ctx)
		}}
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan bool)
		go func() { q.Run(ctx); close(stopped) }()
		defer func() { stop(); <-stopped }()
		enqueue := func(owner string) (id string) {
			t.Helper()
			if err := s.Update(t.Context(), func(tx *store.Tx) (err error) {
				id, _, err = q.Enqueue(tx, jobs.New{Owner: owner, Agent: "builder"})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return id
		}
		runs := enqueue("s1")
		<-begun
		if err := pauses.Add(t.Context(), s, pauses.Pause{Session: "s1", Reason: "loops"}); err != nil {
			t.Fatal(err)
		}
		var j jobs.Job
		for !j.State.Final() {
			changed := s.Wait(jobs.Topic)
			if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
				j,
					err = q.Get(tx, runs)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if !j.State.Final() {
				<-changed
			}
		}
		if j.State != jobs.Cancelled || j.Reason != "loops" {
			t.Errorf("%+v", j)
		}
		enqueue("s1")
		enqueue("s2")
		if owner := <-begun; owner != "s2" {
			t.Errorf("a job of %s began", owner)
		}
		if _, err := pauses.Remove(t.Context(), s, "", "", true); err != nil {
			t.Fatal(err)
		}
		if owner := <-begun; owner != "s1" {
			t.Errorf("a job of %s began", owner)
		}
	})
}
