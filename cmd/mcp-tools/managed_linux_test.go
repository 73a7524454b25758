package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A managedTeam is replicas on one database, each with its own data directory and its own directory for managed
// workspaces. They use the same workspace.
type managedTeam struct {
	*testing.T
	path, dsn, kek, token string
	blobs, common         string   // settings of all; those of blobs are in the section store
	sandbox               []string // flags of all
}

func newManagedTeam(t *testing.T) *managedTeam {
	m := &managedTeam{T: t, path: ourselves(t), dsn: storetest.Database(t), kek: filepath.Join(t.TempDir(), "kek"),
		sandbox: []string{"--sandbox", "host"}}
	if err := os.WriteFile(m.kek, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	m.token = regexp.MustCompile(`mcpt_\w+`).FindString(finish(t, apart(m.path, "token", "create", "--name", "ann", "--profile",
		"full", "--user", "ann", "--config", m.settings(""), "--data", t.TempDir())))
	return m
}

func (m *managedTeam) settings(more string) string {
	m.Helper()
	file := filepath.Join(m.TempDir(), "config.yaml")
	text := generous + "store: {dsn: '" + m.dsn + "'" + m.blobs + "}\nvault: {key_file: " + m.kek + "}\n" + m.common + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
	return file
}

// A managedReplica is one of them.
type managedReplica struct {
	*wire
	m                      *managedTeam
	base, data, file, work string
}

// replica starts a replica on a machine of its own. more are settings of its workspaces.
func (m *managedTeam) replica(more string) *managedReplica {
	m.Helper()
	r := &managedReplica{m: m, base: m.TempDir(), data: m.TempDir()}
	r.work = filepath.Join(r.base, "work")
	if err := os.Mkdir(r.work, 0o755); err != nil {
		m.Fatal(err)
	}
	r.file = m.settings("server: {operator_api: true, internal: '" + freeAddress(m.T) + "'}\nworkspace: {managed: '" + r.base + "'" + more + "}\n")
	r.start()
	return r
}

// start starts the replica again, on its machine.
func (r *managedReplica) start() {
	r.m.Helper()
	w, err := dialWire(apart(r.m.path, slices.Concat([]string{"serve", "--http", "127.0.0.1:0", "--config", r.file, "--data", r.data,
		"--workspace", r.work, "--autonomy", "full"}, r.m.sandbox)...), r.m.token)
	if err != nil {
		r.m.Fatal(err)
	}
	r.m.Cleanup(w.kill)
	r.wire = w
}

// stop shuts the replica down, as its operator does.
func (r *managedReplica) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-r.gone
}

// begin makes a call in the background, whose text it sends, or its error.
func (r *managedReplica) begin(name, args string) <-chan string {
	r.m.Helper()
	var parsed map[string]any
	if err := json.Unmarshal([]byte(args), &parsed); err != nil {
		r.m.Fatal(err)
	}
	said := make(chan string, 1)
	now := *r
	go func() {
		text, err := now.whole(name, parsed)
		if err != nil {
			text = "no answer: " + err.Error()
		}
		said <- text
	}()
	return said
}

// whole makes a call, and returns all parts of its text.
func (r *managedReplica) whole(name string, args map[string]any) (string, error) {
	a, err := r.ask(r.m.Context(), name, args)
	if err == nil && a.Error != nil {
		err = errors.New(a.Error.Message)
	}
	var parts []string
	for _, p := range a.Result.Content {
		parts = append(parts, p.Text)
	}
	return strings.Join(parts, "\n"), err
}

// does makes a call, whose text must have the words.
func (r *managedReplica) does(name, args string, words ...string) string {
	r.m.Helper()
	var parsed map[string]any
	if err := json.Unmarshal([]byte(args), &parsed); err != nil {
		r.m.Fatal(err)
	}
	text, err := r.whole(name, parsed)
	if err != nil {
		r.m.Fatalf("%s %s: %v", name, args, err)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			r.m.Errorf("%s %s: %q lacks %q", name, args, text, word)
		}
	}
	return text
}

// until makes a call again and again until its text has a word.
func (r *managedReplica) until(word, name, args string) {
	r.m.Helper()
	text := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if text = r.does(name, args); strings.Contains(text, word) {
			return
		}
	}
	r.m.Fatalf("%s %s: %q never had %q", name, args, text, word)
}

// TestManagedWorkspace has three replicas that share no directory. One of them is killed while a command runs.
func TestManagedWorkspace(t *testing.T) {
	m := newManagedTeam(t)
	a, b, c := m.replica(""), m.replica(""), m.replica("")
	a.does("write_file", `{"path":"notes.txt","content":"by a tool\n"}`, "created")
	a.does("exec", `{"command":"mkdir -p src && echo by a command > src/out.txt && ln -s out.txt src/link && mkfifo pipe"}`)
	b.does("read_file", `{"path":"notes.txt"}`, "by a tool")
	b.does("read_file", `{"path":"src/link"}`, "by a command")
	b.does("exec", `{"command":"cat src/out.txt && echo and b >> src/out.txt"}`, "by a command")
	c.does("read_file", `{"path":"src/out.txt"}`, "and b")
	began := a.does("exec", `{"command":"echo begun > log.txt; read line; echo ended >> log.txt; sleep 600","background":true}`)
	id := regexp.MustCompile(`\bp_\w+`).FindString(began)
	b.does("process", fmt.Sprintf(`{"action":"write","id":%q,"data":"go\n"}`, id))
	b.until("ended", "read_file", `{"path":"log.txt"}`)
	second := regexp.MustCompile(`\bp_\w+`).FindString(
		b.does("exec", `{"command":"echo of a second command > second.txt; read line","background":true}`))
	c.does("process", fmt.Sprintf(`{"action":"write","id":%q,"data":"go\n"}`, second))
	c.until("exit code 0", "process", fmt.Sprintf(`{"action":"poll","id":%q}`, second))
	c.does("write_file", `{"path":"last.txt","content":"acknowledged\n"}`, "created")

	a.kill()
	c.does("read_file", `{"path":"last.txt"}`, "acknowledged") // c waits until the lease of a ends
	c.does("read_file", `{"path":"notes.txt"}`, "by a tool")
	c.does("read_file", `{"path":"second.txt"}`, "of a second command")
	b.does("exec", `{"command":"cat src/link; ls"}`, "and b", "log.txt", "second.txt")
	b.does("edit", `{"path":"notes.txt","old_text":"by a tool","new_text":"by b"}`)
	c.does("read_file", `{"path":"notes.txt"}`, "by b")
	c.does("history", `{"path":"notes.txt"}`, "edit")
}

