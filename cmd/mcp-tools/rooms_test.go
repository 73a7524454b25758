package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli"
	"github.com/mcp-tools/mcp-tools/internal/room"
)

// TestRoomsAreDeclared checks the declarations of all rooms, with nothing behind them.
func TestRoomsAreDeclared(t *testing.T) {
	if err := room.Check(new(app.Env).Rooms()); err != nil {
		t.Error(err)
	}
}

// TestVerbsAlone calls every verb on an empty data directory, as the command line does: a verb opens its own room
// and no other, so none may need more.
func TestVerbsAlone(t *testing.T) {
	for _, r := range new(app.Env).Rooms() {
		for _, v := range r.Verbs {
			t.Run(r.Name+" "+v.Name, func(t *testing.T) {
				args := append([]string{r.Name}, strings.Fields(v.Name)...)
				for _, name := range v.Args {
					args = append(args, "none-"+strings.TrimSuffix(name, "..."))
				}
				for _, p := range v.Params() {
					if p.Required && !strings.Contains(strings.Join(v.Args, " "), p.Name) {
						args = append(args, "--"+strings.ReplaceAll(p.Name, "_", "-")+"=none")
					}
				}
				code, out := runCommand(t, args...)
				if code != 0 && strings.TrimSpace(out) == "" || strings.Contains(out, "nil pointer") {
					t.Errorf("%v: exit code %d, %q", args, code, out)
				}
			})
		}
	}
}

// runCommand runs the command line on an empty data directory.
func runCommand(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var both bytes.Buffer
	env := app.Env{In: in, Out: &both, Err: &both, Environ: func() []string { return nil }, Getenv: func(name string) string {
		return map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir}[name]
	}}
	t.Chdir(dir)
	code = cli.Run(context.Background(), env, append([]string{"--data", data}, args...))
	return code, both.String()
}
