package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClientsHearOfWhatIsGone has a client watch a context file and a memory: it is
// notified when they are created, when the memory is removed, and of skills that are
// put into its workspace.
func TestClientsHearOfWhatIsGone(t *testing.T) {
	ws := t.TempDir()
	for name, value := range map[string]string{"AGENT": "helper", "USER": "ann", "WORKSPACE": ws} {
		t.Setenv("MCP_TOOLS_"+name, value)
	}
	cmd, in, out, log := piped(t)
	go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the program
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	const told, remembered = "context:///USER.md", "memory:///memory/deploy.md"
	lines := bufio.NewScanner(out)
	heard := map[string]int{} // how often it was said of a resource that it has changed
	prompts := 0              // and of the list of prompts
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the server is gone; %v were heard of", heard)
		}
		for _, uri := range []string{told, remembered} {
			if strings.Contains(lines.Text(), `"notifications/resources/updated"`) && strings.Contains(lines.Text(), uri) {
				heard[uri]++
			}
		}
		if strings.Contains(lines.Text(), `"notifications/prompts/list_changed"`) {
			prompts++
		}
		return lines.Text()
	}
	id := 0
	ask := func(method, params string) {
		id++
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		for line := ""; !strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)); {
			if line = next(); strings.Contains(line, `"error"`) || strings.Contains(line, `"isError":true`) {
				t.Fatal(line)
			}
		}
	}
	ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	ask("resources/subscribe", `{"uri":"`+told+`"}`)
	ask("resources/subscribe", `{"uri":"`+remembered+`"}`)
	for n := 0; heard[told] == 0; n++ { // news begin some time after the store is opened
		ask("tools/call", fmt.Sprintf(`{"name":"write_file","arguments":{"path":"USER.md","content":"Ann %d"}}`, n))
	}
	for n, call := range []string{`{"name":"memory_store","arguments":{"key":"deploy","content":"on Fridays"}}`, `{"name":"memory_forget","arguments":{"key":"deploy"}}`} {
		ask("tools/call", call)
		for heard[remembered] <= n {
			next()
		}
	}
	if err := os.MkdirAll(filepath.Join(ws, "skills", "greet"), 0o700); err != nil {
		t.Fatal(err)
	}
	for n := 0; prompts == 0; n++ { // they are watched some time after the start
		text := fmt.Sprintf("---\nname: greet\ndescription: politeness %d\n---\nSay hello.\n", n)
		if err := os.WriteFile(filepath.Join(ws, "skills", "greet", "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // or it would never be quiet there
		ask("ping", "{}")
	}
	in.Close()
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil || heard[remembered] != 2 {
		t.Errorf("%v, %v", err, heard)
	}
}
