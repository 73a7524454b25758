package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/policy"
)

// rest ends the input and returns everything that the server still says.
func (w *wire) rest() []string {
	w.tb.Helper()
	w.in.Close()
	var lines []string
	for line := range w.lines {
		lines = append(lines, line)
	}
	if err := expect(w.tb, w.ended, "the end of the conversation"); err != nil {
		w.tb.Errorf("it ended with %v", err)
	}
	return lines
}

// roomy makes room for more calls than a client may usually have waiting.
func roomy(c *Config) { c.Settings.Limits.Queued = 500 }

// byID sorts answers by their id and complains about ids that come twice.
func byID(tb testing.TB, lines []string) map[string]reply {
	tb.Helper()
	found := make(map[string]reply, len(lines))
	for _, line := range lines {
		r := read(tb, line)
		if r.Method != "" {
			continue
		}
		if _, twice := found[string(r.ID)]; twice {
			tb.Errorf("%s was answered twice", r.ID)
		}
		found[string(r.ID)] = r
	}
	return found
}

func TestTwoHundredCallersOverStdio(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t, roomy))
	for i := range 200 {
		w.send(callLine(strconv.Itoa(i), "echo", fmt.Sprintf(`{"n":%d}`, i)))
	}
	got := byID(t, w.rest())
	if len(got) != 200 {
		t.Errorf("%d answers to 200 calls", len(got))
	}
	for id, r := range got {
		if r.text() != id {
			t.Errorf("call %s got %+v", id, r)
		}
	}
}

func TestTooManyCallersAreToldSo(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b)
	const calls = 300 // 10 run, 100 wait
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	busy := 0
	for range calls - 110 {
		if r := read(t, w.next()); r.Error != nil || r.Result.IsError {
			busy++
		}
	}
	w.send(ping(`"alive"`))
	if r := read(t, w.next()); string(r.ID) != `"alive"` || r.Error != nil {
		t.Errorf("the ping got %+v", r)
	}
	close(b.release)
	done := 0
	for _, r := range byID(t, w.rest()) {
		if strings.HasPrefix(r.text(), "done ") {
			done++
		}
	}
	if busy != calls-110 || done != 110 {
		t.Errorf("%d were refused as busy, %d were done", busy, done)
	}
}

func TestCancelStorm(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t, roomy)
	w := dial(t, b)
	const calls = 200
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
		if i%2 == 1 { // at once, or when others have come in between
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
				i-2*rand.IntN(min(i/2+1, 20))))
		}
	}
	for i := 1; i < calls; i += 2 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	w.send(ping(`"all cancelled"`))
	if r := read(t, w.next()); string(r.ID) != `"all cancelled"` {
		t.Errorf("got %+v", r)
	}
	close(b.release)
	got := byID(t, w.rest())
	for i := range calls {
		r, answered := got[strconv.Itoa(i)]
		if answered != (i%2 == 0) || answered && r.text() != fmt.Sprintf("done %d", i) {
			t.Errorf("call %d: answered %v, %+v", i, answered, r)
		}
	}
}

// TestACancellationRightBehindItsCall sends both in one piece. A cancellation
// that finds no call yet would be lost, and the call would go on.
func TestACancellationRightBehindItsCall(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t, roomy))
	for i := range 300 {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)) + "\n" +
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	if got := w.rest(); len(got) > 0 {
		t.Errorf("%d of 300 calls went on", len(got))
	}
}

func TestCallCancelledInTheQueueDoesNotRun(t *testing.T) {
	b := newTestServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := b.Call(ctx, Request{Access: testAccess(), Tool: "change", Args: []byte(`{}`)})
	if entries := b.audit.all(); !a.Result.Failed || len(entries) != 1 || entries[0].Phase == audit.Intent ||
		entries[0].Outcome != "cancelled" {
		t.Errorf("got %q, the journal says %+v", a.Result.Text(), entries)
	}
}

