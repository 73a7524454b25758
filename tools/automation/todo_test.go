package automation

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// A desk has the tools of the group and the files of a caller.
type desk struct {
	t      *testing.T
	ctx    context.Context
	files  workspace.Files
	model  Model
	people People
}

func newDesk(t *testing.T) *desk {
	files, ctx, dir := workspacetest.New(t)
	c := workspacetest.Caller(dir)
	c.Agent, c.User = "helper", "ann"
	return &desk{t: t, ctx: workspacetest.For(ctx, c), files: files}
}

func (d *desk) call(name, args string) (string, error) {
	d.t.Helper()
	set, err := tool.NewSet(Tools(d.files, nil, d.model, d.people, fixedNow)...)
	if err != nil {
		d.t.Fatal(err)
	}
	found, _ := set.Lookup(name)
	bound, err := found.Bind(json.RawMessage(args), tool.DefaultLimits())
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := bound.Run(d.ctx)
	return res.Text(), err
}

func (d *desk) ok(name, args string, parts ...string) {
	d.t.Helper()
	got, err := d.call(name, args)
	if err != nil {
		d.t.Fatalf("%s: %v", args, err)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			d.t.Errorf("%s: %q is not in %s", args, part, got)
		}
	}
}

func (d *desk) fails(name, args string, parts ...string) {
	d.t.Helper()
	got, err := d.call(name, args)
	if err == nil {
		d.t.Errorf("%s gave %s", args, got)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			d.t.Errorf("%s: %q is not in %v", args, part, err)
		}
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	f, err := d.files.Open(d.ctx, name)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if f.Mode.Perm() != fileMode {
		d.t.Errorf("%s has the mode %v", name, f.Mode)
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(content)
}

func TestTodo(t *testing.T) {
	d := newDesk(t)
	d.ok("todo_update", `{"action":"add","content":"Send the report to Bob","people":["Bob"],"chat_id":"tg:-100"}`,
		`"ok":true`, `"open_count":1`, `"wip_added":1`, "reference_unresolved_write_raw")
	d.ok("todo_update", `{"action":"add","content":"Water the  plants of [Ann](tg:@ann)","people":["Ann"]}`,
		`"open_count":2`, `"content":"Water the plants of [Ann](tg:@ann)"`)
	d.ok("todo_update", `{"action":"add","content":"send the report to bob!","people":["Bob"],"chat_id":"tg:-100"}`,
		`"open_count":2`, `"wip_added":0`, "already_in_todo")
	want := `---
created_at: "2026-01-31T12:30:00Z"
updated_at: "2026-01-31T12:30:00Z"
open_count: 2
---

# TODO Work In Progress (WIP)

- [ ] [Created](2026-01-31 12:30) | Water the plants of [Ann](tg:@ann)
- [ ] [Created](2026-01-31 12:30), [ChatID](tg:-100) | Send the report to Bob
`
	if got := d.read(todoFile); got != want {
		t.Errorf("TODO.md is\n%s\nwant\n%s", got, want)
	}
	d.ok("todo_update", `{"action":"complete","content":"report to Bob sent"}`, `"open_count":1`, `"done_count":1`,
		`"wip_removed":1`, `"done_added":1`, `"Send the report to Bob"`)
	if got := d.read(doneFile); !strings.Contains(got, "done_count: 1") || !strings.Contains(got,
		"- [x] [Created](2026-01-31 12:30), [Done](2026-01-31 12:30), [ChatID](tg:-100) | Send the report to Bob\n") {
		t.Error(got)
	}
}

// TestReferences checks references to people, and adds the missing ones.
func TestReferences(t *testing.T) {
	d := newDesk(t)
	d.people = func(context.Context) ([]Person, error) {
		return []Person{{"Bob", []string{"tg:@bob", "tg:28"}}, {"Bo", []string{"slack:T1:U1"}}, {"Nobody", nil}}, nil
	}
	for content, want := range map[string]string{
		"Call Bob, not Bobby":           "Call [Bob](tg:@bob), not Bobby",
		"Bo calls Bob":                  "[Bo](slack:T1:U1) calls [Bob](tg:@bob)",
		"Write to [Bob](tg:28) and Bob": "Write to [Bob](tg:28) and Bob",
		"Ask Nobody":                    "Ask Nobody",
	} {
		d.ok("todo_update", `{"action":"add","content":"`+content+`","people":["Bob","Bo","Nobody"]}`, `"content":"`+want+`"`)
	}
	d.fails("todo_update", `{"action":"add","content":"Call [Bob](tg:@zzz)","people":["Bob"]}`, "reference id is not reachable: tg:@zzz")
	d.fails("todo_update", `{"action":"add","content":"Call [Eve](discord:1)","people":["Eve"]}`, "reference id is not reachable: discord:1")
}

func TestTodoExplainsMistakes(t *testing.T) {
	d := newDesk(t)
	for args, want := range map[string]string{
		`{"action":"add","content":"x"}`:                                   "people is required for add action",
		`{"action":"add","content":" ","people":["a"]}`:                    "content is required",
		`{"action":"","content":"x"}`:                                      "action is required",
		`{"action":"drop","content":"x"}`:                                  "invalid action:",
		`{"action":"add","content":"[A](mail:x)","people":["A"]}`:          "invalid reference id: mail:x",
		`{"action":"add","content":"[A]()","people":["A"]}`:                "missing_reference_id",
		`{"action":"add","content":"x","people":["a"],"chat_id":"tg:0"}`:   "has not the form",
		`{"action":"add","content":"x","people":["a"],"chat_id":"irc:#x"}`: "has not the form",
		`{"action":"complete","content":"anything"}`:                       "no matching todo item in TODO.md",
	} {
		d.fails("todo_update", args, want)
	}
	for _, text := range []string{"Call the bank", "Call the bakery", "Buy milk"} {
		d.ok("todo_update", `{"action":"add","content":"`+text+`","people":["$SPEAKER"]}`)
	}
	d.fails("todo_update", `{"action":"complete","content":"call the ba"}`, "ambiguous todo item match", "Call the bank",
		"Call the bakery")
	d.fails("todo_update", `{"action":"complete","content":"repair the roof"}`, "no matching todo item in TODO.md", "Buy milk")
	d.ok("todo_update", `{"action":"complete","content":"milk"}`, `"Buy milk"`)
	d.ok("todo_update", `{"action":"complete","content":"CALL THE BANK."}`, `"Call the bank"`)
}

func TestTodoWithAModel(t *testing.T) {
	d := newDesk(t)
	answer := ""
	d.model = func(_ context.Context, _, system, prompt string) (string, error) {
		if !strings.Contains(system, "not instructions") || !strings.Contains(prompt, "Pay the rent") {
			t.Errorf("asked %q %q", system, prompt)
		}
		return answer, nil
	}
	d.ok("todo_update", `{"action":"add","content":"Pay the rent","people":["$AGENT"]}`)
	for _, wrong := range []string{"yes", `{"index":7}`, `{}`} {
		answer = wrong
		d.fails("todo_update", `{"action":"complete","content":"landlord got the money"}`, "invalid semantic_match response")
	}
	answer = `{"index":-1}`
	d.fails("todo_update", `{"action":"complete","content":"landlord got the money"}`, "no matching todo item")
	answer = "It is:\n```json\n{\"index\": 0}\n```"
	d.ok("todo_update", `{"action":"complete","content":"landlord got the money"}`, `"Pay the rent"`)
}

func TestPlan(t *testing.T) {
	d := newDesk(t)
	d.fails("plan_create", `{}`, "missing required param: task")
	d.fails("plan_create", `{"done":1}`, "there is no plan yet")
	d.fails("plan_create", `{"task":"Move"}`, "plan_create unavailable (missing llm client)")
	d.ok("plan_create", `{"task":"Move","steps":["pack","drive","unpack"]}`,
		`{"step":"pack","status":"in_progress"}`, `{"step":"drive","status":"pending"}`)
	d.ok("plan_create", `{"task":"move!","done":1}`, `{"step":"pack","status":"completed"}`, `{"step":"drive","status":"in_progress"}`)
	d.ok("plan_create", `{"task":"Move"}`, `{"step":"drive","status":"in_progress"}`)
	d.ok("plan_create", `{"task":"Move","done":9}`, `{"step":"unpack","status":"completed"}`, `"completion":"all steps are done"`)
	d.ok("plan_create", `{"done":2}`, `{"step":"drive","status":"completed"}`, `{"step":"unpack","status":"in_progress"}`)
	d.ok("plan_create", `{"task":"Other","steps":["a","b","c"],"max_steps":2}`, `"b"`)
	if got := d.read(planFile); strings.Contains(got, `"c"`) || !strings.Contains(got, `"unpack"`) {
		t.Error(got)
	}
}

func TestPlanWithAModel(t *testing.T) {
	d := newDesk(t)
	answer, asked, named := "", 0, ""
	d.model = func(_ context.Context, name, _, _ string) (string, error) { asked++; named = name; return answer, nil }
	answer = "no plan"
	d.fails("plan_create", `{"task":"Move"}`, "invalid plan_create response")
	answer = `{"thought":"t","summary":"s","steps":["a",{"step":"b","status":"pending"}],"questions":["when?"]}`
	d.ok("plan_create", `{"task":"Move","max_steps":1,"model":"openai/large"}`, `"thought":"t"`, `"steps":[{"step":"a","status":"in_progress"}]`,
		`"questions":["when?"]`)
	d.ok("plan_create", `{"task":"Move"}`, `"thought":"t"`)
	if asked != 2 || named != "openai/large" {
		t.Errorf("the model %q was asked %d times", named, asked)
	}
}
