package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/conformance"
	"github.com/mcp-tools/mcp-tools/internal/docs"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestDocsClients runs the programs of docs/guides/clients-in-code.md, and checks that the
// page shows them as they are. Python and JavaScript need their SDKs.
func TestDocsClients(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "guides", "clients-in-code.md")
	source, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, b := range docs.Parse(page, source).Blocks() {
		shown[b.Text] = true
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "README.md"), []byte("# Shop\n\nA small shop.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := serveRemote(t, "connections: {stdio: {workspace: '"+work+"'}}")
	token := r.token("--profile", "coding")
	clients, err := filepath.Abs(filepath.Join("..", "..", "docs", "guides", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []struct {
		file    string
		command func(t *testing.T, file string) *exec.Cmd
	}{
		{filepath.Join("go", "main.go"), func(t *testing.T, file string) *exec.Cmd {
			return exec.Command(needtest.Program(t, "go"), "run", file)
		}},
		{"client.mjs", withModules},
		{"client.py", func(t *testing.T, file string) *exec.Cmd {
			if err := exec.Command("python3", "-c", "import mcp.client.streamable_http").Run(); err != nil {
				t.Skip("Python, or its package mcp, is not installed")
			}
			return exec.Command("python3", file)
		}},
	} {
		t.Run(filepath.Base(client.file), func(t *testing.T) {
			file := filepath.Join(clients, client.file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !shown[string(text)] {
				t.Errorf("%s does not show %s as it is", page, client.file)
			}
			cmd := client.command(t, file)
			cmd.Env = append(os.Environ(), "MCP_TOOLS_URL="+r.url+"/coding", "MCP_TOOLS_TOKEN="+token)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for _, want := range []string{"tools: true\n", "A small shop.\n", "rue not_found\n"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("it printed no %q:\n%s", want, out)
				}
			}
		})
	}
}

// withModules returns the command for a copy of a program beside the npm packages of the
// conformance suite.
func withModules(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	node, modules := conformance.Install(t, filepath.Join("..", "..")).Node()
	dir := t.TempDir()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "client.mjs"), text, 0o644)
	}
	if err == nil {
		err = os.Symlink(modules, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(node, filepath.Join(dir, "client.mjs"))
}
