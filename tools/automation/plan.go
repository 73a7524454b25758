package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// planCreate is the tool that keeps plans, written by the caller or by a model.
type planCreate struct {
	files workspace.Files
	model Model
}

type planCreateArgs struct {
	Task     string   `json:"task,omitempty" jsonschema:"purpose of the plan; done alone is about the latest"`
	Steps    []string `json:"steps,omitempty" jsonschema:"the steps, in order" maxitems:"50"`
	Done     *int     `json:"done,omitempty" jsonschema:"number of steps done" min:"0" max:"50"`
	MaxSteps int      `json:"max_steps,omitempty" jsonschema:"maximum number of steps" default:"6" min:"1" max:"50" hidden:"true"`
	Style    string   `json:"style,omitempty" jsonschema:"style of the plan" hidden:"true"`
	Model    string   `json:"model,omitempty" jsonschema:"PROVIDER/MODEL that writes the plan" hidden:"true"`
}

func (planCreate) Spec() tool.Spec {
	return tool.Spec{
		Name: "plan_create", Group: group, Title: "Create a plan", Risk: tool.Writes, Viewed: true,
		Doc:     "Stores a plan for a task and returns it. To mark steps as done send done.",
		Timeout: 2 * time.Minute, Keywords: "steps todo progress",
	}
}

// A plan is kept for its task.
type plan struct {
	Task       string   `json:"task,omitempty"`
	Thought    string   `json:"thought,omitempty"`
	Summary    string   `json:"summary"`
	Steps      []step   `json:"steps"`
	Risks      []string `json:"risks,omitempty"`
	Questions  []string `json:"questions,omitempty"`
	Completion string   `json:"completion,omitempty"`
}

type step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// UnmarshalJSON accepts the text of a step alone, too, as models write it.
func (s *step) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &s.Step) == nil {
		return nil
	}
	type plain step
	return json.Unmarshal(raw, (*plain)(s))
}

const (
	maxPlans = 20
	maxStep  = 1000 // bytes
)

// advance makes the first n steps completed and the next one in_progress.
func (p *plan) advance(n int) {
	for i := range p.Steps {
		switch {
		case i < n:
			p.Steps[i].Status = "completed"
		case i == n:
			p.Steps[i].Status = "in_progress"
		default:
			p.Steps[i].Status = "pending"
		}
	}
	p.Completion = ""
	if n >= len(p.Steps) {
		p.Completion = "all steps are done"
	}
}

func (x planCreate) Do(ctx context.Context, a planCreateArgs) (tool.Result, error) {
	latest := strings.TrimSpace(a.Task) == "" && a.Done != nil && len(a.Steps) == 0
	switch {
	case strings.TrimSpace(a.Task) == "" && !latest:
		return tool.Result{}, tool.Errorf(tool.Invalid, "missing required param: task").Try("give the purpose of the plan")
	case len(a.Task) > maxTodo || !utf8.ValidString(a.Task):
		return tool.Result{}, tool.Errorf(tool.Invalid, "the task is text of at most %d bytes", maxTodo).
			Try("shorten it")
	}
	var made *plan
	if len(a.Steps) > 0 {
		made = &plan{Summary: a.Task}
		for _, text := range a.Steps {
			made.Steps = append(made.Steps, step{Step: text})
		}
	} else if a.Done == nil && x.model != nil {
		known, err := x.knows(ctx, a.Task)
		if err == nil && !known {
			made, err = x.ask(ctx, a)
		}
		if errors.Is(err, ErrNoModel) {
			err = nil
		}
		if err != nil {
			return tool.Result{}, err
		}
	}
	if made != nil {
		if err := made.tidy(a); err != nil {
			return tool.Result{}, err
		}
	}
	var kept plan
	_, err := x.files.Change(ctx, []string{planFile}, func(files []*workspace.File) (_ []workspace.Change, err error) {
		plans, err := readPlans(files[0])
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(plans, func(p plan) bool { return latest || normalized(p.Task) == normalized(a.Task) })
		switch {
		case latest && i < 0:
			return nil, tool.Errorf(tool.NotFound, "there is no plan yet").Try("send task and steps")
		case made != nil && i >= 0:
			plans[i] = *made
		case made != nil:
			plans = slices.Insert(plans, 0, *made)
			i = 0
		case i < 0:
			return nil, tool.Errorf(tool.Unavailable, "plan_create unavailable (missing llm client)").
				Try("send the steps of the plan yourself, in steps")
		}
		if a.Done != nil {
			plans[i].advance(min(*a.Done, len(plans[i].Steps)))
		}
		if kept = plans[i]; made == nil && a.Done == nil {
			return nil, nil // it is only shown
		}
		encoded, err := text.JSONLines(plans[:min(len(plans), maxPlans)])
		return []workspace.Change{{Path: planFile, Mode: fileMode, Content: strings.NewReader(string(encoded))}}, err
	})
	if err != nil {
		return tool.Result{}, err
	}
	kept.Task = ""
	encoded, err := json.Marshal(map[string]plan{"plan": kept})
	res := tool.Text(string(encoded))
	if tool.Viewed(ctx) {
		res = res.Showing(kept.board())
	}
	return res, err
}