// TestReloadStorm changes the rules as fast as it can while calls run. Every
// call is answered once, by the old rules or the new, and clients are notified.
func TestReloadStorm(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t, roomy)
	w := dial(t, b)
	w.send(handshake("2025-11-25", "{}")...)
	w.next()
	with, without := testSettings(t, b.Config.Tools, policy.Rules{}),
		testSettings(t, b.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})
	with.Limits.Queued, without.Limits.Queued = 500, 500
	ctx, stop := context.WithCancel(t.Context())
	var storm sync.WaitGroup
	storm.Go(func() {
		for ctx.Err() == nil {
			for _, next := range []Settings{without, with} {
				if err := b.Apply(next); err != nil {
					t.Error(err)
				}
			}
		}
	})
	const calls = 1000
	counts := map[string]int{}
	for i := range calls {
		w.send(callLine(strconv.Itoa(i), "echo", fmt.Sprintf(`{"n":%d}`, i)))
		for answered := false; !answered; { // ten at a time would do; one shows which is lost
			r := read(t, w.next())
			switch {
			case r.Method != "":
				counts[r.Method]++
				continue
			case r.text() == strconv.Itoa(i):
				counts["done"]++
			case r.Error != nil && strings.Contains(r.Error.Message, "no tool"):
				counts["refused"]++
			default:
				t.Errorf("call %d got %+v", i, r)
			}
			answered = string(r.ID) == strconv.Itoa(i)
		}
	}
	stop()
	storm.Wait()
	if counts["done"] == 0 || counts["refused"] == 0 || counts[mcp.MethodNotificationToolsListChanged] == 0 ||
		counts["done"]+counts["refused"] != calls {
		t.Errorf("counted %v", counts)
	}
	for _, line := range w.rest() {
		if r := read(t, line); r.Method != mcp.MethodNotificationToolsListChanged {
			t.Errorf("too much: %s", line)
		}
	}
}

// TestAClientThatNeverReads fills the pipe. What the server holds for it stays
// bounded, other clients do not notice, and shutting down still works.
func TestAClientThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestServer(t)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Stdio{Server: b.Server, Access: testAccess(), MaxMessage: 1 << 20,
				Grace: 5 * time.Second}.Serve(ctx, inR, outW)
		}()
		const most = 3000
		sent := make(chan int, 1)
		go func() {
			n := 0
			for ; n < most; n++ {
				if _, err := io.WriteString(inW, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n)+
					"\n"); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Errorf("it took all %d requests of a client that reads no answers", most)
		default:
		}
		if a := callTool(t, b, "echo", `{"text":"others"}`,
			func(r *Request) { r.Caller.Session = "other" }); a.Result.Text() != "others0" {
			t.Errorf("another client got %+v", a)
		}
		begun := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(begun); took > 5*time.Second+lastGrace {
			t.Errorf("shutting down took %s", took)
		}
		t.Logf("it took %d requests", <-sent)
		outR.Close()
	})
}

func TestAStdioClientThatDisappears(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b, func(s *Stdio) { s.Grace = 10 * time.Millisecond })
	w.send(callLine("1", "slow", `{"text":"x"}`))
	expect(t, b.started, "the start of the call")
	w.in.Close()
	if got := expect(t, b.stopped, "the end of the call"); got != "x" {
		t.Errorf("%q was stopped", got)
	}
	w.rest()
}

func TestCallsInFlightFinishAfterTheEnd(t *testing.T) {
	noLeaks(t)
	b := newTestServer(t)
	w := dial(t, b)
	for i := range 20 {
		w.send(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	expect(t, b.started, "the start of a call")
	w.in.Close()
	close(b.release)
	var want []string
	got := map[string]bool{}
	for i := range 20 {
		want = append(want, fmt.Sprintf("done %d", i))
	}
	for _, r := range byID(t, w.rest()) {
		got[r.text()] = true
	}
	for _, text := range want {
		if !got[text] {
			t.Errorf("no %q: %s", text, cmp.Diff(len(want), len(got)))
		}
	}
}
