//go:build !windows

package config_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

// TestFiles expects the settings file, its default places, and every file that settings name.
func TestFiles(t *testing.T) {
	path := config.WriteSettings(t, "scrub: {values: ['file:/s/value']}\nserver: {tls_cert: /s/cert, tls_key: /s/key}\n"+
		"agents: {a: {kind: predefined, files: /s/agent}}\nmemory: {embeddings: {url: 'http://127.0.0.1:1', model: m, key: 'file:/s/embeddings'}}\n"+
		"telemetry: {otlp_headers: {authorization: 'file:/s/otlp'}}\n")
	l, err := app.SettingsReader().Load(config.LoadOptions{Path: path, Getenv: config.FakeEnvironment("HOME", "/home/ann")})
	if err != nil {
		t.Fatal(err)
	}
	got := l.Files()
	want := []string{
		path, "/home/ann/.config/mcp-tools/config.yaml", "/s/key", "/s/cert", "/s/agent", "/s/value", "/s/embeddings", "/s/otlp",
	}
	for _, file := range want {
		if !slices.Contains(got, filepath.FromSlash(file)) {
			t.Errorf("%s is missing in %q", file, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
	none, err := app.SettingsReader().Load(config.LoadOptions{Getenv: config.FakeEnvironment("HOME", "/home/ann")})
	if err != nil || !slices.Equal(none.Files(), []string{"/home/ann/.config/mcp-tools/config.yaml"}) {
		t.Errorf("without a file: %q, %v", none.Files(), err)
	}
}
