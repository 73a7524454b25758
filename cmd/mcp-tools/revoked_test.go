//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestRevokedTokensRunNothing has commands in the foreground, in the background, and kept beyond
// their session. They end with their token or their profile, those of another token do not.
func TestRevokedTokensRunNothing(t *testing.T) {
	const settings = "policy: {profiles: {%s: {extends: full}}}\nlimits: {calls_per_minute: %d}\n"
	ws := t.TempDir()
	r := serveRemote(t, fmt.Sprintf(settings, "builders", 1000), "--sandbox", "host", "--autonomy", "full",
		"--workspace", ws)
	var calls sync.WaitGroup
	defer calls.Wait() // a call that is ended is answered
	start := func(token, name, also string) (pid int) {
		t.Helper()
		answered := make(chan string, 1)
		calls.Go(func() {
			_, body := r.post("/mcp", token, "tools/call", fmt.Sprintf(
				`"name":"exec","arguments":{"command":"echo $$ > %[1]s.new; mv %[1]s.new %[1]s; exec sleep 300"%s}`, name, also),
				"Mcp-Name", "exec")
			answered <- body
		})
		file := filepath.Join(ws, name)
		for pid == 0 {
			if text, err := os.ReadFile(file); err == nil {
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			select {
			case body := <-answered:
				if strings.Contains(body, `"error"`) || strings.Contains(body, `"isError":true`) {
					t.Fatalf("%s: %s", name, body)
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
		return pid
	}
	ended := func(name string, pid int) {
		t.Helper()
		for begun := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > hang {
				t.Fatalf("the command %s runs on", name)
			}
		}
	}
	ann, other := r.token("--name", "ann", "--profile", "full"), r.token("--name", "other", "--profile", "builders",
		"--config", filepath.Join(r.dir, "config.yaml"))
	of := map[string]int{}
	for name, also := range map[string]string{
		"foreground": "", "background": `,"background":true`, "kept": `,"background":true,"keep":true`,
	} {
		of[name] = start(ann, name, also)
	}
	stays := start(other, "other", `,"background":true`)
	if err := r.run(t.Context(), io.Discard, "token", "revoke", "ann", "--data", filepath.Join(r.dir, "data")); err != nil {
		t.Fatal(err)
	}
	r.wants("/mcp", ann, http.StatusUnauthorized)
	for name, pid := range of {
		ended(name, pid)
	}
	if err := syscall.Kill(stays, 0); err != nil {
		t.Errorf("the command of another token: %v", err)
	}
	r.configure(fmt.Sprintf(settings, "others", 1001))
	ended("of a removed profile", stays)
}
