package agents

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// spawn starts subagents of the calling agent, and controls them.
type spawn struct{ follower }

type spawnArgs struct {
	Action  string         `json:"action,omitempty" jsonschema:"spawn (default), list, cancel, steer (send message), wait (for results), merge or drop (worktree)"`
	Task    string         `json:"task,omitempty" jsonschema:"complete instructions for the subagent" alias:"prompt" maxlen:"204800"`
	Mode    string         `json:"mode,omitempty" jsonschema:"async (default), or sync to wait"`
	ID      string         `json:"id,omitempty" jsonschema:"which one: id, label, last or all" alias:"target,task_id"`
	Message string         `json:"message,omitempty" jsonschema:"text for a running subagent" maxlen:"102400"`
	Tools   []string       `json:"tools,omitempty" jsonschema:"only these tools, default all" alias:"allowed_tools"`
	Schema  map[string]any `json:"output_schema,omitempty" jsonschema:"JSON Schema of the result" depth:"20"`
	Model   string         `json:"model,omitempty" jsonschema:"model instead of the default"`
	Tree    bool           `json:"worktree,omitempty" jsonschema:"work in a copy of the git repository, with commands; changes become a branch" alias:"isolated"`
	Label   string         `json:"label,omitempty" jsonschema:"short name of the task" alias:"description,name" hidden:"true"`
	Timeout int            `json:"timeout,omitempty" jsonschema:"seconds to work or wait" alias:"timeoutSeconds,runTimeoutSeconds,timeout_seconds"`

	Agent       string       `json:"agent,omitempty" jsonschema:"another agent to work as" alias:"agentId,agent_key,template,subagent_type" hidden:"true"`
	Cwd         string       `json:"cwd,omitempty" jsonschema:"directory to work in" hidden:"true"`
	Thinking    string       `json:"thinking,omitempty" jsonschema:"off, low, medium or high" alias:"effort,reasoning_effort" hidden:"true"`
	Runtime     string       `json:"runtime,omitempty" jsonschema:"kind of the subagent" hidden:"true"`
	Thread      bool         `json:"thread,omitempty" jsonschema:"whether to bind a thread" hidden:"true"`
	Sandbox     string       `json:"sandbox,omitempty" jsonschema:"inherit or require" hidden:"true"`
	Cleanup     string       `json:"cleanup,omitempty" jsonschema:"delete or keep" hidden:"true"`
	Stream      string       `json:"streamTo,omitempty" jsonschema:"ignored, results go to the parent" hidden:"true"`
	Observe     string       `json:"observe_profile,omitempty" jsonschema:"ignored by this server" hidden:"true"`
	Recent      int          `json:"recentMinutes,omitempty" jsonschema:"age of what is listed" hidden:"true"`
	Parent      string       `json:"parentId,omitempty" jsonschema:"ignored, it is the caller" hidden:"true"`
	Attachments []attachment `json:"attachments,omitempty" jsonschema:"files for the subagent" hidden:"true" maxitems:"50"`
}

type attachment struct {
	Name     string `json:"name" jsonschema:"name of the file"`
	Content  string `json:"content" jsonschema:"content of the file"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf8 or base64"`
	MIME     string `json:"mimeType,omitempty" jsonschema:"type of the content"`
}

// subagents is the structured content of the tools of this group.
type subagents struct {
	Status    string     `json:"status"`
	Subagents []envelope `json:"subagents"`
}

func (spawn) Spec() tool.Spec {
	return tool.Spec{
		Name: "spawn", Group: group, Title: "Subagents", Risk: tool.Runs, Hints: tool.Hints{OpenWorld: true},
		Doc: "Starts a subagent that does a task by itself with your tools. " +
			"Its result comes with a later result of yours: do not poll. It does not see this conversation.",
		Also: []string{"sessions_spawn", "subagents", "agent_spawn", "tool::agent_spawn", "Agent", "Task"},
		Means: map[string]string{
			"subagents": `{"action":"list"}`, "agent_spawn": waits, "tool::agent_spawn": waits, "Agent": waits,
			"Task": waits,
		},
		Timeout: maxWait + 30*time.Second, Output: subagents{}, Repeats: true,
		Keywords: "subagent parallel background",
	}
}

const (
	// waits are the implied arguments of tool names that wait for the result.
	waits = `{"mode":"sync"}`
	// defaultWait is how long a call waits for results, and maxWait how long it may.
	defaultWait = 5 * time.Minute
	maxWait     = 30 * time.Minute
	// maxMessage is the length of a message to a subagent, in bytes.
	maxMessage = 4000
)

