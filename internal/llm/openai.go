package llm

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/api"
)

// openAI is the API of chat completions.
type openAI struct {
	current bool // OpenAI's own: it has a new name for max_tokens, unknown to others
}

type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []openAIMessage `json:"messages"`
	Tools               []openAITool    `json:"tools,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	Effort              Effort          `json:"reasoning_effort,omitempty"`
	ResponseFormat      *openAIFormat   `json:"response_format,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       openAIStream    `json:"stream_options"`
}

type openAIStream struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAIFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
	Reasoning  string       `json:"reasoning_content,omitempty"`
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// An openAICall is a call in a request, or a part of one in a stream.
type openAICall struct {
	Index    int    `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content,omitempty"` // Gemini's signature of a thought
}

// openAIKept is the Kept of a message.
type openAIKept struct {
	Model     string                     `json:"model"`
	Reasoning string                     `json:"reasoning,omitempty"` // some models want it with the results
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`     // by the id of a call
}

func (w openAI) body(r Request) (string, any) {
	out := openAIRequest{
		Model: r.Model, Temperature: r.Temperature, Effort: r.Effort, Stream: true,
		StreamOptions: openAIStream{IncludeUsage: true},
	}
	if w.current {
		out.MaxCompletionTokens = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens
	}
	if r.Schema != nil {
		out.ResponseFormat = &openAIFormat{Type: "json_schema"}
		out.ResponseFormat.JSONSchema.Name, out.ResponseFormat.JSONSchema.Schema = "reply", r.Schema
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openAITool{"function", openAIFunction{t.Name, t.Doc, t.Schema}})
	}
	if r.System != "" {
		out.Messages = append(out.Messages, openAIMessage{Role: "system", Content: r.System})
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, openAIMessages(r.Model, m)...)
	}
	return "/chat/completions", out
}

func openAIMessages(model string, m Message) (list []openAIMessage) {
	for _, result := range m.Results {
		list = append(list, openAIMessage{Role: "tool", ToolCallID: result.ID, Content: result.Text})
	}
	if m.Text == "" && len(m.Calls) == 0 {
		return list
	}
	one := openAIMessage{Role: string(m.Role), Content: m.Text}
	var kept openAIKept
	if json.Unmarshal(m.Kept, &kept) != nil || kept.Model != model {
		kept = openAIKept{}
	}
	if len(m.Calls) > 0 {
		one.Reasoning = kept.Reasoning
	}
	for _, c := range m.Calls {
		call := openAICall{ID: c.ID, Type: "function", Extra: kept.Extra[c.ID]}
		call.Function.Name, call.Function.Arguments = c.Name, c.Args
		one.ToolCalls = append(one.ToolCalls, call)
	}
	return append(list, one)
}

func (openAI) decoder(model string) decoder { return &openAIReply{model: model} }

type openAIDelta struct {
	Content   string       `json:"content"`
	Refusal   string       `json:"refusal"`
	Reasoning string       `json:"reasoning_content"`
	ToolCalls []openAICall `json:"tool_calls"`
}

// An openAIEvent is an event of a stream, or a whole response.
type openAIEvent struct {
	Choices []struct {
		Delta   openAIDelta `json:"delta"`
		Message openAIDelta `json:"message"`
		Finish  string      `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type openAIReply struct {
	model              string
	text, refusal, why strings.Builder
	finish             string
	done               bool
	calls              []openAICall
	usage              Usage
}

func (d *openAIReply) event(data []byte) error {
	if string(data) == "[DONE]" {
		d.done = true
		return nil
	}
	var e openAIEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return unreadable(err)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		f := failureIn(data)
		f.Temporary = f.Status == 0 || f.Status == http.StatusTooManyRequests || f.Status >= 500
		return f
	}
	if u := e.Usage; u != nil {
		cached := min(u.PromptDetails.Cached, u.Prompt)
		d.usage = Usage{Input: u.Prompt - cached, Output: u.Completion, CacheRead: cached}
	}
	if len(e.Choices) == 0 {
		return nil
	}
	choice := &e.Choices[0]
	for _, part := range []*openAIDelta{&choice.Delta, &choice.Message} {
		d.text.WriteString(part.Content)
		d.refusal.WriteString(part.Refusal)
		d.why.WriteString(part.Reasoning)
		for _, call := range part.ToolCalls {
			d.call(call)
		}
	}
	if choice.Finish != "" {
		d.finish = choice.Finish
	}
	return nil
}

// call adds a part of a call. Some endpoints give each call the index 0, and an id
// of its own.
func (d *openAIReply) call(part openAICall) {
	for i := len(d.calls) - 1; i >= 0; i-- {
		c := &d.calls[i]
		if c.Index != part.Index || part.ID != "" && c.ID != "" && c.ID != part.ID {
			continue
		}
		c.Function.Name += part.Function.Name
		c.Function.Arguments += part.Function.Arguments
		if part.Extra != nil {
			c.Extra = part.Extra
		}
		return
	}
	d.calls = append(d.calls, part)
}

func (d *openAIReply) reply() (Reply, error) {
	r := Reply{Usage: d.usage}
	r.Message.Text = d.text.String()
	kept := openAIKept{Model: d.model, Extra: map[string]json.RawMessage{}}
	ids := callIDs{}
	for _, c := range d.calls {
		c.ID = ids.unique(c.ID)
		args := c.Function.Arguments
		if args == "" {
			args = "{}"
		}
		r.Message.Calls = append(r.Message.Calls, ToolCall{c.ID, c.Function.Name, args})
		if c.Extra != nil {
			kept.Extra[c.ID] = c.Extra
		}
	}
	if len(d.calls) > 0 {
		kept.Reasoning = d.why.String()
	}
	if len(kept.Extra) > 0 || kept.Reasoning != "" {
		r.Message.Kept, _ = json.Marshal(kept) // of texts, and of JSON that was parsed
	}
	switch {
	case d.refusal.Len() > 0 || d.finish == "content_filter":
		return r, refusal(d.refusal.String())
	case d.finish == "" && !d.done:
		return r, &api.Error{Message: "the response of the provider ended too early", Temporary: true}
	case d.finish == "length":
		r.Stop = TooLong
	}
	return checked(r)
}
