package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Usable reports whether there is a model for the call that ctx belongs to: one of the settings
// or, without any, the model of a client that offers it (sampling of MCP; clients of 2026-07-28
// no longer have it).
func (m *Models) Usable(ctx context.Context) bool { return len(m.Names()) > 0 || canSample(ctx) }

func canSample(ctx context.Context) bool {
	can := tool.RunningFrom(ctx).Can
	return can != nil && can(tool.Model)
}

// sample lets the model of the client reply. The first time it returns a *tool.Asking. The tool
// must return it before it changes anything; the call is then made again, with the answer.
// There are no tools, and no budgets: it is the client's own model.
func sample(ctx context.Context, r Request) (Reply, error) {
	params := map[string]any{"maxTokens": cmp.Or(max(r.MaxTokens, 0), DefaultMaxTokens)}
	if r.System != "" {
		params["systemPrompt"] = r.System
	}
	if r.Temperature != nil {
		params["temperature"] = *r.Temperature
	}
	list := []map[string]any{}
	for _, m := range r.Messages {
		list = append(list, map[string]any{
			"role": m.Role, "content": map[string]any{"type": "text", "text": m.Text},
		})
	}
	params["messages"] = list
	written, err := json.Marshal(params)
	if err != nil {
		return Reply{}, err
	}
	sum := sha256.Sum256(written) // so that an answer belongs to its question
	name := "model-" + hex.EncodeToString(sum[:8])
	if answer, ok := tool.AnswersFrom(ctx).ByName[name]; ok {
		return sampled(answer)
	}
	return Reply{}, &tool.Asking{Questions: map[string]tool.Question{name: {To: tool.Model, Params: params}}}
}

// sampled reads the answer of a client. Its content is a block, or a list of blocks.
func sampled(answer json.RawMessage) (Reply, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var a struct {
		Content json.RawMessage `json:"content"`
		Model   string          `json:"model"`
		Stop    string          `json:"stopReason"`
	}
	var blocks []block
	err := json.Unmarshal(answer, &a)
	if err == nil && json.Unmarshal(a.Content, &blocks) != nil {
		blocks = make([]block, 1)
		err = json.Unmarshal(a.Content, &blocks[0])
	}
	r := Reply{Stop: Ended, Model: "client/" + text.Clip(a.Model, 100)}
	if a.Stop == "maxTokens" {
		r.Stop = TooLong
	}
	r.Message.Role = Assistant
	for _, b := range blocks {
		if b.Type == "text" {
			r.Message.Text += b.Text
		}
	}
	if err != nil || strings.TrimSpace(r.Message.Text) == "" {
		return r, tool.Errorf(tool.Unavailable, "the model of the client did not answer").
			Try("do it without, or ask the operator to set up a model")
	}
	return r, nil
}
