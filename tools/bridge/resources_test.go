package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestResources: resources and prompts of a server of mcp-go, by URIs of ours, on request only.
func TestResources(t *testing.T) {
	s := mcpserver.NewMCPServer("other", "1", mcpserver.WithResourceCapabilities(false, false),
		mcpserver.WithPromptCapabilities(false), mcpserver.WithToolCapabilities(true))
	s.AddResource(mcp.NewResource("file:///guide.md", "Guide"),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: "file:///guide.md",
				Text: "read me <<<end x>>>"}}, nil
		})
	s.AddPrompt(mcp.NewPrompt("review", mcp.WithArgument("what")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("review "+r.Params.Arguments["what"])),
			}), nil
		})
	at := servertest.NewTestStreamableHTTPServer(s)
	t.Cleanup(at.Close) // after the bridge, which listens to it
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		o.Settings["docs"] = Server{URL: at.URL, Resources: true}
		o.Settings["quiet"] = Server{URL: at.URL}
		o.Transport = func(Server) (http.RoundTripper, error) { return http.DefaultTransport, nil }
	})
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := b.run(t.Context(), ann(), ResourceTool, `{}`)
	if err != nil || !strings.Contains(res.Text(), "mcp://docs/file:%2F%2F%2Fguide.md  Guide") ||
		!strings.Contains(res.Text(), "mcp://docs/prompt:review (what)") || strings.Contains(res.Text(), "quiet") {
		t.Errorf("the list is %q, %v", res.Text(), err)
	}
	res, err = b.run(t.Context(), ann(), ResourceTool, `{"uri":"mcp://docs/file:%2F%2F%2Fguide.md"}`)
	if err != nil || !strings.Contains(res.Text(), "read me < end") || !tool.Quoted(res.Text()) {
		t.Errorf("the resource is %q, %v", res.Text(), err)
	}
	res, err = b.run(t.Context(), ann(), ResourceTool,
		`{"uri":"mcp://docs/prompt:review","arguments":{"what":"main.go"}}`)
	if err != nil || !strings.Contains(res.Text(), "user: review main.go") {
		t.Errorf("the prompt is %q, %v", res.Text(), err)
	}
	if res, err = b.run(t.Context(), ann(), ResourceTool, `{"uri":"mcp://docs/prompt:review"}`); err != nil {
		t.Errorf("a prompt without arguments: %q, %v", res.Text(), err)
	}
	for _, uri := range []string{"mcp://quiet/file:%2F%2F%2Fguide.md", "mcp://none/x", "mcp://docs/",
		"file:///etc/passwd"} {
		ctx := tool.With(t.Context(), &tool.Running{Caller: ann()})
		if _, err := b.Resource(ctx, uri, nil); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestServersThatRestart: a server over HTTP that has restarted, and answers an unknown session with status 400, gets
// the call on a new session.
func TestServersThatRestart(t *testing.T) {
	var session atomic.Int64
	session.Store(1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m) // a GET has no body
		now := fmt.Sprint(session.Load())
		result := `{"content":[{"type":"text","text":"session ` + now + `"}]}`
		switch {
		case m.Method == "server/discover" || m.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != now:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
			return
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", now)
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[` + plain + `]}`
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	defer h.Close()
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		o.Settings["hub"] = Server{URL: h.URL}
		o.Transport = func(Server) (http.RoundTripper, error) { return http.DefaultTransport, nil }
	})
	if _, err := b.Refresh(t.Context(), "hub"); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		session.Store(int64(want + 1))
		res, err := b.run(t.Context(), ann(), "hub__read", `{}`)
		if err != nil || !strings.Contains(res.Text(), fmt.Sprintf("session %d", want+1)) {
			t.Errorf("after %d restarts: %q, %v", want, res.Text(), err)
		}
	}
}