func (t spawn) Prepare(_ context.Context, a spawnArgs) (tool.Plan, error) {
	plan := tool.Plan{
		Risk: tool.Writes, Why: "it starts a subagent",
		Run: func(ctx context.Context) (tool.Result, error) { return t.run(ctx, a) },
	}
	switch a.Action {
	case "list", "status", "wait":
		plan.Risk, plan.Why = tool.Reads, ""
	case "cancel", "kill", "steer":
		plan.Why = "it controls a subagent"
	case "merge":
		plan.Why = "it merges the branch of a subagent"
	case "drop":
		plan.Risk, plan.Why = tool.Destroys, "it deletes the branch of a subagent"
	}
	return plan, nil
}

func (t spawn) run(ctx context.Context, a spawnArgs) (tool.Result, error) {
	e, c := t.engine, tool.CallerFrom(ctx)
	if a.Task == "" && a.Action == "" && a.Message != "" {
		a.Task = a.Message // agent_spawn
	}
	switch a.Action {
	case "list", "status":
		return e.show(ctx, c)
	case "cancel", "kill":
		return e.cancel(ctx, c, a.ID)
	case "steer":
		return e.steer(ctx, c, a.ID, a.Message)
	case "merge", "drop":
		return e.decide(ctx, c, a.Action, a.ID)
	case "wait":
		return e.await(ctx, c, cmp.Or(a.ID, "all"), seconds(a.Timeout))
	case "", "spawn":
	default:
		return tool.Result{}, tool.Errorf(tool.Invalid, "action is %q", text.Clip(a.Action, 50)).
			Try("use spawn, list, cancel, steer, wait, merge or drop")
	}
	if _, known := e.Agents[a.Agent]; !known && slices.Contains(ownKinds, a.Agent) {
		a.Agent = ""
	}
	s, err := a.spawn()
	if err != nil {
		return tool.Result{}, err
	}
	return e.launch(ctx, s, a.Mode == "sync", seconds(a.Timeout))
}

// ownKinds are the kinds of subagents that other systems have built in: here they are the caller itself.
var ownKinds = []string{"general-purpose", "Explore", "Plan", "default", "worker"}

// seconds returns a time to wait, at most a day.
func seconds(n int) time.Duration { return time.Duration(min(max(n, 0), 86400)) * time.Second }

// spawn returns the Spawn of the arguments.
func (a spawnArgs) spawn() (s Spawn, err error) {
	switch {
	case a.Mode != "" && a.Mode != "async" && a.Mode != "sync" && a.Mode != "run":
		return s, tool.Errorf(tool.Invalid, "mode is %q", a.Mode).Try("use async or sync")
	case a.Thread:
		return s, tool.Errorf(tool.Invalid, "a subagent has no thread in a chat").Try("leave thread out")
	case a.Runtime != "" && a.Runtime != "subagent":
		return s, tool.Errorf(tool.Invalid, "runtime is %q",
			a.Runtime).Try("leave it out, or use acp_spawn for ACP agents")
	}
	s = Spawn{Task: a.Task, Label: a.Label, Agent: a.Agent, Model: a.Model, Tools: a.Tools, Limit: seconds(a.Timeout),
		Tree: a.Tree}
	if s.Effort, err = effort(a.Thinking); err != nil {
		return s, err
	}
	if a.Cwd != "" {
		s.Task += fmt.Sprintf("\n\nWork in the directory %s.", a.Cwd)
	}
	for _, one := range a.Attachments {
		content := one.Content
		if one.Encoding == "base64" {
			raw, err := base64.StdEncoding.DecodeString(content)
			if err != nil || !utf8.Valid(raw) {
				return s, tool.Errorf(tool.Invalid, "the attachment %q is not text in base64", one.Name).
					Try("write it to a file, and name the file in the task")
			}
			content = string(raw)
		}
		s.Task += fmt.Sprintf("\n\nAttached file %s:\n%s", strconv.Quote(one.Name), content)
	}
	if len(a.Schema) > 0 {
		s.Schema, err = json.Marshal(a.Schema)
	}
	return s, err
}

// effort returns the level of thinking for its names in other systems.
func effort(thinking string) (llm.Effort, error) {
	switch strings.ToLower(thinking) {
	case "", "default", "adaptive", "inherit":
		return "", nil
	case "off", "none":
		return llm.NoEffort, nil
	case "minimal", "low":
		return llm.LowEffort, nil
	case "medium":
		return llm.MediumEffort, nil
	case "high", "xhigh", "max":
		return llm.HighEffort, nil
	}
	return "", tool.Errorf(tool.Invalid, "thinking is %q", text.Clip(thinking, 50)).Try("use off, low, medium or high")
}

