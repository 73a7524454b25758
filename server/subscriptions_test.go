package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A listener is a client that waits for announcements.
type listener struct {
	next func() string // the next of them
	also func(method, params string) (map[string]any, *jsonrpc.Error)
}

const wantsAll = `"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true`

// listenersOf are clients of a site of all kinds that watch uris: bob's, one for
// each way, so that announcements to one are not mixed with another's.
func listenersOf(t *testing.T, s *site, token string, uris ...string) map[string]*listener {
	t.Helper()
	all := map[string]*listener{}
	list := plain(t, uris)
	params := fmt.Sprintf(`"notifications":{%s,"resourceSubscriptions":%s}`, wantsAll, list)
	stream := s.visitor(token).modern("subscriptions/listen", "").listen(t,
		modernLine(`"sub"`, "subscriptions/listen", params))
	next := func() string { t.Helper(); return expect(t, stream.data, "an announcement") }
	if got := next(); !strings.Contains(got, "acknowledged") {
		t.Fatalf("listening got %s", got)
	}
	all["modern"] = &listener{next: next}

	v := s.visitor(token).hello(t, "2025-11-25")
	ask := func(method, params string) (map[string]any, *jsonrpc.Error) {
		return unpack(t, v.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)).body)
	}
	for _, uri := range uris {
		if _, failed := ask("resources/subscribe", fmt.Sprintf(`"uri":%q`, uri)); failed != nil {
			t.Fatalf("subscribing to %s got %v", uri, failed)
		}
	}
	get := v.listen(t, "")
	if !soon(func() bool { // the headers come before the stream is known
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.sessions) > 1
	}) {
		t.Fatal("there is no listener")
	}
	all["legacy"] = &listener{next: func() string { t.Helper(); return expect(t, get.data, "an announcement") },
		also: ask}
	return all
}

// announces holds an announcement against what it should be.
func announces(t *testing.T, era, got, method, uri string) {
	t.Helper()
	r := read(t, got)
	if r.Method != method || uri != "" && !strings.Contains(string(r.Params), fmt.Sprintf(`"uri":%q`, uri)) ||
		era == "modern" && !strings.Contains(string(r.Params), `"io.modelcontextprotocol/subscriptionId":"sub"`) {
		t.Errorf("%s: wanted %s %s, heard %s", era, method, uri, got)
	}
}

func TestChangesReachWhomTheyConcern(t *testing.T) {
	noLeaks(t)
	s := openSiteOf(t, withLibrary(t, testShelf()))
	tea, secret := "memory:///bob/tea.md", "secret:///plan"
	all := listenersOf(t, s, "bob", tea, "memory:///bob/work.md")
	tell := func(c Change, methods ...string) {
		t.Helper()
		s.Changed(c)
		for era, bob := range all {
			for _, method := range methods {
				announces(t, era, bob.next(), method, "")
			}
		}
	}
	updated, resources, prompts := mcp.MethodNotificationResourceUpdated, mcp.MethodNotificationResourcesListChanged,
		mcp.MethodNotificationPromptsListChanged
	for _, c := range []Change{ // none of them concerns bob, or none that he watches
		{Agent: "a", User: "alice", Ref: Ref{URI: tea}, Listed: true},
		{Agent: "b", User: "bert", Ref: Ref{URI: tea}, Listed: true},
		{Agent: "a", Ref: Ref{URI: tea}, Listed: true}, {Ref: Ref{URI: secret}, Listed: true},
		{Ref: Ref{URI: "nowhere:///x"}, Listed: true},
		{Agent: "b", User: "bob", Ref: Ref{URI: "memory:///bob/other.md"}}, {Agent: "a", User: "alice"}, {Agent: "a"},
	} {
		s.Changed(c)
		tell(Change{Ref: Ref{Prompt: "the end"}}, prompts)
	}
	s.Changed(Change{Agent: "a", User: "alice", Ref: Ref{Prompt: "x"}})
	tell(Change{Agent: "b", User: "bob", Ref: Ref{URI: tea}}, updated)
	tell(Change{Agent: "b", Ref: Ref{URI: "memory:///shared"}, Listed: true}, resources)
	tell(Change{Agent: "b", User: "bob", Ref: Ref{URI: tea}, Listed: true}, resources, updated)
	tell(Change{}, resources, prompts, updated, updated) // whatever it was
	if _, failed := all["legacy"].also("resources/unsubscribe", fmt.Sprintf(`"uri":%q`, tea)); failed != nil {
		t.Error(failed)
	}
	s.Changed(Change{Ref: Ref{URI: tea}})
	announces(t, "modern", all["modern"].next(), updated, tea)
	tell(Change{Ref: Ref{Prompt: "p"}}, prompts)
}

