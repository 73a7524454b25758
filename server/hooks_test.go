package server

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/policy"
)

// answers are programs that write their first argument, and keep what they are sent.
type answers struct{ got []string }

func (a *answers) Run(_ context.Context, s program.Spec, in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	a.got = append(a.got, string(text))
	if stderr, ok := strings.CutPrefix(s.Argv[1], "block:"); ok {
		return &program.ExitError{Program: "hook", Why: "exit code 2", Code: 2, Stderr: stderr}
	}
	_, err = io.WriteString(out, s.Argv[1])
	return err
}

// withHooks adds hooks before and after all calls, with these answers; "" for no hook.
func withHooks(a *answers, before, after string) func(*Config) {
	return func(c *Config) {
		all := hooks.Settings{}
		for event, says := range map[hooks.Event]string{hooks.Before: before, hooks.After: after} {
			if says != "" {
				all[strings.ToLower(string(event[:3]))] = hooks.HookSettings{Event: event, Command: []string{"/bin/hook", says}}
			}
		}
		c.Settings.Hooks = hooks.New(all, hooks.Options{
			Programs: a, Dir: func(context.Context) (string, error) { return "/w", nil }, Log: c.Log,
			Changeable: func(context.Context, string) bool { return false },
			Checkpoint: func(context.Context, string) func() { return func() {} },
		})
	}
}

// specific returns an answer about a call.
func specific(member string) string { return `{"hookSpecificOutput":{` + member + `}}` }

func TestHooks(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		rules         policy.Rules
		tool, want    string // the end of the text of the result
		record        string // the approval of the record
		runs          int    // how often hooks ran
	}{
		"nothing":          {before: "-", tool: "change", want: "changed x", record: "hooks: pre", runs: 1},
		"a reason":         {before: "block:not today", tool: "change", want: "refused: the operator's hook pre blocked this call: not today; follow the reason, or ask the user how to continue", record: "hooks: pre blocked", runs: 1},
		"a secret":         {before: "block:" + plantedKey(), tool: "change", want: "blocked this call: [REDACTED]; follow the reason, or ask the user how to continue", record: "hooks: pre blocked", runs: 1},
		"other arguments":  {before: specific(`"updatedInput":{"text":"y"}`), tool: "change", want: "changed y", record: "hooks: pre changed the arguments", runs: 1},
		"wrong arguments":  {before: specific(`"updatedInput":{"text":1,"no":2}`), tool: "change", want: "to invalid ones; tell the operator; the server's log has the cause", record: "hooks: pre changed the arguments", runs: 1},
		"after":            {after: specific(`"additionalContext":"formatted"`), tool: "change", want: "[the operator's hook pos says: formatted]", record: "hooks: pos", runs: 1},
		"after a failure":  {after: "-", tool: "broken", want: "try something else; the operator finds the cause in the log"},
		"a secret after":   {after: specific(`"additionalContext":"` + plantedKey() + `"`), tool: "change", want: "says: [REDACTED]]", record: "hooks: pos", runs: 1},
		"no way around":    {before: specific(`"permissionDecision":"allow"`), rules: policy.Rules{Deny: []string{"change"}}, tool: "change", want: "call tools/list to see the tools"},
		"a tool of a call": {before: "-", tool: "nothing", want: "call tools/list to see the tools"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &answers{}
			b := newTestServer(t, func(cfg *Config) { cfg.Settings = testSettings(t, cfg.Tools, c.rules) }, withHooks(a, c.before, c.after))
			got := callTool(t, b, c.tool, `{"text":"x"}`).Result
			if c.tool == "broken" {
				got = callTool(t, b, c.tool, `{}`).Result
			}
			if text := got.Text(); !strings.HasSuffix(text, c.want) && !strings.HasPrefix(text, c.want) {
				t.Errorf("the result is %s", text)
			}
			entries := b.audit.all()
			if last := entries[len(entries)-1]; last.Approval != c.record {
				t.Errorf("the record says %q", last.Approval)
			}
			if len(a.got) != c.runs && c.tool != "broken" {
				t.Errorf("hooks ran %d times", len(a.got))
			}
		})
	}
}

// TestHookChangesArguments checks that changed arguments are decided about anew, that a person sees them, and the model too.
func TestHookChangesArguments(t *testing.T) {
	a, d := &answers{}, newMemoryApprovals()
	b := newTestServer(t, withApprovals(d), withHooks(a, specific(`"updatedInput":{"text":"y"}`), ""))
	asked := callTool(t, b, "launch", `{"text":"x"}`).InputRequest
	if asked == nil {
		t.Fatal("no question")
	}
	id := d.next(t)
	if q := string(d.get(id).call.Args); q != `{"text":"y"}` {
		t.Errorf("the question is about %s", q)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	got := callTool(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Input = &InputResponse{State: asked.State} }).Result.Text()
	if want := "launched y\n[the operator's hooks changed the arguments of this call. It ran with: {\"text\":\"y\"}]"; !strings.HasPrefix(got, "launched y") ||
		!strings.Contains(got, want[len("launched y\n"):]) {
		t.Errorf("the call got %s", got)
	}
}

// TestHookAsks checks that a hook has a person asked where the policy allows, and that the answer counts.
func TestHookAsks(t *testing.T) {
	a, d := &answers{}, newMemoryApprovals()
	b := newTestServer(t, withApprovals(d), withHooks(a, specific(`"permissionDecision":"ask","permissionDecisionReason":"big"`), ""))
	asked := callTool(t, b, "change", `{"text":"x"}`).InputRequest
	if asked == nil {
		t.Fatal("no question")
	}
	id := d.next(t)
	if q := d.get(id).call; !strings.Contains(q.Why, "the hook pre asks: big") {
		t.Errorf("the question says %q", q.Why)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	if got := callTool(t, b, "change", `{"text":"x"}`, func(r *Request) { r.Input = &InputResponse{State: asked.State} }).Result.Text(); got != "changed x" {
		t.Errorf("the call got %s", got)
	}
}

// TestHookAndEditedCall checks that a hook that changes what a person has written refuses the call.
func TestHookAndEditedCall(t *testing.T) {
	a, d := &answers{}, newMemoryApprovals()
	b := newTestServer(t, withApprovals(d), withHooks(a, specific(`"updatedInput":{"text":"y"}`), ""))
	asked := callTool(t, b, "launch", `{"text":"x"}`).InputRequest
	id := d.next(t)
	if err := d.edit(t.Context(), id, `{"text":"z"}`); err != nil {
		t.Fatal(err)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	got := callTool(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Input = &InputResponse{State: asked.State} }).Result.Text()
	if !strings.Contains(got, "do not accept the arguments as a person has changed them") {
		t.Errorf("the call got %s", got)
	}
}

// TestHooksGetNoSecrets checks that a hook after a call gets its result without credentials.
func TestHooksGetNoSecrets(t *testing.T) {
	a := &answers{}
	b := newTestServer(t, withHooks(a, "", "-"))
	callTool(t, b, "leaks", `{}`)
	var in struct {
		Response struct{ Content string } `json:"tool_response"`
	}
	if err := json.Unmarshal([]byte(a.got[0]), &in); err != nil || !strings.HasPrefix(in.Response.Content, "the key is [REDACTED") {
		t.Errorf("%v %+v", err, in)
	}
}
