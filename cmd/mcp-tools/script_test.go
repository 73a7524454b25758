package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// TestMain lets scripts run the program, and talk, as commands. Sandboxed child
// processes end with syscall.Exit, so that the race detector does not wait for a
// second before the end.
func TestMain(m *testing.M) {
	if code, mine := app.RunChild(os.Args); mine {
		syscall.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"mcp-tools": func() { main() },
		"talk":      func() { os.Exit(talk()) },
	})
}

// TestScripts runs the scripts in testdata/script against the program, each with its
// own home directory.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"fill": fill, "until": until},
		Setup: func(env *testscript.Env) error {
			// Beside the workspace: a home directory in it is warned about.
			home := filepath.Join(env.WorkDir+"-home", "home")
			env.Defer(func() { _ = os.RemoveAll(filepath.Dir(home)) })
			for name, value := range map[string]string{
				"HOME":            home,
				"USERPROFILE":     home,
				"AppData":         filepath.Join(home, "AppData", "Roaming"),
				"LocalAppData":    filepath.Join(home, "AppData", "Local"),
				"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
				"XDG_DATA_HOME":   filepath.Join(home, ".local", "share"),
				"MCP_TOOLS_DATA":  filepath.Join(env.WorkDir, "data"),
				"MCP_TOOLS_USER":  "ann",
				"TZ":              "UTC",
				"GORACE":          "atexit_sleep_ms=0",
			} {
				env.Setenv(name, value)
			}
			startSite(env)
			return os.MkdirAll(home, 0o700)
		},
	})
}

// condition knows whether there are terminals to be had, and a sandbox of the
// kernel: some containers have none.
func condition(name string) (bool, error) {
	switch name {
	case "pty":
		f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			return false, nil
		}
		return true, f.Close()
	case "kernel":
		return (&kernel.Launcher{}).Probe(context.Background()).Works, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}
