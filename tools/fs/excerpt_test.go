package fs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// hidden is a password that only its name tells.
const hidden = "hunTer2" + "xYz9qW"

// A masking calls the tools over a real workspace, and scrubs their results as the server does.
type masking struct {
	t    *testing.T
	call func(name string, args map[string]any) (string, error)
	dir  string
}

func newMasking(t *testing.T) masking {
	t.Helper()
	secrets := new(scrub.Scrubber)
	ws, ctx, dir := workspacetest.New(t)
	group := fs.Tools(ws, nil, &fs.Seen{Secrets: secrets}, nil)
	return masking{t, func(name string, args map[string]any) (string, error) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range group {
			if one.Spec.Name == name {
				bound, err := one.Bind(raw, tool.DefaultLimits())
				if err != nil {
					t.Fatal(err)
				}
				res, err := bound.Run(ctx)
				if err != nil {
					return "", fmt.Errorf("%s", secrets.Text(err.Error()))
				}
				return secrets.Text(res.Text()), nil
			}
		}
		t.Fatalf("no tool %q", name)
		return "", nil
	}, dir}
}

func (m masking) put(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m masking) content(name string) string {
	m.t.Helper()
	got, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(got)
}

// distant are files in which the name of the secret is not on its line.
var distant = map[string]string{
	"k8s.yaml":    "env:\n  - name: API_TOKEN\n    value: " + hidden + "\nlast: 1\n",
	"pair.json":   "[{\"name\": \"API_TOKEN\",\n  \"value\": \"" + hidden + "\"},\n{\"last\": 1}]\n",
	"block.yaml":  "password: |\n  " + hidden + "\nlast: 1\n",
	"element.xml": "<a>\n<password>\n  " + hidden + "\n</password>\n<last/></a>\n",
	"shell.sh":    "export DB_PASSWORD=\\\n" + hidden + "\nlast=1\n",
}

func TestExcerptsAreMaskedWithTheFileAroundThem(t *testing.T) {
	for name, content := range distant {
		t.Run(name, func(t *testing.T) {
			m := newMasking(t)
			m.put(name, content)
			lines := strings.Split(content, "\n")
			at := 0
			for !strings.Contains(lines[at], hidden) {
				at++
			}
			for _, call := range []struct {
				tool string
				args map[string]any
			}{
				{"read_file", map[string]any{"path": name}},
				{"read_file", map[string]any{"path": name, "offset": at + 1}},
				{"read_file", map[string]any{"path": name, "offset": at + 1, "limit": 1, "numbers": true}},
				{"read_file", map[string]any{"path": name, "offset": at - len(lines), "limit": 1, "anchors": true}},
				{"search", map[string]any{"pattern": "last", "context": 3}},
				{"search", map[string]any{"pattern": "(?s)[A-Za-z]+.*last", "multiline": true}},
				{"search", map[string]any{"pattern": "."}},
				{"search", map[string]any{"pattern": "value|^"}},
				{"edit", map[string]any{"path": name, "old_string": "last", "new_string": "end", "dry_run": true}},
				{"edit", map[string]any{"path": name, "old_string": "last", "new_string": "end"}},
			} {
				shown, err := m.call(call.tool, call.args)
				if err != nil || strings.Contains(shown, hidden) {
					t.Errorf("%s %v: %v\n%s", call.tool, call.args, err, shown)
				}
			}
		})
	}
}

