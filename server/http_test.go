package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const evil = "https://evil.example"

func TestHTTPAdmission(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	list := modernLine("1", "tools/list", "")
	inHeader := func(name, value string) func(*visitor) {
		return func(v *visitor) { v.header[name] = value }
	}
	at := func(path string) func(*visitor) { return func(v *visitor) { v.path = path } }
	as := func(token string) func(*visitor) { return func(v *visitor) { v.token = token } }
	for name, test := range map[string]struct {
		method string
		body   string
		change []func(*visitor)
		status int
		says   string
	}{
		"a good request": {"POST", list, nil, 200, `"tools"`},
		"a token in another case": {"POST", list,
			[]func(*visitor){as(""), inHeader("Authorization", "bEARER alice")}, 200, `"tools"`},
		"no token": {"POST", list, []func(*visitor){as("")}, 401, "send a token"},
		"another scheme": {"POST", list,
			[]func(*visitor){as(""), inHeader("Authorization", "Basic alice")}, 401, "send a token"},
		"a scheme without a token": {"POST", list, []func(*visitor){as(""), inHeader("Authorization", "Bearer")}, 401,
			"send a token"},
		"a token of blanks": {"POST", list, []func(*visitor){as(""), inHeader("Authorization", "Bearer     ")},
			401, ""},
		"a token without a scheme": {"POST", list, []func(*visitor){as(""), inHeader("Authorization", "alice")}, 401,
			"send a token"},
		"a token in the address": {"POST", list, []func(*visitor){as(""), at("/mcp?access_token=alice&token=alice")},
			401, "send a token"},
		"a token in a cookie": {"POST", list, []func(*visitor){as(""),
			inHeader("Cookie", "Authorization=Bearer alice")}, 401, "send a token"},
		"an unknown token":        {"POST", list, []func(*visitor){as("alicE")}, 401, "not known"},
		"two tokens in one":       {"POST", list, []func(*visitor){as("alice, bob")}, 401, "not known"},
		"no profile of that name": {"POST", list, []func(*visitor){at("/mcp/fulll")}, 404, "full"},
		"a path that climbs":      {"POST", list, []func(*visitor){at("/mcp/..%2ffull")}, 404, ""},
		"a permitted profile": {"POST", list, []func(*visitor){as("reader"), at("/mcp/readonly")}, 200,
			`"tools"`},
		"a profile of others": {"POST", list, []func(*visitor){as("reader"), at("/mcp/full")}, 403,
			"not with this token"},
		"others' profiles by guessing": {"POST", list, []func(*visitor){as("reader"), at("/mcp/fulll")}, 403,
			"not with this token"},
		"the usual profile":     {"POST", list, []func(*visitor){as("reader")}, 200, `"tools"`},
		"a page from elsewhere": {"POST", list, []func(*visitor){inHeader("Origin", evil)}, 403, "origin"},
		"a page from nowhere":   {"POST", list, []func(*visitor){inHeader("Origin", "null")}, 403, "origin"},
		"a page that looks local": {"POST", list,
			[]func(*visitor){inHeader("Origin", "http://localhost.evil.example")}, 403, "origin"},
		"a page with our name as user": {"POST", list,
			[]func(*visitor){inHeader("Origin", "http://localhost@evil.example")}, 403, "origin"},
		"a local page": {"POST", list, []func(*visitor){inHeader("Origin", "http://localhost:3000")}, 200, `"tools"`},
		"another host": {"POST", list, []func(*visitor){inHeader("Host", "evil.example")}, 403, "host"},
		"a host that looks local": {"POST", list, []func(*visitor){inHeader("Host", "127.0.0.1.evil.example")},
			403, "host"},
		"localhost":          {"POST", list, []func(*visitor){inHeader("Host", "localhost:80")}, 200, `"tools"`},
		"the other loopback": {"POST", list, []func(*visitor){inHeader("Host", "[::1]:80")}, 200, `"tools"`},
		"PUT":                {"PUT", list, nil, 405, "use POST"},
		"PATCH":              {"PATCH", list, nil, 405, "use POST"},
		"HEAD without a session": {"HEAD", "",
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "2025-11-25")}, 400, ""},
		"GET in the stateless era":    {"GET", "", nil, 405, "subscriptions/listen"},
		"DELETE in the stateless era": {"DELETE", "", nil, 405, "no sessions"},
		"a form": {"POST", list,
			[]func(*visitor){inHeader("Content-Type", "application/x-www-form-urlencoded")}, 415, "application/json"},
		"plain text": {"POST", list, []func(*visitor){inHeader("Content-Type", "text/plain")}, 415,
			"application/json"},
		"JSON in a parameter": {"POST", list, []func(*visitor){inHeader("Content-Type",
			"text/plain; x=application/json")}, 415, "application/json"},
		"JSON with a charset": {"POST", list, []func(*visitor){inHeader("Content-Type",
			"Application/JSON; charset=utf-8")}, 200, `"tools"`},
		"nothing":  {"POST", "", nil, 400, "-32700"},
		"too much": {"POST", strings.Repeat(" ", 1<<20) + list, nil, 413, "-32600"},
		"headers without end": {"POST", list,
			[]func(*visitor){inHeader("X-Long", strings.Repeat("x", 100_000))}, 431, ""},
		"a zipped body": {"POST", "\x1f\x8b\x08\x00\x00",
			[]func(*visitor){inHeader("Content-Encoding", "gzip")}, 400, "-32700"},
		"an unknown version": {"POST", ping("1"),
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "1999-01-01")}, 400, "1999-01-01"},
		"another version in the header": {"POST", list,
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "2025-11-25")}, 400, "says"},
		"another method in the header": {"POST", list, []func(*visitor){inHeader(mcp.HeaderMethod, "tools/call")}, 400,
			"tools/call"},
		"no session": {"POST", ping("1"),
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "2025-11-25")}, 400, mcp.HeaderSessionID},
		"a session from thin air": {"POST", ping("1"),
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "2025-11-25"),
				inHeader(mcp.HeaderSessionID, "mcp-session-5f0ef3cb-6a4f-4c12-a0c0-5d6ac3aca4a5")}, 404,
			"no such session"},
		"initialize without an id": {"POST", strings.Replace(handshake("2025-11-25", "{}")[0], `"id":"init",`, "", 1),
			[]func(*visitor){inHeader(mcp.HeaderProtocolVersion, "2025-11-25")}, 400, mcp.HeaderSessionID},
		"health":    {"GET", "", []func(*visitor){as(""), at("/healthz")}, 200, "ok"},
		"readiness": {"GET", "", []func(*visitor){as(""), at("/readyz")}, 200, "ready"},
		"health by any name": {"GET", "",
			[]func(*visitor){as(""), at("/healthz"), inHeader("Host", "10.1.2.3")}, 200, "ok"},
		"OAuth, which is not in use": {"GET", "", []func(*visitor){as(""), at("/.well-known/oauth-protected-resource")},
			404, "does not use OAuth"},
		"somewhere else": {"GET", "", []func(*visitor){at("/")}, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := s.visitor("alice").modern("tools/list", "")
			for _, f := range test.change {
				f(v)
			}
			a := v.do(t.Context(), test.method, test.body)
			if a.err != nil || a.status != test.status || !strings.Contains(a.body, test.says) {
				t.Fatalf("got %d %q %v, want %d with %q", a.status, text.Clip(a.body, 500), a.err, test.status,
					test.says)
			}
			if challenged := a.header.Get("WWW-Authenticate") != ""; challenged != (a.status == 401 ||
				a.status == 403 && strings.Contains(a.body, "token")) {
				t.Errorf("WWW-Authenticate is %q", a.header.Get("WWW-Authenticate"))
			}
			if a.status == 405 && a.header.Get("Allow") == "" {
				t.Error("it does not say which methods there are")
			}
		})
	}
}

