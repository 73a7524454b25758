package server

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
)

// TestClientIsParsedOnce: in the stateless era each request describes the client.
func TestClientIsParsedOnce(t *testing.T) {
	m, broken := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`))
	if broken != nil {
		t.Fatal(broken)
	}
	x := &rpcRequest{msg: m}
	if c := x.clientInfo(); c.name != "test 1" || c.capabilities.Elicitation == nil {
		t.Errorf("got %+v", c)
	}
	if n := testing.AllocsPerRun(10, func() { x.clientInfo() }); n > 0 {
		t.Errorf("parsed again with %v allocations", n)
	}
}
