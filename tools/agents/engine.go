package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
)

// Options are the needs of an Engine.
type Options struct {
	Store *store.Store
	Jobs  *jobs.Loop // nil: one of its own
	// Able reports whether calls can be made at present; subagents that are due are left to other processes until then.
	Able   func() bool
	Inbox  *inbox.Inbox
	Models []string // that a subagent can have, as PROVIDER/NAME; none: subagents with a model cannot be started
	// Complete continues a conversation for the caller in ctx, as [llm.Models.Complete] does.
	Complete func(ctx context.Context, r llm.Request) (llm.Reply, error)
	// Call makes a call through the pipeline of the server.
	Call func(ctx context.Context, c Call) tool.Result
	// Tools returns the tools that a caller with a grant sees.
	Tools func(g tool.Grant) []tool.Tool
	// Revoked returns why the token of a grant is no longer valid, or "".
	Revoked func(ctx context.Context, g tool.Grant) (reason string, err error)
	// Context returns the context files of the caller in ctx, "" for none.
	Context func(ctx context.Context) (string, error)
	// Answer answers a message of another session to a subagent; nil does not.
	Answer func(ctx context.Context, c tool.Caller, to inbox.Event, answer string) error
	// Began and Over are called in the transaction that starts or ends a subagent. A running
	// subagent is a session; Over names the heir of its messages. They may be nil.
	Began func(t *store.Tx, c tool.Caller, label, model string) error
	Over  func(t *store.Tx, of, heir inbox.To) error
	// Ended is called in the transaction that ends a subagent with a Ref. If it returns true the caller that has
	// started the subagent gets no notice. It may be nil.
	Ended  func(t *store.Tx, end End) (noticed bool, err error)
	Scrub  func(string) string
	Trace  func(ctx context.Context) map[string]string // the span in ctx, as a parent of others; may be nil
	Agents map[string]Agent                            // that the operator has set up
	Limits Limits
	// Executors do the work of subagents without a model here, by their kind.
	Executors map[string]Executor
	Trees     *worktree.Trees // nil: subagents have no working trees of their own
	Log       *slog.Logger
}

// An End is the end of a subagent.
type End struct {
	Ref     string
	Session string // the subagent's
	Agent   string // the caller for whom it worked
	Done    bool
	Text    string // its result, or the reason why there is none
}

// A Call is one call of a subagent.
type Call struct {
	Grant  tool.Grant
	Tool   string
	Args   json.RawMessage
	Parent string            // the call that started the subagent
	Trace  map[string]string // of that call
	Asker  tool.Caller       // its client may be asked for approvals
}

// An Agent is one that work can be delegated to.
type Agent struct {
	About      string   // its strengths, for other agents
	Model      string   // "" is the default model
	DelegateTo []string // the agents that it may delegate to; "*" is all
	Load       int      // delegated tasks that it does at once
}

// Limits bound subagents.
type Limits struct {
	Depth    int // levels of subagents; 1 means that they start none
	Running  int // of one caller at once
	Children int // of one session at once
	Turns    int // replies of the model to one subagent
	Time     time.Duration
	Tree     Tree // of all subagents below one session within a day
}

// Tree bounds all subagents below one session together. A field that is 0 bounds nothing.
type Tree struct {
	Children int
	Tokens   int
	Cost     llm.Money
	Time     time.Duration // that they have worked, added up
}

// DefaultLimits are the limits without settings.
func DefaultLimits() Limits {
	return Limits{
		Depth: 1, Running: 8, Children: 5, Turns: 20, Time: 30 * time.Minute,
		Tree: Tree{Children: 100, Tokens: 5_000_000, Cost: 10_000_000, Time: 8 * time.Hour},
	}
}

const (
	jobKind = "subagent"
	// keep is how long the result of a subagent is kept.
	keep = time.Hour
	// slots is how many subagents one process works for at once.
	slots = 64
	// attempts is how often a subagent continues after the process that it was in has died.
	attempts = 10
	// maxTask is the length of a task, with its attachments, in bytes.
	maxTask = 200 << 10
	// maxOutput is the length of a result, in bytes.
	maxOutput = 100 << 10
)

