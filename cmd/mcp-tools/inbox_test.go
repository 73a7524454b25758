//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// stdioOn starts a server on stdio with a data directory and a store.
func stdioOn(t *testing.T, data, dsn string) *pipe {
	t.Helper()
	cmd := apart(ourselves(t), "--data", data, "--autonomy", "full", "--workspace", t.TempDir(), "--store", dsn)
	p, err := dialPipe(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// text joins all texts of a result.
func (a answered) text() string {
	var texts []string
	for _, c := range a.Result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

func mustAsk(t *testing.T, p *pipe, name string, args map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	a, err := p.ask(ctx, name, args)
	if err != nil || a.Error != nil || a.Result.IsError {
		t.Fatalf("%s: %+v, %v", name, a, err)
	}
	return a.text()
}

// eachStore runs a test with the data directory and the store of several processes.
func eachStore(t *testing.T, f func(t *testing.T, data, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { data := t.TempDir(); f(t, data, data) })
	t.Run("postgres", func(t *testing.T) { f(t, t.TempDir(), storetest.Database(t)) })
}

// TestTwoClientsTalk has two servers, each with a client on stdio, share a store: one
// asks, the other one sees it at the end of a result, and answers.
func TestTwoClientsTalk(t *testing.T) {
	eachStore(t, func(t *testing.T, data, dsn string) {
		one, two := stdioOn(t, data, dsn), stdioOn(t, data, dsn)
		mustAsk(t, two, "session_status", map[string]any{"label": "tester"})
		answer := make(chan string, 1)
		go func() {
			answer <- mustAsk(t, one, "sessions_send",
				map[string]any{"label": "tester", "message": "Are the tests green?", "timeout": 120})
		}()
		told := regexp.MustCompile(`message (\w+) from (agent:main:stdio:\S+), an agent and not the user: "Are the tests green\?"`)
		var from string
		for began := time.Now(); from == ""; { // the end of any result has it
			if found := told.FindStringSubmatch(mustAsk(t, two, "datetime", nil)); found != nil {
				from = found[2]
			}
			time.Sleep(50 * time.Millisecond) // or the client calls too often
			if time.Since(began) > hang {
				t.Fatal("the message has not arrived")
			}
		}
		mustAsk(t, two, "sessions_send", map[string]any{"session_key": from, "message": "All of them."})
		if got := <-answer; !strings.Contains(got, "an agent and not the user:\n> All of them.") {
			t.Errorf("the answer is %q", got)
		}
		list := mustAsk(t, one, "sessions_list", nil)
		if !strings.HasPrefix(list, "2 sessions:") || !strings.Contains(list, from+" (you)") ||
			!strings.Contains(list, `"tester"`) {
			t.Errorf("the list is %q", list)
		}
		history := mustAsk(t, one, "sessions_history", map[string]any{"session_key": "tester"})
		if !strings.Contains(history, "> Are the tests green?") || !strings.Contains(history, "> All of them.") {
			t.Errorf("the history is %q", history)
		}
	})
}

// told matches an event in a result, and whether it may be a repetition.
var told = regexp.MustCompile(`(?m)^(?:- )?task (e\d+)( \(perhaps not for the first time\))?$`)

// TestEventsSurviveKills has servers that are killed at any moment tell 10,000 events to
// their clients. None is lost. An event comes twice only if its process died between
// writing the response and noting that, and then it says so.
func TestEventsSurviveKills(t *testing.T) {
	const events = 10_000
	eachStore(t, func(t *testing.T, data, dsn string) {
		s := storetest.Open(t, dsn)
		to := inbox.To{Owner: tool.Owner{User: "ann"}}
		for from := 0; from < events; from += 500 {
			if err := s.Update(t.Context(), func(t *store.Tx) error {
				for n := from; n < from+500; n++ {
					if _, err := inbox.Add(t, to, inbox.Event{Kind: inbox.Task,
						Subject: fmt.Sprint("e", n)}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		heard, twice, kills := map[string]bool{}, 0, 0
		read := func(text string) {
			for _, found := range told.FindAllStringSubmatch(text, -1) {
				if heard[found[1]] {
					twice++
					if found[2] == "" {
						t.Errorf("%s was delivered twice, as if it were new", found[1])
					}
				}
				heard[found[1]] = true
			}
		}
		for len(heard) < events {
			p := stdioOn(t, data, dsn)
			after := 1 + rand.IntN(40)
			for call := 0; len(heard) < events; call++ {
				if call == after && kills < 40 {
					// In the middle of a call, or after the response is written.
					time.AfterFunc(rand.N(3*time.Millisecond), func() { _ = p.cmd.Process.Kill() })
					kills++
				}
				ctx, cancel := context.WithTimeout(t.Context(), hang)
				a, err := p.ask(ctx, "wait", map[string]any{"timeout": 120})
				cancel()
				if err != nil {
					break
				}
				read(a.text())
			}
			p.kill()
		}
		t.Logf("%d kills, %d events came again", kills, twice)
		// A call delivers twenty events in its result and twenty at its end. A kill repeats those of the last call,
		// and of the one before if that was not confirmed yet.
		if twice > kills*2*40 {
			t.Errorf("%d events came twice after %d kills", twice, kills)
		}
	})
}