// TestExcerptsOfLargeFiles reads and searches beyond the first window of a file.
func TestExcerptsOfLargeFiles(t *testing.T) {
	m := newMasking(t)
	var b strings.Builder
	for i := range 120_000 {
		fmt.Fprintf(&b, "line %d of a large file\n", i)
		if i%1000 == 0 {
			b.WriteString("- name: API_TOKEN\n  value: " + hidden + "\n")
		}
	}
	m.put("large.yaml", b.String())
	for _, args := range []map[string]any{
		{"pattern": "value:", "context": 1, "limit": 2000}, {"pattern": "of a large", "offset": 60000, "context": 1},
	} {
		if shown, err := m.call("search", args); err != nil || strings.Contains(shown, hidden) {
			t.Errorf("%v, %v:\n%s", args, err, shown)
		}
	}
	for _, offset := range []int{3, 1005, 119_241, -1000} {
		shown, err := m.call("read_file", map[string]any{"path": "large.yaml", "offset": offset})
		if err != nil || strings.Contains(shown, hidden) || !strings.Contains(shown, "[REDACTED:") {
			t.Errorf("offset %d, %v:\n%s", offset, err, shown)
		}
	}
}

// TestChangesShowNoSecret checks that a secret known by its name cannot be carried to where it is not masked.
func TestChangesShowNoSecret(t *testing.T) {
	const before = "# settings\nname = ann\npassword = " + hidden + "\nsize = 3\n"
	m := newMasking(t)
	mark := func() string {
		m.put("conf.ini", before)
		shown, err := m.call("read_file", map[string]any{"path": "conf.ini"})
		_, rest, ok := strings.Cut(shown, "[REDACTED:")
		if err != nil || !ok {
			t.Fatal(shown, err)
		}
		return "[REDACTED:" + rest[:7]
	}
	hunk := func(lines ...string) string {
		return "*** Begin Patch\n*** Update File: conf.ini\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
	}
	masked := mark()
	for name, call := range map[string]struct {
		tool string
		args map[string]any
	}{
		"rename": {"edit", map[string]any{"old_string": "password =", "new_string": "colour ="}},
		"rename in two edits": {"edit", map[string]any{"edits": []any{
			map[string]any{"old_string": "password =", "new_string": "colour ="},
			map[string]any{"old_string": "colour = h", "new_string": "colour = i"},
		}}},
		"dry run":         {"edit", map[string]any{"old_string": "password =", "new_string": "colour =", "dry_run": true}},
		"copy by mark":    {"edit", map[string]any{"old_string": "name = ann", "new_string": "name = " + masked}},
		"glue by mark":    {"edit", map[string]any{"old_string": "# settings", "new_string": "# see x" + masked + "x"}},
		"write by mark":   {"write_file", map[string]any{"content": "note " + masked + " end\n"}},
		"patch by mark":   {"apply_patch", map[string]any{"patch": hunk("-name = ann", "+name = "+masked)}},
		"patch the name":  {"apply_patch", map[string]any{"patch": hunk("-password = "+masked, "+colour = "+masked)}},
		"half is shown":   {"edit", map[string]any{"old_string": "password = ", "new_string": "password = short_one x = "}},
		"part is matched": {"edit", map[string]any{"old_string": "password = h", "new_string": "password = i"}},
	} {
		mark()
		args := map[string]any{"path": "conf.ini"}
		for k, v := range call.args {
			args[k] = v
		}
		if call.tool == "apply_patch" {
			delete(args, "path")
		}
		shown, err := m.call(call.tool, args)
		if err == nil || strings.Contains(err.Error(), hidden) || m.content("conf.ini") != before {
			t.Errorf("%s: %v, %s\n%s", name, err, shown, m.content("conf.ini"))
		}
	}
	for name, call := range map[string]struct {
		tool string
		args map[string]any
	}{
		"rename to another secret": {"edit", map[string]any{"path": "conf.ini", "old_string": "password =", "new_string": "db_password ="}},
		"the line beside it":       {"edit", map[string]any{"path": "conf.ini", "old_string": "size = 3", "new_string": "size = 4"}},
		"remove it":                {"edit", map[string]any{"path": "conf.ini", "old_string": "password = " + masked + "\n", "new_string": ""}},
		"move it":                  {"write_file", map[string]any{"path": "conf.ini", "content": "password = " + masked + "\nsize = 3\n"}},
		"what was typed":           {"edit", map[string]any{"path": "conf.ini", "old_string": "password = " + hidden, "new_string": "colour = " + hidden}},
	} {
		mark()
		if shown, err := m.call(call.tool, call.args); err != nil || m.content("conf.ini") == before ||
			name != "what was typed" && strings.Contains(shown, hidden) {
			t.Errorf("%s: %v, %s", name, err, shown)
		}
	}
}