// An Executor does the work of one kind of subagent.
type Executor interface {
	// Run works on a task until it is done, and returns the result. The result counts also with
	// an error. The error is the reason why the task is not done. Run returns soon after the
	// end of ctx, with its cause. If the process dies Run is called again, in this process or
	// another one, with the state that it has saved.
	Run(ctx context.Context, r *Run) (output string, err error)
}

// An Engine runs subagents. Each is a job of the store, so it survives the end of
// the process. The methods may be called concurrently.
type Engine struct {
	Options
	queue *jobs.Queue

	start   sync.Once
	stop    context.CancelFunc // of collecting
	working sync.WaitGroup
}

// New returns an Engine. It does nothing until Start, or until a subagent is started.
func New(o Options) *Engine {
	e := &Engine{Options: o}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	e.queue = &jobs.Queue{
		Store: o.Store, Loop: o.Jobs, Kind: jobKind, Do: e.do, Ended: e.ended, Able: o.Able, Slots: slots, Keep: keep,
		Log: e.Log,
	}
	return e
}

// Start begins to work for subagents, including subagents that other processes have left.
func (e *Engine) Start() {
	e.queue.Start()
	e.start.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		e.stop = cancel
		if e.Trees != nil {
			e.working.Go(func() { e.collectLeft(ctx) })
		}
	})
}

// Close stops working. Subagents that have not ended go on in another process, or
// after the next Start.
func (e *Engine) Close() error {
	e.start.Do(func() { e.stop = func() {} })
	e.stop()
	err := e.queue.Close()
	e.working.Wait()
	return err
}

// CanSpawn reports whether there is a model for subagents.
func (e *Engine) CanSpawn() bool { return len(e.Models) > 0 }

// CanWork reports whether there can be subagents: with a model, or external programs.
func (e *Engine) CanWork() bool { return e.CanSpawn() || e.hasPrograms() }

// A task is the work of a subagent, as its job keeps it.
type task struct {
	Kind   string // of the Executor; "" has a model
	Text   string
	Label  string
	Model  string
	Effort llm.Effort      `json:",omitempty"`
	Ref    string          `json:",omitempty"`
	Schema json.RawMessage `json:",omitempty"` // of the result; nil is free text
	Limit  time.Duration
	Grant  tool.Grant        // of the subagent
	Parent tool.Caller       // the receiver of the result
	Asker  tool.Caller       // at the top of the tree
	Call   string            // the call that started it
	Trace  map[string]string `json:",omitempty"` // likewise
	As     bool              // it works as another agent
	Tree   *worktree.Tree    `json:",omitempty"` // that it works in; nil is the parent's workspace
	Extra  json.RawMessage   `json:",omitempty"` // for the Executor
}

// A Spawn describes a subagent to be started.
type Spawn struct {
	Kind   string // of the Executor; "" has a model
	Task   string
	Label  string // "": the beginning of the task
	Agent  string // another agent to work as; "": the caller's own
	Model  string // "": the agent's, or the default
	Tools  []string
	Schema json.RawMessage // a JSON Schema of the result
	Limit  time.Duration   // 0 and more than the limit of the settings: that limit
	Extra  json.RawMessage // for the Executor
	Effort llm.Effort
	Tree   bool   // it works in a working tree of its own, with commands
	Ref    string // for Options.Ended; "" is none
	// With is called in the transaction that starts the subagent, with the session of the subagent. It may be nil.
	With func(tx *store.Tx, session string) error
}

// Spawn starts a subagent for the call that ctx belongs to, and returns its id.
func (e *Engine) Spawn(ctx context.Context, s Spawn) (id string, err error) {
	t, err := e.plan(ctx, s)
	if err != nil {
		return "", err
	}
	e.Start()
	err = e.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if id, err = e.enqueue(tx, t); err == nil && s.With != nil {
			err = s.With(tx, id)
		}
		return err
	})
	return id, err
}

