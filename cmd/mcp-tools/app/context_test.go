package app

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
)

// openApp opens everything on an empty data directory; as makes contexts of callers.
func openApp(t *testing.T) (h *App, as func(agent, user string) context.Context) {
	t.Helper()
	e := &Env{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }, Data: t.TempDir()}
	h, err := e.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	dir := t.TempDir()
	return h, func(agent, user string) context.Context {
		return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: agent, User: user, Session: "s",
			Workspace: dir}, Tool: "test", Call: user})
	}
}

func writeFile(t *testing.T, ctx context.Context, files workspace.Files, path, text string) workspace.Receipt {
	t.Helper()
	r, err := files.Change(ctx, []string{path}, func([]*workspace.File) ([]workspace.Change, error) {
		return []workspace.Change{{Path: path, Content: strings.NewReader(text)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestContextFilesAreUndone undoes changes of context files, which only their
// owner can do.
func TestContextFilesAreUndone(t *testing.T) {
	h, as := openApp(t)
	ann, bob := as("helper", "ann"), as("helper", "bob")
	first := writeFile(t, ann, h.files, contextfiles.Soul, "one")
	second := writeFile(t, ann, h.files, contextfiles.Soul, "two")
	for _, ctx := range []context.Context{bob, as("other", "ann"), as("helper", "")} {
		if _, err := h.files.Undo(ctx, second.ID); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("%v", err)
		}
		if past, err := h.files.History(ctx, contextfiles.Soul, 10); err != nil || len(past) != 0 {
			t.Errorf("%v, %v", past, err)
		}
	}
	for _, c := range []struct{ id, want string }{{second.ID, "one"}, {first.ID, ""}} {
		if _, err := h.files.Undo(ann, c.id); err != nil {
			t.Fatal(err)
		}
		if text, _, _ := h.contextFiles.Read(ann, contextfiles.Soul); string(text) != c.want {
			t.Errorf("%q, not %q", text, c.want)
		}
	}
	writeFile(t, ann, h.files, contextfiles.Bootstrap, "hello")
	done := writeFile(t, ann, h.files, contextfiles.Bootstrap, "")
	if _, err := h.files.Open(ann, contextfiles.Bootstrap); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := h.files.Undo(ann, done.ID); err != nil {
		t.Error(err)
	}
	if text, _, _ := h.contextFiles.Read(ann, contextfiles.Bootstrap); string(text) != "hello" {
		t.Errorf("%q", text)
	}
}

// TestRemovalsAreNews checks that notifications have the owner of memories and
// context files, also when these were removed.
func TestRemovalsAreNews(t *testing.T) {
	h, as := openApp(t)
	ann := as("helper", "ann")
	if _, err := h.memory.Store(ann, memory.Write{Key: "deploy", Text: "on Fridays"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.memory.Forget(ann, memory.Forget{Path: "deploy"}); err != nil {
		t.Fatal(err)
	}
	if err := h.contextFiles.Write(ann, contextfiles.User, []byte("Ann")); err != nil {
		t.Fatal(err)
	}
	if err := h.contextFiles.Remove(ann, contextfiles.User); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]struct {
		uri  func(string) string
		path string
	}{memory.Topic: {memory.URI, "memory/deploy.md"}, memory.ContextTopic: {contextfiles.URI, contextfiles.User}} {
		changes, err := h.store.Changes(t.Context(), store.Cursor{}, 10, topic)
		if err != nil || len(changes) != 2 {
			t.Fatalf("%s: %v, %v", topic, changes, err)
		}
		for _, c := range changes {
			got := h.changesOf(t.Context(), indexer.Key{Topic: topic, Name: c.Key})
			if !slices.Equal(got, []server.Change{{Agent: "helper", User: "ann",
				Ref: server.Ref{URI: want.uri(want.path)}, Listed: true}}) {
				t.Errorf("%s: %+v", topic, got)
			}
		}
	}
	if got := h.changesOf(t.Context(), indexer.Key{Topic: memory.Topic, Name: "none"}); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestTheLibraryShowsOwnContextFiles reads context files as clients do.
func TestTheLibraryShowsOwnContextFiles(t *testing.T) {
	h, as := openApp(t)
	lib := h.library()
	ann := as("helper", "ann")
	if err := h.contextFiles.Write(ann, contextfiles.Soul, []byte("heron")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ctx          context.Context
		uris         int // with the inbox
		text, prompt string
		prompts      int
	}{
		{ann, 2, "heron", "# SOUL.md\n\nheron", 1},
		{as("helper", "bob"), 1, "", "There are no context files for you and your user yet.", 1},
		{as("", "ann"), 1, "", "", 0},
	} {
		caller := tool.CallerFrom(c.ctx)
		page, err := lib.Resources(c.ctx, caller)
		if err != nil || len(page) != c.uris {
			t.Errorf("%s: %+v, %v", caller.Principal(), page, err)
		}
		parts, err := lib.Read(c.ctx, caller, contextfiles.URI(contextfiles.Soul))
		if c.text == "" && tool.AsError(err).Kind != tool.NotFound || c.text != "" &&
			(err != nil || parts[0].Text != c.text) {
			t.Errorf("%s: %+v, %v", caller.Principal(), parts, err)
		}
		filled, _ := lib.Prompt(c.ctx, caller, contextPrompt, nil)
		if c.prompt != "" && filled.Messages[0].Part.Text != c.prompt || c.prompt == "" && len(filled.Messages) != 0 {
			t.Errorf("%s: %+v", caller.Principal(), filled)
		}
		if all, err := lib.Prompts(c.ctx, caller); err != nil || len(all) != c.prompts {
			t.Errorf("%s: %+v, %v", caller.Principal(), all, err)
		}
		values, _, err := lib.Complete(c.ctx, caller,
			server.CompletionRequest{Of: server.Ref{URI: contextfiles.URI("{name}")}, Name: "name", Value: "S"})
		if err != nil || len(values) != c.uris-1 {
			t.Errorf("%s: %q, %v", caller.Principal(), values, err)
		}
	}
	for _, ref := range []server.Ref{{URI: contextfiles.URI(contextfiles.Soul)}, {URI: contextfiles.URI("{name}")},
		{Prompt: contextPrompt}} {
		if got := lib.Tool(ref); got != readsContext {
			t.Errorf("%+v is decided by %q", ref, got)
		}
	}
}
