package agents

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestModelCall(t *testing.T) {
	p := llmtest.New(t)
	ask := modelCall{p.Models(t), tool.NewMarks()}
	p.Next(llmtest.Turn{Text: "Four.", Usage: llm.Usage{Input: 12, Output: 3}})
	res, err := ask.Do(t.Context(), modelCallArgs{
		Provider: "openai", MaxTokens: 50,
		Messages: []modelMessage{{"system", "Be brief."}, {"user", "2 + 2?"}, {"user", "As a word."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Text(); !tool.Quoted(text) || !strings.Contains(text, "\nFour.\n") ||
		!strings.HasSuffix(text, "\n[12 tokens in, 3 out]") {
		t.Errorf("%s", text)
	}
	want := modelAnswer{
		Model: "openai/test", Content: "Four.", Finish: "stop", Usage: llm.Usage{Input: 12, Output: 3},
	}
	if res.Data != want {
		t.Errorf("%+v", res.Data)
	}
	got := p.Requests()[0]
	if got.Kind != llm.OpenAI || got.System != "Be brief." || got.MaxTokens != 50 || len(got.Messages) != 1 ||
		got.Messages[0].Text != "2 + 2?\n\nAs a word." {
		t.Errorf("%+v", got)
	}
}

func TestModelCallSchema(t *testing.T) {
	p := llmtest.New(t)
	ask := modelCall{p.Models(t), tool.NewMarks()}
	args := modelCallArgs{Prompt: "How many?", Schema: map[string]any{
		"type": "object", "required": []any{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}},
	}}
	p.Next(llmtest.Say("```json\n{\"n\":4}\n```"), llmtest.Say(`{"n":"four"}`))
	res, err := ask.Do(t.Context(), args)
	if err != nil || res.Data.(modelAnswer).Content != `{"n":4}` || p.Requests()[0].Schema == nil {
		t.Errorf("%+v, %v", res.Data, err)
	}
	if _, err := ask.Do(t.Context(), args); err == nil || !strings.Contains(err.Error(), "does not fit the schema") {
		t.Error(err)
	}
}

// TestModelCallResponseFormat sends the form of the answer as clients of the OpenAI API do.
func TestModelCallResponseFormat(t *testing.T) {
	p := llmtest.New(t)
	call := tool.New(modelCall{p.Models(t), tool.NewMarks()})
	for format, want := range map[string]string{
		`{"type":"text"}`:        "",
		`{"type":"json_object"}`: `"type":"object"`,
		`{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","required":["n"]}}}`: `"required":["n"]`,
	} {
		p.Next(llmtest.Say(`{"n":4}`))
		bound, err := call.Bind([]byte(`{"prompt":"How many?","response_format":`+format+`}`), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bound.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := p.Requests()[len(p.Requests())-1].Schema
		if want == "" && len(got) > 0 || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", format, got)
		}
	}
}

func TestModelCallRefusals(t *testing.T) {
	p := llmtest.New(t)
	ask := modelCall{p.Models(t), tool.NewMarks()}
	hello := []modelMessage{{"user", "hello"}}
	for name, test := range map[string]struct {
		args modelCallArgs
		want string
	}{
		"nothing":   {modelCallArgs{}, "do not begin and end with the user's"},
		"assistant": {modelCallArgs{Messages: []modelMessage{{"user", "a"}, {"assistant", "b"}}}, "do not begin and end"},
		"URL":       {modelCallArgs{Provider: "http://127.0.0.1:1/v1", Messages: hello}, "no provider"},
		"provider":  {modelCallArgs{Provider: "openai", Model: "gpt", Messages: hello}, "use one of anthropic/test, openai/test"},
		"schema":    {modelCallArgs{Messages: hello, Schema: map[string]any{"type": 7}}, "is not a JSON Schema"},
	} {
		if _, err := ask.Do(t.Context(), test.args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(p.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestModelToolsNeedAModel(t *testing.T) {
	none, err := llm.NewModels(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tools := ModelTools(none, tool.Marks{}); tools != nil {
		t.Errorf("%d tools without a model", len(tools))
	}
	if len(ModelTools(nil, tool.Marks{})) != 1 || len(ModelTools(llmtest.New(t).Models(t), tool.Marks{})) != 1 {
		t.Error("the tool is missing")
	}
}
