// Package llm sends requests to language models: to endpoints with the API of OpenAI's chat
// completions (most providers have it), and to endpoints with the API of Anthropic's Messages.
//
// The operator chooses the endpoints. They may be on this machine; no URL and no key comes from
// a caller. Their responses are not trusted: they are bounded while they are read, and the text
// of a model is data. Errors may be shown to a model: they contain the message of the provider,
// without the key.
//
// The two APIs are written here, not by the SDKs of their vendors, over package api. openai-go 3.96 adds 18.7 MB to the
// program and 1.5 ms to each start, genai 1.77 adds 7.8 MB with gRPC and 3.2 ms (the bounds are 8 MB and 1 ms).
// anthropic-sdk-go 1.84 adds 5.5 MB, 45 packages and 0.6 ms, and would replace 100 lines of anthropic.go.
//
// Begin with [Models.Complete]. It finds the provider of a model, keeps the budgets and records
// the use. [Client.Complete] is one request with retries; openai.go and anthropic.go are the
// two APIs.
package llm

import (
	"encoding/json"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Request is a conversation that a model continues.
type Request struct {
	Model       string // a name as in the settings, or PROVIDER/NAME; "" is the default model
	System      string
	Messages    []Message // the last one is the user's
	Tools       []Tool    // that the model may call
	MaxTokens   int       // of the reply; 0 is [DefaultMaxTokens]
	Temperature *float64  // nil is the model's own; many models accept no other
	// Schema is a JSON Schema of the reply. Providers follow it as far as they can, so
	// the caller checks the reply; nil is free text.
	Schema json.RawMessage
	// Owner is the caller that started the work, through any number of sessions in between. The
	// budget of its session counts. The zero Owner is the caller.
	Owner tool.Caller
	// Effort is how much a model that can think does so; "" is the model's own.
	Effort Effort
	// Purpose is work of the server itself. The caller may use Limit in a day for it beside the
	// other budgets. "" is none.
	Purpose string
	Limit   Amount
}

// An Effort is how much a model thinks before it replies.
type Effort string

// The efforts.
const (
	NoEffort     Effort = "none"
	LowEffort    Effort = "low"
	MediumEffort Effort = "medium"
	HighEffort   Effort = "high"
)

// DefaultMaxTokens is the maximum length of a reply unless the request has another.
const DefaultMaxTokens = 8192

// A Role is the role of the writer of a message.
type Role string

// The roles. Text of the system is in Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one turn. Its JSON form can be stored.
type Message struct {
	Role    Role         `json:"role"`
	Text    string       `json:"text,omitempty"`
	Calls   []ToolCall   `json:"calls,omitempty"`   // that the assistant makes
	Results []ToolResult `json:"results,omitempty"` // of the calls in the message before; the user's text follows them
	// Kept is data that the provider wants back unchanged, such as signed thoughts. It is sent
	// to the model that wrote it, and to no other.
	Kept json.RawMessage `json:"kept,omitempty"`
}

// A ToolCall is a call that a model wants to make.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"` // as the model wrote them: JSON, unless it made a mistake
}

// A ToolResult is the result of a ToolCall.
type ToolResult struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// A Tool is described to the model.
type Tool struct {
	Name   string
	Doc    string
	Schema json.RawMessage // of its arguments
}

// A Reply is the answer of the model. It has text, calls, or both.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage  // of all attempts
	Model   string // PROVIDER/NAME
	Cost    Money  // 0 if no price is known
}

// A Stop is the reason why a reply ends. A reply that the model or its provider
// refuses is an error.
type Stop string

// The reasons.
const (
	Ended     Stop = "end"    // the model has finished
	WantsTool Stop = "tool"   // the calls are to be made
	TooLong   Stop = "length" // the reply is cut at MaxTokens; calls of it are dropped
)

// Usage counts tokens.
type Usage struct {
	Input      int `json:"input"` // without those from and to the cache
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
}

// Total is the number of all tokens.
func (u Usage) Total() int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Money is an amount in millionths of a dollar.
type Money int64

// String returns the amount in dollars, with cents or more digits if it is small.
func (m Money) String() string {
	if m%10_000 == 0 || m >= 1_000_000 {
		return fmt.Sprintf("$%.2f", float64(m)/1e6)
	}
	return fmt.Sprintf("$%.6f", float64(m)/1e6)
}
