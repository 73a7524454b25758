package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/policy"
)

// target is a transport to probe, ours or the stock one, with the same tools
// behind it.
type target struct {
	started, stopped chan string
	release          chan struct{}
	patience         time.Duration // for what should come: the stock server, which we expect to fail, gets less
	silence          time.Duration // for what should not come: the stock server, from which it does, has longer
	change           func()        // the list of tools
	wire             *wire         // to stdio
	visitor          func(token string) *visitor
	shutdown         func(context.Context) error
}

// ours starts a transport of ours.
func ours(t *testing.T, kind string) *target {
	t.Helper()
	if kind == "stdio" {
		b := newTestServer(t)
		return b.target(t, func(g *target) { g.wire = dial(t, b) })
	}
	s := openSite(t, func(h *HTTP) { h.Grace = hang })
	t.Cleanup(func() { close(s.release) }) // whatever still waits there
	return s.target(t, func(g *target) {
		g.visitor = s.visitor
		g.shutdown = func(ctx context.Context) error {
			s.stop()
			select {
			case err := <-s.ended:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

func (b *testServer) target(t *testing.T, more func(*target)) *target {
	g := &target{patience: hang, silence: 200 * time.Millisecond, started: b.started, stopped: b.stopped,
		release: b.release}
	g.change = func() {
		if err := b.Apply(testSettings(t, b.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})); err != nil {
			t.Error(err)
		}
	}
	more(g)
	return g
}

// stock starts a transport as mcp-go comes with it.
func stock(t *testing.T, kind string) *target {
	t.Helper()
	g := &target{patience: time.Second, silence: hang, started: make(chan string, 1000),
		stopped: make(chan string, 1000), release: make(chan struct{})}
	m := g.stockServer()
	g.change = func() { m.DeleteTools("echo") }
	if kind == "stdio" {
		g.wire = connect(t, func(ctx context.Context, in io.ReadCloser, out io.Writer) error {
			stdio := mcpserver.NewStdioServer(m)
			stdio.SetErrorLogger(log.New(io.Discard, "", 0))
			return stdio.Listen(ctx, in, out)
		})
		return g
	}
	mux := http.NewServeMux()
	web := httptest.NewUnstartedServer(mux)
	switch kind {
	case "sse":
		sse := mcpserver.NewSSEServer(m)
		mux.Handle("/", sse)
		g.shutdown = sse.Shutdown
	default:
		streamable := mcpserver.NewStreamableHTTPServer(m, mcpserver.WithStreamableHTTPServer(web.Config))
		mux.Handle("/mcp", streamable)
		mux.Handle("/mcp/readonly", streamable)
		g.shutdown = streamable.Shutdown
	}
	web.Start()
	t.Cleanup(func() {
		close(g.release)
		web.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.shutdown(ctx) // that it may hang is one of the faults
		_ = web.Config.Close()
	})
	g.visitor = func(token string) *visitor {
		return &visitor{web: web.Client(), base: web.URL, path: "/mcp", token: token}
	}
	return g
}

// stockServer has the tools of testTools that the probes use, written the way
// mcp-go's documentation shows.
func (g *target) stockServer() *mcpserver.MCPServer {
	m := mcpserver.NewMCPServer("stock", "1", mcpserver.WithToolCapabilities(true),
		mcpserver.WithPromptCapabilities(true), mcpserver.WithElicitation())
	add := func(name string, do func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		m.AddTool(mcp.NewTool(name, mcp.WithString("text"), mcp.WithNumber("n")), do)
	}
	add("echo", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprintf("%s%d", r.GetString("text", ""), r.GetInt("n", 0))), nil
	})
	add("slow", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := r.GetString("text", "")
		g.started <- text
		select {
		case <-g.release:
			return mcp.NewToolResultText("done " + text), nil
		case <-ctx.Done():
			g.stopped <- text
			return nil, ctx.Err()
		}
	})
	add("chatty", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := mcpserver.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
				map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1,
					"message": r.GetString("text", "")})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("said it all"), nil
	})
	add("broken", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("opening /srv/private/x: %w", errors.New("denied"))
	})
	add("launch", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said := mcpserver.ElicitationResponse(r.Params.InputResponses, approvalKey); said == nil ||
			said.Action != mcp.ElicitationResponseActionAccept {
			return mcpserver.NewInputRequestBuilder("asked").Elicit(approvalKey, mcp.ElicitationParams{
				Message: "Launch?", RequestedSchema: map[string]any{"type": "object",
					"properties": map[string]any{"decision": map[string]any{"type": "string"}}},
			}).ToolResult(), nil
		}
		return mcp.NewToolResultText("launched " + r.GetString("text", "")), nil
	})
	return m
}
