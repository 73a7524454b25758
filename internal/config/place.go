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

	// EnvConfig is the variable for the path of the file, EnvData that for the data
	// directory. They are not settings of the file.
	EnvConfig = envPrefix + "CONFIG"
	EnvData   = envPrefix + "DATA"

	// EnvVaultKey is the variable for the vault's key, EnvVaultKeyNext that for the
	// next key. They are not settings, so that keys are not in the file.
	EnvVaultKey     = envPrefix + "VAULT_KEY"
	EnvVaultKeyNext = EnvVaultKey + "_NEXT"

	// EnvVaultDir is the variable for the directory of the vault; empty: vault in the
	// data directory. It is not a setting.
	EnvVaultDir = envPrefix + "VAULT_DIR"

	// EnvToken is the variable for clients to keep their token. It is not a setting, and there
	// is no warning about it.
	EnvToken = envPrefix + "TOKEN"
)

// File returns the path of the settings file, whether it exists or not: the path of a flag, else of the environment,
// else the usual one.
func File(flag string, getenv func(string) string) (string, error) {
	path, _ := LoadOptions{Path: flag, Getenv: getenv}.file(runtime.GOOS)
	if path == "" {
		return "", errors.New("no place for settings: the home directory is not known; use --config or " + EnvConfig)
	}
	return filepath.Abs(path)
}

// file returns the path of the file, and whether it was chosen. The path is empty if
// even the home directory is unknown.
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

// DataDir returns the absolute path of the data directory: the path of a flag, else of the environment, else the
// usual one. The directory may not exist.
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

// userDir returns a directory of the user by the conventions of the system, or "" if
// it is unknown. The XDG variables apply on all systems, but only with absolute
// paths, as their specification says.
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

// UnknownVariables returns warnings about variables that look like settings but are
// not: others may have set them, but a misspelled name should be noticed. The
// environment has the form of os.Environ.
func (r *Reader[T]) UnknownVariables(environment []string) []Problem {
	known := []string{EnvConfig, EnvData, EnvToken, EnvVaultDir, EnvVaultKey, EnvVaultKeyNext}
	for _, s := range r.settings {
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
