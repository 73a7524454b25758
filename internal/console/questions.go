package console

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// questionsData are the questions that wait for a person, and the last decisions.
type questionsData struct {
	Calls   []questionData
	Asked   []asked
	Decided []approvals.Question
}

// questionData is a call that needs an approval, with what its session did before.
type questionData struct {
	approvals.Question
	Before []audit.Row
	Whole  bool // the page is about this question alone
	// Arguments are the names of the arguments, for a rule.
	Arguments []approvals.Detail
}

// asked is a question of an agent for its user, as the verb questions list returns it.
type asked struct {
	ID      string   `json:"id"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Session string   `json:"session"`
	Task    string   `json:"task"`
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
	open, err := items[approvals.Question](result)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		d.Calls = append(d.Calls, r.question(q))
	}
	if result, _, err = r.Call("approvals", "history", nil); err == nil {
		d.Decided, err = items[approvals.Question](result)
	}
	if err != nil {
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
	id := r.PathValue("id")
	if _, _, err := r.verb("questions", "list"); err == nil {
		result, _, err := r.Call("questions", "list", nil)
		if err != nil {
			return nil, err
		}
		all, err := items[asked](result)
		if err != nil {
			return nil, err
		}
		for _, q := range all {
			if q.ID == id {
				return questionsData{Asked: []asked{q}}, nil
			}
		}
	}
	result, _, err := r.Call("approvals", "show", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	q, ok := result.Data.(approvals.Question)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no question")
	}
	d := r.question(q)
	d.Whole = true
	for _, detail := range q.Show().Details {
		if detail.Argument {
			d.Arguments = append(d.Arguments, detail)
		}
	}
	return questionsData{Calls: []questionData{d}}, nil
}

const (
	// beforeAge and maxBefore limit the calls that are shown before a question.
	beforeAge = 30 * time.Minute
	maxBefore = 4
	// beforePatience is how long reading them may take: the question counts.
	beforePatience = 2 * time.Second
)

// question adds what the session of a question did before it.
func (r *Request) question(q approvals.Question) questionData {
	d := questionData{Question: q}
	if r.Who.Agent != "" || r.Who.User != "" || r.Store().Missing() {
		return d // the audit log is for those who may see all
	}
	ctx, cancel := context.WithTimeout(r.Context(), beforePatience)
	defer cancel()
	before := func(row *audit.Row) bool {
		return row.Session == q.Session && row.Phase != audit.Intent && row.Call != q.Call.Call && row.Kind == "" &&
			row.Time.Before(q.Asked)
	}
	rows, err := audit.NewDB(r.Store()).TailSince(ctx, maxBefore, q.Asked.Add(-beforeAge), before)
	if err == nil { // otherwise the question is shown without
		d.Before = rows
	}
	return d
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
