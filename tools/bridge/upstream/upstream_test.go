package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"
)

// us is the client of the tests.
func us() Client { return Client{Name: "tests", Version: "1"} }

// piped is a process that is a goroutine of the test.
type piped struct {
	in   *io.PipeWriter
	stop func()
}

func (p *piped) Write(_ context.Context, data []byte) error { _, err := p.in.Write(data); return err }
func (p *piped) Words() string                              { return "sorry" }
func (p *piped) Close() error                               { p.stop(); return p.in.Close() }

// program returns a Start for a program that is a function.
func program(serve func(in io.Reader, out io.Writer)) Start {
	return func(_ context.Context, output func([]byte), gone func(error)) (Process, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		go func() { serve(inR, outW); outW.Close(); inR.Close() }()
		go func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := outR.Read(buffer)
				output(buffer[:n])
				if err != nil {
					gone(nil)
					return
				}
			}
		}()
		return &piped{inW, func() { outR.Close() }}, nil
	}
}

// scripted is a program that answers each request with what reply returns, on a line each.
func scripted(reply func(method string, id, params json.RawMessage) []string) Start {
	return program(func(in io.Reader, out io.Writer) {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(line, &m) != nil || m.Method == "" {
				continue
			}
			for _, answer := range reply(m.Method, m.ID, m.Params) {
				if _, err := io.WriteString(out, answer+"\n"); err != nil {
					return
				}
			}
		}
	})
}

// hello answers the handshake of the older era.
func hello(method string, id json.RawMessage) (answers []string, ok bool) {
	switch mcp.MCPMethod(method) {
	case mcp.MethodServerDiscover: // junk that is not a proof of the era
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)}, true
	case mcp.MethodInitialize:
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}}`, id)}, true
	}
	return nil, false
}

func spawn(t *testing.T, client Client, start Start) *Conn {
	t.Helper()
	c, err := Spawn(t.Context(), client, start, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// goServer is a server of mcp-go.
func goServer() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("other", "1", mcpserver.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("text", "")), nil
		})
	return s
}

// TestOtherImplementations speaks with servers of mcp-go over all transports.
func TestOtherImplementations(t *testing.T) {
	streamable := httptest.NewServer(mcpserver.NewStreamableHTTPServer(goServer()))
	defer streamable.Close()
	events := servertest.NewTestServer(goServer())
	defer events.Close()
	for name, dial := range map[string]func(stateless bool) (*Conn, error){
		"http": func(stateless bool) (*Conn, error) {
			return Dial(t.Context(), us(), HTTP{URL: streamable.URL + "/mcp", Transport: http.DefaultTransport},
				stateless)
		},
		"sse": func(bool) (*Conn, error) {
			return Dial(t.Context(), us(), HTTP{URL: events.URL + "/sse", Transport: http.DefaultTransport, SSE: true},
				false)
		},
		"stdio": func(stateless bool) (*Conn, error) {
			return Spawn(t.Context(), us(), program(func(in io.Reader, out io.Writer) {
				_ = mcpserver.NewStdioServer(goServer()).Listen(t.Context(), in, out)
			}), stateless)
		},
	} {
		for _, stateless := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", stateless), func(t *testing.T) {
				c, err := dial(stateless)
				if err != nil {
					t.Fatal(err)
				}
				if modern := mcp.IsModernProtocol(c.Info().Protocol); modern != (stateless && name != "sse") ||
					!c.Info().Tools {
					t.Errorf("the server says %+v", c.Info())
				}
				list, err := c.List(t.Context(), mcp.MethodToolsList, "tools", 10)
				if err != nil || len(list) != 1 || !bytes.Contains(list[0], []byte(`"echo"`)) {
					t.Fatalf("it lists %s, %v", list, err)
				}
				var calls sync.WaitGroup
				for i := range 20 {
					calls.Go(func() {
						raw, err := c.Do(t.Context(), mcp.MethodToolsCall, map[string]any{
							"name": "echo", "arguments": map[string]any{"text": fmt.Sprint("n", i)},
						}, &Call{})
						if err != nil || !bytes.Contains(raw, []byte(fmt.Sprintf(`"n%d"`, i))) {
							t.Errorf("call %d: %s, %v", i, raw, err)
						}
					})
				}
				calls.Wait()
				if _, err := c.Do(t.Context(), mcp.MethodToolsCall, map[string]any{"name": "none"}, nil); err == nil {
					t.Error("a tool that does not exist was called")
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if _, err := c.Do(t.Context(), mcp.MethodPing, nil, nil); !errors.Is(err, ErrLost) {
					t.Errorf("after the end: %v", err)
				}
			})
		}
	}
}

// TestMessagesAreBounded sends what is too long, on all transports.
func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	c := spawn(t, us(), scripted(func(method string, id, _ json.RawMessage) []string {
		if answers, ok := hello(method, id); ok {
			return answers
		}
		return []string{`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"text":"` + strings.Repeat(long, 40) +
			`"}}`}
	}))
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "more than 10485760 bytes") {
		t.Errorf("40 MB on a line: %v", err)
	}
	<-c.Done()
	for _, kind := range []string{jsonType, eventStream} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m message
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.Header().Set("Content-Type", jsonType)
			if answers, ok := hello(m.Method, m.ID); ok {
				_, _ = io.WriteString(w, answers[0])
				return
			}
			if len(m.ID) == 0 {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", kind)
			for range 300 {
				if _, err := fmt.Fprintf(w, "data: %s\n", long); err != nil {
					return
				}
			}
		}))
		c, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport}, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); err == nil ||
			!strings.Contains(err.Error(), "more than 10485760 bytes") {
			t.Errorf("%s of 300 MB: %v", kind, err)
		}
		c.Close()
		server.Close()
	}
}

