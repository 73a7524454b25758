package cli

import (
	"embed"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// ProgramSettings describe a program that runs with credentials from the vault.
type ProgramSettings struct {
	Path        string            `yaml:"path" form:"path"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Allow       []string          `yaml:"allow" form:"command"`
	Hosts       []string          `yaml:"hosts" form:"host"`
}

// ProgramsOf returns the programs of the settings, by their names.
func ProgramsOf(list map[string]ProgramSettings) []Program {
	var all []Program
	for _, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		made := Program{Name: name, Path: p.Path, Env: make(map[string]string), Files: make(map[string]string),
			Set: make(map[string]string), Allow: p.Allow, Hosts: p.Hosts}
		for variable, value := range p.Environment {
			if secret, ok := strings.CutPrefix(value, "secret:"); ok {
				made.Env[variable] = secret
			} else if secret, ok := strings.CutPrefix(value, "secret-file:"); ok {
				made.Files[variable] = secret
			} else {
				made.Set[variable] = value
			}
		}
		if made.Path == "" {
			if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
				made.Path = filepath.Clean(found)
			}
		}
		if slices.Contains(Presets(), name) {
			made.Preset = name
		}
		all = append(all, made)
	}
	return all
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (ProgramSettings) SettingTexts() string { return config.Texts(texts) }
