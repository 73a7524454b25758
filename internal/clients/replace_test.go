package clients

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// replaced are entries that say something else, with what becomes of them.
var replaced = []struct{ client, before, after string }{
	{"gemini", `{
  "mcpServers": {
    "mcp-tools": {"command": "old", "args": ["x"], "trust": true, "env": {"A": "1"}, "url": "gone"},
    "git": {}
  }
}`, `{
  "mcpServers": {
    "mcp-tools": {"command": "/usr/local/bin/mcp-tools", "args": ["--profile", "coding"], "trust": true, "env": {"A": "1"}},
    "git": {}
  }
}`},
	{"cursor", `{"mcpServers": {"mcp-tools": {"url": "https://old"}, "git": {}}}`,
		`{"mcpServers": {"mcp-tools": {"command": "/usr/local/bin/mcp-tools", "args": ["--profile", "coding"]}, "git": {}}}`},
	{"cursor", `{"mcpServers": {"mcp-tools": null}}`,
		`{"mcpServers": {"mcp-tools": {"command": "/usr/local/bin/mcp-tools", "args": ["--profile", "coding"]}}}`},
	{"codex", `[mcp_servers.mcp-tools] # mine
command = "old"
tool_timeout_sec = 600
env.A = "1"

[mcp_servers.mcp-tools.http_headers]
X = "y"

[mcp_servers.mcp-tools.tools.exec]
approval_mode = "approve"

# about git
[mcp_servers.git]
command = "uvx"
`, `[mcp_servers.mcp-tools]
command = "/usr/local/bin/mcp-tools"
args = ["--profile", "coding"]
tool_timeout_sec = 600
env.A = "1"


[mcp_servers.mcp-tools.tools.exec]
approval_mode = "approve"

# about git
[mcp_servers.git]
command = "uvx"
`},
	{"codex", `[mcp_servers.mcp-tools.tools.exec]
approval_mode = "approve"
`, `[mcp_servers.mcp-tools.tools.exec]
approval_mode = "approve"

[mcp_servers.mcp-tools]
command = "/usr/local/bin/mcp-tools"
args = ["--profile", "coding"]
`},
}

// TestReplace checks that additions of a person or a client to our entry
// survive connecting again.
func TestReplace(t *testing.T) {
	for _, tc := range replaced {
		c, env := mustFind(t, tc.client), testEnv(t)
		write(t, c.Path(env), tc.before)
		ch, err := c.Connect(env, stdioServer())
		if err != nil || !ch.Replaced || ch.Before == "" || ch.Before == ch.After {
			t.Errorf("%s: %+v, %v", tc.client, ch, err)
		}
		if diff := cmp.Diff(tc.after, read(t, ch.Path)); diff != "" {
			t.Errorf("%s: %s", tc.client, diff)
		}
		if again, err := c.Connect(env, stdioServer()); err != nil || !again.NothingToDo {
			t.Errorf("%s: again: %+v, %v", tc.client, again, err)
		}
	}
}

// TestEqualEntryIsNotRewritten checks that an equal entry in another layout stays as it is.
func TestEqualEntryIsNotRewritten(t *testing.T) {
	for client, text := range map[string]string{
		"cursor": `{"mcpServers": {"mcp-tools": {"args": ["--profile", /* ! */ "\u0063oding"], "command": "/usr/local/bin/mcp-tools", "disabled": true}}}`,
		"codex":  "model = 'o'\n[mcp_servers]\n[mcp_servers.'mcp-tools']\nargs = [ '--profile',\n \"coding\", ]\nstartup_timeout_sec = 5\ncommand = '/usr/local/bin/mcp-tools'\n",
	} {
		c, env := mustFind(t, client), testEnv(t)
		write(t, c.Path(env), text)
		if ch, err := c.Connect(env, stdioServer()); err != nil || !ch.NothingToDo {
			t.Errorf("%s: %+v, %v", client, ch, err)
		}
		untouched(t, c.Path(env), text)
	}
}

// lossy is a syntax with a bug: it adds our entry and loses a setting.
type lossy struct{ jsonFile }

func (l lossy) set(src []byte, name string, want fields, owned func(string) bool) ([]byte, error) {
	out, err := l.jsonFile.set(src, name, want, owned)
	return []byte(strings.Replace(string(out), `"a": 1`, `"a": 2`, 1)), err
}

// TestOtherEntriesAreNotChanged checks that a file is not written if more than our entry would change.
func TestOtherEntriesAreNotChanged(t *testing.T) {
	c, env := mustFind(t, "cursor"), testEnv(t)
	c.syntax = lossy{jsonFile{"mcpServers"}}
	write(t, c.Path(env), `{"a": 1}`)
	if _, err := c.Connect(env, stdioServer()); err == nil || !strings.Contains(err.Error(), "more than the entry") {
		t.Errorf("Connect says %v", err)
	}
	untouched(t, c.Path(env), `{"a": 1}`)
}

// TestDisconnectAfterReplace checks that after an update of the entry,
// disconnecting restores the file as it was before the first connection.
func TestDisconnectAfterReplace(t *testing.T) {
	for _, client := range []string{"zed", "codex"} {
		c, env := mustFind(t, client), testEnv(t)
		text := filesFor(c)["other servers"]
		write(t, c.Path(env), text)
		changed := stdioServer()
		changed.Args = nil
		for _, s := range []Server{changed, stdioServer()} {
			if _, err := c.Connect(env, s); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Disconnect(env, "mcp-tools"); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c.Path(env)); got != text {
			t.Errorf("%s: %s", client, cmp.Diff(text, got))
		}
	}
}
