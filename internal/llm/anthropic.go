package llm

import (
	"encoding/json"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/api"
)

// anthropic is the API of Messages.
type anthropic struct{}

const anthropicVersion = "2023-06-01"

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int                `json:"max_tokens"`
	System      []anthropicBlock   `json:"system,omitempty"`
	Messages    []anthropicMessage `json:"messages"`
	Tools       []anthropicTool    `json:"tools,omitempty"`
	Temperature *float64           `json:"temperature,omitempty"`
	Output      *anthropicOutput   `json:"output_config,omitempty"`
	Stream      bool               `json:"stream"`
}

type anthropicOutput struct {
	Effort Effort           `json:"effort,omitempty"`
	Format *anthropicFormat `json:"format,omitempty"`
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicMessage struct {
	Role    Role `json:"role"`
	Content any  `json:"content"` // blocks, or the kept ones
}

type anthropicTool struct {
	Name   string          `json:"name"`
	Doc    string          `json:"description,omitempty"`
	Schema json.RawMessage `json:"input_schema"`
	Cache  *anthropicCache `json:"cache_control,omitempty"`
}

type anthropicCache struct {
	Type string `json:"type"`
}

// An anthropicBlock is a part of a message.
type anthropicBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"` // of a tool_use
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	UseID   string          `json:"tool_use_id,omitempty"` // of a tool_result
	Content *string         `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Cache   *anthropicCache `json:"cache_control,omitempty"`
}

// anthropicKept is the Kept of a message: all its blocks, including thoughts.
type anthropicKept struct {
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
}

func (anthropic) body(r Request) (string, any) {
	out := anthropicRequest{Model: r.Model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true}
	if r.Effort == NoEffort {
		r.Effort = "" // it has no such level, and does not think unless it is asked to
	}
	if r.Schema != nil || r.Effort != "" {
		out.Output = &anthropicOutput{Effort: r.Effort}
	}
	if r.Schema != nil {
		out.Output.Format = &anthropicFormat{"json_schema", r.Schema}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, anthropicTool{Name: t.Name, Doc: t.Doc, Schema: t.Schema})
	}
	if r.System != "" {
		out.System = []anthropicBlock{{Type: "text", Text: r.System}}
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, anthropicMessage{m.Role, anthropicContent(r.Model, m)})
	}
	out.markCache()
	return "/messages", out
}

// markCache marks the beginning of the next request of the same conversation: the tools and the
// text of the system, and all messages so far.
func (r *anthropicRequest) markCache() {
	if len(r.Tools) == 0 && len(r.Messages) == 1 {
		return // it will hardly be continued, and writing to the cache costs more
	}
	mark := &anthropicCache{"ephemeral"}
	if len(r.System) > 0 {
		r.System[0].Cache = mark
	} else if len(r.Tools) > 0 {
		r.Tools[len(r.Tools)-1].Cache = mark
	}
	if len(r.Messages) > 0 {
		if blocks, ok := r.Messages[len(r.Messages)-1].Content.([]anthropicBlock); ok && len(blocks) > 0 {
			blocks[len(blocks)-1].Cache = mark
		}
	}
}

func anthropicContent(model string, m Message) any {
	var kept anthropicKept
	if json.Unmarshal(m.Kept, &kept) == nil && kept.Model == model && len(kept.Content) > 0 {
		return kept.Content
	}
	blocks := []anthropicBlock{}
	for _, result := range m.Results {
		blocks = append(blocks, anthropicBlock{
			Type: "tool_result", UseID: result.ID, Content: &result.Text, IsError: result.Failed,
		})
	}
	if strings.TrimSpace(m.Text) != "" { // the API refuses others
		blocks = append(blocks, anthropicBlock{Type: "text", Text: m.Text})
	}
	for _, c := range m.Calls {
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: asObject(c.Args)})
	}
	return blocks
}

// asObject returns arguments if they are an object, else an empty one: the API accepts no
// mistakes, and the result of the call names the error.
func asObject(args string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

func (anthropic) decoder(model string) decoder { return &anthropicReply{model: model} }

// maxBlocks is the maximum number of blocks of a reply.
const maxBlocks = 1000

type anthropicUsage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// add takes the counts of u. Counts of later events replace earlier ones.
func (u anthropicUsage) add(to *Usage) {
	for _, count := range []struct {
		from *int
		to   *int
	}{{u.Input, &to.Input}, {u.Output, &to.Output}, {u.CacheRead, &to.CacheRead}, {u.CacheWrite, &to.CacheWrite}} {
		if count.from != nil {
			*count.to = *count.from
		}
	}
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text      string `json:"text"`
		JSON      string `json:"partial_json"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// A receivedBlock is a block of a reply, as far as it was received.
type receivedBlock struct {
	kind                            string
	first                           map[string]json.RawMessage // its fields when it began
	text, input, thought, signature strings.Builder
}

type anthropicReply struct {
	model  string
	blocks []*receivedBlock
	stop   string
	usage  Usage
}

func (d *anthropicReply) event(data []byte) error {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return unreadable(err)
	}
	switch e.Type {
	case "error":
		f := failureIn(data)
		f.Temporary = f.Has("overloaded_error", "rate_limit_error", "api_error", "timeout_error")
		return f
	case "message_start":
		e.Message.Usage.add(&d.usage)
	case "message_delta":
		e.Usage.add(&d.usage)
		d.stop = e.Delta.Stop
	case "content_block_start":
		if e.Index != len(d.blocks) || e.Index == maxBlocks {
			return &api.Error{Message: "the response of the provider has blocks out of order"}
		}
		b := new(receivedBlock)
		if err := json.Unmarshal(e.Block, &b.first); err != nil {
			return unreadable(err)
		}
		b.kind = b.field("type")
		b.text.WriteString(b.field("text"))
		d.blocks = append(d.blocks, b)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= len(d.blocks) {
			return &api.Error{Message: "the response of the provider has blocks out of order"}
		}
		b := d.blocks[e.Index]
		b.text.WriteString(e.Delta.Text)
		b.input.WriteString(e.Delta.JSON)
		b.thought.WriteString(e.Delta.Thinking)
		b.signature.WriteString(e.Delta.Signature)
	}
	return nil
}

