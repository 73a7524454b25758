package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// newFixture makes our own server offer what the conformance suite expects,
// under the suite's names and within the limits that ship. Tools, resources and
// prompts go through the pipelines, as in the product.
func newFixture(tb testing.TB, change ...func(*Config)) *testServer {
	tb.Helper()
	b := newTestServer(tb, append([]func(*Config){func(c *Config) {
		set, err := tool.NewSet(slices.Concat(contentTools(), talkingTools(), askingTools(), taskTools())...)
		if err != nil {
			tb.Fatal(err)
		}
		c.Tools = set
		c.Settings = testSettings(tb, set, policy.Rules{})
		c.Settings.Limits = shippedLimits()
		c.Library = fixtureLibrary()
	}}, change...)...)
	b.core = b.newCore(mcpserver.WithLogging())
	b.fallback = func(_ context.Context, x *rpcRequest) []byte {
		if x.msg.Method == string(mcp.MethodSetLogLevel) {
			return setLevel(x)
		}
		return nil
	}
	return b
}

// newAskingFixture has the one prompt that a library cannot have.
func newAskingFixture(tb testing.TB) *testServer {
	tb.Helper()
	b := newFixture(tb, func(c *Config) { c.Library = nil })
	b.core = b.newCore(mcpserver.WithLogging(), mcpserver.WithPromptCapabilities(true))
	b.fallback = askingPrompts
	return b
}

// shippedLimits are the defaults of the configuration.
func shippedLimits() Limits {
	return Limits{
		PerMinute: 1200, Burst: 200, Running: 10, Queued: 100, TotalRunning: 64, Idle: 100, Timeout: 30 * time.Second,
		Args: tool.DefaultLimits(), Result: 100 << 10, ResultHard: 10 << 20, RepeatWarn: 3,
	}
}

// serveFixture serves b until the test ends, and returns the address. Shutting
// down must end everything, open streams too.
func serveFixture(tb testing.TB, b *testServer) string {
	tb.Helper()
	h := &HTTP{
		Server: b.Server, Identities: acceptAll{}, SSE: true, MaxMessage: 5 << 20, MaxSessions: 1000,
		SessionIdle: 30 * time.Minute, ReadHeaderTimeout: 10 * time.Second, Grace: 5 * time.Second,
	}
	l := loopbackListener(tb)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.serve(ctx, l, withToken(withProgress(h.Handler()))) }()
	tb.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the server ended with %v", err)
			}
		case <-time.After(hang):
			tb.Error("the server does not shut down")
		}
	})
	return "http://" + l.Addr().String()
}

// withToken is the one thing the suite cannot do: it adds a bearer token to
// every request that has none.
func withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer of good news")
		}
		next.ServeHTTP(w, r)
	})
}

// withProgress has calls of tools that reach behind the pipeline ask for word of
// them: who reports it is how these tools find the request that they belong to.
func withProgress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(io.LimitReader(r.Body, 5<<20+1))
		r.Body = io.NopCloser(bytes.NewReader(raw))
		var body, params, meta map[string]json.RawMessage
		var name string
		if err != nil || json.Unmarshal(raw, &body) != nil || json.Unmarshal(body["params"], &params) != nil ||
			json.Unmarshal(params["name"], &name) != nil || !slices.Contains(reachingTools(), name) {
			next.ServeHTTP(w, r)
			return
		}
		if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
			meta = map[string]json.RawMessage{}
		}
		if meta["progressToken"] == nil {
			meta["progressToken"] = json.RawMessage(`"fixture"`)
		}
		if params["_meta"], err = json.Marshal(meta); err == nil {
			body["params"], err = json.Marshal(params)
		}
		if err == nil {
			raw, err = json.Marshal(body)
		}
		if err == nil {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		}
		next.ServeHTTP(w, r)
	})
}

// reachingTools are those that call exchangeOf.
func reachingTools() []string {
	return []string{
		"test_tool_with_logging", "test_logging_tool", "test_trigger_tool_change", "test_trigger_prompt_change",
		"test_input_required_result_capabilities",
	}
}

// acceptAll implements Identities and accepts every token.
type acceptAll struct{}

func (acceptAll) Identify(_ context.Context, token, _ string) (Identity, error) {
	return Identity{ID: fingerprint(token), Agent: "suite", User: "tester", Profiles: []string{policy.AnyProfile}}, nil
}

func (acceptAll) Challenge(string) *Challenge {
	return &Challenge{Status: http.StatusUnauthorized, Header: "Bearer", Reason: "a token is missing"}
}

func (acceptAll) Forbidden(string) *Challenge {
	return &Challenge{Status: http.StatusForbidden, Reason: "not with that token"}
}

func (acceptAll) Metadata(string) []byte { return nil }
