//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
)

// command runs a command of the program with the settings of p, and returns what it prints.
func (p *parent) command(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, p.cmd.Path, append(args, p.cmd.Args[1:]...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.cmd.Env, &out, &out
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%q: %v: %s", args, err, out.String())
	}
	return out.String()
}

// TestNotices has a person at Telegram who is notified of each kind of event.
func TestNotices(t *testing.T) {
	g, model := newTelegram(t), llmtest.New(t)
	model.Answer(func(llmtest.Request) llmtest.Turn {
		return llmtest.Turn{Text: "done", Usage: llm.Usage{Input: 90_000, Output: 10}}
	})
	p := startParent(t, t.TempDir(), t.TempDir(), modelSettings(model, fmt.Sprintf(`  budget: {day: 100000 tokens}
messaging:
  channels:
    telegram: {token: "env:FAKE_KEY", url: %q}
  notify:
    - {to: ["telegram:4711"], events: [task_done, job_failed, approval_open, question_open, budget]}
  approvers: {eve: ["telegram:99"]}
approvals: {timeout: 10m}
sandbox: {mode: host}
connections: {stdio: {agent: boss, user: ann, profile: full}}
`, g.URL)))
	ask := func(tool string, args map[string]any, want string) {
		t.Helper()
		if got := p.call(tool, args); !strings.Contains(got, want) {
			t.Fatalf("%s %v returns %q", tool, args, got)
		}
	}
	notified := func(want string) {
		t.Helper()
		if got := g.await("sendMessage", want); fmt.Sprint(got["chat_id"]) != "4711" {
			t.Errorf("the notice of %q is %v", want, got)
		}
	}

	ask("cron", map[string]any{"action": "add", "name": "reader", "every": "24h", "tool": "read_file",
		"args": map[string]any{"path": "missing.txt"}}, "reader")
	ask("cron", map[string]any{"action": "run", "name": "reader"}, "reader")
	notified(`The job reader of agent "boss" failed: `)

	p.command("teams", "create", "site", "--lead", "boss", "--member", "helper")
	ask("team_tasks", map[string]any{"action": "create", "subject": "Fix the menu", "assignee": "boss"},
		"Task created")
	ask("team_tasks", map[string]any{"action": "claim"}, "in_progress")
	ask("team_tasks", map[string]any{"action": "complete", "result": "It is fixed."}, "completed")
	notified("Fix the menu")

	ask("ask_user", map[string]any{"question": "Which colour?"}, "waits for the user")
	notified(`The agent "boss" asks: Which colour?`)

	ask("spawn", map[string]any{"task": "think"}, "accepted")
	notified("80 % of the budget for models of all callers is used today: 90010 tokens")

	p.send("exec", map[string]any{"command": "rm -rf build"}) // nobody allows it
	notified("removes build. mcp-tools approvals show ")
}
