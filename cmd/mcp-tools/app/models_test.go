package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation"
)

// TestJSONModel asks the model that plans and lists are made with: by default, by name, and when it fails or there is none.
func TestJSONModel(t *testing.T) {
	h, _, err := buildWith(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "ada", Session: "s"}})
	if _, err := h.jsonModel()(ctx, "", "system", "prompt"); !errors.Is(err, automation.ErrNoModel) {
		t.Errorf("without a model: %v", err)
	}

	server := llmtest.New(t)
	server.Answer(func(r llmtest.Request) llmtest.Turn { return llmtest.Say("%s", r.Model) })
	h, _, err = buildWith(t, fmt.Sprintf("models: {providers: {test: {url: %q, key: env:MODEL_KEY, models: [small, large]}}}\n", server.URL+"/v1"),
		map[string]string{"MODEL_KEY": llmtest.Key})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "small", "large": "large", "test/large": "large"} {
		if got, err := h.jsonModel()(ctx, name, "system", "prompt"); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if _, err := h.jsonModel()(ctx, "huge", "system", "prompt"); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("an unknown model: %v", err)
	}
	for _, r := range server.Requests() {
		if r.System != "system" || r.Last().Role != llm.User || r.Last().Text != "prompt" || r.MaxTokens != maxJSON {
			t.Errorf("asked %+v", r)
		}
	}
	server.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Status: 400} })
	if _, err := h.jsonModel()(ctx, "", "system", "prompt"); err == nil || strings.Contains(err.Error(), llmtest.Key) {
		t.Errorf("a model that fails: %v", err)
	}
}
