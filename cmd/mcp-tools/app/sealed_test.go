package app

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
)

// TestResetCountsProfiles asks for the profiles that a reset of the vault loses.
func TestResetCountsProfiles(t *testing.T) {
	dir := t.TempDir()
	e := &Env{Data: dir, Getenv: func(string) string { return "" }}
	lost := e.sealedProfiles().Lost
	if got, err := lost(t.Context(), nil); err != nil || got != "" {
		t.Errorf("without profiles: %q, %v", got, err)
	}
	p := &profiles.Profiles{
		Dir:  func() (string, error) { return filepath.Join(dir, profiles.Dir), nil },
		Seal: func(_ context.Context, _ string, plain []byte) ([]byte, error) { return plain, nil },
	}
	held, err := p.Take(profiles.Key{Agent: "a", User: "u", Name: "work"}, "s")
	if err == nil {
		err = held.Save(t.Context(), []byte("cookies"))
		held.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := lost(t.Context(), nil); err != nil || !strings.HasPrefix(got, "1 profile of a browser") {
		t.Errorf("with one: %q, %v", got, err)
	}
}
