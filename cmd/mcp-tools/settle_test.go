//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBrowserOfKilledServerIsRemoved checks that a server removes the browser of a killed server, even if no
// call needs a browser, and removes nothing else.
func TestBrowserOfKilledServerIsRemoved(t *testing.T) {
	temp, err := os.MkdirTemp("", "settle-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	left, other := filepath.Join(temp, "mcp-browser-abcdefgh"), filepath.Join(temp, "other")
	for _, dir := range []string{filepath.Join(left, "own", "profile"), other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(left, "lock"), filepath.Join(left, "own", "profile", "Cookies")} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, ws := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	startRunner(t, "off", data, ws)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(left); os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the profile is still there")
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
