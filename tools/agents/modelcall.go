package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// ModelTools lists the tools that only need a model. Without models it lists all; if
// the operator has set up none, it lists none.
func ModelTools(m *llm.Models, marks tool.Marks) []tool.Tool {
	if m != nil && len(m.Names()) == 0 {
		return nil
	}
	return []tool.Tool{tool.New(modelCall{m, marks})}
}

// modelCall asks a model one question.
type modelCall struct {
	models *llm.Models
	marks  tool.Marks
}

type modelCallArgs struct {
	Provider    string         `json:"provider,omitempty" jsonschema:"name of a provider in the settings" hidden:"true"`
	Model       string         `json:"model,omitempty" jsonschema:"model, or PROVIDER/MODEL"`
	Messages    []modelMessage `json:"messages,omitempty" jsonschema:"the conversation; it ends with the user" maxitems:"200"`
	MaxTokens   int            `json:"max_tokens,omitempty" jsonschema:"max tokens of the answer" min:"1" max:"200000"`
	Temperature *float64       `json:"temperature,omitempty" jsonschema:"0 to 2; many models accept none" hidden:"true" min:"0" max:"2"`
	Schema      map[string]any `json:"schema,omitempty" jsonschema:"JSON Schema of the answer" depth:"20"`
	Timeout     int            `json:"timeout_seconds,omitempty" jsonschema:"seconds to wait, default 120" min:"1" max:"300" alias:"timeout" hidden:"true"`

	Format *responseFormat `json:"response_format,omitempty" jsonschema:"the same as schema, as the OpenAI API has it" hidden:"true"`
	Prompt string          `json:"prompt,omitempty" jsonschema:"the only message" hidden:"true"`
}

// A responseFormat is the form of an answer as the OpenAI API has it.
type responseFormat struct {
	Type   string        `json:"type" jsonschema:"text, json_object or json_schema" enum:"text,json_object,json_schema"`
	Schema *answerSchema `json:"json_schema,omitempty" jsonschema:"for json_schema"`
}

type answerSchema struct {
	Name   string         `json:"name,omitempty" jsonschema:"ignored"`
	Strict bool           `json:"strict,omitempty" jsonschema:"always true"`
	Schema map[string]any `json:"schema,omitempty" jsonschema:"JSON Schema of the answer" depth:"20"`
}

// schema returns the JSON Schema of the answer, nil for any text.
func (a modelCallArgs) schema() map[string]any {
	switch {
	case len(a.Schema) > 0 || a.Format == nil || a.Format.Type == "text":
		return a.Schema
	case a.Format.Type == "json_schema" && a.Format.Schema != nil && len(a.Format.Schema.Schema) > 0:
		return a.Format.Schema.Schema
	}
	return map[string]any{"type": "object"}
}

type modelMessage struct {
	Role    string `json:"role" jsonschema:"who wrote it" enum:"system,user,assistant"`
	Content string `json:"content" jsonschema:"text of the message"`
}

// A modelAnswer is the structured content.
type modelAnswer struct {
	Model   string    `json:"model"`
	Content string    `json:"content"`
	Finish  string    `json:"finish_reason"` // stop or length
	Usage   llm.Usage `json:"usage"`
	Cost    float64   `json:"cost_dollars,omitempty"`
}

const (
	defaultAnswer  = 4096 // tokens
	defaultTimeout = 120  // seconds
	longestTimeout = 300
)

func (modelCall) Spec() tool.Spec {
	return tool.Spec{
		Name: "openai_compat_call", Group: group, Title: "Ask a model", Risk: tool.Reads,
		Hints: tool.Hints{OpenWorld: true},
		Doc: "Sends messages to a language model and returns its answer. The model has no tools and does not see " +
			"this conversation; for work with tools use spawn.",
		Timeout: (longestTimeout + 10) * time.Second, MaxText: 400 << 10, Output: modelAnswer{},
		Also: []string{"llm_task"},
	}
}

