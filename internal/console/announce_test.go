package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnnouncedConsole has servers find the console of a data directory while it is served.
func TestAnnouncedConsole(t *testing.T) {
	data := t.TempDir()
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := Announced(data); got != "" {
		t.Errorf("before there is one: %q", got)
	}
	for _, address := range []string{"http://127.0.0.1:8090/", "https://console.example.com"} {
		end, err := Announce(t.Context(), data, address)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(address, "/") + "/"
		if got := Announced(data); got != want || QuestionPage(data, "") != want ||
			QuestionPage(data, "abcd") != want+"questions/abcd" {
			t.Errorf("%s is announced as %q", address, got)
		}
		if _, err := Announce(t.Context(), data, "http://127.0.0.1:1/"); err == nil {
			t.Error("two consoles are announced")
		}
		end()
		if got := QuestionPage(data, "abcd"); got != "" {
			t.Errorf("after its end: %q", got)
		}
	}
	// Its process was killed: the file is there, and no process holds the lock.
	if err := os.WriteFile(filepath.Join(data, announcedFile), []byte("http://127.0.0.1:8090/"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Announced(data); got != "" {
		t.Errorf("of a dead process: %q", got)
	}
	for _, bad := range []string{"", "javascript:alert(1)", "file:///etc/passwd", "http://", "\x00", "127.0.0.1:80",
		"http://" + strings.Repeat("x", maxAddress)} {
		end, err := Announce(t.Context(), data, bad)
		if err != nil {
			t.Fatal(err)
		}
		if got := Announced(data); got != "" {
			t.Errorf("%.50q is announced as %q", bad, got)
		}
		end()
	}
}