// launch starts a subagent, and waits for it if sync is set. Then the subagent ends with the
// call, if that is cancelled.
func (e *Engine) launch(ctx context.Context, s Spawn, sync bool, limit time.Duration) (tool.Result, error) {
	id, err := e.Spawn(ctx, s)
	if err != nil {
		return tool.Result{}, err
	}
	if sync {
		res, err := e.await(ctx, tool.CallerFrom(ctx), id, limit)
		if err != nil && ctx.Err() != nil {
			if _, cancelled := e.cancel(context.WithoutCancel(ctx), tool.CallerFrom(ctx), id); cancelled != nil {
				e.Log.Warn("a subagent outlives the call that waits for it", "id", id, "err", cancelled)
			}
		}
		return res, err
	}
	k, err := e.get(ctx, tool.CallerFrom(ctx), id)
	if err != nil {
		return tool.Result{}, err
	}
	res := tool.Textf("Subagent '%s' accepted (id=%s). It works in the background, and its result comes with a later "+
		"result of yours: go on with other work, and do not poll. To wait for it: spawn with action wait.", k.Label,
		id)
	return k.following(ctx, res.With(subagents{"accepted", []envelope{envelopeOf(k.Job, k.task, k.progress)}})), nil
}

func (e *Engine) get(ctx context.Context, c tool.Caller, id string) (k kept, err error) {
	err = e.Store.View(ctx, func(tx *store.Tx) error {
		k, err = e.find(tx, c, id)
		return err
	})
	return k, err
}

// show lists the subagents of a caller.
func (e *Engine) show(ctx context.Context, c tool.Caller) (tool.Result, error) {
	all, err := e.list(ctx, c)
	if err != nil {
		return tool.Result{}, err
	}
	counts := map[jobs.State]int{}
	data := subagents{Status: "ok", Subagents: []envelope{}}
	var lines strings.Builder
	for _, k := range all {
		counts[k.State]++
		fmt.Fprintf(&lines, "\n- [%s] %s (id=%s, status=%s, turns=%d, tokens=%d, took %s)", k.Label,
			text.Clip(clean(k.Text), 80), k.ID, status(k.State), k.Turns, k.Tokens, took(k.Job))
		one := envelopeOf(k.Job, k.task, k.progress)
		one.Output, one.Schema = nil, nil
		data.Subagents = append(data.Subagents, one)
	}
	if len(all) == 0 {
		return tool.Text("No subagent tasks found.").With(data), nil
	}
	return tool.Textf("Subagent tasks: %d running, %d completed, %d failed, %d cancelled%s",
		counts[jobs.Running]+counts[jobs.Queued], counts[jobs.Done], counts[jobs.Failed], counts[jobs.Cancelled],
		lines.String()).With(data), nil
}

// choose returns the subagents of a caller that a name stands for: an id, a label, the
// number in a list, last, or all that have not ended.
func (e *Engine) choose(ctx context.Context, c tool.Caller, name string) ([]kept, error) {
	all, err := e.list(ctx, c)
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(slices.Clone(all), func(k kept) bool { return k.State.Final() })
	switch n, isNumber := strconv.Atoi(name); {
	case name == "":
		return nil, tool.Errorf(tool.Invalid, "id is required").Try("list shows the ids; last and all are names, too")
	case name == "all":
		return open, nil
	case name == "last" && len(open) > 0:
		return open[len(open)-1:], nil
	case isNumber == nil && n >= 1 && n <= len(all):
		return all[n-1 : n], nil
	}
	for _, k := range slices.Backward(all) {
		if k.ID == name || k.Label == name || k.key(k.ID) == name {
			return []kept{k}, nil
		}
	}
	k, err := e.get(ctx, c, name)
	return []kept{k}, err
}

// cancel ends subagents.
func (e *Engine) cancel(ctx context.Context, c tool.Caller, name string) (tool.Result, error) {
	chosen, err := e.choose(ctx, c, name)
	if err != nil {
		return tool.Result{}, err
	}
	var lines []string
	data := subagents{Status: "cancelled", Subagents: []envelope{}}
	for _, k := range chosen {
		if k.State.Final() {
			lines = append(lines, fmt.Sprintf("Task '%s' not found or not running: it is %s.", k.ID, status(k.State)))
			continue
		}
		if err := e.Store.Update(ctx, func(tx *store.Tx) error {
			_, err := e.queue.Cancel(tx, k.ID, byParent)
			return err
		}); err != nil {
			return tool.Result{}, err
		}
		lines = append(lines, fmt.Sprintf("Task '%s' cancelled.", k.ID))
		one := envelopeOf(k.Job, k.task, k.progress)
		one.Status = string(jobs.Cancelled)
		data.Subagents = append(data.Subagents, one)
	}
	if len(lines) == 0 {
		lines = []string{"No subagent is running."}
	}
	return tool.Text(strings.Join(lines, "\n")).With(data), nil
}

