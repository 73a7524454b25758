package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func ada(session string) tool.Caller {
	return tool.Caller{Agent: "coder", User: "ada", Channel: "stdio", Session: "stdio-" + session}
}

func send(t *testing.T, b *inbox.Inbox, to inbox.To, e inbox.Event) string {
	t.Helper()
	id, err := b.Send(t.Context(), to, e)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func take(t *testing.T, b *inbox.Inbox, c tool.Caller, call string, f ...string) string {
	t.Helper()
	events, err := b.Take(t.Context(), c, call, f)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestAnEventIsToldOnceToItsReceiver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		one, two := ada("1"), ada("2")
		want(t, "an empty inbox", take(t, b, one, "c0"), "")
		first := send(t, b, inbox.ToCaller(one), inbox.Event{ID: "job 1 ended", Kind: inbox.Subagent, Text: "a"})
		again := send(t, b, inbox.ToCaller(one), inbox.Event{ID: "job 1 ended", Kind: inbox.Subagent, Text: "a"})
		if first != again {
			t.Errorf("one event has the ids %s and %s", first, again)
		}
		send(t, b, inbox.ToCaller(one), inbox.Event{Kind: inbox.Task, Subject: "t1", Text: "b"})
		bob := one
		bob.User = "bob"
		want(t, "another session", take(t, b, two, "c1"), "")
		want(t, "another user with the same session", take(t, b, bob, "c1"), "")
		want(t, "with a filter", take(t, b, one, "c1", "t1"), "b")
		want(t, "the rest", take(t, b, one, "c2"), "a")
		want(t, "what other calls have", take(t, b, one, "c3"), "")
		b.Sent(t.Context(), one, "c1", true)
		b.Sent(t.Context(), one, "c2", false)
		want(t, "what was not written", take(t, b, one, "c4"), "a")
		b.Sent(t.Context(), one, "c4", true)
		want(t, "what was written", take(t, b, one, "c5"), "")
		events, err := b.List(t.Context(), one, 10)
		if err != nil || len(events) != 2 || !events[0].Delivered || !events[1].Delivered {
			t.Errorf("the list is %+v, %v", events, err)
		}
	})
}

func TestAnEventWithoutASessionGoesToTheNextOneOfTheOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		owner := tool.Owner{Agent: "coder", User: "ada"}
		send(t, b, inbox.To{Owner: owner}, inbox.Event{Kind: inbox.Command, Text: "ended"})
		other := tool.Caller{Agent: "writer", User: "ada", Session: "s"}
		want(t, "another agent", take(t, b, other, "c1"), "")
		want(t, "a caller without a session", take(t, b, tool.Caller{Agent: "coder", User: "ada"}, "c2"), "")
		want(t, "the next session", take(t, b, ada("9"), "c3"), "ended")
		b.Sent(t.Context(), ada("9"), "c3", true)
		want(t, "the one after it", take(t, b, ada("10"), "c4"), "")
	})
}

