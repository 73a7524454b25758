package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/llm"
)

// read reads a request of either API as strictly as the provider with the strictest
// checks.
func read(r *http.Request) (request Request, err error) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return request, err
	case r.Method != http.MethodPost:
		return request, fmt.Errorf("the method is %s", r.Method)
	case r.Header.Get("Content-Type") != "application/json":
		return request, fmt.Errorf("the content type is %q", r.Header.Get("Content-Type"))
	}
	switch r.URL.Path {
	case "/v1/chat/completions":
		if got := r.Header.Get("Authorization"); got != "Bearer "+Key {
			return request, errors.New("the key is wrong or missing")
		}
		request, err = readOpenAI(body)
		request.Kind = llm.OpenAI
	case "/v1/messages":
		request.Kind = llm.Anthropic
		if r.Header.Get("X-Api-Key") != Key || r.Header.Get("Anthropic-Version") != "2023-06-01" {
			return request, errors.New("the key or the version is wrong or missing")
		}
		request, err = readAnthropic(body)
		request.Kind = llm.Anthropic
	default:
		return request, fmt.Errorf("there is no %s", r.URL.Path)
	}
	if err == nil {
		err = check(request)
	}
	return request, err
}

func strictly(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// check checks the requirements of both APIs.
func check(r Request) error {
	switch {
	case r.Model == "":
		return errors.New("the model is missing")
	case r.MaxTokens < 1:
		return errors.New("the maximum of tokens is missing")
	case len(r.Messages) == 0:
		return errors.New("there are no messages")
	case r.Last().Role != llm.User:
		return errors.New("the last message is the assistant's")
	}
	for _, t := range r.Tools {
		var schema struct{ Type string }
		if t.Name == "" || len(t.Name) > 64 || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz"+
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return fmt.Errorf("the name of the tool %q is not valid", t.Name)
		}
		if json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("the schema of the tool %q is not an object's", t.Name)
		}
	}
	open := map[string]bool{} // calls without a result
	for i, m := range r.Messages {
		for _, result := range m.Results {
			if !open[result.ID] {
				return fmt.Errorf("message %d has the result of %q, which the message before did not call", i,
					result.ID)
			}
			delete(open, result.ID)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d lacks the results of %v", i, open)
		}
		for _, c := range m.Calls {
			if c.ID == "" || c.Name == "" || open[c.ID] {
				return fmt.Errorf("message %d has a call without a name or an id of its own", i)
			}
			open[c.ID] = true
		}
		if m.Text == "" && len(m.Calls) == 0 && len(m.Results) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
	}
	return nil
}