// TestGuessesAreNotAnswered asks for a secret letter by letter, in each way that compares text with files.
func TestGuessesAreNotAnswered(t *testing.T) {
	const token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	m := newMasking(t)
	m.put("conf.ini", "password = "+hidden+"\nport = 1\ntoken "+token+"\n")
	m.put("many.json", `{"a": 1, "password": "`+hidden+`", "b": [1, 2]}`+"\n")
	// guess is right for the first letter of the secret, and wrong is not.
	for _, pattern := range []string{
		"^password = %s", "%s", "word = [%s]", "word = [^%s]", "(?i)password = (%s|x)", "ghp_%s", "%s.*$",
		`"password": "%s`, "a.*%s.*b", "(%s|port)X?", "= %s|REDACTED", `= %[1]s|\[RED`, `\B%s`,
	} {
		for _, multiline := range []bool{false, true} {
			for _, mode := range []string{"content", "files", "count"} {
				answers := map[string]string{}
				for _, guess := range []string{hidden[:1], hidden[:3], token[4:6], "q", "qq", "zz"} {
					q := strings.ReplaceAll(strings.ReplaceAll(pattern, "%[1]s", guess), "%s", guess)
					shown, err := m.call("search", map[string]any{"pattern": q, "mode": mode, "multiline": multiline, "case": true})
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasPrefix(shown, "no line matches") { // and quotes the pattern
						shown = "none"
					}
					answers[shown] = q
				}
				if len(answers) != 1 {
					t.Errorf("%s %s %v: %q", pattern, mode, multiline, answers)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"password = ": "1:password = [REDACTED]", "password = .+": "1:password = [REDACTED]", `^password\s*=\s*\S+$`: "1:password = [REDACTED]",
		"port": "2:port = 1", `"b": \[`: `1:{"a": 1, "password": "[REDACTED]", "b": [1, 2]}`, `\bpassword\b`: "1:password = [REDACTED]",
	} {
		for _, multiline := range []bool{false, true} {
			if shown, err := m.call("search", map[string]any{"pattern": name, "multiline": multiline}); err != nil || !strings.Contains(shown, want) {
				t.Errorf("%s: %v, %s", name, err, shown)
			}
		}
	}
	answer := func(tool string, args map[string]any, guess string) string {
		shown, err := m.call(tool, args)
		return strings.ReplaceAll(fmt.Sprint(shown, err), guess, "")
	}
	right, wrong := hidden[:4], "qqqq"
	for _, c := range []struct {
		tool string
		args func(guess string) map[string]any
	}{
		{"edit", func(g string) map[string]any {
			return map[string]any{"path": "conf.ini", "old_string": "password = " + g, "new_string": "x", "dry_run": true}
		}},
		{"edit", func(g string) map[string]any {
			return map[string]any{"path": "conf.ini", "old_string": "nowhere at all", "new_string": "password = " + g, "dry_run": true}
		}},
		{"edit", func(g string) map[string]any {
			return map[string]any{"path": "conf.ini", "old_string": g, "new_string": "x", "replace_all": true, "dry_run": true}
		}},
		{"apply_patch", func(g string) map[string]any {
			return map[string]any{"patch": "*** Begin Patch\n*** Update File: conf.ini\n@@ password = " + g + "\n+x = 1\n*** End Patch\n",
				"dry_run": true}
		}},
	} {
		if a, b := answer(c.tool, c.args(right), right), answer(c.tool, c.args(wrong), wrong); a != b {
			t.Errorf("%s %v:\n%s\n%s", c.tool, c.args(right), a, b)
		}
	}
}
