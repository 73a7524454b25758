package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// agentProgram returns the command of an agent on the library of ACP, which lies in a
// workspace.
func agentProgram(t *testing.T, ws string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "../../.ci/conformance-install").Output()
	if err != nil {
		needtest.Lacking(t, "node", fmt.Sprintf("the library of ACP is not there: %v", err))
	}
	node, suite, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	modules, _, _ := strings.Cut(suite, "@modelcontextprotocol")
	dir := filepath.Join(ws, "node_modules")
	if err := os.CopyFS(filepath.Join(dir, "acp"), os.DirFS(filepath.Join(modules, "@zed-industries",
		"agent-client-protocol"))); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join("..", "..", "tools", "agents", "acp", "testdata", "agent.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(program), "./acp.js", "./acp/dist/acp.js", 1)
	if err := os.WriteFile(filepath.Join(dir, "agent.mjs"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{node, filepath.Join(dir, "agent.mjs")}
}

// TestModelsAndAgentPrograms asks a model, and has an agent program do a task in the
// sandbox: what it asks permission for reaches the person at the client.
func TestModelsAndAgentPrograms(t *testing.T) {
	ws, model := t.TempDir(), llmtest.New(t)
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte("a text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal(agentProgram(t, ws))
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("models: {providers: {test: {url: %q, key: env:MODEL_KEY, models: [m]}}}\nacp: {copier: {command: %s}}\n",
		model.URL+"/v1", command)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"MCP_TOOLS_CONFIG": settings, "MCP_TOOLS_WORKSPACE": ws, "MODEL_KEY": llmtest.Key,
	} {
		t.Setenv(name, value)
	}
	cmd, in, out, log := piped(t)
	go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the program
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var asked []string
	lines, id := bufio.NewScanner(out), 0
	lines.Buffer(nil, 1<<20)
	call := func(method, params string) string {
		id++
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for lines.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct{ Message string }
			}
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Fatal(err)
			}
			if m.Method == "elicitation/create" {
				asked = append(asked, m.Params.Message)
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`+
					"\n", m.ID)
			} else if m.Method == "" && string(m.ID) == fmt.Sprint(id) {
				return lines.Text()
			}
		}
		t.Fatalf("the server is gone; it asked %q", asked)
		return ""
	}
	call("initialize",
		`{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`)
	model.Next(llmtest.Turn{Text: "Four.", Usage: llm.Usage{Input: 20, Output: 2}})
	got := call("tools/call", `{"name":"openai_compat_call","arguments":{"messages":[{"role":"user","content":"2 + 2? `+
		llmtest.Key+`"}]}}`)
	if !strings.Contains(got, "Four.") || !strings.Contains(got, "[20 tokens in, 2 out]") {
		t.Errorf("the model: %s", got)
	}
	if sent := model.Requests()[0].Last().Text; sent != "2 + 2? [REDACTED]" {
		t.Errorf("the model was sent %q", sent)
	}
	got = call("tools/call", `{"name":"acp_spawn","arguments":{"agent":"copier","task":"copy","mode":"sync"}}`)
	if !strings.Contains(got, "copy: copied") {
		t.Errorf("the agent program: %s", got)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "acp_spawn") || !strings.Contains(asked[1], "Run make") {
		t.Errorf("the person was asked %q", asked)
	}
	if copied, err := os.ReadFile(filepath.Join(ws, "b.txt")); err != nil || string(copied) != "A TEXT\n" {
		t.Errorf("the copy is %q, %v", copied, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