func TestPagesFromElsewhereAreNotEvenToldWhatTheyMaySend(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	for path, origins := range map[string]map[string]bool{
		"/mcp":         {evil: false, "null": false, "http://127.0.0.1:5000": true, "https://app.localhost": true},
		"/mcp/full":    {evil: false, "http://[::1]:5000": true, "file://localhost": false},
		"/sse":         {evil: false, "http://localhost": true},
		"/message":     {evil: false, "http://localhost": true},
		"/sse/full":    {evil: false, "http://localhost": true},
		"/mcp/nowhere": {evil: false, "http://localhost": true},
	} {
		for origin, allowed := range origins {
			v := s.visitor("")
			v.path = path
			v.header = map[string]string{
				"Origin": origin, "Access-Control-Request-Method": "POST",
				"Access-Control-Request-Headers": "authorization, content-type",
			}
			a := v.do(t.Context(), http.MethodOptions, "")
			got := a.header.Get("Access-Control-Allow-Origin")
			switch {
			case allowed && (a.status != 204 || got != origin ||
				!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "authorization")):
				t.Errorf("%s from %s: %d, %q", path, origin, a.status, got)
			case !allowed && (a.status != 403 || got != ""):
				t.Errorf("%s from %s: %d, %q", path, origin, a.status, got)
			}
		}
	}
}

