package sessions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func caller(agent, user, session string) tool.Caller {
	return tool.Caller{Agent: agent, User: user, Channel: "stdio", Session: "stdio-" + session}
}

func child(of tool.Caller, id string) tool.Caller {
	of.Parent, of.Session, of.Depth = of.Key(), id, of.Depth+1
	return of
}

// open returns sessions in a store, as one process has them.
func open(s *store.Store, level Visibility) *Sessions {
	return New(Options{
		Store: s, Inbox: inbox.New(inbox.Options{Store: s}), Audit: audit.NewDB(s),
		Visibility: func() Visibility { return level },
	})
}

// join makes rows for callers.
func join(t *testing.T, s *Sessions, callers ...tool.Caller) {
	t.Helper()
	for _, c := range callers {
		s.Used(c, tool.Use{Client: "test 1", Calls: 1, TokensIn: 10})
	}
	if err := s.save(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// call calls a tool for a caller, and returns its text or its error.
func call(t *testing.T, s *Sessions, c tool.Caller, name string, args map[string]any) string {
	t.Helper()
	set, err := tool.NewSet(Tools(s)...)
	if err != nil {
		t.Fatal(err)
	}
	one, ok := set.Lookup(name)
	if !ok {
		t.Fatalf("there is no tool %q", name)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := one.Bind(raw, tool.DefaultLimits())
	if err != nil {
		return err.Error()
	}
	id := store.NewID()
	ctx := tool.With(t.Context(), &tool.Running{Caller: c, Tool: name, Call: id})
	res, err := bound.Run(ctx)
	s.Inbox.Sent(ctx, c, id, err == nil)
	if err != nil {
		return tool.AsError(err).Error()
	}
	return res.Text()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in:\n%s", part, text)
		}
	}
}