// TestListsAreBounded has pages without end, pages that repeat, and too many tools.
func TestListsAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		page func(n int) string
		want string
	}{
		"without end": {func(n int) string { return fmt.Sprintf(`{"tools":[{}],"nextCursor":"%d"}`, n) },
			"more than 50 pages"},
		"repeated": {func(int) string { return `{"tools":[],"nextCursor":"a"}` }, "repeats a page"},
		"too many": {func(int) string { return `{"tools":[` + strings.Repeat("{},", 2000) + `{}]}` },
			"more than 1000"},
		"no list": {func(int) string { return `{"tools":5}` }, "no list of tools"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			c := spawn(t, us(), scripted(func(method string, id, _ json.RawMessage) []string {
				if answers, ok := hello(method, id); ok {
					return answers
				}
				if len(id) == 0 {
					return nil
				}
				n++
				return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, test.page(n))}
			}))
			if _, err := c.List(t.Context(), mcp.MethodToolsList, "tools", 1000); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestNotifications: progress reaches the call that it is for, a change is announced, and a server that
// sends nothing else is cut off.
func TestNotifications(t *testing.T) {
	var changes atomic.Int64
	client := us()
	client.Changed = func() { changes.Add(1) }
	c := spawn(t, client, scripted(func(method string, id, params json.RawMessage) []string {
		if answers, ok := hello(method, id); ok {
			return answers
		}
		var p struct {
			Name string `json:"name"`
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(params, &p)
		flood := strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+
			"\n", 100_010), "\n")
		switch p.Name {
		case "progress":
			return []string{
				`not json`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":999,"progress":7}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(p.Meta.Token) +
					`,"progress":1,"total":2,"message":"half"}}`,
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{}}`,
			}
		case "flood":
			return []string{flood}
		}
		return nil
	}))
	var seen []string
	call := &Call{Progress: func(done, total float64,
		message string) {
		seen = append(seen, fmt.Sprint(done, total, message))
	}}
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, map[string]any{"name": "progress"}, call); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0] != "1 2half" || changes.Load() != 1 {
		t.Errorf("progress %q, %d changes", seen, changes.Load())
	}
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, map[string]any{"name": "flood"}, nil); err == nil ||
		!strings.Contains(err.Error(), "answer nothing") {
		t.Errorf("a flood: %v", err)
	}
}

// TestCancel: a caller that waits no longer is free at once, whatever the server does, and the server
// is told.
func TestCancel(t *testing.T) {
	told := make(chan string, 1)
	begun := make(chan struct{}, 1)
	c := spawn(t, us(), scripted(func(method string, id, params json.RawMessage) []string {
		if answers, ok := hello(method, id); ok {
			return answers
		}
		switch method {
		case "notifications/cancelled":
			told <- string(params)
		case "tools/call":
			begun <- struct{}{}
		}
		return nil
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-begun; cancel(errors.New("enough")) }()
	if _, err := c.Do(ctx, mcp.MethodToolsCall, nil, nil); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
	select {
	case got := <-told:
		if !strings.Contains(got, `"requestId":`) {
			t.Errorf("the server was told %s", got)
		}
	case <-time.After(time.Minute):
		t.Error("the server was not told")
	}
}

// TestServerThatDies: the calls in flight end with what it said last.
func TestServerThatDies(t *testing.T) {
	c := spawn(t, us(), program(func(in io.Reader, out io.Writer) {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			var m message
			if err != nil || json.Unmarshal(line, &m) != nil || m.Method == "tools/call" {
				return
			}
			if answers, ok := hello(m.Method, m.ID); ok {
				_, _ = io.WriteString(out, answers[0]+"\n")
			}
		}
	}))
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); !errors.Is(err, ErrLost) ||
		!strings.Contains(err.Error(), "sorry") {
		t.Errorf("got %v", err)
	}
}

// TestRedirectsStayAtTheServer: keys in headers do not reach another place.
func TestRedirectsStayAtTheServer(t *testing.T) {
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	defer thief.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/mcp", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	_, err := Dial(t.Context(), us(), HTTP{
		URL: server.URL, Transport: http.DefaultTransport, Header: http.Header{"X-Api-Key": {"k"}},
	}, true)
	if err == nil || !strings.Contains(err.Error(), "redirects to another place") || stolen.Load() {
		t.Errorf("got %v, the key was stolen: %t", err, stolen.Load())
	}
}

// TestQuestions: a question during a call reaches that call, one at a time, and no other.
func TestQuestions(t *testing.T) {
	client := us()
	client.Elicitation = true
	var answers atomic.Pointer[string]
	start := program(func(in io.Reader, out io.Writer) {
		lines := bufio.NewReader(in)
		var waiting json.RawMessage
		for {
			line, err := lines.ReadBytes('\n')
			var m message
			if err != nil || json.Unmarshal(line, &m) != nil {
				return
			}
			if hi, ok := hello(m.Method, m.ID); ok {
				_, _ = io.WriteString(out, hi[0]+"\n")
				continue
			}
			switch {
			case m.Method == "tools/call":
				waiting = m.ID
				_,
					_ = io.WriteString(out,
					`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"name?"}}`+"\n")
			case string(m.ID) == `"q"`:
				said := string(line)
				answers.Store(&said)
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", waiting)
			}
		}
	})
	c := spawn(t, client, start)
	call := &Call{Ask: func(_ context.Context, q Question) (json.RawMessage, error) {
		if q.Method != "elicitation/create" {
			return nil, errors.New("what?")
		}
		return json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`), nil
	}}
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, call); err != nil ||
		!strings.Contains(*answers.Load(), "Ann") {
		t.Errorf("got %v, %s", err, *answers.Load())
	}
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, &Call{}); err != nil ||
		!strings.Contains(*answers.Load(), "no call of ours") {
		t.Errorf("a call that allows no questions: %v, %s", err, *answers.Load())
	}
}

