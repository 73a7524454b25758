package teams

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// teamTasks is the tool for the board of tasks.
type teamTasks struct{ t *Teams }

type teamTasksArgs struct {
	Action      string   `json:"action" jsonschema:"action on the board" enum:"list,search,get,create,update,claim,progress,complete,review,approve,reject,cancel,retry,comment,attach,ask_user,clear_ask_user"`
	TaskID      string   `json:"task_id,omitempty" jsonschema:"id, default the task you hold; claim takes the next without it" alias:"id,taskId"`
	Subject     *string  `json:"subject,omitempty" jsonschema:"title in one line" alias:"title"`
	Description *string  `json:"description,omitempty" jsonschema:"the task in detail" maxlen:"100000"`
	Assignee    *string  `json:"assignee,omitempty" jsonschema:"agent that gets the task, default any member"`
	Text        string   `json:"text,omitempty" jsonschema:"result, comment, question, reason, step or search words" alias:"result,comment,reason,message,query" maxlen:"200000"`
	Percent     int      `json:"percent,omitempty" jsonschema:"progress, 0 to 100" alias:"progress_percent"`
	BlockedBy   []string `json:"blocked_by,omitempty" jsonschema:"ids of tasks to wait for" alias:"blockedBy"`
	Priority    *int64   `json:"priority,omitempty" jsonschema:"higher is sooner, default 0"`
	Approval    bool     `json:"require_approval,omitempty" jsonschema:"approve it before it begins"`
	Status      string   `json:"status,omitempty" jsonschema:"active (default), completed, in_review or all" alias:"filter"`
	File        string   `json:"file,omitempty" jsonschema:"file in team/ to attach" alias:"file_id,fileId,path"`
	Order       string   `json:"order,omitempty" jsonschema:"priority or newest" hidden:"true"`
	Page        int      `json:"page,omitempty" jsonschema:"page of the list" hidden:"true"`
}

func (teamTasks) Spec() tool.Spec {
	return tool.Spec{
		Name: "team_tasks", Group: Group, Title: "Team tasks", Risk: tool.Writes, Viewed: true,
		Doc: "The task board of your team: the lead creates tasks and decides about results; " +
			"members claim and complete them.",
		Keywords: "board kanban assign",
		Repeats:  true,
	}
}

func (x teamTasks) Do(ctx context.Context, a teamTasksArgs) (tool.Result, error) {
	res, err := x.act(ctx, a)
	if err == nil && tool.Viewed(ctx) && res.View == nil {
		if b, err := x.t.board(ctx); err == nil {
			id, _ := b.identify(ctx, a.TaskID) // "" marks no task
			if list, more, err := b.List(ctx, "all", "newest", 1); err == nil {
				res = res.Showing(b.view(list, id, more))
			}
		}
	}
	return res, err
}

// view returns the view for the page of an app: the tasks by their status, with a mark at the task of the
// call.
func (b *board) view(list []Line, now string, more bool) view.Board {
	v := view.Board{Kind: "board", Title: "Tasks of the team " + b.team.Name, More: more}
	for _, c := range []struct {
		name string
		has  []Status
	}{
		{"To do", []Status{Pending, Blocked, Stale}}, {"In progress", []Status{InProgress}}, {"Review", []Status{InReview}},
		{"Done", []Status{Completed, Cancelled, Failed}},
	} {
		column := view.Column{Name: c.name, Cards: []view.Card{}}
		for _, l := range list {
			if !slices.Contains(c.has, l.Status) {
				continue
			}
			about := []string{l.Identifier()}
			for _, part := range []string{l.holder(), l.Step} {
				if part != "" {
					about = append(about, part)
				}
			}
			card := view.Card{Title: l.Subject, About: strings.Join(about, " · "), Percent: l.Percent, Now: l.ID == now}
			if len(c.has) > 1 {
				card.Label = string(l.Status)
			}
			column.Cards = append(column.Cards, card)
		}
		v.Columns = append(v.Columns, column)
	}
	return v
}

