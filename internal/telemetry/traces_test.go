package telemetry

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	parent    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// secret is composed, so that scanners do not report it as a real one.
func secret() string { return "gh" + "p_" + strings.Repeat("A1b2", 9) }

func scrubSecret(text string) string { return strings.ReplaceAll(text, secret(), "[REDACTED]") }

// A collector records the requests that it receives.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	paths   []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(z)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, string(body))
	c.headers = append(c.headers, r.Header)
	c.paths = append(c.paths, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, "{}")
}

// spans returns all received spans, decoded.
func (c *collector) spans(t *testing.T) []map[string]any {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var spans []map[string]any
	for _, body := range c.bodies {
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		for _, r := range request.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
	}
	return spans
}

// observe makes one call against a collector and delivers its span.
func observe(t *testing.T, traces Traces, b Begin, e End) {
	t.Helper()
	traces.HTTP = egresstest.Local(t, traces.Endpoint)
	calls, err := New(Config{Version: "1.2.3", Labels: testWords(), Traces: traces, Scrub: scrubSecret})
	if err != nil {
		t.Fatal(err)
	}
	calls.AddTools("read_file")
	ctx, end := calls.Start(t.Context(), b)
	if Traceparent(ctx) == nil {
		t.Error("the context of the call has no span")
	}
	end(e)
	if err := calls.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// wireForm is the request that a collector receives for one failed call. Values
// that differ between runs are masked.
const wireForm = `{
  "resourceSpans": [{
    "resource": {"attributes": [
      {"key": "service.name", "value": {"stringValue": "mcp-tools"}},
      {"key": "service.version", "value": {"stringValue": "1.2.3"}}
    ]},
    "scopeSpans": [{
      "scope": {"name": "github.com/mcp-tools/mcp-tools", "version": "1.2.3"},
      "spans": [{
        "traceId": "4BF92F3577B34DA6A3CE929D0E0E4736",
        "traceState": "vendor=value",
        "flags": 769,
        "spanId": "SPAN",
        "parentSpanId": "00F067AA0BA902B7",
        "name": "tools/call read_file",
        "kind": 2,
        "startTimeUnixNano": "TIME",
        "endTimeUnixNano": "TIME",
        "attributes": [
          {"key": "mcp.method.name", "value": {"stringValue": "tools/call"}},
          {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
          {"key": "gen_ai.tool.name", "value": {"stringValue": "read_file"}},
          {"key": "network.transport", "value": {"stringValue": "tcp"}},
          {"key": "network.protocol.name", "value": {"stringValue": "http"}},
          {"key": "mcp.session.id", "value": {"stringValue": "SESSION"}},
          {"key": "mcp_tools.profile", "value": {"stringValue": "coding"}},
          {"key": "mcp_tools.verdict", "value": {"stringValue": "allow"}},
          {"key": "mcp_tools.outcome", "value": {"stringValue": "not_found"}},
          {"key": "mcp_tools.queue_wait", "value": {"doubleValue": 0.25}},
          {"key": "mcp_tools.result.bytes", "value": {"intValue": "42"}},
          {"key": "mcp_tools.redactions", "value": {"intValue": "3"}},
          {"key": "mcp_tools.error.kind", "value": {"stringValue": "not_found"}},
          {"key": "error.type", "value": {"stringValue": "tool_error"}}
        ],
        "status": {"code": 2, "message": "no file \"[REDACTED]\""}
      }]
    }]
  }]
}`

func TestTraceOnTheWire(t *testing.T) {
	c := newCollector(t)
	observe(t, Traces{Endpoint: c.URL, Headers: map[string]string{"x-api-key": secret()}},
		Begin{
			Tool:      "read_file",
			Caller:    tool.Caller{Session: "a session", Profile: "coding", User: "somebody"},
			Transport: "http",
			Meta:      map[string]string{"traceparent": parent, "tracestate": "vendor=value", "baggage": "a=b"},
		},
		End{
			Verdict: "allow", Outcome: "not_found", Kind: "not_found", QueueWait: 250 * time.Millisecond, BytesOut: 42,
			Redactions: map[string]int{"github": 2, "jwt": 1}, Err: errors.New(`no file "` + secret() + `"`),
		})

	if len(c.bodies) != 1 {
		t.Fatalf("%d requests, want 1", len(c.bodies))
	}
	body := c.bodies[0]
	for _, mask := range []struct{ pattern, with string }{
		{`("spanId":)"[0-9A-F]{16}"`, `$1"SPAN"`},
		{`(TimeUnixNano":)"[0-9]{19}"`, `$1"TIME"`},
		{`("mcp.session.id","value":{"stringValue":)"[0-9a-f]{16}"`, `$1"SESSION"`},
	} {
		body = regexp.MustCompile(mask.pattern).ReplaceAllString(body, mask.with)
	}
	if diff := cmp.Diff(decoded(t, wireForm), decoded(t, body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if c.paths[0] != "/v1/traces" {
		t.Errorf("the path is %q", c.paths[0])
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Content-Encoding": "gzip", "X-Api-Key": secret(),
	} {
		if got := c.headers[0].Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestParentOfASpan(t *testing.T) {
	const zeros = "00000000000000000000000000000000"
	tests := []struct {
		name  string
		meta  map[string]string
		spans int
		child bool
	}{
		{name: "none", spans: 1},
		{name: "sampled", meta: map[string]string{"traceparent": parent}, spans: 1, child: true},
		{name: "not sampled", meta: map[string]string{"traceparent": unsampled}, spans: 0},
		{name: "empty", meta: map[string]string{"traceparent": ""}, spans: 1},
		{name: "words", meta: map[string]string{"traceparent": "hello"}, spans: 1},
		{name: "no trace id", meta: map[string]string{"traceparent": "00-" + zeros + "-00f067aa0ba902b7-01"}, spans: 1},
		{name: "unknown version", meta: map[string]string{"traceparent": "ff" + parent[2:]}, spans: 1},
		{name: "too long", meta: map[string]string{"traceparent": parent + strings.Repeat("0", 1<<16)}, spans: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCollector(t)
			observe(t, Traces{Endpoint: c.URL}, Begin{Tool: "read_file", Meta: tt.meta}, End{Outcome: "ok"})
			spans := c.spans(t)
			if len(spans) != tt.spans {
				t.Fatalf("%d spans, want %d", len(spans), tt.spans)
			}
			if tt.spans == 0 {
				return
			}
			if child := spans[0]["parentSpanId"] == "00F067AA0BA902B7"; child != tt.child {
				t.Errorf("a child of the client's span: %t, want %t", child, tt.child)
			}
		})
	}
}

// TestUnknownToolNameIsNotExported checks a call of an unknown tool: neither its name nor a secret in
// it may be exported.
func TestUnknownToolNameIsNotExported(t *testing.T) {
	c := newCollector(t)
	long := errors.New(strings.Repeat("€", 200) + secret())
	observe(t, Traces{Endpoint: c.URL + "/otel/"},
		Begin{Tool: "made_up " + secret(), Transport: "stdio", Caller: tool.Caller{Session: "the-session", User: "the-user"}},
		End{Outcome: "error", Kind: "not_found", Err: long})
	body := c.bodies[0]
	for _, word := range []string{secret(), "made_up", "the-session", "the-user", "\ufffd"} {
		if strings.Contains(body, word) {
			t.Errorf("%q left: %s", word, body)
		}
	}
	for _, want := range []string{`"name":"tools/call _unknown"`, `"stringValue":"pipe"`, `€…"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing: %s", want, body)
		}
	}
	if c.paths[0] != "/otel/v1/traces" {
		t.Errorf("the path is %q", c.paths[0])
	}
}

func TestNestedCallsAreChildSpans(t *testing.T) {
	c := newCollector(t)
	calls, err := New(Config{Traces: Traces{Endpoint: c.URL + "/v1/traces", HTTP: egresstest.Local(t, c.URL)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, endOuter := calls.Start(t.Context(), Begin{})
	_, endInner := calls.Start(ctx, Begin{})
	endInner(End{})
	_, endLater := calls.Start(t.Context(), Begin{Meta: Traceparent(ctx)})
	endOuter(End{})
	endLater(End{})
	if err := calls.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.spans(t)
	if len(spans) != 3 {
		t.Fatalf("there are %d spans", len(spans))
	}
	for _, i := range []int{0, 2} {
		if spans[i]["parentSpanId"] != spans[1]["spanId"] || spans[i]["traceId"] != spans[1]["traceId"] {
			t.Errorf("span %d is not a child of the outer one: %v", i, spans)
		}
	}
	if c.paths[0] != "/v1/traces" {
		t.Errorf("the path is %q", c.paths[0])
	}
}

func TestInvalidTracesConfig(t *testing.T) {
	tests := []struct {
		name   string
		traces Traces
		want   string
	}{
		{"no URL", Traces{Endpoint: "http://%zz"}, "not a URL"},
		{"no scheme", Traces{Endpoint: "localhost:4318"}, "must begin with http"},
		{"other scheme", Traces{Endpoint: "ftp://host"}, "must begin with http"},
		{"no host", Traces{Endpoint: "http:///v1/traces"}, "and a host"},
		{"password", Traces{Endpoint: "https://user:" + secret() + "@host"}, "use a header instead"},
		{"header", Traces{Endpoint: "http://host", Headers: map[string]string{"key": secret() + "\n"}}, "line break"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Config{Traces: tt.traces})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), secret()) {
				t.Errorf("the error gives the secret away: %v", err)
			}
		})
	}
}

// TestRedirectIsNotFollowed checks that headers are sent only to the collector.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := newCollector(t)
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)
	var log bytes.Buffer
	calls, err := New(Config{
		Traces: Traces{
			Endpoint: redirecting.URL + "/?key=" + secret(), Headers: map[string]string{"x-api-key": secret()},
			HTTP: egresstest.Local(t, redirecting.URL),
		},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, end := calls.Start(t.Context(), Begin{})
	end(End{})
	if err := calls.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(elsewhere.bodies) != 0 {
		t.Error("the spans and the headers were sent to another place")
	}
	if !strings.Contains(log.String(), "307 Temporary Redirect") || strings.Contains(log.String(), secret()) {
		t.Errorf("the log is %q", log.String())
	}
}
