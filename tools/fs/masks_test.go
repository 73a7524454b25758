package fs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// TestFilesWithSecretsCanBeEdited reads a file with masks, and writes the secrets back
// where their masks stand, with each tool that changes files.
func TestFilesWithSecretsCanBeEdited(t *testing.T) {
	secrets := new(scrub.Scrubber)
	if err := secrets.Set("vault", "correct-horse-9"); err != nil {
		t.Fatal(err)
	}
	ws, ctx, dir := workspacetest.New(t)
	group := fs.Tools(ws, nil, &fs.Seen{Secrets: secrets}, nil)
	call := func(name string, args map[string]any) (string, error) {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range group {
			if one.Spec.Name != name {
				continue
			}
			bound, err := one.Bind(raw, tool.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			res, err := bound.Run(ctx)
			return secrets.Text(res.Text()), err
		}
		t.Fatalf("no tool %q", name)
		return "", nil
	}
	const before = "user: ann\npassword: hunter22\nvault: correct-horse-9\n"
	file := filepath.Join(dir, "a.yaml")
	start := func() (shown, password, vault string) {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		shown, err := call("read_file", map[string]any{"path": "a.yaml", "offset": 1, "limit": 1000})
		if err != nil || strings.Contains(shown, "hunter22") {
			t.Fatal(shown, err)
		}
		masks := regexp.MustCompile(`\[REDACTED:[0-9a-f]{6}\]`).FindAllString(shown, -1)
		if len(masks) != 2 {
			t.Fatalf("no marks in %q", shown)
		}
		return shown, masks[0], masks[1]
	}
	expect := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	_, password, vault := start()
	content := "user: bob\npassword: " + password + "\nvault: " + vault + "\n"
	if text, err := call("write_file", map[string]any{"path": "a.yaml", "content": content}); err != nil {
		t.Error(text, err)
	}
	expect("write_file", strings.Replace(before, "ann", "bob", 1))

	start()
	if text, err := call("edit", map[string]any{"path": "a.yaml", "old_string": "password: " + password,
		"new_string": "port: 1\npassword: " + password}); err != nil || strings.Contains(text, "hunter22") {
		t.Error(text, err)
	}
	expect("edit", strings.Replace(before, "password", "port: 1\npassword", 1))

	start()
	if text, err := call("apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Update File: a.yaml\n password: " +
		password + "\n-vault: " + vault + "\n+safe: " + vault + "\n*** End Patch\n"}); err != nil {
		t.Error(text, err)
	}
	expect("apply_patch", strings.Replace(before, "vault", "safe", 1))

	start()
	if _, err := call("write_file", map[string]any{"path": "a.yaml", "content": "password: [REDACTED]\n"}); err == nil {
		t.Error("a mask without a mark replaced the secret")
	}
	expect("refused", before)
	if text, err := call("write_file", map[string]any{"path": "b.yaml", "content": content}); err != nil {
		t.Error(text, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "b.yaml")); err != nil || string(got) != content {
		t.Errorf("in another file: %q, %v", got, err)
	}
}
