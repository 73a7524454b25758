package server

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestNestedCalls makes calls that a running call makes for itself.
func TestNestedCalls(t *testing.T) {
	b := newTestServer(t, func(c *Config) { c.Settings.Limits.Running = 1 })
	nested := func(name, args string) tool.Result {
		return b.Call(t.Context(), Request{
			Access: testAccess(), Tool: name, Args: []byte(args), Parent: "outer", Nested: true,
		}).Result
	}
	running := make(chan tool.Result, 1)
	go func() {
		running <- b.Call(t.Context(), Request{Access: testAccess(), Tool: "slow", Args: []byte(`{"text":"x"}`)}).Result
	}()
	<-b.started
	if got := nested("echo", `{"text":"in the slot of the other call"}`); got.Failed {
		t.Errorf("got %q", got.Text())
	}
	close(b.release)
	<-running

	if got := nested("leaks", `{}`); strings.Contains(fmt.Sprint(got.Data), plantedKey()) || got.Data == nil {
		t.Errorf("structured content, scrubbed, is missing: %+v", got.Data)
	}
	if got := nested("long", `{"n":900}`); len(got.Text()) != 9900 {
		t.Errorf("a long result has %d bytes", len(got.Text()))
	}
	for range 20 {
		if got := nested("echo", `{"text":"again"}`); got.Text() != "again0" {
			t.Fatalf("equal calls: %q", got.Text())
		}
	}
	if got := nested("echo", `{"txt":"again"}`); !strings.Contains(got.Text(), "echo({text?: string") {
		t.Errorf("there is no declaration: %q", got.Text())
	}
	for _, r := range b.audit.all() {
		if r.Tool == "echo" && r.Parent != "outer" {
			t.Errorf("%+v", r)
		}
	}
}

// TestComposingCannotBeNested calls a tool that makes calls from within such a call.
func TestComposingCannotBeNested(t *testing.T) {
	b := newTestServer(t, withTool(t, tool.New(act[none]{
		tool.Spec{Name: "compose", Group: "test", Title: "compose", Doc: "Composes.", Risk: tool.Reads, Composes: true},
		nil,
	})))
	got := b.Call(t.Context(), Request{Access: testAccess(), Tool: "compose", Args: []byte(`{}`), Nested: true}).Result
	if got.Kind != tool.Refused {
		t.Errorf("got %q", got.Text())
	}
	list := string(b.ToolsList(testAccess()))
	if !strings.Contains(list, `"annotations":{"readOnlyHint":false,"destructiveHint":true`) {
		t.Errorf("it is described as %s", list)
	}
}

func TestNestedCallsSayThatAPersonIsAsked(t *testing.T) {
	desk := newMemoryApprovals()
	b := newTestServer(t, withApprovals(desk))
	asked := make(chan struct{}, 1)
	var answered atomic.Bool
	done := make(chan tool.Result, 1)
	go func() {
		done <- b.CallFor(t.Context(), Request{
			Access: testAccess(), Tool: "launch", Args: []byte(`{"text":"x"}`), Nested: true,
			Asking: func() func() { asked <- struct{}{}; return func() { answered.Store(true) } },
		}, testAccess().Caller)
	}()
	id := desk.next(t)
	if <-asked; answered.Load() {
		t.Error("it was answered before the answer")
	}
	if err := desk.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.Failed || !answered.Load() {
		t.Errorf("got %q, answered %t", got.Text(), answered.Load())
	}
	b = newTestServer(t)
	got := b.CallFor(t.Context(), Request{Access: testAccess(), Tool: "launch", Nested: true},
		tool.Caller{Session: "gone"})
	if !strings.Contains(got.Text(), "in the middle of a script; end the script before it, and call launch by itself") {
		t.Errorf("got %q", got.Text())
	}
}
