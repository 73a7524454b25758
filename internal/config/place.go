package config

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	program  = "mcp-tools"
	fileName = "config.yaml"

	// EnvConfig names the file, EnvData the data directory. Neither can stand
	// in the file.
	EnvConfig = envPrefix + "CONFIG"
	EnvData   = envPrefix + "DATA"

	// EnvVaultKey holds the key of the vault, EnvVaultKeyNext the one that is to
	// follow it. A key is no setting: it would be in the file then.
	EnvVaultKey     = envPrefix + "VAULT_KEY"
	EnvVaultKeyNext = EnvVaultKey + "_NEXT"

	// EnvToken is where clients are advised to keep a token for us. It is no
	// setting, and nobody who follows the advice is warned of it.
	EnvToken = envPrefix + "TOKEN"
)

// File returns where the settings file is, or would be if there were one: at
// the place that a flag asks for, else the environment's, else the usual one.
func File(flag string, getenv func(string) string) (string, error) {
	path, _ := LoadOptions{Path: flag, Getenv: getenv}.file(runtime.GOOS)
	if path == "" {
		return "", errors.New("no place for settings: the home directory is not known; use --config or " + EnvConfig)
	}
	return filepath.Abs(path)
}

// file returns where the file is, and whether somebody asked for it there. The
// place is empty when not even the home directory is known.
func (o LoadOptions) file(goos string) (path string, asked bool) {
	if o.Path != "" {
		return o.Path, true
	}
	if path := o.Getenv(EnvConfig); path != "" {
		return path, true
	}
	if dir := userDir(o.Getenv, goos, "XDG_CONFIG_HOME", "AppData", ".config"); dir != "" {
		return filepath.Join(dir, program, fileName), false
	}
	return "", false
}

func (o LoadOptions) home() string { return home(o.Getenv, runtime.GOOS) }

func home(getenv func(string) string, goos string) string {
	if goos == "windows" {
		return getenv("USERPROFILE")
	}
	return getenv("HOME")
}

// DataDir returns the directory for what the program keeps: the one that a
// flag asks for, else the environment's, else the user's usual place. It is
// absolute, and need not exist.
func DataDir(flag string, getenv func(string) string) (string, error) {
	return dataDir(flag, getenv, runtime.GOOS)
}

func dataDir(flag string, getenv func(string) string, goos string) (string, error) {
	for _, asked := range []string{flag, getenv(EnvData)} {
		if asked != "" {
			return filepath.Abs(asked)
		}
	}
	dir := userDir(getenv, goos, "XDG_DATA_HOME", "LocalAppData", ".local/share")
	if dir == "" {
		return "", errors.New("no place for data: the home directory is not known; use --data or " + EnvData)
	}
	return filepath.Join(dir, program), nil
}

// userDir returns a directory of the user by the custom of the system, or ""
// when there is no telling. The XDG variable counts everywhere, but only as an
// absolute path, as its specification says.
func userDir(getenv func(string) string, goos, xdg, windows, unix string) string {
	if dir := getenv(xdg); filepath.IsAbs(dir) {
		return dir
	}
	if goos == "windows" {
		return getenv(windows)
	}
	base := home(getenv, goos)
	switch {
	case base == "":
		return ""
	case goos == "darwin":
		return filepath.Join(base, "Library", "Application Support")
	}
	return filepath.Join(base, filepath.FromSlash(unix))
}

// UnknownVariables finds variables that look like settings and are none, as
// warnings: others may have set them, but a misspelt name would go unnoticed.
// The environment is as os.Environ returns it.
func UnknownVariables(environment []string) []Problem {
	known := []string{EnvConfig, EnvData, EnvToken, EnvVaultKey, EnvVaultKeyNext}
	for _, s := range settings() {
		known = append(known, s.Env)
	}
	var problems []Problem
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		text := "no setting has this name"
		if near := tool.Nearest(name, known); near != "" {
			text += "; did you mean " + near + "?"
		}
		problems = append(problems, Problem{Source: brief(name), Text: text, Warning: true})
	}
	return problems
}