func readOpenAI(body []byte) (r Request, err error) {
	var in struct {
		Model    string
		Messages []struct {
			Role      string
			Content   *string
			ToolCalls []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
				Extra    json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
			ToolCallID string `json:"tool_call_id"`
			Reasoning  string `json:"reasoning_content"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		MaxTokens      int `json:"max_tokens"`
		Temperature    *float64
		Effort         llm.Effort `json:"reasoning_effort"`
		ResponseFormat *struct {
			Type       string
			JSONSchema struct {
				Name   string
				Schema json.RawMessage
			} `json:"json_schema"`
		} `json:"response_format"`
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := strictly(body, &in); err != nil {
		return r, err
	}
	r = Request{Model: in.Model, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Effort: in.Effort}
	if !in.Stream || !in.StreamOptions.IncludeUsage {
		return r, errors.New("the request wants no stream with its usage")
	}
	if f := in.ResponseFormat; f != nil {
		if f.Type != "json_schema" || f.JSONSchema.Name == "" || f.JSONSchema.Schema == nil {
			return r, errors.New("the format of the response is incomplete")
		}
		r.Schema = f.JSONSchema.Schema
	}
	for _, t := range in.Tools {
		if t.Type != "function" {
			return r, fmt.Errorf("a tool has the type %q", t.Type)
		}
		r.Tools = append(r.Tools, llm.Tool{Name: t.Function.Name, Doc: t.Function.Description,
			Schema: t.Function.Parameters})
	}
	for i, m := range in.Messages {
		if m.Content == nil {
			return r, fmt.Errorf("message %d has no content", i)
		}
		after := len(r.Messages) > 0 && len(r.Last().Results) > 0 && r.Last().Text == ""
		switch {
		case m.Role == "system" && i == 0:
			r.System = *m.Content
		case m.Role == "tool":
			result := llm.ToolResult{ID: m.ToolCallID, Text: *m.Content}
			if after {
				last := &r.Messages[len(r.Messages)-1]
				last.Results = append(last.Results, result)
			} else {
				r.Messages = append(r.Messages, llm.Message{Role: llm.User, Results: []llm.ToolResult{result}})
			}
		case m.Role == "user" && after:
			r.Messages[len(r.Messages)-1].Text = *m.Content
		case m.Role == "user" || m.Role == "assistant":
			one := llm.Message{Role: llm.Role(m.Role), Text: *m.Content}
			for _, c := range m.ToolCalls {
				if c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
					return r, fmt.Errorf("message %d has a call that is not valid", i)
				}
				one.Calls = append(one.Calls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
			}
			r.Messages = append(r.Messages, one)
		default:
			return r, fmt.Errorf("message %d has the role %q", i, m.Role)
		}
	}
	return r, nil
}

type cacheMark struct{ Type string }

func (c *cacheMark) count(n *int) error {
	if c == nil {
		return nil
	}
	*n++
	if c.Type != "ephemeral" || *n > 4 {
		return errors.New("the marks for the cache are not valid")
	}
	return nil
}

func readAnthropic(body []byte) (r Request, err error) {
	type block struct {
		Type, Text, ID, Name, Thinking, Signature string
		Input                                     map[string]any
		UseID                                     string `json:"tool_use_id"`
		Content                                   *string
		IsError                                   bool       `json:"is_error"`
		Cache                                     *cacheMark `json:"cache_control"`
	}
	var in struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		System    []block
		Messages  []struct {
			Role    llm.Role
			Content []block
		}
		Tools []struct {
			Name, Description string
			Schema            json.RawMessage `json:"input_schema"`
			Cache             *cacheMark      `json:"cache_control"`
		}
		Temperature *float64
		Output      *struct {
			Effort llm.Effort
			Format *struct {
				Type   string
				Schema json.RawMessage
			}
		} `json:"output_config"`
		Stream bool
	}
	if err := strictly(body, &in); err != nil {
		return r, err
	}
	r = Request{Model: in.Model, MaxTokens: in.MaxTokens, Temperature: in.Temperature}
	if !in.Stream {
		return r, errors.New("the request wants no stream")
	}
	if in.Output != nil {
		if r.Effort = in.Output.Effort; !slices.Contains([]llm.Effort{"", "low", "medium", "high"}, r.Effort) {
			return r, fmt.Errorf("the effort is %q", r.Effort)
		}
	}
	if in.Output != nil && in.Output.Format != nil {
		if in.Output.Format.Type != "json_schema" || in.Output.Format.Schema == nil {
			return r, errors.New("the format of the output is incomplete")
		}
		r.Schema = in.Output.Format.Schema
	}
	for _, b := range in.System {
		r.System += b.Text
		if err := b.Cache.count(&r.Cached); err != nil || b.Type != "text" || b.Text == "" {
			return r, fmt.Errorf("the system has a block that is not valid: %w", err)
		}
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, llm.Tool{Name: t.Name, Doc: t.Description, Schema: t.Schema})
		if err := t.Cache.count(&r.Cached); err != nil {
			return r, err
		}
	}
	for i, m := range in.Messages {
		one := llm.Message{Role: m.Role}
		for _, b := range m.Content {
			if err := b.Cache.count(&r.Cached); err != nil {
				return r, err
			}
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) != "":
				one.Text += b.Text
			case b.Type == "tool_use" && m.Role == llm.Assistant && b.Input != nil:
				one.Calls = append(one.Calls, Call(b.ID, b.Name, b.Input))
			case b.Type == "tool_result" && m.Role == llm.User && b.Content != nil && one.Text == "":
				one.Results = append(one.Results, llm.ToolResult{ID: b.UseID, Text: *b.Content, Failed: b.IsError})
			case b.Type == "thinking" && m.Role == llm.Assistant && len(one.Calls) == 0 && one.Text == "":
				if b.Signature != signature(b.Thinking) {
					return r, fmt.Errorf("message %d has a thought with another signature", i)
				}
			default:
				return r, fmt.Errorf("message %d of the %s has a %q block that is not valid", i, m.Role, b.Type)
			}
		}
		r.Messages = append(r.Messages, one)
	}
	return r, nil
}
