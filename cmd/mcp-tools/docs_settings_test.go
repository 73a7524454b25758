package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/docs"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestDocsSettings loads the settings in the documentation, and has Caddy read its own.
func TestDocsSettings(t *testing.T) {
	pages, err := docs.Load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	// Some blocks need settings of another block.
	builds := map[string]*strings.Replacer{
		"docs/memory.md": strings.NewReplacer("memory:\n  knowledge:\n    model: default",
			"models:\n  default: a/b\n  providers: {a: {kind: openai, key: secret:a, models: [b]}}\n"+
				"memory:\n  knowledge:\n    model: default"),
		"docs/messaging.md": strings.NewReplacer("messaging:\n  targets:",
			"messaging:\n  channels: {telegram: {kind: telegram, token: secret:a}}\n  targets:"),
	}
	loaded := 0
	for _, page := range pages {
		for _, b := range page.Blocks() {
			text := b.Text
			var keys map[string]any
			if b.Language != "yaml" || yaml.Unmarshal([]byte(text), &keys) != nil {
				continue
			}
			ours := false
			for key := range keys {
				_, found := schema.Properties[key]
				ours = ours || found
			}
			if !ours { // a file of something else
				continue
			}
			if build := builds[page.Path]; build != nil {
				text = build.Replace(text)
			}
			loaded++
			home := t.TempDir()
			file := filepath.Join(home, "config.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			e := app.Env{ConfigFile: file, Getenv: func(name string) string {
				if name == "HOME" || name == "USERPROFILE" {
					return home
				}
				return ""
			}}
			if _, err := e.Load(); err != nil {
				t.Errorf("%s:%d: %v", page.Path, b.Line, err)
			}
		}
	}
	t.Logf("%d blocks were loaded", loaded)
	if loaded < 40 {
		t.Error("blocks of settings are not found")
	}
	t.Run("Caddy", func(t *testing.T) {
		caddy := needtest.Program(t, "caddy")
		for _, page := range pages {
			for _, b := range page.Blocks() {
				if b.Language != "caddyfile" {
					continue
				}
				file := filepath.Join(t.TempDir(), "Caddyfile")
				if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(caddy, "adapt", "--validate", "--config", file)
				cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"dial":"127.0.0.1:8080"`) {
					t.Errorf("%s:%d: %v\n%s", page.Path, b.Line, err, out)
				}
				return
			}
		}
		t.Error("no page has a block of caddyfile")
	})
}
