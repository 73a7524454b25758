package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
)

// sample has sections as a program may list them.
type sample struct {
	Server      Server          `yaml:"server" restart:"true"`
	Connections Connections     `yaml:"connections"`
	Policy      policy.Rules    `yaml:"policy"`
	Limits      Limits          `yaml:"limits"`
	Keep        sampleRetention `yaml:"keep"`
	Plugs       map[string]plug `yaml:"plugs" keys:"name"`
}

// sampleRetention is the section of a room.
type sampleRetention struct {
	MaxAge  Duration `yaml:"max_age" restart:"true" default:"90d" min:"0" max:"36500d"`
	Timeout Duration `yaml:"timeout" default:"2m" min:"1s" max:"1d"`
}

// A plug has settings that others declare.
type plug struct {
	Own  plugSettings
	Kind string `yaml:"kind" enum:"a,b"`
}

type plugSettings map[string]string

// Declared returns a text and a secret.
func (plugSettings) Declared() []Declaration {
	return []Declaration{{"from", "label", "The sender."}, {"token", FormSecret, "Its token."}}
}

func samples() *Reader[sample] { return NewReader[sample]() }

// WriteSettings writes text to a new configuration file.
func WriteSettings(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// FakeEnvironment returns the lookup of variables, which are given as names and values.
func FakeEnvironment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}