// plan checks the parts that need no store.
func (e *Engine) plan(ctx context.Context, s Spawn) (t task, err error) {
	running := tool.RunningFrom(ctx)
	if running.Grant == nil {
		return t, tool.Errorf(tool.Unavailable, "this call cannot start subagents").Try("call it through the server")
	}
	s.Task = strings.TrimSpace(s.Task)
	switch limit := e.Limits.Depth; {
	case s.Task == "":
		return t, tool.Errorf(tool.Invalid, "task parameter is required").Try("give the task of the subagent")
	case len(s.Task) > maxTask:
		return t, tool.Errorf(tool.TooLarge, "the task has %d bytes, the maximum is %d", len(s.Task), maxTask).
			Try("name files for the subagent to read instead")
	case running.Caller.Depth >= limit:
		return t, tool.Errorf(tool.Refused, "spawn depth limit reached (%d/%d)", running.Caller.Depth, limit).
			Try("do it yourself")
	}
	if s.Kind == "" && !e.CanSpawn() {
		return t, tool.Errorf(tool.Unavailable, "no model is set up").Try("do it yourself")
	}
	c := running.Caller
	t = task{
		Kind: s.Kind, Text: s.Task, Schema: s.Schema, Extra: s.Extra, Parent: c, Call: running.Call, Effort: s.Effort,
		Ref:   s.Ref,
		Label: cmp.Or(clean(s.Label), text.Clip(clean(s.Task), 50)),
		Limit: cmp.Or(min(s.Limit, e.Limits.Time), e.Limits.Time),
	}
	if e.Trace != nil {
		t.Trace = e.Trace(ctx)
	}
	if t.Model, err = e.model(s); err != nil {
		return t, err
	}
	if len(s.Schema) > 0 {
		if _, err := tool.NewChecker(s.Schema); err != nil {
			return t, tool.Errorf(tool.Invalid, "output_schema is not a JSON Schema: %v", err).
				Try("send an object such as {\"type\":\"object\",\"properties\":{}}")
		}
	}
	child := tool.Caller{
		Agent: c.Agent, User: c.User, Provider: providerOf(t.Model), Channel: "subagent", ChatID: c.ChatID,
		PeerKind: c.PeerKind, Depth: c.Depth + 1, Leaf: c.Depth+1 >= e.Limits.Depth, Profile: c.Profile,
		Workspace: c.Workspace, Parent: c.Key(), Topic: c.Topic, Sender: c.Sender,
	}
	if s.Agent != "" && s.Agent != c.Agent {
		if err := e.mayDelegate(c.Agent, s.Agent); err != nil {
			return t, err
		}
		child.Agent, t.As = s.Agent, true
	}
	if s.Tree {
		if t.Tree, err = e.planTree(ctx, t.Label); err != nil {
			return t, err
		}
		child.Workspace, child.Apart = e.Trees.Path(*t.Tree), true
	}
	t.Grant = running.Grant().For(child, policy.Narrow{})
	if t.Grant.Narrow.Tools, err = e.narrow(t.Grant, s.Tools); err != nil {
		return t, err
	}
	return t, nil
}

func clean(s string) string {
	return text.Clip(tool.Line(s), 100)
}

// model returns the full name of the model of a subagent.
func (e *Engine) model(s Spawn) (string, error) {
	if s.Kind != "" {
		return s.Model, nil
	}
	name := cmp.Or(s.Model, e.Agents[s.Agent].Model)
	if name == "" {
		return e.Models[0], nil
	}
	for _, full := range e.Models {
		if _, short, _ := strings.Cut(full, "/"); full == name || short == name {
			return full, nil
		}
	}
	return "", tool.Errorf(tool.NotFound, "no model %q", name).Try("use one of %s", strings.Join(e.Models, ", "))
}

