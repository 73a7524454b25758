package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestModelOfTheClient(t *testing.T) {
	running := &tool.Running{Can: func(m tool.Medium) bool { return m == tool.Model }}
	ctx := tool.With(t.Context(), running)
	models, err := llm.NewModels(llm.Options{
		Scrub: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[REDACTED]") },
	})
	if err != nil || !models.Usable(ctx) || models.Usable(t.Context()) {
		t.Fatalf("%v", err)
	}
	r := llm.Request{System: "Be brief.", MaxTokens: 50, Messages: []llm.Message{{Role: llm.User, Text: "hunter2?"}}}
	_, err = models.Complete(ctx, r)
	var asking *tool.Asking
	if !errors.As(err, &asking) || len(asking.Questions) != 1 {
		t.Fatalf("%v", err)
	}
	answer := func(text string) (llm.Reply, error) {
		again := *running
		again.Answers.ByName = map[string]json.RawMessage{}
		for name, q := range asking.Questions {
			written, _ := json.Marshal(q.Params)
			if want := `{"maxTokens":50,"messages":[{"content":{"text":"[REDACTED]?","type":"text"},"role":"user"}],` +
				`"systemPrompt":"Be brief."}`; q.To != tool.Model || string(written) != want {
				t.Errorf("it asks %s %s", q.To, written)
			}
			again.Answers.ByName[name] = json.RawMessage(text)
		}
		return models.Complete(tool.With(t.Context(), &again), r)
	}
	for text, want := range map[string]string{
		`{"role":"assistant","content":{"type":"text","text":"Yes."},"model":"m"}`:  "Yes.",
		`{"role":"assistant","content":[{"type":"text","text":"No."}],"model":"m"}`: "No.",
		`{"content":{"type":"image","data":""}}`:                                    "",
		`{"action":"decline"}`:                                                      "",
		`null`:                                                                      "",
	} {
		reply, err := answer(text)
		if reply.Message.Text != want || want == "" && kindOf(err) != tool.Unavailable ||
			want != "" && (err != nil || reply.Model != "client/m") {
			t.Errorf("%s: %+v, %v", text, reply, err)
		}
	}
	r.Tools = []llm.Tool{{Name: "x"}}
	if _, err := models.Complete(ctx, r); kindOf(err) != tool.Unavailable {
		t.Errorf("with tools: %v", err)
	}
	if _, err := llmtest.New(t).Models(t).Complete(ctx, hello()); err != nil {
		t.Errorf("a model of the settings comes first: %v", err)
	}
}
