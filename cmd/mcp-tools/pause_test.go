//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPause stops the calls and the background commands of two servers on one data
// directory, from a third process.
func TestPause(t *testing.T) {
	data := t.TempDir()
	one, two := startRunner(t, "host", data, t.TempDir()), startRunner(t, "host", data, t.TempDir())
	operate := func(args ...string) {
		t.Helper()
		finish(t, exec.Command(one.cmd.Path, append(args, "--data", data)...))
	}
	both := []*runner{one, two}
	begin := func() {
		for _, r := range both {
			for got := ""; got != "warm"; {
				r.ask(1, map[string]any{"command": "echo warm"})
				if got = r.answer(); got != "warm" && !strings.Contains(got, "has paused") { // it will read of the end
					t.Fatalf("the server answers %q", got)
				}
				time.Sleep(10 * time.Millisecond)
			}
			r.ask(2, map[string]any{"command": r.stubborn(), "background": true, "timeout": 600})
			if got := r.answer(); !strings.Contains(got, "runs; go on with process") {
				t.Fatalf("the server answers %q", got)
			}
			r.ask(3, map[string]any{"command": r.stubborn(), "timeout": 600})
			r.until("the start", func(n int) bool { return n >= 8 })
		}
	}
	begin()
	operate("pause", "--reason", "the deployment is broken")
	paused := time.Now()
	for _, r := range both {
		if got := r.answer(); !strings.Contains(got, "the operator has paused all calls: the deployment is broken") {
			t.Errorf("the stopped call answers %q", got)
		}
		r.until("pausing", func(n int) bool { return n == 0 })
		r.ask(4, map[string]any{"command": "echo on"})
		if got := r.answer(); !strings.HasPrefix(got, "refused: the operator has paused all calls") {
			t.Errorf("while it is paused a server answers %q", got)
		}
	}
	t.Logf("everything had ended after %s", time.Since(paused))
	third := startRunner(t, "host", data, t.TempDir())
	third.ask(1, map[string]any{"command": "echo on"})
	if got := third.answer(); !strings.HasPrefix(got, "refused: the operator has paused all calls") {
		t.Errorf("a new server answers %q", got)
	}
	operate("resume")
	begin()

	operate("pause", "--agent", "somebody else")
	operate("pause", "--session", "stdio-0-0")
	for _, r := range both {
		r.ask(5, map[string]any{"command": "echo on"})
		if got := r.answer(); !strings.HasPrefix(got, "on") {
			t.Errorf("a server whose caller is not paused answers %q", got)
		}
		if n := len(r.living()); n < 8 {
			t.Errorf("%d processes run", n)
		}
	}
}

// hangingAgent is an agent program that works without end: it writes to the file beat.
const hangingAgent = `while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case "$line" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{}}}' ;;
	*'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s"}}' ;;
	*'"session/prompt"'*) while :; do echo beat >> beat; sleep 0.05; done ;;
	esac
done
`

// TestPauseOfAnAgentProgram pauses everything while an agent program works.
func TestPauseOfAnAgentProgram(t *testing.T) {
	data, ws := t.TempDir(), t.TempDir()
	script, beat := filepath.Join(t.TempDir(), "agent.sh"), filepath.Join(ws, "beat")
	if err := os.WriteFile(script, []byte(hangingAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startParent(t, data, ws, fmt.Sprintf("acp: {busy: {command: [sh, %q]}}\nsandbox: {mode: host}\n"+
		"policy: {autonomy: full}\nconnections: {stdio: {profile: full}}\n", script))
	size := func() int64 {
		info, err := os.Stat(beat)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	if got := p.call("acp_spawn", map[string]any{"agent": "busy", "task": "work"}); !strings.Contains(got, "accepted") {
		t.Fatalf("acp_spawn: %s", got)
	}
	eventually(t, "the program works", func() bool { return size() > 0 })
	finish(t, exec.Command(p.cmd.Path, "pause", "--data", data, "--reason", "enough"))
	paused := time.Now()
	eventually(t, "the program has ended", func() bool {
		before := size()
		time.Sleep(200 * time.Millisecond)
		return size() == before
	})
	t.Logf("it had ended after %s", time.Since(paused))
	finish(t, exec.Command(p.cmd.Path, "resume", "--data", data))
	var heard strings.Builder
	eventually(t, "the subagent is cancelled", func() bool {
		got := p.call("spawn", map[string]any{"action": "list"})
		heard.WriteString(got)
		return strings.Contains(got, "1 cancelled") && strings.Contains(got, "0 running")
	})
	eventually(t, "its caller gets the reason", func() bool {
		heard.WriteString(p.call("datetime", nil))
		return strings.Contains(heard.String(), "enough")
	})
}
