package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jsonFiles are settings that people have, with SERVERS for the client's key.
var jsonFiles = map[string]string{
	"empty":           "",
	"empty line":      "\n",
	"only comments":   "// my settings\n/* to come */\n",
	"braces":          "{}",
	"braces and line": "{}\n",
	"open braces":     "{\n}\n",
	"empty servers":   "{\n  \"SERVERS\": {}\n}\n",
	"comment inside":  "{\n  \"SERVERS\": {\n    // none yet\n  }\n}\n",
	"other servers":   "{\n  \"SERVERS\": {\n    \"git\": {\"command\": \"uvx\"}\n  },\n  \"theme\": \"dark\"\n}\n",
	"other settings":  "{\n    \"z\": 1,\n    \"a\": [1, 2.50, 1e3, null, {\"b\": \"}\"}]\n}",
	"comments": "// head\n{\n  // of servers\n  \"SERVERS\": { // open\n    \"git\": { /* in */ \"command\": \"uvx\" } // after git\n" +
		"    // last\n  }, // after servers\n  \"x\": \"// no comment\" /* end */\n  // end\n}\n// tail\n",
	"trailing commas":            "{\n  \"SERVERS\": {\n    \"git\": {\"args\": [\"a\", ],},\n  },\n}\n",
	"trailing comment and comma": "{\n  \"a\": 1 // one\n  , // two\n}\n",
	"tabs":                       "{\n\t\"SERVERS\": {\n\t\t\"git\": {\n\t\t\t\"command\": \"uvx\"\n\t\t}\n\t}\n}\n",
	"four spaces":                "{\n    \"SERVERS\": {\n        \"git\": {}\n    }\n}\n",
	"one line":                   `{"a":1,"SERVERS":{"git":{"command":"uvx"}}}`,
	"one line and comma":         `{ "SERVERS": { "git": {}, }, }`,
	"CRLF":                       "{\r\n  \"SERVERS\": {\r\n    \"git\": {} // c\r\n  }\r\n}\r\n",
	"BOM":                        "\ufeff{\n  \"a\": 1\n}\n",
	"BOM alone":                  "\ufeff",
	"BOM and braces":             "\ufeff{}",
	"escaped key":                "{\"\\u0053ERVERS\": 1, \"a\\u0062\": 2, \"SERVERS\": {\"gi\\u0074\": {}}}",
	"no final newline":           "{\n  \"SERVERS\": {\n    \"git\": {}\n  }\n}",
	"closed on the line":         "{\n  \"SERVERS\": {\n    \"git\": {}}}",
}

// tomlFiles are the same for TOML.
var tomlFiles = map[string]string{
	"empty":            "",
	"comments":         "# head\n\n# tail",
	"settings":         "model = \"o\" # mine\nlist = [\n  1, # one\n  \"]\",\n]\n",
	"no final newline": "model = 'o'",
	"other servers":    "[SERVERS.git]\ncommand = \"uvx\"\n\n[SERVERS.git.env]\nA = \"1\"\n\n[profiles.x]\nmodel = \"y\"\n",
	"servers table":    "[SERVERS]\n[SERVERS.\"a b\"]\ncommand = \"uvx\"\n",
	"dotted":           "SERVERS.git.command = \"uvx\"\n",
	"CRLF":             "model = \"o\"\r\n\r\n[SERVERS.git]\r\ncommand = \"uvx\"\r\n",
	"BOM":              "\ufeffmodel = \"o\"\n",
	"tabs":             "[SERVERS.git]\n\tcommand = \"uvx\"\n\targs\t=\t[]\n",
	"long text":        "a = \"\"\"\n[SERVERS.mcp-tools]\n# no comment\n\"\"\"\"\nb = '''\\'''\n",
	"kinds":            "a = 1_000\nb = -1.5e3\nc = 1979-05-27 07:32:00Z\nd = inf\ne = 0xff\nf = {x = 1, \"y.z\" = [true]}\ng = 07:32:00\n[[h]]\ni = 1\n[[h]]\n",
	"blank lines":      "a = 1\n\n\n",
}