// act executes an action.
func (x teamTasks) act(ctx context.Context, a teamTasksArgs) (tool.Result, error) {
	b, err := x.t.board(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if err := b.saw(ctx); err != nil {
		return tool.Result{}, unavailable(err)
	}
	switch a.Action {
	case "list":
		list, more, err := b.List(ctx, a.Status, a.Order, a.Page)
		return b.listed(ctx, list, max(a.Page, 1), more, err)
	case "search":
		list, err := b.Search(ctx, a.Text)
		return b.listed(ctx, list, 1, false, err)
	case "create":
		return x.create(ctx, b, a)
	case "claim":
		if a.TaskID == "" && b.escalates("claim") {
			return tool.Result{}, b.escalate(ctx, "", "claim", "")
		}
		if a.TaskID == "" {
			return claimed(b.Claim(ctx, ""))
		}
	}
	id, err := b.identify(ctx, a.TaskID)
	if err != nil {
		return tool.Result{}, err
	}
	return x.withTask(ctx, b, id, a)
}

func (teamTasks) create(ctx context.Context, b *board, a teamTasksArgs) (tool.Result, error) {
	n := NewTask{BlockedBy: a.BlockedBy, Approval: a.Approval}
	for _, part := range []struct{ from, to *string }{
		{a.Subject, &n.Subject}, {a.Description, &n.Description}, {a.Assignee, &n.Assignee},
	} {
		if part.from != nil {
			*part.to = *part.from
		}
	}
	if a.Priority != nil {
		n.Priority = *a.Priority
	}
	k, err := b.Create(ctx, n)
	return tool.Textf("Task created: %s (id=%s, task_number=%d, status=%s, assignee=%s)", k.Subject, k.ID, k.Number,
		k.Status, k.Assignee), err
}

// withTask executes the actions on one task.
func (teamTasks) withTask(ctx context.Context, b *board, id string, a teamTasksArgs) (tool.Result, error) {
	if b.escalates(a.Action) {
		if a.Action != "complete" || b.team.Settings.EscalationMode == RejectMode {
			return tool.Result{}, b.escalate(ctx, id, a.Action, a.Text)
		}
		a.Action = "review"
	}
	var k Task
	var err error
	switch a.Action {
	case "get":
		w, err := b.Get(ctx, id)
		if err != nil {
			return tool.Result{}, err
		}
		return encoded(map[string]any{
			"task": whole(w), "comments": w.Comments, "events": w.Events, "attachments": w.Attachments,
		})
	case "claim":
		return claimed(b.Claim(ctx, id))
	case "complete":
		k, err = b.Complete(ctx, id, a.Text)
	case "cancel":
		k, err = b.Cancel(ctx, id, a.Text)
	case "review":
		k, err = b.Review(ctx, id, a.Text)
	case "approve":
		k, err = b.Approve(ctx, id, a.Text)
	case "reject":
		k, err = b.Reject(ctx, id, a.Text)
	case "retry":
		k, err = b.Retry(ctx, id, a.Text)
	case "progress":
		k, err = b.Progress(ctx, id, a.Percent, a.Text)
	case "update":
		k, err = b.Update(ctx, id, Edit{
			Subject: a.Subject, Description: a.Description, Assignee: a.Assignee, Priority: a.Priority,
			BlockedBy: a.BlockedBy,
		})
	case "comment":
		return tool.Text("Comment added."), b.Comment(ctx, id, a.Text)
	case "attach":
		return tool.Text("File attached."), b.Attach(ctx, id, a.File)
	case "clear_ask_user":
		return tool.Text("The questions about the task are withdrawn."), b.ClearAskUser(ctx, id)
	case "ask_user":
		answer, err := b.AskUser(ctx, id, a.Text)
		if answer == "" {
			answer = "The question was put. The user is reminded of it; the answer comes to your inbox."
		}
		return tool.Text(answer), err
	}
	return tool.Textf("Task %s is %s now.", k.Identifier(), k.Status), err
}

func claimed(k Task, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	return encoded(map[string]any{"task": whole(Whole{Line: Line{Task: k}})})
}

// A taskJSON is a task as the model reads it.
type taskJSON struct {
	ID          string      `json:"id"`
	Identifier  string      `json:"identifier"`
	Subject     string      `json:"subject"`
	Description string      `json:"description,omitempty"`
	Status      Status      `json:"status"`
	Priority    int64       `json:"priority,omitempty"`
	Owner       string      `json:"owner_agent_key,omitempty"`
	CreatedBy   string      `json:"created_by_agent_key"`
	User        string      `json:"user,omitempty"`
	Percent     int64       `json:"progress_percent,omitempty"`
	Step        string      `json:"progress_step,omitempty"`
	Result      string      `json:"result,omitempty"`
	BlockedBy   []blockJSON `json:"blocked_by,omitempty"`
	LockUntil   string      `json:"lock_expires_at,omitempty"`
	Created     string      `json:"created_at"`
	Updated     string      `json:"updated_at,omitempty"`
}

type blockJSON struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  Status `json:"status"`
	Owner   string `json:"owner_agent_key,omitempty"`
}

func short(l Line) taskJSON {
	j := taskJSON{
		ID: l.ID, Identifier: l.Identifier(), Subject: l.Subject, Status: l.Status, Priority: l.Priority,
		Owner: l.holder(), CreatedBy: l.CreatedBy, Percent: l.Percent, Step: l.Step, Created: stamp(l.Created),
	}
	for _, d := range l.Blockers {
		j.BlockedBy = append(j.BlockedBy, blockJSON{d.ID, d.Subject, d.Status, d.holder()})
	}
	return j
}

func whole(w Whole) taskJSON {
	j := short(w.Line)
	j.Description, j.Result, j.User, j.Updated = w.Description, w.Result, w.User, stamp(w.Updated)
	if w.LockUntil > 0 {
		j.LockUntil = stamp(w.LockUntil)
	}
	return j
}

func (b *board) listed(ctx context.Context, list []Line, page int, more bool, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	tasks := make([]taskJSON, len(list))
	for i, l := range list {
		tasks[i] = short(l)
	}
	result := map[string]any{"tasks": tasks, "count": len(tasks), "page": page}
	if more {
		result["has_more"] = true
	}
	res, err := encoded(result)
	if err == nil && tool.Viewed(ctx) {
		res = res.Showing(b.view(list, "", more))
	}
	return res, err
}

func encoded(v any) (tool.Result, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return tool.Result{}, fmt.Errorf("encoding tasks: %w", err)
	}
	return tool.Text(string(text)), nil
}