// TestSubagentsGetOnlyTheirOwn has subagents of the session that an event is for, of its agent, and of another agent.
func TestSubagentsGetOnlyTheirOwn(t *testing.T) {
	parent, elsewhere := ada("1"), tool.Caller{Agent: "lead", User: "ada", Channel: "stdio", Session: "stdio-1"}
	child := func(of tool.Caller, name string) tool.Caller {
		return tool.Caller{Agent: "coder", User: "ada", Channel: "subagent", Session: name, Depth: of.Depth + 1,
			Parent: of.Key()}
	}
	own, delegated := child(parent, "own"), child(elsewhere, "delegated")
	inner, orphan := child(delegated, "inner"), child(tool.Caller{}, "orphan")
	owner := tool.Owner{Agent: "coder", User: "ada"}
	all := []tool.Caller{own, inner, orphan, delegated, parent}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, test := range map[string]struct {
			to    inbox.To
			moved bool // to the owner, before it is taken
			by    []string
		}{
			"the parent":         {inbox.ToCaller(parent), false, []string{parent.Session}},
			"a parent that died": {inbox.ToCaller(ada("dead")), true, []string{parent.Session}},
			"the next session":   {inbox.To{Owner: owner}, false, []string{parent.Session}},
			"a subagent":         {inbox.ToCaller(own), false, []string{own.Session}},
			"the agent, in any session": {inbox.To{Owner: tool.Owner{Agent: "coder", User: inbox.AnyUser},
				Session: inbox.AnySession}, false, []string{delegated.Session, parent.Session}},
		} {
			for _, c := range all {
				b := inbox.New(inbox.Options{Store: s})
				id := send(t, b, test.to, inbox.Event{Kind: inbox.Subagent, Text: name})
				if test.moved {
					if err := s.Update(t.Context(), func(t *store.Tx) error {
						return inbox.Move(t, test.to, inbox.To{Owner: owner})
					}); err != nil {
						t.Fatal(err)
					}
				}
				gets := ""
				if slices.Contains(test.by, c.Session) {
					gets = name
				}
				want(t, c.Session+" takes what is for "+name, take(t, b, c, id, id), gets)
				list, err := b.List(t.Context(), c, 1000)
				if listed := slices.ContainsFunc(list, func(e inbox.Event) bool { return e.ID == id }); err != nil ||
					listed != (gets != "") {
					t.Errorf("%s lists what is for %s: %v, %v", c.Session, name, listed, err)
				}
				if err := s.Update(t.Context(), func(t *store.Tx) error { // for the next one
					_, err := t.Exec("DELETE FROM inbox")
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestAnHeirThatHasEndedInheritsNothing moves events to a session that ended before.
func TestAnHeirThatHasEndedInheritsNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		from, heir := inbox.ToCaller(ada("1")), inbox.ToCaller(ada("2"))
		send(t, b, from, inbox.Event{Kind: inbox.Command, Text: "ended"})
		if err := s.Update(t.Context(), func(t *store.Tx) error {
			err := t.Insert("session (agent, usr, key, session, channel, client, created, updated, ended)",
				[][]any{{heir.Agent, heir.User, heir.Session, "2", "stdio", "", 1, 1, 2}})
			return errors.Join(err, inbox.Move(t, from, heir))
		}); err != nil {
			t.Fatal(err)
		}
		want(t, "the next session", take(t, b, ada("3"), "c1"), "ended")
	})
}

func TestWhatASessionWasNotToldOfCanBeMoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		from := inbox.ToCaller(ada("1"))
		send(t, b, from, inbox.Event{Kind: inbox.Command, Text: "ended"})
		want(t, "before", take(t, b, ada("2"), "c1"), "")
		if err := s.Update(t.Context(), func(t *store.Tx) error {
			return inbox.Move(t, from,
				inbox.To{Owner: from.Owner})
		}); err != nil {
			t.Fatal(err)
		}
		want(t, "after", take(t, b, ada("2"), "c2"), "ended")
	})
}

// A process that was killed confirms nothing: another one delivers the event again,
// after the lease, and says so.
func TestAnEventThatWasNotConfirmedIsToldAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		killed := inbox.New(inbox.Options{Store: s, Lease: 10 * time.Millisecond})
		send(t, killed, inbox.ToCaller(ada("1")), inbox.Event{Kind: inbox.Command, Text: "ended"})
		want(t, "first", take(t, killed, ada("1"), "c1"), "ended")
		next := inbox.New(inbox.Options{Store: s, Lease: 10 * time.Millisecond})
		events, err := next.Wait(t.Context(), ada("1"), "c2", nil, time.Minute)
		if err != nil || len(events) != 1 || !events[0].Again {
			t.Fatalf("got %+v, %v", events, err)
		}
		if line := inbox.Lines(events); !strings.Contains(line, "not for the first time") {
			t.Errorf("the line is %q", line)
		}
		killed.Sent(t.Context(), ada("1"), "c1", true) // its lease has expired
		next.Sent(t.Context(), ada("1"), "c2", true)
		want(t, "at last", take(t, next, ada("1"), "c3"), "")
	})
}