// TestThePolicyHidesChanges takes a tool away from those who listen, and what it
// governs with it.
func TestThePolicyHidesChanges(t *testing.T) {
	noLeaks(t)
	s := openSiteOf(t, withLibrary(t, testShelf()))
	tea, agents := "memory:///bob/tea.md", "file:///AGENTS.md"
	all := listenersOf(t, s, "bob", tea, agents)
	if err := s.Apply(testSettings(t, s.Config.Tools, policy.Rules{Deny: policy.List{"echo", "long"}})); err != nil {
		t.Fatal(err)
	}
	for era, bob := range all {
		announces(t, era, bob.next(), mcp.MethodNotificationToolsListChanged, "")
		announces(t, era, bob.next(), mcp.MethodNotificationResourcesListChanged, "")
		announces(t, era, bob.next(), mcp.MethodNotificationPromptsListChanged, "")
	}
	for _, c := range []Change{
		{Ref: Ref{URI: tea}, Listed: true}, {Ref: Ref{Prompt: "greet-bob"}}, {Ref: Ref{URI: agents}},
	} {
		s.Changed(c)
	}
	for era, bob := range all {
		announces(t, era, bob.next(), mcp.MethodNotificationResourceUpdated, agents)
	}
	s.Changed(Change{}) // all that is left
	for era, bob := range all {
		announces(t, era, bob.next(), mcp.MethodNotificationResourcesListChanged, "")
		announces(t, era, bob.next(), mcp.MethodNotificationPromptsListChanged, "")
		announces(t, era, bob.next(), mcp.MethodNotificationResourceUpdated, agents)
	}
}

func TestAcknowledgedSubscriptionsAreVisible(t *testing.T) {
	noLeaks(t)
	s := openSiteOf(t, withLibrary(t, testShelf()))
	for list, want := range map[string]string{
		`["memory:///x","secret:///plan","nowhere:///x","no uri","memory:///y"]`:                         `{"resourceSubscriptions":["memory:///x","memory:///y"]}`,
		`["memory:///x"],"ResourceSubscriptions":["secret:///plan"]`:                                     `{}`,
		`["secret:///plan"],"toolsListChanged":true,"resourceSubscriptions":["secret:///a","file:///b"]`: ``,
	} {
		stream := s.visitor("bob").modern("subscriptions/listen", "").
			listen(t, modernLine("1", "subscriptions/listen", `"notifications":{"resourceSubscriptions":`+list+`}`))
		got := ""
		select {
		case got = <-stream.data:
		case <-t.Context().Done():
		}
		if want != "" && !strings.Contains(got, `"notifications":`+want) || strings.Contains(got, "secret:") {
			t.Errorf("%s got %s", list, got)
		}
		stream.close()
	}
	var many []string
	for i := range maxSubscribed + 1 {
		many = append(many, fmt.Sprintf("memory:///%d", i))
	}
	v := s.visitor("bob")
	a := v.modern("subscriptions/listen", "").post(modernLine("1", "subscriptions/listen",
		`"notifications":{"resourceSubscriptions":`+plain(t, many)+`}`))
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "at most 100 resources") {
		t.Errorf("too many on one stream got %d %s", a.status, a.body)
	}
	w := dial(t, s.testServer)
	w.send(handshake("2025-11-25", "{}")...)
	w.next()
	for i, uri := range append(many, many[0]) {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri))
		_, failed := unpack(t, w.next())
		if full := i == maxSubscribed; (failed != nil) != full || full &&
			(failed.Code != codeBusy || !strings.Contains(failed.Message, "unsubscribe")) {
			t.Errorf("number %d got %v", i, failed)
		}
	}
}