// board returns the view for the page of an app: the steps by their status.
func (p *plan) board() view.Board {
	b := view.Board{Kind: "board", Title: p.Summary}
	for _, c := range [][2]string{{"pending", "To do"}, {"in_progress", "Doing"}, {"completed", "Done"}} {
		column := view.Column{Name: c[1], Cards: []view.Card{}}
		for _, s := range p.Steps {
			if s.Status == c[0] {
				column.Cards = append(column.Cards, view.Card{Title: s.Step})
			}
		}
		b.Columns = append(b.Columns, column)
	}
	return b
}

// tidy cuts excess, and begins the plan.
func (p *plan) tidy(a planCreateArgs) error {
	most := a.MaxSteps
	if len(a.Steps) > 0 && most == defaultSteps { // steps that the caller wrote are kept
		most = len(a.Steps)
	}
	p.Task = a.Task
	p.Steps = p.Steps[:min(len(p.Steps), most)]
	for _, s := range p.Steps {
		if strings.TrimSpace(s.Step) == "" || len(s.Step) > maxStep || !utf8.ValidString(s.Step) {
			return tool.Errorf(tool.Invalid, "a step is empty, or longer than %d bytes", maxStep).Try("use short steps")
		}
	}
	p.advance(0)
	return nil
}

// defaultSteps is the default of max_steps.
const defaultSteps = 6

// knows reports whether there is a plan for a task.
func (x planCreate) knows(ctx context.Context, task string) (bool, error) {
	f, err := x.files.Open(ctx, planFile)
	if err != nil {
		if tool.AsError(err).Kind == tool.NotFound {
			err = nil
		}
		return false, err
	}
	defer f.Close()
	plans, err := readPlans(f)
	return slices.ContainsFunc(plans, func(p plan) bool { return normalized(p.Task) == normalized(task) }), err
}

func readPlans(f *workspace.File) (plans []plan, err error) {
	content, err := readAll(f)
	if err != nil || content == "" {
		return nil, err
	}
	if err := json.Unmarshal([]byte(content), &plans); err != nil {
		return nil, tool.Errorf(tool.Invalid, "%s is not a list of plans any more", f.Name).
			Try("remove the file, or undo its last change").Because(err)
	}
	return plans, nil
}

// ask lets a model write the plan.
func (x planCreate) ask(ctx context.Context, a planCreateArgs) (*plan, error) {
	var names []string
	if usable := tool.RunningFrom(ctx).Usable; usable != nil {
		for _, t := range usable() {
			names = append(names, t.Spec.Name)
		}
	}
	answer, err := x.model(ctx, a.Model, fmt.Sprintf(`Write a plan of at most %d steps. Answer with JSON only: `+
		`{"thought": "", "summary": "", "steps": [""], "risks": [""], "questions": [""]}.`, a.MaxSteps),
		fmt.Sprintf("Task: %s\nStyle: %s\nTools: %s", a.Task, a.Style, strings.Join(names, ", ")))
	if err != nil {
		return nil, err
	}
	made := new(plan)
	if json.Unmarshal([]byte(jsonIn(answer)), made) != nil || len(made.Steps) == 0 {
		return nil, tool.Errorf(tool.Unavailable, "invalid plan_create response").
			Try("send the steps of the plan yourself, in steps")
	}
	return made, nil
}