func TestWaitReturnsTheFirstEvent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b, other := inbox.New(inbox.Options{Store: s}), inbox.New(inbox.Options{Store: s})
		var waiting sync.WaitGroup
		waiting.Go(func() {
			events, err := b.Wait(t.Context(), ada("1"), "c1", inbox.Filter{"t2"}, time.Minute)
			if err != nil || len(events) != 1 || events[0].Subject != "t2" {
				t.Errorf("got %+v, %v", events, err)
			}
		})
		send(t, other, inbox.ToCaller(ada("1")), inbox.Event{Kind: inbox.Task, Subject: "t1"})
		send(t, other, inbox.ToCaller(ada("1")), inbox.Event{Kind: inbox.Task, Subject: "t2"})
		waiting.Wait()
		if _, err := b.Wait(t.Context(), ada("1"), "c2", inbox.Filter{"t3"}, 0); !errors.Is(err, inbox.ErrNothing) {
			t.Errorf("without an event: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Wait(ctx, ada("1"), "c3", nil, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestManyTakersTakeEachEventOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		const events = 300
		owner := tool.Owner{Agent: "coder", User: "ada"}
		for i := range events {
			send(t, b, inbox.To{Owner: owner}, inbox.Event{Kind: inbox.Task, Subject: fmt.Sprint(i)})
		}
		var mu sync.Mutex
		var takers sync.WaitGroup
		told := map[string]int{}
		for n := range 6 {
			takers.Go(func() {
				own := inbox.New(inbox.Options{Store: s})
				for i := 0; ; i++ {
					call := fmt.Sprintf("call %d of %d", i, n)
					list, err := own.Wait(t.Context(), ada(fmt.Sprint(n)), call, nil, 0)
					if errors.Is(err, inbox.ErrNothing) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					own.Sent(t.Context(), ada(fmt.Sprint(n)), call, true)
					mu.Lock()
					for _, e := range list {
						told[e.Subject]++
					}
					mu.Unlock()
				}
			})
		}
		takers.Wait()
		for _, n := range told {
			if n != 1 {
				t.Fatalf("an event was delivered %d times", n)
			}
		}
		if len(told) != events {
			t.Errorf("%d of %d events were delivered", len(told), events)
		}
	})
}

func TestTheLineNamesWhatHappened(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	b := inbox.New(inbox.Options{Store: s})
	me := ada("1")
	want(t, "nothing", b.Line(t.Context(), me, "c1"), "")
	send(t, b, inbox.ToCaller(me), inbox.Event{Kind: inbox.Subagent, Subject: "sub-1",
		Text: "done:\n\"all\u202e\" green"})
	id := send(t, b, inbox.ToCaller(me), inbox.Event{Kind: inbox.Message, From: ada("2").Key(),
		Text: strings.Repeat("x", 300)})
	want(t, "two events", b.Line(t.Context(), me, "c2"), `2 things happened:
- subagent sub-1: "done: \"all\" green"
- message `+id+` from agent:coder:stdio:2, an agent and not the user: "`+strings.Repeat("x", 197)+`…"`)
	want(t, "after it", b.Line(t.Context(), me, "c3"), "")
}

func TestEventsAreBounded(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	b := inbox.New(inbox.Options{Store: s})
	for name, e := range map[string]inbox.Event{
		"without a kind": {Text: "x"},
		"subject":        {Kind: inbox.Task, Subject: strings.Repeat("x", 501)},
		"data":           {Kind: inbox.Task, Data: strings.Repeat("x", 101<<10)},
	} {
		if _, err := b.Send(t.Context(), inbox.ToCaller(ada("1")), e); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	send(t, b, inbox.ToCaller(ada("1")), inbox.Event{Kind: inbox.Task, Text: "a\x00\xff" +
		strings.Repeat("x", 200<<10)})
	events, err := b.Take(t.Context(), ada("1"), "c1", nil)
	if err != nil || len(events) != 1 || len(events[0].Text) > inbox.MaxText {
		t.Errorf("got %d events, %v", len(events), err)
	}
}

func TestReceiversSurviveTheChangeFeed(t *testing.T) {
	for _, to := range []inbox.To{{}, inbox.ToCaller(ada("1")), {Owner: tool.Owner{Agent: `a"[`, User: "u,\n"}}} {
		if got, ok := inbox.ParseTo(to.String()); !ok || got != to {
			t.Errorf("%+v became %+v, %t", to, got, ok)
		}
	}
	if _, ok := inbox.ParseTo("7"); ok {
		t.Error("a key that is no receiver was parsed")
	}
}

// TestAnyUser sends to an agent, whichever user it works for.
func TestAnyUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(inbox.Options{Store: s})
		to := inbox.To{Owner: tool.Owner{Agent: "ann", User: inbox.AnyUser}}
		if _, err := b.Send(t.Context(), to, inbox.Event{Kind: inbox.Task, Text: "work"}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			agent, user string
			events      int
		}{{"bob", "u", 0}, {"ann", "u", 1}, {"ann", "v", 0}} {
			c := tool.Caller{Agent: test.agent, User: test.user, Channel: "stdio", Session: "s"}
			if want := test.agent == "ann"; to.Reaches(inbox.ToCaller(c)) != want {
				t.Errorf("it reaches %s: %v", test.agent, !want)
			}
			events, err := b.Take(t.Context(), c, "call of "+test.user, nil)
			if err != nil || len(events) != test.events {
				t.Errorf("%+v gets %v, %v", test, events, err)
			}
			b.Sent(t.Context(), c, "call of "+test.user, true)
		}
	})
}