// TestAStormOfChanges makes far more changes than clients can be notified of. What comes
// is bounded, and the last of it comes.
func TestAStormOfChanges(t *testing.T) {
	noLeaks(t)
	b := withLibrary(t, testShelf())
	w := dial(t, b)
	w.send(handshake("2025-11-25", "{}")...)
	w.next()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"memory:///u/tea.md"}}`)
	w.next()
	done := make(chan struct{})
	const writers, changes = 8, 2000
	for range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range changes {
				b.Changed(Change{Agent: "a", User: "u", Ref: Ref{URI: "memory:///u/tea.md"}, Listed: i%2 == 0})
			}
		}()
	}
	for range writers {
		<-done
	}
	b.Changed(Change{Ref: Ref{Prompt: "last"}})
	heard := 0
	for {
		heard++
		if strings.Contains(w.next(), "prompts/list_changed") {
			break
		}
	}
	if heard > writers*changes/10 {
		t.Errorf("%d announcements of %d changes", heard, writers*changes)
	}
}

func TestAnnouncementsAreScrubbed(t *testing.T) {
	uri := "memory:///" + plantedKey()
	s := openSiteOf(t, withLibrary(t, testShelf()))
	for era, bob := range listenersOf(t, s, "bob", uri) {
		s.Changed(Change{Ref: Ref{URI: uri}})
		if got := bob.next(); strings.Contains(got, plantedKey()) || !strings.Contains(got, "REDACTED") {
			t.Errorf("%s heard %s", era, got)
		}
	}
}

const listenParams = `"notifications":{"toolsListChanged":true}`

func TestSubscriptionsAreCappedByIdentity(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	subscribe := func(token string, n int) *events {
		return s.visitor(token).modern("subscriptions/listen", "").listen(t,
			modernLine(strconv.Itoa(n), "subscriptions/listen", listenParams))
	}
	var open []*events
	for i := range maxSubscriptions {
		e := subscribe("alice", i)
		if got := expect(t, e.data, "an acknowledgement"); !strings.Contains(got, "acknowledged") {
			t.Fatalf("number %d got %s", i, got)
		}
		open = append(open, e)
	}
	ask := s.visitor("alice").modern("subscriptions/listen", "")
	line := modernLine("99", "subscriptions/listen", listenParams)
	ctx, cancel := context.WithTimeout(t.Context(), hang) // it would stay open if it were let in
	defer cancel()
	r := read(t, ask.do(ctx, http.MethodPost, line).body)
	if r.Error == nil || r.Error.Code != codeBusy || !strings.Contains(r.Error.Message, "end one of them") {
		t.Errorf("one too many got %+v", r)
	}
	bob := subscribe("bob", 1)
	if got := expect(t, bob.data, "an acknowledgement"); !strings.Contains(got, "acknowledged") {
		t.Errorf("somebody else got %s", got)
	}
	for _, e := range append(open, bob) {
		e.close()
	}
}

func TestListenersForgetWhoHasLeft(t *testing.T) {
	l := newSubscriptionCounter()
	var leave []func()
	for range maxSubscriptions {
		one, ok := l.enter("me")
		if !ok {
			t.Fatal("refused too early")
		}
		leave = append(leave, one)
	}
	if _, ok := l.enter("me"); ok {
		t.Error("one too many was let in")
	}
	leave[0]()
	again, ok := l.enter("me")
	if !ok {
		t.Fatal("a place that is free again was not given")
	}
	again()
	for _, one := range leave[1:] {
		one()
	}
	if len(l.open) != 0 {
		t.Errorf("it remembers %v", l.open)
	}
}
