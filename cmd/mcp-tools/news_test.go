package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestClientsHearOfWhatIsGone has a client watch a context file and a memory:
// it hears that they come, and that the memory goes.
func TestClientsHearOfWhatIsGone(t *testing.T) {
	for name, value := range map[string]string{"AGENT": "helper", "USER": "ann", "WORKSPACE": t.TempDir()} {
		t.Setenv("MCP_TOOLS_"+name, value)
	}
	cmd, in, out, log := piped(t)
	go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the program
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	const told, remembered = "context:///USER.md", "memory:///memory/deploy.md"
	lines := bufio.NewScanner(out)
	heard := map[string]int{} // how often it was said of a resource that it has changed
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the server is gone; %v were heard of", heard)
		}
		for _, uri := range []string{told, remembered} {
			if strings.Contains(lines.Text(), `"notifications/resources/updated"`) && strings.Contains(lines.Text(), uri) {
				heard[uri]++
			}
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
	in.Close()
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil || heard[remembered] != 2 {
		t.Errorf("%v, %v", err, heard)
	}
}
