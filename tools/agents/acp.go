package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/agents/acp"
)

// ProgramKind is the kind of the subagents that are external programs.
const ProgramKind = "acp"

// Programs are the external agents that the operator has set up, by name. They are the
// [Executor] of their kind of subagents.
type Programs struct {
	Profiles map[string]acp.Profile
	Runner   acp.Runner
}

// ProgramTools lists the tools of external agents. Without an engine it lists all; if
// the operator has set up no program, it lists none.
func ProgramTools(e *Engine) []tool.Tool {
	if e == nil {
		return []tool.Tool{tool.Prepared(acpSpawn{}), tool.Prepared(acpPermission{})}
	}
	if !e.hasPrograms() {
		return nil
	}
	return []tool.Tool{tool.Prepared(acpSpawn{follower{e}, e.programs()}), tool.Prepared(acpPermission{})}
}

func (e *Engine) programs() Programs {
	p, _ := e.Executors[ProgramKind].(Programs) // none without one
	return p
}

func (e *Engine) hasPrograms() bool { return len(e.programs().Profiles) > 0 }

// stopDelay is how long after its programs the server ends subagents, at most, when it
// shuts down.
const stopDelay = 30 * time.Second

// An acpTask is the state of a subagent's job for Programs.
type acpTask struct {
	Agent string
	Dir   string
}

// Run has a program do the task of a subagent.
func (p Programs) Run(ctx context.Context, r *Run) (string, error) {
	var t acpTask
	if err := json.Unmarshal(r.Extra(), &t); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	profile, ok := p.Profiles[t.Agent]
	if !ok {
		return "", tool.Errorf(tool.NotFound, "the agent program %q is not set up here", t.Agent)
	}
	work := acp.Work{Task: r.Task(), Dir: t.Dir, Call: r.Call}
	for _, one := range r.Tools() {
		work.Tools = append(work.Tools, one.Spec.Name)
	}
	if r.Attempt() > 1 {
		work.Task = "[A former attempt at this task was interrupted. Find out first how far it came.]\n\n" +
			work.Task
	}
	if r.task.Schema != nil {
		work.Task += "\n\nYour last message must be JSON and nothing else, and fit this JSON Schema:\n" +
			string(r.task.Schema)
	}
	m := &meter{run: r}
	work.Used = m.note
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(working, stop) })
	output, err := profile.Run(r.Context(working), p.Runner, work)
	stop(nil)
	watching.Wait()
	if errors.Is(err, acp.ErrKilled) && clock.Sleep(ctx, stopDelay) != nil {
		return output, context.Cause(ctx) // the server shuts down; the task continues elsewhere
	}
	if saved := m.save(context.WithoutCancel(ctx)); err == nil {
		err = saved
	}
	if err == nil && r.task.Schema != nil {
		var failed error
		if output, failed = fit(r.task.Schema, output); failed != nil {
			err = reason(fmt.Sprintf("its result does not fit the schema: %v", failed))
		}
	}
	return output, err
}

// A meter adds the use of a program to the limits of its tree, while it works. Without numbers
// from the program only its time counts.
type meter struct {
	run *Run

	mu    sync.Mutex
	used  acp.Usage
	saved acp.Usage
}

// checkEvery is how often a program that works is checked.
const checkEvery = 5 * time.Second

func (m *meter) note(u acp.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = u
}

// watch ends the work when the limits are used up or the token is no longer valid.
func (m *meter) watch(ctx context.Context, stop context.CancelCauseFunc) {
	for clock.Sleep(ctx, checkEvery) == nil {
		err := m.run.engine.revoked(ctx, m.run.task.Grant)
		if err == nil {
			err = m.save(ctx)
		}
		if err != nil && ctx.Err() == nil {
			stop(err)
		}
	}
}

// save adds the use since the last save.
func (m *meter) save(ctx context.Context) error {
	m.mu.Lock()
	now, before := m.used, m.saved
	m.mu.Unlock()
	used := llm.Usage{
		Input: now.Input - before.Input, Output: now.Output - before.Output,
		CacheRead:  now.CacheRead - before.CacheRead,
		CacheWrite: now.CacheWrite - before.CacheWrite,
	}
	err := m.run.Save(ctx, "", used, llm.Money((now.Dollars-before.Dollars)*1e6))
	if err == nil {
		m.mu.Lock()
		m.saved = now
		m.mu.Unlock()
	}
	return err
}

// acpSpawn starts external agents.
type acpSpawn struct {
	follower
	programs Programs
}