func (b *receivedBlock) field(name string) (s string) {
	_ = json.Unmarshal(b.first[name], &s) // "" if it is something else
	return s
}

// whole returns the block as the API wants it back.
func (b *receivedBlock) whole() json.RawMessage {
	set := func(name string, value any) { b.first[name], _ = json.Marshal(value) } // of texts: cannot fail
	switch b.kind {
	case "text":
		set("text", b.text.String())
	case "thinking":
		set("thinking", b.field("thinking")+b.thought.String())
		set("signature", b.field("signature")+b.signature.String())
	case "tool_use":
		b.first["input"] = asObject(b.input.String())
	}
	whole, _ := json.Marshal(b.first)
	return whole
}

func (d *anthropicReply) reply() (Reply, error) {
	r := Reply{Usage: d.usage}
	kept := anthropicKept{Model: d.model}
	thoughts := false
	ids := callIDs{}
	for _, b := range d.blocks {
		switch b.kind {
		case "text":
			r.Message.Text += b.text.String()
		case "tool_use":
			args := b.input.String()
			if args == "" {
				args = "{}"
			}
			id := ids.unique(b.field("id"))
			b.first["id"], _ = json.Marshal(id) // text
			r.Message.Calls = append(r.Message.Calls, ToolCall{id, b.field("name"), args})
		default:
			thoughts = true
		}
		if b.kind != "text" || strings.TrimSpace(b.text.String()) != "" {
			kept.Content = append(kept.Content, b.whole())
		}
	}
	if thoughts {
		r.Message.Kept, _ = json.Marshal(kept)
	}
	switch d.stop {
	case "":
		return r, &api.Error{Message: "the response of the provider ended too early", Temporary: true}
	case "refusal":
		return r, refusal("")
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = TooLong
		r.Message.Kept = nil // with calls that are cut
	}
	return checked(r)
}
