package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/plugins"
)

// TestPluginsComeAndGo adds, changes and enables a plugin while a client is connected.
func TestPluginsComeAndGo(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	settings := filepath.Join(dir, "settings.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(settings, "policy: {autonomy: full}\n")
	write(filepath.Join(from, "plugin.yaml"), "name: counter\ndescription: Counts.\n")
	write(filepath.Join(from, "tools", "count.yaml"),
		"name: count_things\ndescription: Counts.\nscript: return 'plugin ' + (40 + 2)\n")
	write(filepath.Join(from, "skills", "counting", "SKILL.md"), "---\nname: counting\ndescription: How.\n---\nSlowly.\n")

	cmd, in, out, log := piped(t, "--config", settings, "--workspace", t.TempDir())
	go func() { _, _ = io.Copy(io.Discard, log) }()
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	answers, id := bufio.NewReader(out), 0
	request := func(method, params string) string {
		t.Helper()
		id++
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for err == nil {
			var line string
			if line, err = answers.ReadString('\n'); strings.Contains(line, fmt.Sprintf(`"id":%d`, id)) {
				return line
			}
		}
		t.Fatalf("no answer to %s: %v", method, err)
		return ""
	}
	// calls waits until calls of a tool are answered with some text. The program is killed if that takes too long.
	calls := func(tool, args, want string) {
		t.Helper()
		for {
			if got := request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)); strings.Contains(got,
				want) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	request("tools/list", `{}`)
	calls("count_things", `{}`, "there is no tool")

	set := plugins.Set{Dirs: []string{filepath.Join(dir, "plugins")}}
	if _, err := set.Add(context.Background(), from); err != nil {
		t.Fatal(err)
	}
	calls("count_things", `{}`, "plugin 42")
	calls("use_skill", `{"skill":"counting"}`, "Slowly.")
	write(filepath.Join(set.Dirs[0], "counter", "tools", "count.yaml"),
		"name: count_things\ndescription: Counts.\nscript: return 'changed'\n")
	calls("count_things", `{}`, "there is no tool")
	calls("use_skill", `{"skill":"counting"}`, "there is no skill")
	if _, err := set.Enable(context.Background(), "counter"); err != nil {
		t.Fatal(err)
	}
	calls("count_things", `{}`, "changed")
	if err := set.Remove(context.Background(), "counter"); err != nil {
		t.Fatal(err)
	}
	calls("count_things", `{}`, "there is no tool")
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