type acpSpawnArgs struct {
	Agent   string         `json:"agent" jsonschema:"name of the agent" alias:"profile,agentId"`
	Task    string         `json:"task" jsonschema:"complete instructions for the agent" alias:"prompt" maxlen:"204800"`
	Cwd     string         `json:"cwd,omitempty" jsonschema:"directory to work in"`
	Schema  map[string]any `json:"output_schema,omitempty" jsonschema:"JSON Schema of the result" depth:"20" hidden:"true"`
	Mode    string         `json:"mode,omitempty" jsonschema:"async (default), or sync to wait" enum:"async,sync"`
	Label   string         `json:"label,omitempty" jsonschema:"short name of the task" hidden:"true"`
	Timeout int            `json:"timeout,omitempty" jsonschema:"seconds, for the work or to wait" alias:"timeout_seconds,timeoutSeconds" min:"0" max:"86400" hidden:"true"`

	Observe string `json:"observe_profile,omitempty" jsonschema:"ignored by this server" hidden:"true"`
}

func (t acpSpawn) Spec() tool.Spec {
	doc := "Has an agent program, such as Claude Code, work on a task in your workspace. The result comes with a " +
		"later result of yours. spawn lists, cancels and waits for it."
	if names := slices.Sorted(maps.Keys(t.programs.Profiles)); len(names) > 0 {
		doc += " Agents: " + strings.Join(names, ", ") + "."
	}
	return tool.Spec{
		Name: "acp_spawn", Group: group, Title: "External agent", Risk: tool.Runs, Hints: tool.Hints{OpenWorld: true},
		Doc: doc, Timeout: maxWait + 30*time.Second, Output: subagents{},
	}
}

func (t acpSpawn) Prepare(ctx context.Context, a acpSpawnArgs) (tool.Plan, error) {
	profile, ok := t.programs.Profiles[a.Agent]
	if !ok {
		return tool.Plan{}, tool.Errorf(tool.NotFound, "there is no agent program %q", a.Agent).
			Try("use one of %s", strings.Join(slices.Sorted(maps.Keys(t.programs.Profiles)), ", "))
	}
	site, err := t.programs.Runner.Site(ctx, a.Cwd, false)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Risk: tool.Runs, Why: "it starts a program that works by itself, in " + site.Where(),
		Facts: func(context.Context) (tool.Facts, error) {
			return tool.Facts{"program": strings.Join(profile.Command, " "), "sandbox": site.Where(), "dir": site.Dir},
				nil
		},
		Run: func(ctx context.Context) (tool.Result, error) { return t.run(ctx, a) },
	}, nil
}

func (t acpSpawn) run(ctx context.Context, a acpSpawnArgs) (tool.Result, error) {
	s := Spawn{Kind: ProgramKind, Task: a.Task, Label: a.Label, Limit: seconds(a.Timeout)}
	if s.Label == "" {
		s.Label = a.Agent + ": " + text.Clip(clean(a.Task), 40)
	}
	var err error
	if s.Extra, err = json.Marshal(acpTask{a.Agent, a.Cwd}); err != nil {
		return tool.Result{}, err
	}
	if len(a.Schema) > 0 {
		if s.Schema, err = json.Marshal(a.Schema); err != nil {
			return tool.Result{}, err
		}
	}
	return t.engine.launch(ctx, s, a.Mode == "sync", seconds(a.Timeout))
}

// acpPermission decides whether an external agent may do something itself. The server
// calls it for the agent, so the policy and people decide as about any call; it does
// nothing.
type acpPermission struct{}

func (acpPermission) Spec() tool.Spec {
	return tool.Spec{
		Name: acp.PermissionTool, Group: "fs", Title: "Permission of an external agent", Risk: tool.Runs,
		Doc:      "Decides whether an external agent may do something by itself.",
		Internal: true,
	}
}

func (acpPermission) Prepare(_ context.Context, p acp.Permission) (tool.Plan, error) {
	plan := tool.Plan{
		Risk: tool.Runs, Why: "an external agent wants to do it by itself: " + text.Clip(p.Title, maxSummary),
		Run: func(context.Context) (tool.Result, error) { return tool.Text("It may."), nil },
	}
	switch p.Kind {
	case "read", "search", "think", "fetch": // the sandbox decides about the reach of a fetch
		plan.Risk = tool.Reads
	case "edit", "switch_mode":
		plan.Risk = tool.Writes
	case "delete", "move":
		plan.Risk = tool.Destroys
	}
	if p.Title == "" {
		return plan, errors.New("a permission without a title")
	}
	return plan, nil
}
