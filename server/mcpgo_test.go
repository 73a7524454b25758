package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// These tests show faults of mcp-go v1.2.1 for which something stays ours, and that
// they are absent here. A test that fails after an upgrade of mcp-go names code that can go.

// library returns a server of mcp-go alone, with a tool that calls do.
func library(do func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)) *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("library", "1", mcpserver.WithToolCapabilities(true))
	s.AddTool(mcp.NewToolWithRawSchema("tool", "A tool.", json.RawMessage(`{"type":"object"}`)), do)
	return s
}

// answerOf returns what mcp-go writes for a message of a session.
func answerOf(t *testing.T, s *mcpserver.MCPServer, session, message string) string {
	t.Helper()
	ctx := s.WithContext(t.Context(), &coreSession{id: session, notes: make(chan mcp.JSONRPCNotification, 1)})
	written, err := json.Marshal(s.HandleMessage(ctx, json.RawMessage(message)))
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

func done(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("done"), nil
}

// TestLibraryRoundsLargeIDs: so messages have ids of ours in mcp-go.
func TestLibraryRoundsLargeIDs(t *testing.T) {
	const id = "9007199254740993"
	message := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
	if got := answerOf(t, library(done), "s", message); strings.Contains(got, id) {
		t.Errorf("mcp-go keeps the id now: %s", got)
	}
	w := connect(t, Stdio{Server: newTestServer(t).Server, Access: testAccess(), MaxMessage: 1 << 20}.Serve)
	w.send(handshake("2025-11-25", "{}")...)
	w.next()
	w.send(message)
	if got := w.next(); !strings.Contains(got, id) {
		t.Errorf("the answer is %s", got)
	}
}

// TestLibraryTakesMembersInAnyCase: so jsonrpc.Parse reads messages before mcp-go.
func TestLibraryTakesMembersInAnyCase(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/list"}`
	if got := answerOf(t, library(done), "s", message); !strings.Contains(got, `"tools"`) {
		t.Errorf("mcp-go reads it strictly now: %s", got)
	}
	w := connect(t, Stdio{Server: newTestServer(t).Server, Access: testAccess(), MaxMessage: 1 << 20}.Serve)
	w.send(message)
	if got := w.next(); !strings.Contains(got, "error") {
		t.Errorf("the answer is %s", got)
	}
}

// TestLibraryShowsErrors: so the pipeline writes the results of tools, and an error is a result for the model.
func TestLibraryShowsErrors(t *testing.T) {
	s := library(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, tool.Errorf(tool.Internal, "open /srv/secret: no such file")
	})
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool"}}`
	if got := answerOf(t, s, "s", call); !strings.Contains(got, "-32603") || !strings.Contains(got, "/srv/secret") {
		t.Errorf("mcp-go answers %s", got)
	}
}

// TestLibraryAnswersUnknownToolsItself: so tools/call does not pass through mcp-go, where a
// call of a hidden tool would be in no audit log.
func TestLibraryAnswersUnknownToolsItself(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hidden"}}`
	if got := answerOf(t, library(done), "s", call); !strings.Contains(got, "-32602") {
		t.Errorf("mcp-go answers %s", got)
	}
}

// TestLibraryCancelsByEqualIDs: so each request has a session of its own in mcp-go, which never gets a
// cancellation.
func TestLibraryCancelsByEqualIDs(t *testing.T) {
	started := make(chan struct{})
	s := library(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		return mcp.NewToolResultText("cancelled"), nil
	})
	ended := make(chan string)
	go func() {
		ended <- answerOf(t, s, "shared", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool"}}`)
	}()
	<-started
	// Another client behind the same session cancels its own request of this id.
	answerOf(t, s, "shared", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := <-ended; !strings.Contains(got, "cancelled") {
		t.Errorf("the call ended with %s", got)
	}
	b := newTestServer(t)
	if one, other := b.newCoreSession(nil), b.newCoreSession(nil); one.SessionID() == other.SessionID() {
		t.Error("two requests share a session")
	}
}
