package console

import (
	"encoding/json"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// questionsData are the questions that wait for a person.
type questionsData struct {
	Calls []approvals.Question
	Asked []asked
}

// asked is a question of an agent for its user, as the verb questions list returns it.
type asked struct {
	ID      string   `json:"id"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Session string   `json:"session"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
	Asked   int64    `json:"asked"`
}

// At returns when the question was asked.
func (a asked) At() time.Time { return time.UnixMilli(a.Asked) }

func showQuestions(r *Request) (any, error) {
	var d questionsData
	result, _, err := r.Call("approvals", "list", nil)
	if err != nil {
		return nil, err
	}
	if d.Calls, err = items[approvals.Question](result); err != nil {
		return nil, err
	}
	if _, _, err := r.verb("questions", "list"); err != nil {
		return d, nil // not for people who decide about some callers
	}
	if result, _, err = r.Call("questions", "list", nil); err == nil {
		d.Asked, err = items[asked](result)
	}
	return d, err
}

// showQuestion shows one question, which may be answered already.
func showQuestion(r *Request) (any, error) {
	result, _, err := r.Call("approvals", "show", map[string]any{"id": r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	q, ok := result.Data.(approvals.Question)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no question")
	}
	return q, nil
}

// items returns the items of a list that a verb returns.
func items[T any](result tool.Result) (list []T, err error) {
	table, ok := result.Data.(room.Table)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no list")
	}
	if list, ok := table.Items.([]T); ok {
		return list, nil
	}
	encoded, err := json.Marshal(table.Items)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(encoded, &list)
}
