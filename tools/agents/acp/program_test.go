package acp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// library installs the protocol's library for Node, and returns Node and a directory with
// the library as acp.js.
func library(t *testing.T) (node, dir, examples string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "../../../.ci/conformance-install").Output()
	if err != nil {
		needtest.Lacking(t, "node", fmt.Sprintf("the library of ACP is not there: %v", err))
	}
	node, suite, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	modules, _, _ := strings.Cut(suite, "@modelcontextprotocol")
	sdk := filepath.Join(modules, "@zed-industries", "agent-client-protocol")
	dir = t.TempDir()
	text := fmt.Sprintf("export * from %q;\n", "file://"+filepath.Join(sdk, "dist", "acp.js"))
	if err := os.WriteFile(filepath.Join(dir, "acp.js"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return node, dir, filepath.Join(sdk, "typescript", "examples")
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAgentOfTheLibrary runs the example agent that comes with the protocol's library: it
// asks for permission once.
func TestAgentOfTheLibrary(t *testing.T) {
	node, dir, examples := library(t)
	program := filepath.Join(dir, "examples", "agent.ts")
	copied(t, filepath.Join(examples, "agent.ts"), program)
	for denied, want := range map[bool]string{
		false: "Perfect! I've successfully updated the configuration. The changes have been applied.",
		true:  "I understand you prefer not to make that change. I'll skip the configuration update.",
	} {
		t.Run(fmt.Sprint("denied ", denied), func(t *testing.T) {
			t.Parallel() // it takes its time
			p := &pipeline{deny: map[string]bool{PermissionTool: denied}}
			profile := Profile{Name: "example", Command: []string{node, program}}
			got, err := profile.Run(t.Context(), Runner{Start: start, Site: siteIn("/project")},
				Work{Task: "Improve my project.", Call: p.call})
			if err != nil || got != want {
				t.Errorf("%q, %v", got, err)
			}
			call := `acp_permission {"kind":"edit","title":"Modifying critical configuration file",` +
				`"paths":["/home/user/project/config.json"],"input":`
			if len(p.calls) != 1 || !strings.HasPrefix(p.calls[0], call) {
				t.Errorf("it made the calls %q", p.calls)
			}
		})
	}
}

// TestLibraryAcceptsOurAnswers runs an agent that uses all that its client offers. The
// library checks what it gets.
func TestLibraryAcceptsOurAnswers(t *testing.T) {
	node, dir, _ := library(t)
	program := filepath.Join(dir, "agent.mjs")
	copied(t, filepath.Join("testdata", "agent.mjs"), program)
	p := &pipeline{}
	profile := Profile{Name: "copier", Command: []string{node, program}}
	got, err := profile.Run(t.Context(), Runner{Start: start, Site: siteIn("/ws")},
		Work{Task: "count", Tools: []string{"read_file", "write_file", "exec"}, Call: p.call})
	if err != nil || got != "count: äöü (3)" {
		t.Errorf("%q, %v", got, err)
	}
	want := []string{
		`acp_permission {"kind":"execute","title":"Run make"}`,
		`read_file {"limit":0,"max_bytes":90000,"offset":0,"path":"a.txt","raw":true}`,
		`write_file {"content":"ONE\nTWO\n","path":"b.txt"}`,
		`exec {"argv":["wc","-c","b.txt"],"timeout_seconds":1800}`,
	}
	if got, want := strings.Join(p.calls, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("it made the calls\n%s\nwant\n%s", got, want)
	}
}

func siteIn(dir string) func(context.Context, string, bool) (sandbox.Site, error) {
	return func(context.Context, string, bool) (sandbox.Site, error) {
		return sandbox.Site{Tier: "host", Dir: dir}, nil
	}
}