// TestOddCapabilities: a capability that nobody asks for may have any form.
func TestOddCapabilities(t *testing.T) {
	start := scripted(func(method string, id, _ json.RawMessage) []string {
		switch mcp.MCPMethod(method) {
		case mcp.MethodInitialize:
			return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",`+
				`"capabilities":{"experimental":[],"logging":true,"tools":{}},"serverInfo":{"name":"odd"}}}`, id)}
		case mcp.MethodServerDiscover:
			return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)}
		}
		return nil
	})
	if c := spawn(t, us(), start); !c.Info().Tools {
		t.Errorf("got %+v", c.Info())
	}
}

// TestForgottenSession: when a server has lost the session, the request may be made again on another
// connection.
func TestForgottenSession(t *testing.T) {
	var forget atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch {
		case m.Method == "initialize":
			w.Header().Set(headerSession, "s1")
		case forget.Load():
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		if answers, ok := hello(m.Method, m.ID); ok {
			_, _ = io.WriteString(w, answers[0])
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	c, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	forget.Store(true)
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); !errors.Is(err, ErrNotSent) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
}

// A hooked transport passes the requests of sessions through a function.
type hooked func(r *http.Request) (*http.Response, error)

func (h hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get(headerSession) == "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	return h(r)
}

// waitsAtEnd is the body of a response that ends after the context of its request.
type waitsAtEnd struct {
	io.ReadCloser
	ctx context.Context
}

func (b waitsAtEnd) Close() error { <-b.ctx.Done(); return b.ReadCloser.Close() }

// TestNotSent: a request that the server did not get says so, also if the connection ends at the same moment; one
// that the server may have got does not.
func TestNotSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		if answers, ok := hello(m.Method, m.ID); ok {
			w.Header().Set("Content-Type", jsonType)
			if m.Method == "initialize" {
				w.Header().Set(headerSession, "s1")
			}
			_, _ = io.WriteString(w, answers[0])
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		trip    func(r *http.Request, end func()) (*http.Response, error)
		notSent bool
	}{
		"the end comes before the answer is returned": {func(r *http.Request, _ func()) (*http.Response, error) {
			response, err := http.DefaultTransport.RoundTrip(r)
			if err == nil {
				response.Body = waitsAtEnd{response.Body, r.Context()}
			}
			return response, err
		}, true},
		"the end comes before a byte was read": {func(r *http.Request, end func()) (*http.Response, error) {
			end()
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, true},
		"the end comes after a byte was read": {func(r *http.Request, end func()) (*http.Response, error) {
			_, err := r.Body.Read(make([]byte, 1))
			end()
			<-r.Context().Done()
			return nil, errors.Join(err, r.Context().Err())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var c *Conn
			var calls atomic.Bool
			c, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: hooked(
				func(r *http.Request) (*http.Response, error) {
					if !calls.Load() { // the handshake goes on
						return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody}, nil
					}
					return test.trip(r, func() { c.lose(errors.New("another request saw the end")) })
				})}, true)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { calls.Store(false); c.Close() }()
			calls.Store(true)
			_, err = c.Do(t.Context(), mcp.MethodToolsCall, nil, nil)
			if errors.Is(err, ErrNotSent) != test.notSent || !errors.Is(err, ErrLost) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestEventsThatNameOthers: the older transport names an address for requests, which must be of the server.
func TestEventsThatNameOthers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, "event: endpoint\ndata: http://elsewhere.test/steal\n\n")
	}))
	defer server.Close()
	_, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport, SSE: true}, false)
	if err == nil || !strings.Contains(err.Error(), "another place") {
		t.Errorf("got %v", err)
	}
}

