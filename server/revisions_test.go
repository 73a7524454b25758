package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
)

// legacyRevisions are those that begin with a handshake.
var legacyRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// A talker is a client on some transport: it says one message after the other
// and receives all messages, in order. *wire is the one on stdio.
type talker interface {
	send(messages ...string)
	next() string
}

// everyTransport runs a test once for each way to the fixture.
func everyTransport(t *testing.T, test func(t *testing.T, dial func() talker)) {
	t.Run("stdio", func(t *testing.T) {
		test(t, func() talker { return dial(t, newFixture(t)) })
	})
	t.Run("http", func(t *testing.T) {
		base := serveFixture(t, newFixture(t))
		test(t, func() talker { return &httpTalk{t, caller(t, base, "/mcp"), make(chan string, 100)} })
	})
	t.Run("sse", func(t *testing.T) {
		base := serveFixture(t, newFixture(t))
		test(t, func() talker { return dialSSE(t, base) })
	})
}

// caller is a visitor of the fixture.
func caller(tb testing.TB, base, path string) *visitor {
	web := &http.Client{Transport: &http.Transport{}}
	tb.Cleanup(web.CloseIdleConnections)
	return &visitor{web: web, base: base, path: path, token: "any"}
}

// httpTalk is a talker over streamable HTTP.
type httpTalk struct {
	tb    testing.TB
	v     *visitor
	heard chan string
}

func (h *httpTalk) send(messages ...string) {
	h.tb.Helper()
	for _, message := range messages {
		r, err := h.v.request(h.tb.Context(), http.MethodPost, message)
		if err != nil {
			h.tb.Fatal(err)
		}
		resp, err := h.v.web.Do(r) // returns with the first event, or with the answer
		if err != nil {
			h.tb.Fatal(err)
		}
		if id := resp.Header.Get(mcp.HeaderSessionID); id != "" {
			h.v.session = id
		}
		go func() {
			defer resp.Body.Close()
			for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
				if message := strings.TrimPrefix(scanner.Text(), "data: "); strings.HasPrefix(message, "{") ||
					strings.HasPrefix(message, "[") {
					h.heard <- message
				}
			}
		}()
	}
}

func (h *httpTalk) next() string {
	h.tb.Helper()
	return expect(h.tb, h.heard, "an answer over HTTP")
}

// sseTalk is a talker over the old HTTP+SSE.
type sseTalk struct {
	tb     testing.TB
	v      *visitor
	stream *events
}

func dialSSE(tb testing.TB, base string) *sseTalk {
	tb.Helper()
	s := &sseTalk{tb: tb, stream: caller(tb, base, "/sse").listen(tb, "")}
	s.v = caller(tb, base, expect(tb, s.stream.data, "the address to post to"))
	return s
}

func (s *sseTalk) send(messages ...string) {
	s.tb.Helper()
	for _, message := range messages {
		if a := s.v.post(message); a.status != http.StatusAccepted {
			s.tb.Fatalf("posting %s got %d %q %v", message, a.status, a.body, a.err)
		}
	}
}

func (s *sseTalk) next() string {
	s.tb.Helper()
	return expect(s.tb, s.stream.data, "an answer over SSE")
}

