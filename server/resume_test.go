package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// TestACallOutlivesItsConnection closes the connection of a call that runs, and
// comes back for the result.
func TestACallOutlivesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, shut := stillSite(t)
		v := s.visitor("alice").hello(t, "2025-11-25")
		call := v.listen(t, callLine("1", "slow", `{"text":"x"}`))
		if first := <-call.data; first != "" {
			t.Errorf("the stream begins with %q", first)
		}
		call.close()
		<-s.started
		<-time.After(time.Minute / 4)
		select {
		case <-s.stopped:
			t.Error("the call ended with its connection")
		default:
		}
		back := *v
		back.header = map[string]string{mcp.HeaderLastEventID: "1-0"}
		again := back.listen(t, "")
		s.release <- struct{}{}
		if got := read(t, <-again.data); got.text() != "done x" {
			t.Errorf("after coming back: %+v", got)
		}
		if _, open := <-again.data; open {
			t.Error("the stream goes on after the result")
		}
		late := back.do(t.Context(), http.MethodGet, "") // a second request gets it again
		if len(late.messages) != 1 || read(t, late.messages[0]).text() != "done x" {
			t.Errorf("later: %+v", late)
		}
		for _, id := range []string{"9-0", "1-9", "x", "-1--1"} {
			back.header = map[string]string{mcp.HeaderLastEventID: id}
			if got := back.do(t.Context(), http.MethodGet, ""); got.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", id, got.status, got.body)
			}
		}
		other := s.visitor("bob")
		other.session, other.version = v.session, v.version
		other.header = map[string]string{mcp.HeaderLastEventID: "1-0"}
		if got := other.do(t.Context(), http.MethodGet, ""); got.status != http.StatusNotFound {
			t.Errorf("another caller: %d %s", got.status, got.body)
		}
		v.web.CloseIdleConnections()
		shut()
	})
}

func TestResumingInTheMiddle(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-11-25")
	a := v.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chatty","_meta":{"progressToken":1}}}`)
	if len(a.messages) != 4 || !strings.Contains(a.body, "id: 1-4\n") {
		t.Fatalf("the call got %s", a.body)
	}
	v.header = map[string]string{mcp.HeaderLastEventID: "1-2"}
	if rest := v.do(t.Context(), http.MethodGet, ""); len(rest.messages) != 2 || rest.messages[1] != a.messages[3] {
		t.Errorf("after the second event come %q", rest.messages)
	}
}

func TestEventsAreKeptInBounds(t *testing.T) {
	var l eventLog
	for range 3 * maxStreams {
		l.end(l.open())
	}
	first := l.open()
	l.add(first, make([]byte, maxLogged/2))
	second := l.open()
	l.add(second, make([]byte, maxLogged/2+1))
	if s, _ := l.find(first.id(1)); s != nil || l.size > maxLogged || len(l.streams) != 1 {
		t.Errorf("%d bytes of %d streams are kept", l.size, len(l.streams))
	}
	if s, n := l.find(second.id(1)); s != second || n != 1 {
		t.Error("the newest stream is not kept")
	}
	l.add(second, make([]byte, 2*maxLogged))
	if len(l.streams) != 0 || l.size != 0 {
		t.Errorf("%d bytes of %d streams are kept", l.size, len(l.streams))
	}
}