func (t modelCall) Do(ctx context.Context, a modelCallArgs) (tool.Result, error) {
	a.Schema = a.schema()
	r, err := t.request(a)
	if err != nil {
		return tool.Result{}, err
	}
	limit := time.Duration(cmp.Or(a.Timeout, defaultTimeout)) * time.Second
	late := tool.Errorf(tool.Timeout, "the model did not answer within %s", limit).
		Try("ask for less, or set timeout_seconds up to %d", longestTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	reply, err := t.models.Complete(ctx, r)
	if err != nil {
		return tool.Result{}, err
	}
	if len(a.Schema) > 0 {
		if reply.Message.Text, err = fit(r.Schema, reply.Message.Text); err != nil {
			return tool.Result{}, tool.Errorf(tool.Unavailable, "the answer of %s does not fit the schema: %v",
				reply.Model,
				err).Try("ask more precisely, or use another model")
		}
	}
	answer := modelAnswer{
		Model: reply.Model, Content: reply.Message.Text, Finish: "stop", Usage: reply.Usage,
		Cost: float64(reply.Cost) / 1e6,
	}
	note := fmt.Sprintf("%d tokens in, %d out", reply.Usage.Total()-reply.Usage.Output, reply.Usage.Output)
	if reply.Cost > 0 {
		note += ", " + reply.Cost.String()
	}
	if reply.Stop == llm.TooLong {
		answer.Finish = "length"
		note += fmt.Sprintf("; cut at %d tokens, set max_tokens for more", r.MaxTokens)
	}
	return tool.Textf("%s\n[%s]", t.marks.Quote("answer of "+reply.Model, reply.Message.Text), note).With(answer), nil
}

// request returns the request of the arguments.
func (t modelCall) request(a modelCallArgs) (r llm.Request, err error) {
	messages := a.Messages
	if len(messages) == 0 && a.Prompt != "" {
		messages = []modelMessage{{"user", a.Prompt}}
	}
	r = llm.Request{MaxTokens: cmp.Or(a.MaxTokens, defaultAnswer), Temperature: a.Temperature}
	for _, m := range messages {
		if m.Role == "system" {
			r.System = strings.TrimPrefix(r.System+"\n\n"+m.Content, "\n\n")
			continue
		}
		last := len(r.Messages) - 1
		if last >= 0 && string(r.Messages[last].Role) == m.Role {
			r.Messages[last].Text += "\n\n" + m.Content
			continue
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Role(m.Role), Text: m.Content})
	}
	if len(r.Messages) == 0 || r.Messages[0].Role != llm.User || r.Messages[len(r.Messages)-1].Role != llm.User {
		return r, tool.Errorf(tool.Invalid, "the messages do not begin and end with the user's").
			Try(`send for example "messages": [{"role": "user", "content": "..."}]`)
	}
	if len(a.Schema) > 0 {
		if r.Schema, err = json.Marshal(a.Schema); err != nil {
			return r, err
		}
		if _, err := tool.NewChecker(r.Schema); err != nil {
			return r, tool.Errorf(tool.Invalid, "schema is not a JSON Schema: %v", err).
				Try(`send an object such as {"type": "object", "properties": {}}`)
		}
	}
	r.Model, err = t.model(a.Provider, a.Model)
	return r, err
}

// model returns the full name of a model. A provider alone means its first model.
func (t modelCall) model(provider, model string) (string, error) {
	if provider == "" {
		return t.models.Find(model)
	}
	var providers []string
	for _, full := range t.models.Names() {
		if name, rest, _ := strings.Cut(full, "/"); name == provider &&
			(model == "" || model == rest || model == full) {
			return full, nil
		}
		providers = append(providers, full)
	}
	return "", tool.Errorf(tool.NotFound, "no provider %q with that model", provider).
		Try("use one of %s", strings.Join(providers, ", "))
}
