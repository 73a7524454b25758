package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// These tests show faults of mcp-go v1.2.1 for which something stays ours, and that they are absent here. A test that
// fails after an upgrade of mcp-go names code that can go.

// served is a server that do answers, but for the handshake. It has sessions, and announces changes.
func served(t *testing.T, do func(w http.ResponseWriter, r *http.Request, m message)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		hi, ok := hello(m.Method, m.ID)
		switch {
		case ok:
			w.Header().Set(headerSession, "s1")
			w.Header().Set("Content-Type", jsonType)
			_, _ = io.WriteString(w, hi[0])
		case r.Method == http.MethodDelete || m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			do(w, r, m)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// libraryHTTP returns mcp-go's transport alone.
func libraryHTTP(t *testing.T, url string, options ...transport.StreamableHTTPCOption) *transport.StreamableHTTP {
	t.Helper()
	options = append(options, transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	alone, err := transport.NewStreamableHTTP(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alone.Close() })
	return alone
}

func toolsCall() transport.JSONRPCRequest {
	return transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(7)), Method: "tools/call"}
}

func dialed(t *testing.T, url string, client Client) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), client, HTTP{URL: url, Transport: http.DefaultTransport}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestLibraryGivesQuestionsHalfAMinute: so questions are answered here. A person needs longer.
func TestLibraryGivesQuestionsHalfAMinute(t *testing.T) {
	answers := make(chan string)
	url := served(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Method == "" {
			answers <- string(m.Result)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", eventStream)
		fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"a","z":1}}`, "\n\n")
		w.(http.Flusher).Flush()
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"said\":%s}}\n\n", m.ID, <-answers)
	})
	alone := libraryHTTP(t, url)
	alone.SetRequestHandler(func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if at, bounded := ctx.Deadline(); !bounded || time.Until(at) > time.Minute {
			t.Errorf("mcp-go gives questions until %v now", at)
		}
		return &transport.JSONRPCResponse{JSONRPC: "2.0", ID: r.ID, Result: json.RawMessage("{}")}, nil
	})
	if _, err := alone.SendRequest(t.Context(), toolsCall()); err != nil {
		t.Fatal(err)
	}
	raw, err := dialed(t, url, Client{Elicitation: true}).Do(t.Context(), mcp.MethodToolsCall, nil, &Call{
		Ask: func(ctx context.Context, q Question) (json.RawMessage, error) {
			if at, bounded := ctx.Deadline(); bounded {
				t.Errorf("a question has time until %v", at)
			}
			return q.Params, nil
		}})
	if err != nil || string(raw) != `{"said":{"message":"a","z":1}}` {
		t.Errorf("got %s, %v", raw, err)
	}
}

// TestLibraryTakesAnyAnswer: so answers are matched with requests here, and batches are taken apart here.
func TestLibraryTakesAnyAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		alone bool // mcp-go takes it
		right bool
	}{
		"of another request": {`{"jsonrpc":"2.0","id":999,"result":{}}`, true, false},
		"in a batch": {`[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":ID,"result":{}}]`,
			false, true},
		"too long": {`{"jsonrpc":"2.0","id":ID,"result":{"text":"` + strings.Repeat("x", MaxMessage) + `"}}`, true, false},
	} {
		for _, kind := range []string{jsonType, eventStream} {
			t.Run(name+" "+kind, func(t *testing.T) {
				url := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
					body := strings.Replace(test.body, "ID", string(m.ID), 1)
					w.Header().Set("Content-Type", kind)
					if kind == eventStream {
						body = "data: " + body + "\n\n"
					}
					_, _ = io.WriteString(w, body)
				})
				if _, err := libraryHTTP(t, url).SendRequest(t.Context(), toolsCall()); (err == nil) != test.alone {
					t.Errorf("mcp-go alone: %v", err)
				}
				if _, err := dialed(t, url, us()).Do(t.Context(), mcp.MethodToolsCall, nil, nil); (err == nil) != test.right {
					t.Errorf("here: %v", err)
				}
			})
		}
	}
}

// TestLibraryListensToOldServersOnly: so the transport does not say that it listens, and each GET of mcp-go is
// allowed here. It also shows that streams bring changes, and that one which ends early is resumed.
func TestLibraryListensToOldServersOnly(t *testing.T) {
	//lint:ignore SA1019 the test is about it
	listening := transport.WithContinuousListening()
	if !libraryHTTP(t, "http://server.test", listening).RequiresLegacyProtocol() {
		t.Error("mcp-go listens to servers of both eras now")
	}
	url := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", eventStream)
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, "id: 41/", string(m.ID), "\nretry: 10\n\n")
		case r.Header.Get("Last-Event-ID") != "":
			_, id, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "/")
			fmt.Fprint(w, ": resumed\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":", id, ",\"result\":{}}\n\n")
		default:
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	changed := make(chan struct{}, 1)
	c := dialed(t, url, Client{Changed: func() { changed <- struct{}{} }})
	<-changed
	if _, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, nil); err != nil {
		t.Errorf("a stream that ended early: %v", err)
	}
}

