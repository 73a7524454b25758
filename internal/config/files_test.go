//go:build !windows

package config

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestFiles expects the settings file, its default places, and every file that settings name.
func TestFiles(t *testing.T) {
	path := write(t, "scrub: {values: ['file:/s/value']}\nserver: {tls_cert: /s/cert, tls_key: /s/key}\n"+
		"agents: {a: {kind: predefined, files: /s/agent}}\nmemory: {embeddings: {url: 'http://127.0.0.1:1', model: m, key: 'file:/s/embeddings'}}\n"+
		"telemetry: {otlp_headers: {authorization: 'file:/s/otlp'}}\n")
	l, err := Load(LoadOptions{Path: path, Getenv: environment("HOME", "/home/ann")})
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
	none, err := Load(LoadOptions{Getenv: environment("HOME", "/home/ann")})
	if err != nil || !slices.Equal(none.Files(), []string{"/home/ann/.config/mcp-tools/config.yaml"}) {
		t.Errorf("without a file: %q, %v", none.Files(), err)
	}
}
