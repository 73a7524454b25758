//go:build !windows

package hooks_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// newSet returns hooks for calls in a workspace.
func newSet(t *testing.T, dir string, all hooks.Settings) *hooks.Set {
	t.Helper()
	needtest.Program(t, "sh")
	return hooks.New(all, hooks.Options{
		Programs: &program.Runner{Tiers: sandbox.NewTiers(&kernel.Launcher{}, host.Launcher{})},
		Dir:      func(context.Context) (string, error) { return dir, nil },
		Changeable: func(_ context.Context, path string) bool {
			_, within := sandbox.Beneath(dir, path)
			return within
		},
		Checkpoint: func(context.Context, string) func() { return func() {} },
		Log:        slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
}

// workspace returns an empty directory without links in its name.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sh returns a hook that is a shell command on the host.
func sh(e hooks.Event, script string) hooks.HookSettings {
	return hooks.HookSettings{Event: e, Command: []string{"sh", "-c", script}, Sandbox: sandbox.Host, Timeout: time.Minute}
}

// call returns a call of write_file.
func call(args string) hooks.Call {
	return hooks.Call{ID: "id", Tool: "write_file", Risk: tool.Writes, Args: json.RawMessage(args)}
}

func caller(t *testing.T) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "coder", User: "ann", Session: "s1"}})
}

func TestAnswersBefore(t *testing.T) {
	t.Parallel()
	const failed = "hook h must agree to this call, and failed"
	for name, c := range map[string]struct {
		script string
		ask    string // why a person is asked
		args   string // changed arguments
		kind   tool.Kind
		says   string // words of the error
	}{
		"says nothing":       {script: `cat >/dev/null`},
		"reads nothing":      {script: `exit 0`},
		"writes for people":  {script: `echo checked`},
		"says allow":         {script: `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`},
		"approves":           {script: `echo '{"decision":"approve"}'`},
		"unknown members":    {script: `echo '{"suppressOutput":true,"systemMessage":"x"}'`},
		"exit code 2":        {script: `echo "not on Fridays" >&2; exit 2`, kind: tool.Refused, says: "not on Fridays"},
		"exit code 2, mute":  {script: `exit 2`, kind: tool.Refused, says: "it gave no reason"},
		"denies":             {script: `echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}'`, kind: tool.Refused, says: "blocked this call: no"},
		"decision block":     {script: `echo '{"decision":"block","reason":"too big"}'`, kind: tool.Refused, says: "too big"},
		"stops":              {script: `echo '{"continue":false,"stopReason":"enough"}'`, kind: tool.Refused, says: "enough"},
		"asks":               {script: `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`, ask: "the hook h asks: sure?"},
		"asks without words": {script: `echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`, ask: "the hook h asks"},
		"changes":            {script: `echo '{"hookSpecificOutput":{"updatedInput":{"path":"b"}}}'`, args: `{"path":"b"}`},
		"changes nothing":    {script: `echo '{"hookSpecificOutput":{"updatedInput":{ "path": "a" }}}'`},
		"null":               {script: `echo '{"hookSpecificOutput":{"updatedInput":null}}'`},
		"leaves a child":     {script: `sleep 1000 & exit 0`},
		// Hooks that are broken, or that somebody has broken, block too.
		"exit code 1":        {script: `exit 1`, kind: tool.Unavailable, says: failed},
		"killed":             {script: `kill -9 $$`, kind: tool.Unavailable, says: failed},
		"half an answer":     {script: `printf '{"decision":'`, kind: tool.Unavailable, says: failed},
		"two answers":        {script: `echo '{}'; echo '{}'`, kind: tool.Unavailable, says: failed},
		"unknown decision":   {script: `echo '{"decision":"deny"}'`, kind: tool.Unavailable, says: failed},
		"unknown permission": {script: `echo '{"hookSpecificOutput":{"permissionDecision":"Deny"}}'`, kind: tool.Unavailable, says: failed},
		"arguments a list":   {script: `echo '{"hookSpecificOutput":{"updatedInput":[1]}}'`, kind: tool.Unavailable, says: failed},
		"writes for ever":    {script: `while :; do head -c 65536 /dev/zero; done`, kind: tool.Unavailable, says: failed},
		"floods stderr":      {script: `head -c 10000000 /dev/zero | tr '\0' x >&2; exit 2`, kind: tool.Refused, says: "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSet(t, workspace(t), hooks.Settings{"h": sh(hooks.Before, c.script)})
			r, err := s.Before(caller(t), call(`{"path":"a"}`))
			if c.kind == "" && err != nil {
				t.Fatal(err)
			}
			if c.kind != "" {
				if known := tool.AsError(err); known.Kind != c.kind || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 4096 {
					t.Errorf("%v, want %s %q", err, c.kind, c.says)
				}
			}
			if r.Ask != c.ask || string(r.Args) != c.args {
				t.Errorf("ask %q, arguments %s", r.Ask, r.Args)
			}
		})
	}
}

