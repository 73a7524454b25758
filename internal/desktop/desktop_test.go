//go:build unix

package desktop

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
)

// hang is the longest that a test waits.
const hang = 2 * time.Minute

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// logbook keeps what is logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
	}
}

// newTest returns a Notifier that finds only a program with a name and a shell script in PATH.
func newTest(t *testing.T, system, name, script string) (*Notifier, *logbook) {
	t.Helper()
	bin := t.TempDir()
	if name != "" {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	log := &logbook{}
	n := newFor(system, func(name string) string {
		if name == "DISPLAY" {
			return ":7"
		}
		return ""
	}, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { _ = n.Close() })
	return n, log
}

// TestTextsStayTexts shows texts of agents. The program gets each as one argument that is neither an option nor
// markup.
func TestTextsStayTexts(t *testing.T) {
	for text, want := range map[string]string{
		"Allow? rm notes.txt":                  "Allow? rm notes.txt",
		"--help":                               "--help",
		"-u critical":                          "-u critical",
		"<b>x</b><a href='http://e'>y</a>&lt;": "&lt;b&gt;x&lt;/b&gt;&lt;a href='http://e'&gt;y&lt;/a&gt;&amp;lt;",
		`a\nb\x41`:                             `a\\nb\\x41`,
		"$(touch pwned) `touch pwned`; touch pwned": "$(touch pwned) `touch pwned`; touch pwned",
		`"; do shell script "x`:                     `"; do shell script "x`,
		"\x1b[2J\u202egnp.exe\x00":                  "&lt;U+001B&gt;[2J&lt;U+202E&gt;gnp.exe&lt;U+0000&gt;",
		"two\nlines":                                "two\nlines",
	} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		n, log := newTest(t, "linux", "notify-send",
			`printf '%s|' "$DISPLAY" "$#" "$@" >`+out+`.new && /bin/mv `+out+`.new `+out)
		n.Show(text)
		until(t, "notification of "+text+log.String(), func() bool { _, err := os.Stat(out); return err == nil })
		got, err := os.ReadFile(out)
		if err != nil || string(got) != ":7|4|--app-name=mcp-tools|--|mcp-tools|"+want+"|" {
			t.Errorf("%q is shown with %q, %v", text, got, err)
		}
	}
}

// TestCommands has what the programs of other systems get.
func TestCommands(t *testing.T) {
	const hostile = `-e "x" $(y) <z>`
	mac := (&Notifier{system: "darwin"}).command(hostile)
	if last := mac.Argv[len(mac.Argv)-2:]; mac.Argv[0] != "osascript" || last[0] != title || last[1] != hostile ||
		strings.Count(strings.Join(mac.Argv, " "), hostile) != 1 {
		t.Errorf("macOS runs %q", mac.Argv)
	}
	windows := (&Notifier{system: "windows"}).command(hostile)
	if strings.Contains(strings.Join(windows.Argv, " "), hostile) || windows.Env[1] != "MCP_TOOLS_NOTICE="+hostile {
		t.Errorf("Windows runs %q with %q", windows.Argv, windows.Env)
	}
	if long := (&Notifier{system: "linux"}).command(strings.Repeat("x", 10*maxText)); len(long.Argv[4]) > maxText+10 {
		t.Errorf("a text of %d bytes is shown", len(long.Argv[4]))
	}
}

// TestShowDoesNotWait has a program that does not end.
func TestShowDoesNotWait(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	n, _ := newTest(t, "linux", "notify-send", ": >"+started+"\nwhile :; do /bin/sleep 1; done")
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		n.Show("first")
		until(t, "start", func() bool { _, err := os.Stat(started); return err == nil })
		for range 10 * maxQueued {
			n.Show("more")
		}
	}()
	select {
	case <-shown:
	case <-time.After(hang):
		t.Fatal("it waits for the program")
	}
	if err := n.Close(); err != nil { // ends the program
		t.Error(err)
	}
}

// TestFailuresAreLoggedOnce has no program, and one that fails.
func TestFailuresAreLoggedOnce(t *testing.T) {
	for name, test := range map[string]struct{ program, script, want string }{
		"missing": {"", "", "notify-send is not installed"},
		"fails":   {"notify-send", "echo no bus >&2; exit 1", "no bus"},
	} {
		n, log := newTest(t, "linux", test.program, test.script)
		for range 3 {
			n.Show("x")
			until(t, "log", func() bool { return strings.Contains(log.String(), test.want) && len(n.queue) == 0 })
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "could not be shown"); got != 1 {
			t.Errorf("%s: it is logged %d times: %s", name, got, log)
		}
	}
}
