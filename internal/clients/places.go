package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Env describes the machine and the user.
type Env struct {
	Home    string                   // the user's home directory, absolute
	WorkDir string                   // the workspace for project files, absolute
	GOOS    string                   // as in runtime.GOOS
	Getenv  func(name string) string // the environment; nil means an empty one
	Now     func() time.Time         // names the backups; nil means the real time
}

// HostEnv returns the Env of this machine.
func HostEnv() (Env, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Env{}, fmt.Errorf("finding the home directory: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return Env{}, fmt.Errorf("finding the current directory: %w", err)
	}
	return Env{Home: home, WorkDir: dir, GOOS: runtime.GOOS, Getenv: os.Getenv, Now: time.Now}, nil
}

// dir returns the directory that an environment variable names, or the default. A
// relative value is ignored, as the XDG rules require.
func (e Env) dir(variable, otherwise string) string {
	if e.Getenv != nil {
		if v := e.Getenv(variable); filepath.IsAbs(v) {
			return v
		}
	}
	return otherwise
}

func (e Env) now() time.Time {
	if e.Now == nil {
		return time.Now()
	}
	return e.Now()
}

// appData returns the directory for the settings of desktop programs.
func (e Env) appData() string {
	switch e.GOOS {
	case "darwin":
		return filepath.Join(e.Home, "Library", "Application Support")
	case "windows":
		return e.dir("APPDATA", filepath.Join(e.Home, "AppData", "Roaming"))
	}
	return e.dir("XDG_CONFIG_HOME", filepath.Join(e.Home, ".config"))
}

func inHome(path ...string) func(Env) string {
	return func(e Env) string { return filepath.Join(e.Home, filepath.Join(path...)) }
}

func inWorkDir(path string) func(Env) string {
	return func(e Env) string { return filepath.Join(e.WorkDir, filepath.FromSlash(path)) }
}

func claudeDesktop(e Env) string {
	const file = "claude_desktop_config.json"
	if e.GOOS == "windows" {
		// Installed as a package, the program sees a private copy of APPDATA.
		local := e.dir("LOCALAPPDATA", filepath.Join(e.Home, "AppData", "Local"))
		pkg := filepath.Join(local, "Packages", "Claude_pzs8sxrjxfjjc")
		if info, err := os.Stat(pkg); err == nil && info.IsDir() {
			return filepath.Join(pkg, "LocalCache", "Roaming", "Claude", file)
		}
	}
	return filepath.Join(e.appData(), "Claude", file)
}

func claudeCode(e Env) string {
	return filepath.Join(e.dir("CLAUDE_CONFIG_DIR", e.Home), ".claude.json")
}

func vscode(e Env) string {
	return filepath.Join(e.appData(), "Code", "User", "mcp.json")
}

func codex(e Env) string {
	return filepath.Join(e.dir("CODEX_HOME", filepath.Join(e.Home, ".codex")), "config.toml")
}

func gemini(e Env) string {
	return filepath.Join(e.dir("GEMINI_CLI_HOME", e.Home), ".gemini", "settings.json")
}

func devin(e Env) string {
	if e.GOOS == "windows" {
		return filepath.Join(e.appData(), "devin", "mcp_config.json")
	}
	return filepath.Join(e.Home, ".config", "devin", "mcp_config.json")
}

func zed(e Env) string {
	switch e.GOOS {
	case "windows":
		return filepath.Join(e.appData(), "Zed", "settings.json")
	case "darwin":
		return filepath.Join(e.Home, ".config", "zed", "settings.json")
	}
	return filepath.Join(e.appData(), "zed", "settings.json")
}

// first returns the first path where there is a file, or else the first one.
func first(paths ...string) string {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return paths[0]
}

// config returns the directory that programs from Linux use on all systems.
func (e Env) config() string { return e.dir("XDG_CONFIG_HOME", filepath.Join(e.Home, ".config")) }

// inVSCode returns the settings file of an extension of VS Code.
func inVSCode(extension, file string) func(Env) string {
	return func(e Env) string {
		return filepath.Join(e.appData(), "Code", "User", "globalStorage", extension, "settings", file)
	}
}

// opencodeFile is the file of opencode and of programs made from it.
func opencodeFile(name string) func(Env) string {
	return func(e Env) string {
		dir := filepath.Join(e.config(), name)
		return first(filepath.Join(dir, name+".json"), filepath.Join(dir, name+".jsonc"))
	}
}

func copilot(e Env) string {
	return filepath.Join(e.dir("COPILOT_HOME", filepath.Join(e.Home, ".copilot")), "mcp-config.json")
}

func clineCLI(e Env) string {
	return e.dir("CLINE_MCP_SETTINGS_PATH",
		filepath.Join(e.Home, ".cline", "data", "settings", "cline_mcp_settings.json"))
}

func lmStudio(e Env) string {
	return first(filepath.Join(e.Home, ".lmstudio", "mcp.json"),
		filepath.Join(e.Home, ".cache", "lm-studio", "mcp.json"))
}

func goose(e Env) string {
	if e.GOOS == "windows" {
		return filepath.Join(e.appData(), "Block", "goose", "config", "config.yaml")
	}
	return filepath.Join(e.config(), "goose", "config.yaml")
}

func crush(e Env) string {
	if e.GOOS == "windows" {
		return filepath.Join(e.dir("LOCALAPPDATA", filepath.Join(e.Home, "AppData", "Local")), "crush", "crush.json")
	}
	return filepath.Join(e.config(), "crush", "crush.json")
}

func amp(e Env) string {
	dir := filepath.Join(e.config(), "amp")
	return first(filepath.Join(dir, "settings.json"), filepath.Join(dir, "settings.jsonc"))
}

func trae(e Env) string { return filepath.Join(e.appData(), "Trae", "User", "mcp.json") }

func antigravity(e Env) string {
	dir := filepath.Join(e.Home, ".gemini")
	return first(filepath.Join(dir, "config", "mcp_config.json"), filepath.Join(dir, "antigravity", "mcp_config.json"))
}