// TestSlowHook checks that a hook that never ends blocks its call after its time.
func TestSlowHook(t *testing.T) {
	t.Parallel()
	h := sh(hooks.Before, `sleep 1000`)
	h.Timeout = time.Second
	_, err := newSet(t, workspace(t), hooks.Settings{"h": h}).Before(caller(t), call(`{}`))
	if tool.AsError(err).Kind != tool.Unavailable {
		t.Error(err)
	}
}

// TestCancelledHook checks that the end of a call ends its hook.
func TestCancelledHook(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(caller(t))
	dir := workspace(t)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := newSet(t, dir, hooks.Settings{"h": sh(hooks.Before, `touch runs; sleep 1000`)}).Before(ctx, call(`{}`))
	if err == nil {
		t.Error("no error")
	}
}

// TestHooksThatCallersCanChange checks that no hook is a file of the workspace, also not by a link or as an argument of a shell.
func TestHooksThatCallersCanChange(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	file, link := filepath.Join(dir, "guard.sh"), filepath.Join(workspace(t), "link.sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{file}, {link}, {"sh", file}, {"sh", link}} {
		_, err := newSet(t, dir, hooks.Settings{"h": {Event: hooks.Before, Command: command, Sandbox: sandbox.Host}}).
			Before(caller(t), call(`{}`))
		if tool.AsError(err).Kind != tool.Unavailable {
			t.Errorf("%q: %v", command, err)
		}
	}
}