func TestSessionsBelongToOneCallerAndOnePath(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	alice := s.visitor("alice").hello(t, "2025-11-25")
	for name, change := range map[string]func(*visitor){
		"another user":               func(v *visitor) { v.token = "bob" },
		"another token of this user": func(v *visitor) { v.token = "alice2" },
		"another path":               func(v *visitor) { v.path = "/mcp/readonly" },
		"another transport":          func(v *visitor) { v.path = "/message?sessionId=" + v.session },
	} {
		thief := *alice
		change(&thief)
		for _, method := range []string{"POST", "GET", "DELETE"} {
			if method != "POST" && name == "another transport" {
				continue
			}
			if a := thief.do(t.Context(), method, callLine("1", "echo", "{}")); a.status != http.StatusNotFound {
				t.Errorf("%s with %s got %d %q", method, name, a.status, a.body)
			}
		}
	}
	if a := alice.post(callLine("1", "echo", `{"text":"mine"}`)); a.status != 200 ||
		!strings.Contains(a.body, "mine0") {
		t.Errorf("the owner got %d %q", a.status, a.body)
	}
	if a := alice.do(t.Context(), "DELETE", ""); a.status != 200 {
		t.Errorf("the owner could not end it: %d", a.status)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if a := alice.do(t.Context(), method, ping("1")); a.status != http.StatusNotFound {
			t.Errorf("%s after the end got %d", method, a.status)
		}
	}
}

func TestASessionHasOneStream(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-06-18")
	first := v.listen(t, "")
	if a := v.do(t.Context(), "GET", ""); first.status != 200 || a.status != http.StatusConflict {
		t.Errorf("the first got %d, the second %d", first.status, a.status)
	}
	first.close()
	again := func() bool {
		e := v.listen(t, "")
		defer e.close()
		return e.status == 200
	}
	if !soon(again) {
		t.Error("the stream cannot be opened again")
	}
	if w := *v; true {
		w.header = map[string]string{"Accept": "application/json"}
		if a := w.do(t.Context(), "GET", ""); a.status != http.StatusNotAcceptable {
			t.Errorf("a client that takes no events got %d", a.status)
		}
	}
}

func TestTheEndOfASessionEndsWhatItDoes(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-11-25")
	stream := v.listen(t, "")
	called := make(chan answer, 1)
	go func() { called <- v.post(callLine("1", "slow", `{"text":"x"}`)) }()
	expect(t, s.started, "the start of the call")
	if a := v.do(t.Context(), "DELETE", ""); a.status != 200 {
		t.Fatalf("DELETE got %d", a.status)
	}
	expect(t, s.stopped, "the end of the call")
	expect(t, called, "the answer")
	if _, open := <-stream.data; open {
		t.Error("the stream said something")
	}
}

func TestSessionsOfOthersAreNotEvicted(t *testing.T) {
	noLeaks(t)
	s := openSite(t, func(h *HTTP) { h.MaxSessions = 30 }) // three for each
	bob := s.visitor("bob").hello(t, "2025-11-25")
	var sessions []*visitor
	for range 10 {
		sessions = append(sessions, s.visitor("alice").hello(t, "2025-11-25"))
	}
	for i, v := range sessions {
		want := http.StatusNotFound
		if i >= 7 {
			want = http.StatusOK
		}
		if a := v.post(ping("1")); a.status != want {
			t.Errorf("session %d of 10 got %d, want %d", i, a.status, want)
		}
	}
	if a := bob.post(ping("1")); a.status != 200 {
		t.Errorf("bob got %d", a.status)
	}
}

