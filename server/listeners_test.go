package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

const listenParams = `"notifications":{"toolsListChanged":true}`

func TestSubscriptionsAreCappedByIdentity(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	subscribe := func(token string, n int) *events {
		return s.visitor(token).modern("subscriptions/listen", "").listen(t, modernLine(strconv.Itoa(n), "subscriptions/listen", listenParams))
	}
	var open []*events
	for i := range maxListening {
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
	l := newListeners()
	var leave []func()
	for range maxListening {
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
