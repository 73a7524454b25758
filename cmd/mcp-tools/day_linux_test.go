package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// An agentClient is a client over stdio, whose user cannot be asked.
type agentClient struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

// startAgent starts the program with the settings that it has by itself.
func startAgent(t *testing.T, home, data, ws string) *agentClient {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "mcp-tools") // TestMain goes by the name
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--data", data, "--workspace", ws, "--sandbox", "kernel")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "none"))
	cmd.Stderr = t.Output()
	c := &agentClient{t: t}
	out, err := cmd.StdoutPipe()
	if err == nil {
		c.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	t.Cleanup(func() {
		c.in.Close()
		_ = cmd.Wait() // its status is not the subject
	})
	c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "agent", "version": "1"}})
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *agentClient) request(method string, params any) json.RawMessage {
	c.t.Helper()
	c.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatal(err)
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var m struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Method == "" && m.ID == c.last {
			if m.Error != nil {
				c.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}

// try calls a tool.
func (c *agentClient) try(tool string, args map[string]any) (text, picture string, ok bool) {
	c.t.Helper()
	var res struct {
		IsError bool
		Content []struct{ Text, Data string }
	}
	if err := json.Unmarshal(c.request("tools/call", map[string]any{"name": tool, "arguments": args}), &res); err != nil {
		c.t.Fatal(err)
	}
	for _, p := range res.Content {
		text, picture = text+p.Text+"\n", picture+p.Data
	}
	return text, picture, !res.IsError
}

// call calls a tool, which has to succeed at once and to return the given texts.
func (c *agentClient) call(tool string, args map[string]any, want ...string) (text, picture string) {
	c.t.Helper()
	text, picture, ok := c.try(tool, args)
	if !ok {
		c.t.Fatalf("%s %v: %s", tool, args, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			c.t.Errorf("%s %v returned no %q:\n%s", tool, args, w, text)
		}
	}
	return text, picture
}

// TestAgentsDay starts a server in the background, looks at it, edits its page, looks again, runs
// the tests and commits. No call fails, and no person is there to be asked.
func TestAgentsDay(t *testing.T) {
	if f := (&kernel.Launcher{}).Probe(t.Context()); !f.Works || !f.Proxy {
		needtest.Lacking(t, "kernel sandbox", f.Text)
	}
	needtest.Program(t, "git")
	needtest.Program(t, "python3")
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	home, data, ws := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = Ada\nemail = ada@example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startAgent(t, home, data, ws)
	type args = map[string]any
	c.call("write_file", args{"path": "index.html", "content": `<!doctype html><link rel=stylesheet href=style.css>
<h1>Ferry</h1><button onclick="out.textContent = 'held'">Hold seats</button><p id=out></p>`})
	c.call("write_file", args{"path": "style.css", "content": "body { background: #ffffff }"})
	c.call("write_file", args{"path": "test_page.py", "content": `import unittest
class Page(unittest.TestCase):
    def test_title(self):
        self.assertIn("Harbour", open("index.html").read())
`})
	c.call("exec", args{"command": "git init -q"})
	c.call("exec", args{"command": "python3 -m http.server 3456", "background": true})

	c.call("browser", args{"action": "open", "url": "http://localhost:3456"}, "# Ferry", `button "Hold seats"`)
	_, before := c.call("browser", args{"action": "screenshot"})
	c.call("browser", args{"action": "click", "ref": "button"}, "held")
	c.call("web_fetch", args{"url": "localhost:3456"}, "Ferry")
	c.call("http_request", args{"url": "http://127.0.0.1:3456/style.css"}, "200 OK", "#ffffff")

	c.call("edit", args{"path": "index.html", "old_string": "<h1>Ferry</h1>", "new_string": "<h1>Harbour Tickets</h1>"})
	c.call("edit", args{"path": "style.css", "old_string": "#ffffff", "new_string": "#204060"})
	c.call("browser", args{"action": "open", "url": "http://localhost:3456"}, "# Harbour Tickets")
	_, after := c.call("browser", args{"action": "screenshot"})
	if before == "" || after == "" || before == after {
		t.Error("the picture of the page does not show the change")
	}
	c.call("browser", args{"action": "open", "url": "index.html"}, "# Harbour Tickets")
	if _, file := c.call("browser", args{"action": "screenshot"}); file != after {
		t.Error("the file looks different from what the server serves")
	}
	c.call("exec", args{"command": "python3 -m unittest 2>&1"}, "OK")
	c.call("exec", args{"command": "git add -A && git commit -qm 'A page for tickets' && git log --format='%an: %s'"},
		"Ada: A page for tickets")

	t.Run("others", func(t *testing.T) { refuseOthers(t, c, home, data, ws) })
}

// refuseOthers checks that neither this machine's servers are reached, nor those of another session.
func refuseOthers(t *testing.T, c *agentClient, home, data, ws string) {
	machine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("this machine was reached") }))
	defer machine.Close()
	other := startAgent(t, home, data, ws)
	for _, call := range []struct {
		from *agentClient
		url  string
	}{{c, machine.URL}, {other, "http://localhost:3456"}} {
		for tool, action := range map[string]string{"web_fetch": "", "http_request": "", "browser": "open"} {
			args := map[string]any{"url": call.url}
			if action != "" {
				args["action"] = action
			}
			if text, _, ok := call.from.try(tool, args); ok || !strings.Contains(text, "nothing in this session listens on port") {
				t.Errorf("%s of %s: %s", tool, call.url, text)
			}
		}
	}
}