// TestOperatorsUndoInManagedWorkspaces undoes a change over the operator API, on a replica that is then killed, and with
// the command.
func TestOperatorsUndoInManagedWorkspaces(t *testing.T) {
	t.Parallel() // it waits for a lease
	m := newManagedTeam(t)
	a := m.replica("")
	a.does("write_file", `{"path":"notes.txt","content":"before\n"}`, "created")
	change := regexp.MustCompile(`use undo (\w+)`).FindStringSubmatch(
		a.does("edit", `{"path":"notes.txt","old_text":"before","new_text":"after"}`))
	if change == nil {
		t.Fatal("the edit has no id")
	}
	operator := regexp.MustCompile(`mcpt_\w+`).FindString(finish(t, apart(m.path, "token", "create", "--name", "op", "--approve",
		"--config", m.settings(""), "--data", t.TempDir())))
	ask := func(confirmed string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(a.url, "/mcp")+"/operator/activity/undo",
			strings.NewReader(fmt.Sprintf(`{"change":%q}`, change[1])))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+operator)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Confirm", confirmed)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	b := m.replica("")
	b.does("read_file", `{"path":"notes.txt"}`, "after")
	if status, text := ask("yes"); status != http.StatusOK || !strings.Contains(text, "redo") {
		t.Errorf("undo: %d %s", status, text)
	}
	a.kill() // what the operator did is in the store
	b.does("read_file", `{"path":"notes.txt"}`, "before")

	// The command has no files: a server undoes the change for it. Without one it says so.
	b.stop()
	a.start()
	done := latest(t, a.does("history", `{"path":"notes.txt","limit":1}`))
	undo := func(change string) (string, error) {
		out, err := apart(m.path, "undo", change, "--yes", "--config", a.file, "--data", t.TempDir()).CombinedOutput()
		return string(out), err
	}
	if out, err := undo(done); err != nil || !strings.Contains(out, "Undone: "+a.work+"/notes.txt") {
		t.Errorf("%s: %v", out, err)
	}
	a.does("read_file", `{"path":"notes.txt"}`, "after")
	if out, err := undo(done); err == nil || !strings.Contains(out, "already undone") {
		t.Errorf("again: %s: %v", out, err)
	}
	again := latest(t, a.does("history", `{"path":"notes.txt","limit":1}`))
	a.does("write_file", `{"path":"notes.txt","content":"by another call"}`)
	if out, err := undo(again); err == nil || !strings.Contains(out, "notes.txt") || !strings.Contains(out, "changed") {
		t.Errorf("of a file that has changed since: %s: %v", out, err)
	}
	a.stop()
	if out, err := undo(again); err == nil || !strings.Contains(out, "no server runs") {
		t.Errorf("without a server: %s: %v", out, err)
	}
}

// TestManagedWorkspaceIsFull has a limit that one file exceeds.
func TestManagedWorkspaceIsFull(t *testing.T) {
	m := newManagedTeam(t)
	a := m.replica(", managed_user_bytes: 1MiB")
	a.does("write_file", `{"path":"small.txt","content":"small"}`, "created")
	a.does("exec", `{"command":"mkdir -p build; head -c 2000000 /dev/zero > build/large"}`, "too_large", "1.0 MiB", `"build" (1.9 MiB)`, "user ann")
	a.does("exec", `{"command":"rm build/large; echo removed"}`, "removed")
	b := m.replica(", managed_user_bytes: 1MiB")
	b.does("list_files", `{"path":"."}`, "small.txt", "build")
}

// TestManagedWorkspaceSurvivesKills kills the holder while it stores changes.
func TestManagedWorkspaceSurvivesKills(t *testing.T) {
	m := newManagedTeam(t)
	a := m.replica("")
	a.does("exec", `{"command":"mkdir -p dir; for i in $(seq 300); do echo $i > dir/$i-some; done; echo done"}`, "done")
	acknowledged, begun := make(chan int, 1), make(chan struct{}, 2)
	go func() {
		defer func() { begun <- struct{}{} }()
		last := 0
		for i := 1; ; i++ {
			text, _, err := a.call(t.Context(), "write_file", map[string]any{
				"path": fmt.Sprintf("dir/%d.txt", i), "content": fmt.Sprintf("content %d", i)})
			if err != nil || !strings.Contains(text, "created") {
				acknowledged <- last
				return
			}
			if last = i; i == 20 {
				begun <- struct{}{}
			}
		}
	}()
	<-begun
	a.kill()
	last := <-acknowledged
	if last < 20 {
		t.Fatalf("only %d writes were acknowledged", last)
	}
	b := m.replica("")
	b.does("exec", `{"command":"ls dir | grep -c some"}`, "300")
	for i := range last {
		b.does("read_file", fmt.Sprintf(`{"path":"dir/%d.txt"}`, i+1), fmt.Sprintf("content %d", i+1))
	}
}