// at returns what stands at the path in a JSON text; nil if nothing does.
func at(tb testing.TB, text string, path ...string) any {
	tb.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		tb.Fatalf("%q is not JSON: %v", text, err)
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// shake is a handshake; it returns the answer to it.
func shake(tb testing.TB, client talker, version, capabilities string) string {
	tb.Helper()
	lines := handshake(version, capabilities)
	client.send(lines[0])
	answer := client.next()
	client.send(lines[1])
	return answer
}

func TestHandshakeOfEveryLegacyRevision(t *testing.T) {
	everyTransport(t, func(t *testing.T, dial func() talker) {
		for _, version := range legacyRevisions {
			client := dial()
			hello := shake(t, client, version, `{}`)
			if got := at(t, hello, "result", "protocolVersion"); got != version {
				t.Errorf("asked for %s, got %v", version, got)
			}
			if at(t, hello, "result", "serverInfo", "name") != "mcp-tools" ||
				at(t, hello, "result", "capabilities", "tools") == nil {
				t.Errorf("%s: the handshake says %s", version, hello)
			}
			client.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			if got := client.next(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Errorf("%s: ping got %s", version, got)
			}
			client.send(`{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"test_simple_text"}}`)
			want := `{"jsonrpc":"2.0","id":"two","result":{"content":[{"type":"text","text":"This is a simple text response for testing."}]}}`
			if diff := cmp.Diff(want, client.next()); diff != "" {
				t.Errorf("%s: a call without arguments: %s", version, diff)
			}
			client.send(`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]`)
			if got := client.next(); !strings.Contains(got, "batches are not supported") {
				t.Errorf("%s: a batch got %s", version, got)
			}
		}
	})
}

func TestUnknownRevisionsGetTheNewestWithAHandshake(t *testing.T) {
	everyTransport(t, func(t *testing.T, dial func() talker) {
		for _, version := range []string{"1999-01-01", "2026-07-28", "2099-01-01"} {
			client := dial()
			if got := at(t, shake(t, client, version, `{}`), "result", "protocolVersion"); got != "2025-11-25" {
				t.Errorf("asked for %q, got %v", version, got)
			}
		}
	})
}

func TestProgressComesBeforeTheAnswer(t *testing.T) {
	everyTransport(t, func(t *testing.T, dial func() talker) {
		client := dial()
		shake(t, client, "2025-11-25", `{}`)
		client.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_tool_with_progress","_meta":{"progressToken":"p"}}}`)
		for _, want := range []float64{0, 50, 100} {
			got := client.next()
			if at(t, got, "params", "progress") != want || at(t, got, "params", "progressToken") != "p" {
				t.Errorf("wanted %v, got %s", want, got)
			}
		}
		if got := client.next(); at(t, got, "id") != 7.0 {
			t.Errorf("the answer is %s", got)
		}
	})
}

// TestQuestionsReachOldClients has a tool that asks a person, a model and the client itself, on every
// transport.
func TestQuestionsReachOldClients(t *testing.T) {
	everyTransport(t, func(t *testing.T, dial func() talker) {
		client := dial()
		shake(t, client, "2025-11-25", `{"elicitation":{},"sampling":{},"roots":{}}`)
		client.send(callLine("9", "test_input_required_result_multiple_inputs", `{}`))
		replies := map[any]string{
			"elicitation/create":     `{"action":"accept","content":{"name":"Ann"}}`,
			"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"Ahoy"}}`,
			"roots/list":             `{"roots":[{"uri":"file:///w"}]}`,
		}
		for range 3 {
			question := client.next()
			method := at(t, question, "method")
			if replies[method] == "" {
				t.Fatalf("the server asked %s", question)
			}
			client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, at(t, question, "id"), replies[method]))
			delete(replies, method)
		}
		answer := read(t, client.next()).text()
		for _, want := range []string{"Ann", "Ahoy", "file:///w"} {
			if !strings.Contains(answer, want) {
				t.Errorf("the tool heard %q, without %q", answer, want)
			}
		}
	})
}

func TestStatelessRevisionNeedsNoHandshake(t *testing.T) {
	client := dial(t, newFixture(t))
	client.send(modernLine("1", "server/discover", ""), modernLine("2", "tools/call", `"name":"test_simple_text"`))
	seen := map[any]string{}
	for range 2 {
		line := client.next()
		seen[at(t, line, "id")] = line
	}
	versions, _ := at(t, seen[1.0], "result", "supportedVersions").([]any)
	if len(versions) != 5 {
		t.Errorf("server/discover says %s", seen[1.0])
	}
	if at(t, seen[2.0], "result", "resultType") != "complete" {
		t.Errorf("the call got %s", seen[2.0])
	}
}

// TestErasMixOnOneEndpoint has clients of all revisions on one endpoint, with equal ids: each gets responses in
// its own revision.
func TestErasMixOnOneEndpoint(t *testing.T) {
	base := serveFixture(t, newFixture(t))
	var clients sync.WaitGroup
	for _, version := range legacyRevisions {
		v := caller(t, base, "/mcp").hello(t, version)
		clients.Go(func() {
			for range 20 {
				a := v.post(callLine("1", "test_streaming_elicitation", `{}`))
				if a.status != http.StatusOK || at(t, a.body, "result", "resultType") != nil ||
					at(t, a.body, "error", "code") == nil {
					t.Errorf("%s: got %d %s", version, a.status, a.body)
				}
			}
		})
	}
	modern := caller(t, base, "/mcp")
	for range 4 {
		clients.Go(func() {
			for range 20 {
				a := modern.modern("tools/call", "test_streaming_elicitation").
					post(modernLine("1", "tools/call", `"name":"test_streaming_elicitation","arguments":{}`))
				if a.status != http.StatusOK || at(t, a.body, "result", "resultType") != "input_required" ||
					a.header.Get(mcp.HeaderSessionID) != "" {
					t.Errorf("2026-07-28: got %d %s", a.status, a.body)
				}
			}
		})
	}
	clients.Wait()
}
