package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// piped starts the program on three pipes.
func piped(t *testing.T, flags ...string) (cmd *exec.Cmd, in io.WriteCloser, out, log io.ReadCloser) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links to the test binary, and SIGHUP, are for unix")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "mcp-tools") // TestMain goes by the name
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), name, append(flags, "--data", t.TempDir(), "--log-level", "debug")...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_CONFIG_HOME="+t.TempDir())
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	log, errLog := cmd.StderrPipe()
	for _, err := range []error{errIn, errOut, errLog, cmd.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return cmd, in, out, log
}

const (
	pingLine    = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	unknownLine = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nobody"}}` + "\n"
)

// TestServerSurvivesClosedStderr checks that the server continues after a client
// has closed its stderr unread, as some clients do.
func TestServerSurvivesClosedStderr(t *testing.T) {
	cmd, in, out, log := piped(t)
	log.Close()
	answers := bufio.NewScanner(out)
	for range 3 {
		if _, err := io.WriteString(in, pingLine+unknownLine); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !answers.Scan() {
				t.Fatalf("no answer: %v", cmd.Wait())
			}
		}
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil { // reading the settings again is logged
			t.Fatal(err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestServerEndsWhenOutputIsClosed closes the reading end of stdout only: the server ends in order and logs the
// reason.
func TestServerEndsWhenOutputIsClosed(t *testing.T) {
	cmd, in, out, log := piped(t)
	out.Close()
	if _, err := io.WriteString(in, pingLine); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	said, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(said), "writing to the client") {
		t.Errorf("it ended with %v and said %s", err, said)
	}
}

// TestRulesForFilesAndProgramsReload changes the settings while the server runs.
func TestRulesForFilesAndProgramsReload(t *testing.T) {
	dir, settings := t.TempDir(), filepath.Join(t.TempDir(), "settings.yaml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(settings, "policy: {autonomy: full}\n")
	write(filepath.Join(dir, "a.txt"), "seen")
	cmd, in, out, log := piped(t, "--config", settings, "--workspace", dir)
	kill := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	answers := bufio.NewScanner(out)
	call := func(tool, args string) string {
		t.Helper()
		line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args +
			"}}\n"
		if _, err := io.WriteString(in, line); err != nil || !answers.Scan() {
			t.Fatalf("no answer: %v", err)
		}
		return answers.Text()
	}
	if got := call("read_file", `{"path":"a.txt"}`); !strings.Contains(got, "seen") {
		t.Fatalf("before: %s", got)
	}
	write(settings, `policy: {autonomy: full}
workspace: {deny: [a.txt]}
exec:
  programs:
    tool: {path: /bin/true, environment: {TOKEN: secret:none}, allow: [show]}
`)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "configuration read again") {
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	if got := call("read_file", `{"path":"a.txt"}`); !strings.Contains(got, "denied to tools") {
		t.Errorf("the denied file: %s", got)
	}
	if got := call("credentialed_exec", `{"command":"tool show"}`); !strings.Contains(got, `secret \"none\"`) {
		t.Errorf("the program: %s", got)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