func providerOf(model string) string {
	provider, _, found := strings.Cut(model, "/")
	if !found {
		return ""
	}
	return provider
}

// mayDelegate refuses an agent that the operator has not allowed.
func (e *Engine) mayDelegate(from, to string) error {
	if allowed := e.Targets(from); !slices.Contains(allowed, to) {
		err := tool.Errorf(tool.Refused, "agent %q may not delegate to %q", from, to)
		if len(allowed) == 0 {
			return err.Try("do it yourself; the operator sets agents.%s.delegate_to", from)
		}
		return err.Try("it may delegate to %s", strings.Join(allowed, ", "))
	}
	return nil
}

// narrow returns the tools of a subagent that gets only some of the tools in its grant. Names
// that it cannot have are an error if none is left.
func (e *Engine) narrow(g tool.Grant, names []string) (only []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	var all []string
	for _, t := range e.Tools(g) {
		for _, name := range append([]string{t.Spec.Name, "group:" + t.Spec.Group}, t.Spec.Also...) {
			if slices.Contains(names, name) && !slices.Contains(only, t.Spec.Name) {
				only = append(only, t.Spec.Name)
			}
		}
		all = append(all, t.Spec.Name)
	}
	if len(only) == 0 {
		return nil, tool.Errorf(tool.Refused, "a subagent here cannot have any of the tools %s",
			strings.Join(names, ", ")).
			Try("it can have %s", strings.Join(all, ", "))
	}
	return only, nil
}

// revoked returns an error if the grant has ended.
func (e *Engine) revoked(ctx context.Context, g tool.Grant) error {
	if g.Token == "" || e.Revoked == nil {
		return nil
	}
	why, err := e.Revoked(ctx, g)
	if err != nil {
		return fmt.Errorf("checking the token: %w", err)
	}
	if why != "" {
		return reason("the token of the agent that started the subagent " + why)
	}
	return nil
}

// errOvertime ends the context of a subagent that takes too long.
var errOvertime = tool.Errorf(tool.Timeout, "the time of the subagent was over, so the call was stopped")

// do does the job of a subagent.
func (e *Engine) do(ctx context.Context, h *jobs.Held) (output string, err error) {
	var t task
	if err := json.Unmarshal([]byte(h.Payload), &t); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	x := Executor(modelLoop{e})
	if t.Kind != "" {
		if x = e.Executors[t.Kind]; x == nil {
			return "", tool.Errorf(tool.Unavailable, "this server has no %s for subagents", t.Kind)
		}
	}
	limited, cancel := context.WithDeadlineCause(ctx, h.Created.Add(t.Limit), errOvertime)
	defer cancel()
	t.Grant.Caller.Session = h.ID
	r := &Run{engine: e, held: h, task: t, began: time.Now()}
	if err := e.revoked(limited, t.Grant); err != nil {
		return "", err
	}
	if err := e.openTree(limited, h.ID, t); err != nil {
		return "", err
	}
	output, err = x.Run(limited, r)
	e.collectTree(ctx, r)
	output = strings.ToValidUTF8(strings.ReplaceAll(output, "\x00", ""), "\uFFFD")
	output = text.Clip(e.Scrub(output), maxOutput)
	switch {
	case ctx.Err() != nil && err != nil:
		return output, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errOvertime) && err != nil:
		return output, reason(fmt.Sprintf("it did not end within %s", t.Limit))
	case err == nil && strings.TrimSpace(output) == "":
		return "", reason("it ended without a result")
	case err != nil:
		return output, reason(e.Scrub(reasonOf(err)))
	}
	return output, nil
}

// A reason is an error whose text is for the agent that started a subagent.
type reason string

func (r reason) Error() string { return string(r) }

// reasonOf returns the text of an error for the agent that started a subagent. It leaves out
// text that was not written for models.
func reasonOf(err error) string {
	var known reason
	if errors.As(err, &known) {
		return err.Error()
	}
	return tool.AsError(err).Error()
}