func TestWishesNarrowAndNeverWiden(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	names := func(token string, header map[string]string) []string {
		v := s.visitor(token)
		v.header = header
		a := v.modern("tools/list", "").post(modernLine("1", "tools/list", ""))
		r := read(t, a.body)
		if r.Result == nil {
			t.Fatalf("with %v got %d %s", header, a.status, a.body)
		}
		var got []string
		for _, one := range r.Result.Tools {
			got = append(got, one.Name)
		}
		return got
	}
	all := map[string][]string{"alice": names("alice", nil), "reader": names("reader", nil)}
	if !slices.Contains(all["alice"], "launch") || slices.Contains(all["reader"], "change") {
		t.Fatalf("without wishes they see %v", all)
	}
	for name, test := range map[string]struct {
		header map[string]string
		want   string
	}{
		"one tool":                      {map[string]string{"X-MCP-Tools": "echo"}, "[echo]"},
		"unknown tools":                 {map[string]string{"X-MCP-Tools": "echo, nobody,,"}, "[echo]"},
		"only unknown tools":            {map[string]string{"X-MCP-Tools": "nobody"}, "[]"},
		"no tools":                      {map[string]string{"X-MCP-Tools": ""}, "[]"},
		"a toolset that does not exist": {map[string]string{"X-MCP-Toolsets": "nobody"}, "[]"},
		"a tool that is excluded": {map[string]string{"X-MCP-Tools": "echo,slow",
			"X-MCP-Exclude-Tools": "slow,nobody"}, "[echo]"},
		"an unknown word": {map[string]string{"X-MCP-Tools": "echo,change", "X-MCP-Readonly": "please"},
			"[echo]"},
		"what reads, said second": {map[string]string{"X-MCP-Tools": "echo,change", "X-MCP-Readonly": "false, true"},
			"[echo]"},
		"what reads": {map[string]string{"X-MCP-Tools": "echo,change,launch", "X-MCP-Readonly": "TRUE"}, "[echo]"},
	} {
		for token := range all {
			if got := fmt.Sprint(names(token, test.header)); got != test.want {
				t.Errorf("%s wishes for %s and sees %s, want %s", token, name, got, test.want)
			}
		}
	}
	for _, header := range []map[string]string{
		{"X-MCP-Tools": "launch,change,echo"}, {"X-MCP-Toolsets": "test"}, {"X-MCP-Readonly": "false"},
		{"X-MCP-Readonly": "no"},
		{"X-MCP-Exclude-Tools": ""}, {"X-MCP-Profile": "full"}, {"X-MCP-Tools": "*"}, {"X-MCP-Toolsets": "all"},
	} {
		for token, usual := range all {
			for _, name := range names(token, header) {
				if !slices.Contains(usual, name) {
					t.Errorf("%s with %v sees %s", token, header, name)
				}
			}
		}
	}
}

func TestIgnoredNamesAreNamed(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	for token, want := range map[string]string{"alice": "nobody,no_set,gone", "reader": "change,nobody,no_set,gone"} {
		v := s.visitor(token)
		v.header = map[string]string{"X-MCP-Tools": "echo, change,nobody", "X-MCP-Toolsets": "test,no_set",
			"X-MCP-Exclude-Tools": "gone,echo"}
		a := v.post(handshake("2025-11-25", "{}")[0])
		if got := a.header.Get("X-MCP-Ignored"); got != want {
			t.Errorf("%s: ignored are %q, want %q", token, got, want)
		}
		v.header = map[string]string{"X-MCP-Tools": "echo"}
		if got, sent := v.post(handshake("2025-11-25", "{}")[0]).header["X-Mcp-Ignored"]; sent {
			t.Errorf("%s: ignored are %q", token, got)
		}
	}
}

// TestStructuredContentIsForThoseWhoAsk lists and calls a tool with structured
// content, with the header and without.
func TestStructuredContentIsForThoseWhoAsk(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-11-25")
	for header, want := range map[string]bool{"": false, "1": true, "false": false} {
		v.header = map[string]string{"X-MCP-Structured": header}
		list := v.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
		call := v.post(callLine("2", "leaks", `{}`)).body
		if strings.Contains(list, `"outputSchema":{"properties":{"deep"`) != want ||
			strings.Contains(call, `"structuredContent":{"deep":["[REDACTED`) != want ||
			!strings.Contains(call, "the key is") {
			t.Errorf("X-MCP-Structured %q: %s", header, call)
		}
	}
}