// TestOlderServersAcknowledge: what the older transport answers to a POST is no response, in JSON neither. The response
// comes on the stream.
func TestOlderServersAcknowledge(t *testing.T) {
	posted := make(chan message, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var m message
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"status":"accepted"}`)
			time.AfterFunc(20*time.Millisecond, func() { posted <- m }) // after the answer; before it, the test only shows less
			return
		}
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, "event: endpoint\ndata: /message\n\n")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case m := <-posted:
				answers, ok := hello(m.Method, m.ID)
				if !ok {
					answers = []string{`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`}
				}
				if len(m.ID) > 0 {
					fmt.Fprintf(w, "data: %s\n\n", answers[0])
				}
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	c, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport, SSE: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestBatchesAreFlat: a batch in a batch is dropped. 10 MB of brackets would be read again for each.
func TestBatchesAreFlat(t *testing.T) {
	changes := 0
	c := newConn(Client{Changed: func() { changes++ }})
	const change = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	c.incoming([]byte("["+change+",["+change+"],{}]"), nil)
	if changes != 1 || c.unasked != 3 {
		t.Errorf("%d changes, %d messages that answer nothing", changes, c.unasked)
	}
}

func FuzzIncoming(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"result":{}}]`))
	f.Add([]byte(`{"method":"notifications/progress","params":{"progressToken":1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newConn(us())
		c.link = &stdioLink{conn: c, process: &piped{in: new(io.PipeWriter), stop: func() {}},
			writing: make(chan struct{}, 1)}
		c.end(errors.New("tests send nothing"))
		c.closing = true
		c.incoming(raw, nil)
		l, err := newHTTPLink(us(), HTTP{URL: "http://server.test"})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.events(bytes.NewReader(raw), io.Discard, nil)
	})
}

// modernHello answers discovery.
func modernHello(method string, id json.RawMessage) (answer string, ok bool) {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],`+
		`"capabilities":{"tools":{}}}}`, id), method == "server/discover"
}

// BenchmarkDo measures a call of a server that answers at once, in both eras, with few and with 5 MB of arguments.
func BenchmarkDo(b *testing.B) {
	answer := func(era, line string) string {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_, id, _ := strings.Cut(line, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		_, method, _ := strings.Cut(line, `"method":"`)
		m.Method, _, _ = strings.Cut(method, `"`)
		m.ID = json.RawMessage(id)
		if hi, ok := modernHello(m.Method, m.ID); ok && era == "2026-07-28" {
			return hi
		}
		if hi, ok := hello(m.Method, m.ID); ok {
			return hi[0]
		}
		if id == "" {
			return ""
		}
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"done"}]}}`
	}
	for _, era := range []string{"2025-06-18", "2026-07-28"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", jsonType)
			_, _ = io.WriteString(w, answer(era, string(body)))
		}))
		defer server.Close()
		start := program(func(in io.Reader, out io.Writer) {
			lines := bufio.NewReaderSize(in, 1<<20)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if said := answer(era, line); said != "" {
					_, _ = io.WriteString(out, said+"\n")
				}
			}
		})
		for name, open := range map[string]func() (*Conn, error){
			"http": func() (*Conn, error) {
				return Dial(b.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport}, true)
			},
			"stdio": func() (*Conn, error) { return Spawn(b.Context(), us(), start, true) },
		} {
			c, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for size, bytes := range map[string]int{"10B": 10, "5MB": 5 << 20} {
				arguments := json.RawMessage(`{"text":"` + strings.Repeat("x", bytes) + `"}`)
				b.Run(era+"/"+name+"/"+size, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := c.Do(b.Context(), mcp.MethodToolsCall, map[string]any{
							"name": "echo", "arguments": arguments,
						}, &Call{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