// filesFor are the settings files to try on a client.
func filesFor(c Client) map[string]string {
	out := map[string]string{}
	switch s := c.syntax.(type) {
	case jsonFile:
		for name, text := range jsonFiles {
			out[name] = strings.ReplaceAll(text, "SERVERS", s.container)
		}
		delete(out, "escaped key") // does not survive the renaming
	case tomlFile:
		for name, text := range tomlFiles {
			out[name] = strings.ReplaceAll(text, "SERVERS", s.container)
		}
	}
	return out
}

// TestRoundTrip checks, for every client and kind of file, that connecting
// changes only our entry, that connecting again changes nothing, and that
// disconnecting keeps everything else.
func TestRoundTrip(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range All() {
		if form := fmt.Sprint(c.syntax, c.shape.list, c.strict); tried[form] {
			continue
		} else {
			tried[form] = true
		}
		for name, text := range filesFor(c) {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				env := testEnv(t)
				path := c.Path(env)
				write(t, path, text)
				ch, err := c.Connect(env, stdioServer())
				if err != nil {
					t.Fatal(err)
				}
				if ch.Created || ch.Replaced || ch.NothingToDo || ch.Before != "" || !strings.Contains(ch.After, "/usr/local/bin/mcp-tools") {
					t.Errorf("change %+v", ch)
				}
				if got := read(t, ch.Backup); got != text {
					t.Errorf("the backup is %q", got)
				}
				connected := read(t, path)
				if strings.Contains(text, "\r\n") && strings.Contains(strings.ReplaceAll(connected, "\r\n", ""), "\n") {
					t.Errorf("line ends are mixed: %q", connected)
				}
				again, err := c.Connect(env, stdioServer())
				if err != nil || !again.NothingToDo || again.Backup != "" || read(t, path) != connected {
					t.Errorf("connecting again: %+v, %v", again, err)
				}
				if st, err := c.Status(env, "mcp-tools"); err != nil || !st.Connected || st.Entry != ch.After {
					t.Errorf("status %+v, %v", st, err)
				}
				off, err := c.Disconnect(env, "mcp-tools")
				if err != nil || off.Before != ch.After || off.After != "" {
					t.Errorf("disconnecting: %+v, %v", off, err)
				}
				want, _ := c.syntax.rest([]byte(text), "mcp-tools")
				if off.Removed != (len(want) == 0) {
					t.Errorf("removed is %v, the rest is %q", off.Removed, want)
				}
				if !off.Removed {
					got, err := c.syntax.rest([]byte(read(t, path)), "mcp-tools")
					if diff := cmp.Diff(want, got); diff != "" || err != nil {
						t.Errorf("%v %s", err, diff)
					}
				}
				if read(t, off.Backup) != connected || off.Backup == ch.Backup {
					t.Errorf("the second backup %s took the place of the first", off.Backup)
				}
			})
		}
	}
}

func TestMissingFile(t *testing.T) {
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			env := testEnv(t)
			if ch, err := c.Disconnect(env, "mcp-tools"); err != nil || !ch.NothingToDo {
				t.Errorf("disconnecting: %+v, %v", ch, err)
			}
			ch, err := c.Connect(env, stdioServer())
			if err != nil || !ch.Created || ch.Backup != "" {
				t.Fatalf("change %+v, %v", ch, err)
			}
			want, _ := c.Render(stdioServer())
			if got := read(t, ch.Path); got != string(want) {
				t.Errorf("the new file is %q", got)
			}
			if info, err := os.Stat(ch.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the new file has mode %v, %v", info.Mode(), err)
			}
			off, err := c.Disconnect(env, "mcp-tools")
			if err != nil || !off.Removed {
				t.Errorf("disconnecting: %+v, %v", off, err)
			}
			if st, err := c.Status(env, "mcp-tools"); err != nil || st.Exists {
				t.Errorf("status %+v, %v", st, err)
			}
		})
	}
}