// TestLibraryHasNoQuestionsOnTheOlderTransport: so the stream of the older transport is read here.
func TestLibraryHasNoQuestionsOnTheOlderTransport(t *testing.T) {
	var older any = new(transport.SSE)
	if _, ok := older.(transport.BidirectionalInterface); ok {
		t.Error("mcp-go passes questions of the older transport on now")
	}
	events := make(chan string, 10)
	var call message
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var m message
			_ = json.NewDecoder(r.Body).Decode(&m)
			w.WriteHeader(http.StatusAccepted)
			if hi, ok := hello(m.Method, m.ID); ok {
				events <- "data: " + hi[0]
			} else if m.Method == "tools/call" {
				call = m
				events <- `data: {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`
			} else if m.Method == "" {
				events <- fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, m.Result)
			}
			return
		}
		w.Header().Set("Content-Type", eventStream)
		for event := "event: endpoint\ndata: /messages?id=1"; event != ""; event = <-events {
			fmt.Fprint(w, event, "\n\n")
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	c, err := Dial(t.Context(), us(), HTTP{URL: server.URL, Transport: http.DefaultTransport, SSE: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.Do(t.Context(), mcp.MethodToolsCall, nil, &Call{
		Ask: func(context.Context, Question) (json.RawMessage, error) { return json.RawMessage(`{"a":1}`), nil },
	})
	if err != nil || string(raw) != `{"a":1}` {
		t.Errorf("got %s, %v", raw, err)
	}
	events <- ""
	if <-c.Done(); !strings.Contains(c.Err().Error(), "ended the stream") {
		t.Errorf("after the end of the stream: %v", c.Err())
	}
}

// overPipes returns mcp-go's client on a program of the test.
func overPipes(t *testing.T, serve func(in io.Reader, out io.Writer)) (*mcpclient.Client, *transport.Stdio) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go serve(inR, outW)
	alone := transport.NewIO(outR, inW, nil)
	t.Cleanup(func() { alone.Close(); outW.Close(); inR.Close() })
	c := mcpclient.NewClient(alone)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, alone
}

// replying is a program that answers each line with what reply returns.
func replying(reply func(m message) string) func(in io.Reader, out io.Writer) {
	return func(in io.Reader, out io.Writer) {
		for lines := json.NewDecoder(in); ; {
			var m message
			if lines.Decode(&m) != nil {
				return
			}
			if said := reply(m); said != "" {
				_, _ = io.WriteString(out, said+"\n")
			}
		}
	}
}

// TestLibraryBelievesDiscovery: so the versions that a server names are checked here. The other reason why mcp-go's
// client does the handshake only is that it drops members of schemas.
func TestLibraryBelievesDiscovery(t *testing.T) {
	const schema = `{"type":"object","oneOf":[{"required":["a"]}]}`
	serve := replying(func(m message) string {
		if m.Method == "tools/list" {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":%s}]}}`, m.ID, schema)
		}
		if hi, ok := hello(m.Method, m.ID); ok {
			return hi[0]
		}
		return ""
	})
	alone, _ := overPipes(t, serve)
	if _, err := alone.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil ||
		!mcp.IsModernProtocol(alone.ProtocolVersion()) {
		t.Errorf("mcp-go speaks %s with a server that answers anything, %v", alone.ProtocolVersion(), err)
	}
	list, err := alone.ListTools(t.Context(), mcp.ListToolsRequest{})
	if encoded, _ := json.Marshal(list); err != nil || bytes.Contains(encoded, []byte("oneOf")) {
		t.Errorf("mcp-go lists %s, %v", encoded, err)
	}
	c := spawn(t, us(), program(serve))
	if got := c.Info().Protocol; got != "2025-06-18" {
		t.Errorf("the revision is %s", got)
	}
	if raw, err := c.List(t.Context(), mcp.MethodToolsList, "tools", 10); err != nil || len(raw) != 1 ||
		!bytes.Contains(raw[0], []byte(schema)) {
		t.Errorf("the list is %s, %v", raw, err)
	}
}

// A full pipe takes no calls.
type full struct {
	Process
	writing chan struct{}
}

func (p full) Write(ctx context.Context, data []byte) error {
	if !bytes.Contains(data, []byte("tools/call")) {
		return p.Process.Write(ctx, data)
	}
	p.writing <- struct{}{}
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestLibraryWritesToStdinWithoutEnd: so the transport with stdin and stdout is ours. A caller that no longer waits is
// free, and one whose request was not written knows that.
func TestLibraryWritesToStdinWithoutEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	begun, ended := make(chan struct{}), make(chan struct{})
	_, alone := overPipes(t, func(in io.Reader, _ io.Writer) { _, _ = in.Read(make([]byte, 1)); close(begun) })
	go func() { _, _ = alone.SendRequest(ctx, toolsCall()); close(ended) }()
	<-begun
	cancel(nil)
	select {
	case <-ended:
		t.Error("mcp-go stops writing now when the context ends")
	case <-time.After(50 * time.Millisecond):
	}
	writing := make(chan struct{})
	start := scripted(func(method string, id, _ json.RawMessage) []string { hi, _ := hello(method, id); return hi })
	c := spawn(t, us(), func(ctx context.Context, output func([]byte), gone func(error)) (Process, error) {
		p, err := start(ctx, output, gone)
		return full{p, writing}, err
	})
	ctx, cancel = context.WithCancelCause(t.Context())
	first, second := make(chan error), make(chan error)
	go func() { _, err := c.Do(ctx, mcp.MethodToolsCall, nil, nil); first <- err }()
	<-writing
	go func() { _, err := c.Do(ctx, mcp.MethodToolsCall, nil, nil); second <- err }()
	cancel(errors.New("enough"))
	if err := <-first; err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("half a request: %v", err)
	}
	if err := <-second; !errors.Is(err, ErrNotSent) {
		t.Errorf("a request that waited: %v", err)
	}
}
