package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestRootsChooseTheWorkspace: the client is asked once, requests wait for the answer, and a
// change is followed.
func TestRootsChooseTheWorkspace(t *testing.T) {
	noLeaks(t)
	where := newTool("where", tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		return tool.Text("in " + tool.CallerFrom(ctx).Workspace), nil
	})
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(where)
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.FileGroups = set, []string{"test"}
		c.Settings.Policy = testSettings(t, set, policy.Rules{}).Policy
	})
	w := dial(t, b, func(s *Stdio) {
		s.Access.Caller.Workspace = ""
		s.Access.ChooseWorkspace = func(roots []string) string {
			if len(roots) == 0 {
				return ""
			}
			return roots[0]
		}
	})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}`)
	if got := w.next(); strings.Contains(got, "no workspace") {
		t.Errorf("the client will choose, and is told %s", got)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	asked := func(answer string) {
		t.Helper()
		question := w.next()
		if !strings.Contains(question, `"method":"roots/list"`) {
			t.Fatalf("asked %s", question)
		}
		_, rest, _ := strings.Cut(question, `"id":`)
		id, _, _ := strings.Cut(rest, ",")
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":%s}}`, strings.TrimSuffix(id, "}"), answer))
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"where"}}`)
	asked(`[{"uri":"https://host/x"},{"uri":"file:///home/ann/my%20project","name":"p"}]`)
	for range 2 { // the answer, and the notice that the list has changed, in any order
		if got := w.next(); !strings.Contains(got, "in /home/ann/my project") && !strings.Contains(got, "list_changed") {
			t.Errorf("got %s", got)
		}
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	asked(`[]`)
	if got := w.next(); !strings.Contains(got, "tools/list_changed") {
		t.Errorf("got %s", got)
	}
	w.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if got := w.next(); !strings.Contains(got, `"tools":[]`) {
		t.Errorf("listed %s", got)
	}
}

// TestRootsInTheStatelessEra: the first call that needs a workspace asks for the roots, once.
func TestRootsInTheStatelessEra(t *testing.T) {
	where := newTool("where", tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		return tool.Text("in " + tool.CallerFrom(ctx).Workspace), nil
	})
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(where)
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.FileGroups = set, []string{"test"}
		c.Settings.Policy = testSettings(t, set, policy.Rules{}).Policy
	})
	for answer, want := range map[string]string{
		`{"roots":{"roots":[{"uri":"file:///home/ann/p"}]}}`: "in /home/ann/p", `{"roots":5}`: "in ", `{}`: "in ",
	} {
		w := dial(t, b, func(s *Stdio) {
			s.Access.Caller.Workspace = ""
			s.Access.ChooseWorkspace = func(roots []string) string { return strings.Join(roots, "") }
		})
		w.send(stateless("tools/list", ""))
		if got := read(t, w.next()); got.Result == nil || len(got.Result.Tools) != 1 {
			t.Errorf("before the choice there are %+v", got)
		}
		for range 2 { // it may be sent again without the answer
			w.send(stateless("tools/call", `"name":"where",`))
			if got := w.next(); !strings.Contains(got, `"inputRequests":{"roots":{"method":"roots/list"}}`) {
				t.Fatalf("asked %s", got)
			}
		}
		w.send(stateless("tools/call", `"name":"where","requestState":"roots","inputResponses":`+answer+`,`))
		if got := read(t, w.next()); got.text() != want {
			t.Errorf("%s: %+v", answer, got)
		}
		w.send(stateless("tools/call", `"name":"where",`))
		if got := read(t, w.next()); got.text() != want {
			t.Errorf("%s: the second call is %+v", answer, got)
		}
	}
	w := dial(t, b) // a workspace that the operator has chosen
	w.send(stateless("tools/call", `"name":"where",`))
	if got := read(t, w.next()); got.text() != "in "+testAccess().Caller.Workspace {
		t.Errorf("%+v", got)
	}
}

// TestToolsWithoutAWorkspaceAreNotListed: the instructions say why.
func TestToolsWithoutAWorkspaceAreNotListed(t *testing.T) {
	b := newTestServer(t, func(c *Config) { c.FileGroups = []string{"test"} })
	for _, workspace := range []string{"", "/w"} {
		w := dial(t, b, func(s *Stdio) { s.Access.Caller.Workspace = workspace })
		w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if got := w.next(); strings.Contains(got, "There is no workspace") != (workspace == "") {
			t.Errorf("in %q the model is told %s", workspace, got)
		}
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if got := w.next(); strings.Contains(got, `"tools":[]`) != (workspace == "") {
			t.Errorf("in %q there are %s", workspace, got)
		}
	}
}

func TestPathsOfRoots(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///home/ann/x": "/home/ann/x", "file://localhost/x": "/x", "file://other/x": "", "https://a/x": "",
		"file:x": "", "": "", "file:///a%2Fb": "/a/b", "::": "",
	} {
		if got := pathOfRoot(uri); got != want {
			t.Errorf("%q is %q, want %q", uri, got, want)
		}
	}
}