func TestBrokenFile(t *testing.T) {
	for _, tc := range []struct {
		client, text string
		line, column int
		want         string
	}{
		{"cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "invalid character"},
		{"cursor", "{\n  \"a\": ", 2, 8, "unexpected end"},
		{"cursor", "\ufeff{\"ä\": x}", 1, 7, "invalid value"},
		{"cursor", "{,}", 1, 2, "invalid character"},
		{"cursor", "{\"a\": [,]}", 1, 8, "invalid character"},
		{"cursor", "{\n/* never ends", 2, 1, "does not end"},
		{"cursor", "{\"a\": \"b\n\"}", 1, 7, "invalid value"},
		{"cursor", "[]", 1, 1, "object in braces"},
		{"cursor", "{}{}", 1, 3, "after top-level value"},
		{"cursor", "{\"mcpServers\": []}", 1, 16, "object in braces"},
		{"cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", 2, 1, "occurs twice"},
		{"cursor", "{\"mcpServers\": {\"mcp-tools\": 1, \"mcp-t\\u006fols\": 2}}", 1, 33, "occurs twice"},
		{"codex", "a = 1\nb = \n", 2, 5, "at start of value"},
		{"codex", "a = yes", 1, 5, "text needs quotes"},
		{"codex", "a 1", 1, 3, "expected '=' after key"},
		{"codex", "a = 1 b = 2", 1, 7, "expected newline"},
		{"codex", "[a", 1, 2, "to close table name"},
		{"codex", "= 1", 1, 1, "start of key"},
		{"codex", "a = \"b", 1, 6, "unterminated basic string"},
		{"codex", "a = \"\"\"b", 1, 8, "not terminated"},
		{"codex", "a = \"\\q\"", 1, 6, "double the backslash"},
		{"codex", "a = [1 2]", 1, 8, "expected ',' or ']'"},
		{"codex", "a = {b 2}", 1, 8, "expected '=' after key"},
		{"codex", "a = {b = 2 c}", 1, 12, "expected ',' or '}'"},
		{"codex", "a = " + strings.Repeat("[", 20_000), 1, 10_005, "nest"},
		{"codex", "a = '\xff'", 1, 6, "UTF-8"},
		{"codex", "mcp_servers = {}", 1, 1, "tables instead"},
		{"codex", "[mcp_servers]\nmcp-tools = {command = \"x\"}", 2, 1, "separate table"},
		{"codex", "[[mcp_servers]]", 1, 1, "single brackets"},
		{"codex", "[mcp_servers.mcp-tools]\n[mcp_servers.'mcp-tools']", 2, 1, "occurs twice"},
	} {
		t.Run(tc.client+" "+tc.text[:min(len(tc.text), 20)], func(t *testing.T) {
			c, env := mustFind(t, tc.client), testEnv(t)
			path := c.Path(env)
			write(t, path, tc.text)
			for what, err := range map[string]error{
				"connect":    second(c.Connect(env, stdioServer())),
				"disconnect": second(c.Disconnect(env, "mcp-tools")),
				"status":     second(c.Status(env, "mcp-tools")),
			} {
				bad := (*SyntaxError)(nil)
				if !errors.As(err, &bad) || bad.Line != tc.line || bad.Column != tc.column || !strings.Contains(
					bad.Message, tc.want,
				) {
					t.Errorf("%s: %v, want line %d, column %d, %q", what, err, tc.line, tc.column, tc.want)
				}
			}
			untouched(t, path, tc.text)
		})
	}
}

func second[T any](_ T, err error) error { return err }

// untouched checks that a file is as it was and alone in its directory.
func untouched(t *testing.T, path, text string) {
	t.Helper()
	if got := read(t, path); got != text {
		t.Errorf("the file became %q", got)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}

// TestDisconnectAfterOtherChanges connects two of our servers with a change of
// the file in between, and checks that only the named one is removed.
func TestDisconnectAfterOtherChanges(t *testing.T) {
	for _, client := range []string{"zed", "codex"} {
		c, env := mustFind(t, client), testEnv(t)
		other := stdioServer()
		other.Name = "other"
		for _, s := range []Server{stdioServer(), other} {
			if _, err := c.Connect(env, s); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Disconnect(env, "mcp-tools"); err != nil {
			t.Fatal(err)
		}
		want, _ := c.Render(other)
		if got := read(t, c.Path(env)); got != string(want) {
			t.Errorf("%s: %s", client, cmp.Diff(string(want), got))
		}
	}
}