// TestWhichCalls checks which calls a hook is about.
func TestWhichCalls(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	for _, name := range []string{"infra", "src"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"way": "infra", "one.tf": "infra/main.tf"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "infra", "main.tf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tools, paths []string
		risk         string
		call         hooks.Call
		runs         bool
	}{
		"all":                {call: call(`{}`), runs: true},
		"by name":            {tools: []string{"edit", "write_file"}, call: call(`{}`), runs: true},
		"by pattern":         {tools: []string{"write_*"}, call: call(`{}`), runs: true},
		"another":            {tools: []string{"edit"}, call: call(`{}`)},
		"risky":              {risk: "writes", call: call(`{}`), runs: true},
		"harmless":           {risk: "destroys", call: call(`{}`)},
		"a path":             {paths: []string{"infra/**"}, call: call(`{"path":"infra/x"}`), runs: true},
		"a directory":        {paths: []string{"infra/**"}, call: call(`{"path":"infra"}`), runs: true},
		"a detour":           {paths: []string{"infra/**"}, call: call(`{"path":"src/../infra/x"}`), runs: true},
		"a link":             {paths: []string{"infra/**"}, call: call(`{"path":"way/new/x"}`), runs: true},
		"a link to a file":   {paths: []string{"infra/**"}, call: call(`{"path":"one.tf"}`), runs: true},
		"an absolute path":   {paths: []string{"infra/**"}, call: call(`{"path":"` + dir + `/infra/x"}`), runs: true},
		"several":            {paths: []string{"infra/**"}, call: call(`{"paths":["src/a","infra/b"]}`), runs: true},
		"elsewhere":          {paths: []string{"infra/**"}, call: call(`{"path":"src/infra.go"}`)},
		"no path":            {paths: []string{"infra/**"}, call: call(`{"command":"rm infra/x"}`)},
		"a patch":            {paths: []string{"**/*.tf"}, call: call(`{"patch":"*** Begin Patch\n*** Update File: infra/main.tf\n@@\n-a\n+b\n*** End Patch"}`), runs: true},
		"a patch that moves": {paths: []string{"infra/**"}, call: call(`{"patch":"*** Update File: a\n*** Move to: infra/a\n"}`), runs: true},
		"a unified diff":     {paths: []string{"infra/**"}, call: call(`{"patch":"--- a/infra/x\n+++ b/infra/x\n"}`), runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sh(hooks.Before, `exit 2`)
			h.Tools, h.Paths, h.Risk = c.tools, c.paths, c.risk
			_, err := newSet(t, dir, hooks.Settings{"h": h}).Before(caller(t), c.call)
			if (err != nil) != c.runs {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestNoHooks checks that a server without hooks has nothing to run, so that its calls skip them.
func TestNoHooks(t *testing.T) {
	if s := hooks.New(hooks.Settings{}, hooks.Options{}); s != nil {
		t.Errorf("%+v", s)
	}
}

// TestChain checks that hooks run in the order of their names, each with the arguments of the one before.
func TestChain(t *testing.T) {
	t.Parallel()
	change := func(to string) hooks.HookSettings {
		return sh(hooks.Before, `in=$(cat); printf '{"hookSpecificOutput":{"updatedInput":{"was":%s,"now":"`+to+`"}}}' "$(echo "$in" | sed 's/.*"now":\("[a-z]*"\).*/\1/')"`)
	}
	s := newSet(t, workspace(t), hooks.Settings{"a": change("x"), "b": change("y"), "c": sh(hooks.After, `exit 2`)})
	r, err := s.Before(caller(t), call(`{"now":"start"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := hooks.Ruling{Args: json.RawMessage(`{"was":"x","now":"y"}`), Ran: []string{"a changed the arguments", "b changed the arguments"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAfter checks what hooks get and say after a call, in the sandbox.
func TestAfter(t *testing.T) {
	t.Parallel()
	needtest.Sandbox(t, &kernel.Launcher{})
	dir := workspace(t)
	one := sh(hooks.After, `cat >in.json; (echo x >/etc/passwd) 2>/dev/null && echo changed >outside; `+
		`echo '{"hookSpecificOutput":{"additionalContext":"formatted"}}'`)
	one.Sandbox = "kernel"
	s := newSet(t, dir, hooks.Settings{"one": one, "three": sh(hooks.After, `exit 3`), "two": sh(hooks.After, `echo "2 problems" >&2; exit 2`)})
	says, ran := s.After(caller(t), call(`{"path":"a"}`), func() string { return "created a" })
	if diff := cmp.Diff([]string{"one", "three", "two"}, ran); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the operator's hook one says: formatted", "the operator's hook three failed after the call",
		"the operator's hook two says: 2 problems"}, says); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
		t.Error("the hook changed a file outside the workspace")
	}
	var in map[string]any
	text, err := os.ReadFile(filepath.Join(dir, "in.json"))
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	want := map[string]any{"hook_event_name": "PostToolUse", "tool_name": "write_file", "tool_input": map[string]any{"path": "a"},
		"tool_use_id": "id", "tool_response": map[string]any{"content": "created a"}, "session_id": "s1", "risk": "writes",
		"agent": "coder", "user": "ann"}
	if diff := cmp.Diff(want, in); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