// steer sends a message to a running subagent. The subagent reads it before its next reply.
func (e *Engine) steer(ctx context.Context, c tool.Caller, name, message string) (tool.Result, error) {
	if message == "" || len(message) > maxMessage {
		return tool.Result{}, tool.Errorf(tool.Invalid, "message has %d bytes, it must have 1 to %d", len(message),
			maxMessage).
			Try("write it to a file, and send the name of the file")
	}
	chosen, err := e.choose(ctx, c, name)
	if err != nil {
		return tool.Result{}, err
	}
	if len(chosen) != 1 {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q stands for %s", name, text.Plural(len(chosen), "subagent")).
			Try("send the id of one")
	}
	id, gone := chosen[0].ID, false
	err = e.Store.Update(ctx, func(tx *store.Tx) error {
		mail, err := takeMail(tx, id)
		if err != nil {
			return err
		}
		written, err := json.Marshal(append(mail, message))
		if err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE subagent SET mail = $2 WHERE id = $1 AND ended = 0", id, string(written))
		if gone = n == 0; gone || err != nil {
			return err
		}
		return tx.Changed(jobs.Topic, id) // a request to its model ends
	})
	switch {
	case err != nil:
		return tool.Result{}, err
	case gone:
		return tool.Result{}, tool.Errorf(tool.NotFound, "Task '%s' not found or not running.", id).
			Try("start another with spawn")
	}
	return tool.Textf("Task '%s' gets the message before its next turn.", id).
		With(subagents{"steered", []envelope{}}), nil
}

// await waits until subagents have ended, and returns their results. The inbox does not repeat
// these results.
func (e *Engine) await(ctx context.Context, c tool.Caller, name string, limit time.Duration) (tool.Result, error) {
	chosen, err := e.choose(ctx, c, name)
	if err != nil {
		return tool.Result{}, err
	}
	e.Start()
	tool.Idle(ctx)
	defer e.Store.Urgent()()
	timer := time.NewTimer(min(cmp.Or(limit, defaultWait), maxWait))
	defer timer.Stop()
	for over := false; ; {
		changed := e.Store.Wait(jobs.Topic)
		open := 0
		for i, k := range chosen {
			if k.State.Final() {
				continue
			}
			if chosen[i], err = e.get(ctx, c, k.ID); err != nil {
				return tool.Result{}, err
			}
			if !chosen[i].State.Final() {
				open++
			}
		}
		if open == 0 || over {
			return e.awaited(ctx, c, name, chosen)
		}
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}
}

// awaited returns the results of subagents, and takes their notices from the inbox. With the
// name all it also returns the other notices of subagents.
func (e *Engine) awaited(ctx context.Context, c tool.Caller, name string, chosen []kept) (tool.Result, error) {
	data := subagents{Status: "ok", Subagents: []envelope{}}
	var words []string
	var ended inbox.Filter
	failed := 0
	for _, k := range chosen {
		data.Subagents = append(data.Subagents, envelopeOf(k.Job, k.task, k.progress))
		if !k.State.Final() {
			data.Status = "running"
			words = append(words,
				fmt.Sprintf("Subagent '%s' is still %s after %s (id=%s); its result comes with a later "+
					"result of yours.", k.Label, k.State, took(k.Job), k.ID))
			continue
		}
		if k.State != jobs.Done {
			failed++
		}
		ended = append(ended, k.ID)
		words = append(words, report(k))
	}
	if name == "all" {
		ended = inbox.Filter{string(inbox.Subagent)}
	}
	if len(ended) > 0 {
		events, err := e.Inbox.Take(ctx, c, tool.RunningFrom(ctx).Call, ended)
		if err != nil {
			e.Log.Warn("the result of a subagent may be delivered twice", "err", err)
		}
		for _, event := range events {
			if !slices.ContainsFunc(chosen, func(k kept) bool { return k.ID == event.Subject }) {
				words = append(words, event.Text)
			}
		}
	}
	if len(words) == 0 {
		words = []string{"No subagent is running, and you have all results."}
	}
	res := tool.Text(strings.Join(words, "\n\n")).With(data)
	if failed > 0 && failed == len(chosen) {
		res.Failed, res.Kind = true, tool.Unavailable
	}
	return res, nil
}
