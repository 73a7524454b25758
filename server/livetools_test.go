package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// bridgedTools returns tools of a server that the bridge reaches.
func bridgedTools(n int) (all []tool.Tool) {
	for i := range n {
		spec := tool.Spec{
			Name: fmt.Sprintf("hub__tool-%d", i), Group: policy.Bridged, Title: "Tool", Doc: "Does it.",
			Risk: tool.Reads,
		}
		all = append(all, tool.NewForeign(spec, json.RawMessage(`{"type":"object"}`),
			func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Text("done"), nil }))
	}
	return all
}

// TestToolsComeAndGo shows that tools can be added to a running server, that a client's list
// has other servers' tools up to a number, and that clients which search by themselves get all.
func TestToolsComeAndGo(t *testing.T) {
	find := tool.NewForeign(tool.Spec{Name: "find_tools", Group: "discovery", Title: "Find", Doc: "Finds.",
		Risk: tool.Reads},
		json.RawMessage(`{"type":"object"}`), nil)
	b := withTools(t, find)
	add := func(n int) {
		t.Helper()
		set, err := tool.NewSet(append(slices.Collect(b.Config.Tools.All()), bridgedTools(n)...)...)
		if err != nil {
			t.Fatal(err)
		}
		next := testSettings(t, set, policy.Rules{})
		next.Tools = set
		if err := b.Apply(next); err != nil {
			t.Fatal(err)
		}
	}
	has := func(a Access, name string) bool { return bytes.Contains(b.ToolsList(a), []byte(`"`+name+`"`)) }
	all := testAccess()
	all.searches = searchesTools("Claude Code 2.0")
	add(40)
	if !has(testAccess(), "hub__tool-39") || has(testAccess(), "find_tools") {
		t.Error("a list has all of 40 tools and no search")
	}
	add(41)
	if has(testAccess(), "hub__tool-0") || !has(testAccess(), "find_tools") {
		t.Error("a list has none of 41 tools, and a search for them")
	}
	if !has(all, "hub__tool-40") || has(all, "find_tools") {
		t.Error("a client that searches gets all tools")
	}
	named := testAccess()
	named.Narrow.Toolsets = []string{"mcp:hub"}
	if !has(named, "hub__tool-0") {
		t.Error("a request that names a server gets its tools")
	}
	if got := b.Call(t.Context(), Request{Access: testAccess(), Tool: "hub__tool-40",
		Args: []byte(`{}`)}); got.Result.Text() != "done" {
		t.Errorf("a tool that is not listed answered %q", got.Result.Text())
	}
	add(0)
	if got := b.Call(t.Context(), Request{Access: testAccess(), Tool: "hub__tool-0",
		Args: []byte(`{}`)}); got.Code == 0 {
		t.Errorf("a tool that is gone answered %q", got.Result.Text())
	}
}
