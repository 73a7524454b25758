package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
)

// openSSE opens an old stream and returns it with a visitor that posts to it.
func (s *site) openSSE(t *testing.T, token, path string) (*events, *visitor) {
	t.Helper()
	v := s.visitor(token)
	v.path = path
	e := v.listen(t, "")
	if e.status != http.StatusOK {
		t.Fatalf("%s got %d", path, e.status)
	}
	poster := *v
	poster.path = expect(t, e.data, "the address to post to")
	return e, &poster
}

func TestSSEConversation(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	for _, path := range []string{"/sse", "/sse/readonly"} {
		e, v := s.openSSE(t, "alice", path)
		for _, line := range append(handshake("2024-11-05", "{}"), callLine(`"c"`, "echo", `{"text":"`+path+`"}`)) {
			if a := v.post(line); a.status != http.StatusAccepted || a.body != "" {
				t.Errorf("posting got %d %q", a.status, a.body)
			}
		}
		found := map[string]reply{}
		for range 2 {
			r := read(t, expect(t, e.data, "an answer"))
			found[string(r.ID)] = r
		}
		if found[`"c"`].text() != path+"0" || found[`"init"`].Error != nil {
			t.Errorf("got %+v", found)
		}
		v.post(callLine("2", "change", `{}`))
		if r := read(t, expect(t, e.data, "an answer")); (r.Error != nil) != (path == "/sse/readonly") {
			t.Errorf("%s: the call that changes something got %+v", path, r)
		}
		v.post("{nonsense")
		if r := read(t, expect(t, e.data, "an answer to nonsense")); r.Error == nil {
			t.Errorf("nonsense got %+v", r)
		}
		e.close()
	}
}

func TestSSEIsAsSafeAsTheRest(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	_, alice := s.openSSE(t, "alice", "/sse")
	elsewhere := s.visitor("alice").hello(t, "2025-11-25")
	for name, test := range map[string]struct {
		change func(*visitor)
		method string
		status int
	}{
		"another caller": {func(v *visitor) { v.token = "bob" }, "POST", 404},
		"another token":  {func(v *visitor) { v.token = "alice2" }, "POST", 404},
		"no token":       {func(v *visitor) { v.token = "" }, "POST", 401},
		"another path": {func(v *visitor) {
			v.path = strings.Replace(v.path, "/message",
				"/message/readonly", 1)
		}, "POST", 404},
		"a session from thin air": {func(v *visitor) { v.path = "/message?sessionId=AAAA" }, "POST", 404},
		"no session":              {func(v *visitor) { v.path = "/message" }, "POST", 404},
		"a session of another kind": {func(v *visitor) { v.path = "/message?sessionId=" + elsewhere.session }, "POST",
			404},
		"plain text": {func(v *visitor) { v.header = map[string]string{"Content-Type": "text/plain"} },
			"POST", 415},
		"a page from elsewhere": {func(v *visitor) { v.header = map[string]string{"Origin": evil} }, "POST", 403},
		"a stream for evil": {func(v *visitor) { v.path = "/sse"; v.header = map[string]string{"Origin": evil} },
			"GET", 403},
		"a stream without a token": {func(v *visitor) { v.path, v.token = "/sse", "" }, "GET", 401},
		"a stream that is JSON":    {func(v *visitor) { v.path = "/sse"; v.header = map[string]string{"Accept": "application/json"} }, "GET", 406},
		"a profile of others":      {func(v *visitor) { v.path, v.token = "/sse/full", "reader" }, "GET", 403},
		"an unknown profile":       {func(v *visitor) { v.path = "/sse/nobody" }, "GET", 404},
		"too long a message":       {func(v *visitor) { v.header = map[string]string{"X-Padded": "1"} }, "POST", 413},
	} {
		t.Run(name, func(t *testing.T) {
			v := *alice
			test.change(&v)
			body := ping("1")
			if test.status == 413 {
				body += strings.Repeat(" ", 1<<20)
			}
			a := v.do(t.Context(), test.method, body)
			if a.status != test.status {
				t.Errorf("got %d %q, want %d", a.status, a.body, test.status)
			}
			if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("every origin may read it: %q", got)
			}
		})
	}
}

func TestSSEIsOffUnlessAskedFor(t *testing.T) {
	noLeaks(t)
	s := openSite(t, func(h *HTTP) { h.SSE = false })
	for _, path := range []string{"/sse", "/sse/full", "/message"} {
		v := s.visitor("alice")
		v.path = path
		if a := v.do(t.Context(), "GET", ""); a.status != 404 {
			t.Errorf("%s got %d", path, a.status)
		}
	}
}

func TestAnSSEClientThatDisappears(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	e, v := s.openSSE(t, "alice", "/sse")
	for i := range 5 {
		v.post(callLine(strconv.Itoa(i), "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
		expect(t, s.started, "the start of a call")
	}
	e.close()
	for range 5 {
		expect(t, s.stopped, "the end of a call")
	}
	gone := func() bool { return v.post(ping("1")).status == http.StatusNotFound }
	if !soon(gone) {
		t.Error("its address is still open")
	}
}

// TestNoWriteAfterTheHandlerReturned checks that no goroutine writes to a stream whose handler has returned.
func TestNoWriteAfterTheHandlerReturned(t *testing.T) {
	w := &recorder{header: http.Header{}}
	r, err := http.NewRequest("GET", "http://localhost/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	out := newStream(w, r)
	if err := out.send([]byte(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	out.end()
	if err := out.send([]byte(`{"n":2}`)); !errors.Is(err, errStreamOver) ||
		strings.Contains(w.body.String(), `{"n":2}`) {
		t.Errorf("got %v, wrote %q", err, w.body.String())
	}
}

func TestSSEConnectionsAreBounded(t *testing.T) {
	noLeaks(t)
	s := openSite(t, func(h *HTTP) { h.MaxSessions = 30 }) // three for each
	for range 3 {
		s.openSSE(t, "alice", "/sse")
	}
	v := s.visitor("alice")
	v.path = "/sse"
	if e := v.listen(t, ""); e.status != http.StatusServiceUnavailable { // listen would wait for the end of the stream
		t.Errorf("the fourth got %d", e.status)
	}
	if _, bob := s.openSSE(t, "bob", "/sse"); bob.post(ping("1")).status != http.StatusAccepted {
		t.Error("alice keeps bob out")
	}
}

func TestSSEAnswersOncePerCallInAStorm(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	e, v := s.openSSE(t, "alice", "/sse")
	v.post(handshake("2024-11-05", "{}")[0])
	expect(t, e.data, "the handshake")
	v.post(handshake("2024-11-05", "{}")[1])
	seen := map[string]int{}
	for i := range 60 {
		name := []string{"echo", "slow"}[i%2]
		v.post(callLine(strconv.Itoa(i), name, fmt.Sprintf(`{"text":"t","n":%d}`, i)))
		if i%2 == 1 {
			v.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		}
	}
	if err := s.Apply(testSettings(t, s.Config.Tools, policy.Rules{Deny: policy.List{"launch"}})); err != nil {
		t.Fatal(err)
	}
	v.post(ping(`"last"`))
	for len(seen) < 32 {
		r := read(t, expect(t, e.data, "an answer"))
		if seen[string(r.ID)+r.Method]++; r.Method == "" && string(r.ID) != `"last"` && r.text() != "t"+string(r.ID) {
			t.Errorf("got %+v", r)
		}
	}
	e.close()
	for line := range e.data {
		t.Errorf("too much: %s", line)
	}
	for what, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", what, n)
		}
	}
}
