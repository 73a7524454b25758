package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
)

// TestConformanceOfTheBridge lets the conformance suite judge tools of another server, by another
// implementation, that callers reach through the bridge. The proxy before us takes the prefix from names, which
// the suite does not know.
func TestConformanceOfTheBridge(t *testing.T) {
	suite := conformance.Install(t, "../..")
	r := serveRemote(t, fmt.Sprintf(`limits: {calls_per_minute: 100000}
policy: {autonomy: full}
mcp_servers:
  suite: {url: %q, elicitation: true, access: all}
`, serveSuiteTools(t)+"/mcp"))
	token := r.log.find(t, `Token: (mcpt_\w+)`)
	r.awaitTool(t, token, "suite__test_simple_text")
	inner := suiteProxy(t, r, token)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			t.Error(err)
		}
		body = bytes.ReplaceAll(body, []byte(`"name":"test_`), []byte(`"name":"suite__test_`))
		in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		in.Header.Set("Content-Length", strconv.Itoa(len(body)))
		if name := in.Header.Get("Mcp-Name"); strings.HasPrefix(name, "test_") {
			in.Header.Set("Mcp-Name", "suite__"+name)
		}
		inner.ServeHTTP(w, in)
	}))
	defer proxy.Close()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			found := suite.Run(t, proxy.URL+"/mcp", "--requirements", revision)
			conformance.Judge(t, found, suite.Expected(t, "bridge-"+revision))
		})
	}
}

// TestNestedApprovals: tool_call calls a script, and the script a tool of another server, about which an
// operator is asked each time. What the operator denies fails in the script and reaches no server.
func TestNestedApprovals(t *testing.T) {
	var paid atomic.Int64
	bank := server.NewMCPServer("bank", "1")
	bank.AddTool(mcp.NewTool("pay", mcp.WithDescription("Pays."), mcp.WithNumber("amount", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			paid.Add(1)
			return mcp.NewToolResultText(fmt.Sprintf(`{"paid": %d}`, r.GetInt("amount", 0))), nil
		})
	h := httptest.NewServer(server.NewStreamableHTTPServer(bank))
	t.Cleanup(h.Close)
	r := serveRemote(t, fmt.Sprintf("policy: {autonomy: supervised}\nmcp_servers: {bank: {url: %q}}\n", h.URL+"/mcp"))
	token := r.log.find(t, `Token: (mcpt_\w+)`)
	r.awaitTool(t, token, "bank__pay")
	operator := &pad{remote: r}
	operator.approvals("list") // an operator who watches is asked
	code := `const all = [];
for (const amount of [7, 8, 9]) {
	try { all.push((await tools.bank__pay({amount})).paid) } catch (e) { all.push("no " + amount) }
}
return all`
	got := make(chan string, 1)
	go func() {
		_, body := r.post("/mcp", token, "tools/call",
			fmt.Sprintf(`"name":"tool_call","arguments":{"name":"script","arguments":{"code":%q}}`, code),
			"Mcp-Name", "tool_call")
		got <- body
	}()
	for i, decide := range [][]string{{"allow"}, {"deny", "--reason", "too much"}, {"allow"}} {
		id := operator.waiting()
		if text := operator.approvals("show", id); !strings.Contains(text, "bank__pay") ||
			!strings.Contains(text, strconv.Itoa(7+i)) {
			t.Errorf("question %d: %s", i, text)
		}
		if before := paid.Load(); before != int64((i+1)/2) {
			t.Errorf("question %d comes after %d payments", i, before)
		}
		operator.approvals(append([]string{decide[0], id}, decide[1:]...)...)
	}
	if body := <-got; !strings.Contains(body, `[7,\"no 8\",9]`) || paid.Load() != 2 {
		t.Errorf("after %d payments: %s", paid.Load(), body)
	}
}

// awaitTool waits until callers get a tool.
func (r *remote) awaitTool(t *testing.T, token, name string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		_, body := r.post("/mcp", token, "tools/list", "")
		if strings.Contains(body, `"`+name+`"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no tool %s: %s", name, body)
		}
	}
}

// serveSuiteTools serves the tools that the suite calls, with mcp-go, and returns the address.
func serveSuiteTools(t *testing.T) string {
	t.Helper()
	s := server.NewMCPServer("suite", "1", server.WithToolCapabilities(true), server.WithElicitation())
	add := func(name string, do func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error),
		options ...mcp.ToolOption) {
		s.AddTool(mcp.NewTool(name, append(options, mcp.WithDescription("Returns what the suite expects."))...), do)
	}
	content := func(name string, parts ...mcp.Content) {
		add(name, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: parts}, nil
		})
	}
	image := mcp.NewImageContent(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==", "image/png")
	content("test_simple_text", mcp.NewTextContent("This is a simple text response for testing."))
	content("test_image_content", image)
	content("test_audio_content",
		mcp.NewAudioContent("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=", "audio/wav"))
	content("test_embedded_resource", mcp.NewEmbeddedResource(mcp.TextResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}))
	content("test_multiple_content_types", mcp.NewTextContent("Multiple content types test:"), image,
		mcp.NewEmbeddedResource(mcp.TextResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
		}))
	add("test_error_handling", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	asks := func(name, message string, properties map[string]any, required ...string) {
		add(name, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{
				Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)},
				Params: mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
					"type": "object", "properties": properties, "required": append([]string{}, required...),
				}},
			})
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(fmt.Sprintf("User response: action=%s, content=%v", got.Action, got.Content)), nil
		})
	}
	answer := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	asks("test_elicitation", "Who are you?", map[string]any{
		"username": answer("User's response"), "email": answer("User's email address"),
	}, "username", "email")
	asks("test_elicitation_sep1034_defaults", "Who are you?", map[string]any{
		"name":     map[string]any{"type": "string", "default": "John Doe"},
		"age":      map[string]any{"type": "integer", "default": 30},
		"score":    map[string]any{"type": "number", "default": 95.5},
		"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": map[string]any{"type": "boolean", "default": true},
	})
	titled := []any{
		map[string]any{"const": "value1", "title": "Value One"}, map[string]any{"const": "value2", "title": "Value Two"},
	}
	asks("test_elicitation_sep1330_enums", "Which one?", map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": []string{"option1", "option2"}},
		"titledSingle":   map[string]any{"type": "string", "oneOf": titled},
		"legacyEnum": map[string]any{
			"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"Option One", "Option Two"},
		},
		"untitledMulti": map[string]any{
			"type": "array", "items": map[string]any{"type": "string", "enum": []string{"option1", "option2"}},
		},
		"titledMulti": map[string]any{"type": "array", "items": map[string]any{"anyOf": titled}},
	})
	mcpServer := server.NewStreamableHTTPServer(s)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"server/discover"`)) { // it asks questions as the older revisions do
			http.Error(w, "there is no such method here", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mcpServer.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h.URL
}