// TestLongResultsHaveALink sends a link to clients of revisions that have links in results.
func TestLongResultsHaveALink(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	const link = `{"type":"resource_link","uri":"result:///r_handle","name":"the whole result","mimeType":"text/plain",` +
		`"annotations":{"audience":["user"]}}`
	for version, want := range map[string]bool{"2024-11-05": false, "2025-03-26": false, "2025-06-18": true,
		"2025-11-25": true} {
		v := s.visitor("alice").hello(t, version)
		long := v.post(callLine("2", "long", `{"n":500}`)).body
		if got := strings.Contains(long, link); got != want || strings.Contains(long, "resource_link") != want {
			t.Errorf("%s: %t, %s", version, got, long)
		}
		if short := v.post(callLine("3", "long", `{"n":5}`)).body; strings.Contains(short, "resource_link") {
			t.Errorf("%s, a short one: %s", version, short)
		}
	}
}

// TestAdviceIsForTheModel repeats a call until the result has advice.
func TestAdviceIsForTheModel(t *testing.T) {
	noLeaks(t)
	v := openSite(t).visitor("alice").hello(t, "2025-11-25")
	for n := range 3 {
		got := v.post(callLine(fmt.Sprint(n), "long", `{"n":1}`)).body
		if strings.Contains(got, `To get on`) != (n == 2) ||
			strings.Contains(got, `","annotations":{"audience":["assistant"]}}`) != (n == 2) {
			t.Errorf("call %d: %s", n, got)
		}
	}
}

func TestReadOnlySessionsAreToldSo(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	const sentence = "This session is read-only"
	v := s.visitor("alice")
	for header, want := range map[string]bool{"": false, "1": true} {
		v.header = map[string]string{"X-MCP-Readonly": header}
		if got := v.post(handshake("2025-11-25", "{}")[0]).body; strings.Contains(got, sentence) != want {
			t.Errorf("read-only %q: %s", header, got)
		}
	}
	if got := s.visitor("reader").post(handshake("2025-11-25", "{}")[0]).body; !strings.Contains(got, sentence) {
		t.Errorf("a profile that reads: %s", got)
	}
	v = s.visitor("alice")
	v.path = "/"
	got := v.do(t.Context(), http.MethodGet, "")
	if got.status != http.StatusNotFound || !strings.Contains(got.body, "/mcp") {
		t.Errorf("/ got %d %s", got.status, got.body)
	}
}

func TestNarrowedToolsCannotBeCalled(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-11-25")
	v.header = map[string]string{"X-MCP-Readonly": "1"}
	if a := v.post(callLine("1", "change", `{}`)); !strings.Contains(a.body, "there is no tool") {
		t.Errorf("got %s", a.body)
	}
	reader := s.visitor("reader").hello(t, "2025-11-25")
	reader.header = map[string]string{"X-MCP-Tools": "change"}
	if a := reader.post(callLine("1", "change", `{}`)); !strings.Contains(a.body, "there is no tool") {
		t.Errorf("got %s", a.body)
	}
}

func TestEndedIsCalledAtTheEndOfASession(t *testing.T) {
	noLeaks(t)
	s := openSite(t)
	v := s.visitor("alice").hello(t, "2025-11-25")
	if a := s.visitor("bob").modern("tools/call", "echo").post(modernLine("1", "tools/call",
		`"name":"echo","arguments":{"text":"x"}`)); a.status != 200 {
		t.Fatalf("a request of the stateless era got %d: %s", a.status, a.body)
	}
	if a := v.do(t.Context(), "DELETE", ""); a.status != 200 {
		t.Fatalf("DELETE got %d", a.status)
	}
	if session := expect(t, s.over, "the end of the session"); !strings.HasPrefix(session, "http-") {
		t.Errorf("%q has ended", session)
	}
	select {
	case session := <-s.over:
		t.Errorf("%q has ended too", session)
	default:
	}
}

// TestLengthOfResponses: a response is whole for the client before the server notes that it was written.
func TestLengthOfResponses(t *testing.T) {
	a := openSite(t).visitor("alice").hello(t, "2025-11-25").post(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	if got := a.header.Get("Content-Length"); a.status != 200 || len(a.body) < 3000 || got != strconv.Itoa(len(a.body)) {
		t.Errorf("status %d, %d bytes, Content-Length %q", a.status, len(a.body), got)
	}
}
