package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestMadeOnOneUsedOnAnother has two replicas on one database with a data directory each: what is made through one is
// used through the other. Then one is killed.
func TestMadeOnOneUsedOnAnother(t *testing.T) {
	chromium := needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	dsn, path, work := storetest.Database(t), ourselves(t), t.TempDir()
	kek := filepath.Join(t.TempDir(), "kek")
	secret := "opensesame-" + "77"
	page := filepath.Join(work, "page.html")
	for file, text := range map[string]string{
		kek: strings.Repeat("0123456789abcdef", 4), kek + ".value": secret, page: "<h1>Hello from a page</h1>",
		filepath.Join(work, "notes.txt"): "first\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := func(more string) string {
		file := filepath.Join(t.TempDir(), "config.yaml")
		text := generous + "store: {dsn: '" + dsn + "'}\nvault: {key_file: " + kek + "}\nweb: {browser: {path: " + chromium +
			", without_sandbox: true}}\n" + more
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	plain := settings("")
	token := regexp.MustCompile(`mcpt_\w+`).FindString(finish(t, apart(path, "token", "create", "--name", "ann", "--profile",
		"full", "--user", "ann", "--agent", "lead", "--config", plain, "--data", dirs[0])))
	finish(t, apart(path, "secrets", "set", "deploy", "--from-file", kek+".value", "--config", plain, "--data", dirs[0]))
	if list := finish(t, apart(path, "secrets", "list", "--config", plain, "--data", dirs[1])); !strings.Contains(list, "deploy") {
		t.Errorf("the secrets on the other machine are %s", list)
	}
	var on []*wire
	var bases []string
	managed := "mcpt_" + strings.Repeat("managed7", 4)
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(managed)))
	for _, dir := range dirs {
		base := t.TempDir()
		bases = append(bases, base)
		file := settings("server: {internal: '" + freeAddress(t) + "'}\nscrub: {values: ['secret:deploy']}\n" +
			"workspace: {managed: '" + base + "'}\nconnections: {tokens: {eve: {hash: " + hash + ", profiles: [full], user: eve, " +
			"workspace: '" + filepath.Join(base, "eve") + "'}}}\n")
		w, err := dialWire(apart(path, "serve", "--http", "127.0.0.1:0", "--config", file, "--data", dir, "--workspace", work,
			"--autonomy", "full", "--sandbox", "host"), token)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.kill)
		on = append(on, w)
	}
	a, b := on[0], on[1]
	call := func(w *wire, tool string, args map[string]any) string {
		t.Helper()
		text, _, err := w.call(t.Context(), tool, args)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return text
	}
	has := func(what, text string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q lacks %q", what, text, word)
			}
		}
	}
	is := func(more string) map[string]any {
		var args map[string]any
		if err := json.Unmarshal([]byte(more), &args); err != nil {
			t.Fatal(err)
		}
		return args
	}

	has("secret", call(b, "exec", map[string]any{"command": "printf 'opensesame-%d' 77"}), "[REDACTED")

	began := call(a, "exec", map[string]any{"command": "echo begun; read line; echo got $line; sleep 600", "background": true})
	id := regexp.MustCompile(`\bp_\w+`).FindString(began)
	has("poll", call(b, "process", map[string]any{"action": "poll", "id": id}), id+" has been running")
	has("write", call(b, "process", map[string]any{"action": "write", "id": id, "data": "hello\n"}), "got hello")
	has("log on its own server", call(a, "process", map[string]any{"action": "log", "id": id}), "got hello")

	has("list", call(b, "process", is(`{"action":"list"}`)), id, "running", "got $line", `on "`)
	has("poll without an id", call(b, "process", is(`{"action":"kill"}`)), id)

	body := b.modern(t, "tasks/get", map[string]any{"taskId": "exec." + id}, nil)
	has("task", body, `"working"`, id)
	followed := a.modern(t, "tools/call", is(`{"name":"exec","arguments":{"command":"echo of a task; sleep 600","background":true}}`), nil)
	task := regexp.MustCompile(`exec\.p_\w+`).FindString(followed)
	has("task", b.modern(t, "tasks/cancel", map[string]any{"taskId": task}, nil), "complete")
	a.until(t, `"cancelled"`, "tasks/get", map[string]any{"taskId": task})
	has("task", b.modern(t, "tasks/get", map[string]any{"taskId": task}, nil), `"cancelled"`)
	has("view", b.modern(t, "tools/call", map[string]any{"name": "process", "arguments": map[string]any{"action": "log", "id": id}}, nil),
		`"mcp-tools/view"`, `"streams"`, "echo got $line")

	second := regexp.MustCompile(`\bp_\w+`).FindString(call(a, "exec", map[string]any{"command": "sleep 600", "background": true}))
	has("kill", call(b, "process", map[string]any{"action": "kill", "id": second}), "ended on request")
	has("kill", call(a, "process", map[string]any{"action": "poll", "id": second}), "ended on request")

	has("read", call(a, "read_file", is(`{"path":"notes.txt"}`)), "first")
	if err := os.WriteFile(filepath.Join(work, "notes.txt"), []byte("changed by a person\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	has("write", call(b, "write_file", is(`{"path":"notes.txt","content":"mine"}`)), "conflict")
	has("read", call(b, "read_file", is(`{"path":"notes.txt"}`)), "changed by a person")
	has("write", call(a, "write_file", is(`{"path":"notes.txt","content":"mine"}`)), "replaced")

	has("browser", call(a, "browser", is(`{"action":"open","url":"page.html"}`)), "Hello from a page")
	has("browser", call(b, "browser", is(`{"action":"snapshot"}`)), "Hello from a page")

	onManaged := func(w *wire) *wire { other := *w; other.token = managed; return &other }
	has("managed workspace", call(onManaged(a), "write_file", is(`{"path":"made/on-a.txt","content":"managed"}`)), "created")
	has("managed workspace", call(onManaged(b), "read_file", is(`{"path":"made/on-a.txt"}`)), "managed")
	has("managed workspace", call(onManaged(b), "exec", is(`{"command":"echo on b >> made/on-a.txt"}`)), "no output")
	has("managed workspace", call(onManaged(a), "read_file", is(`{"path":"made/on-a.txt"}`)), "managedon b")

	drawn := call(onManaged(a), "create_image", is(`{"chart":"bar","title":"Sheds","data":"Word,Count\nshed,3","format":"svg"}`))
	drawing := regexp.MustCompile(`generated/[\w./-]+\.svg`).FindString(drawn)
	has("generated file", call(onManaged(b), "read_file", map[string]any{"path": drawing}), "Sheds")

	// A command that B has called for runs on A, which holds the workspace: its output comes on the way, and lets it go on.
	call(onManaged(a), "exec", is(`{"command":"sleep 600","background":true}`))
	goOn := filepath.Join(bases[0], "eve", "go-on")
	said := onManaged(b).modern(t, "tools/call", is(`{"name":"exec","arguments":{"command":"echo said on the way; until [ -e go-on ]; do sleep 0.1; done; echo went on"},"_meta":{"progressToken":"p"}}`),
		func(line string) {
			if strings.Contains(line, "said on the way") && strings.Contains(line, "notifications/progress") {
				if err := os.WriteFile(goOn, nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	has("progress", said, "notifications/progress", "went on")
	began = onManaged(b).modern(t, "tools/call", is(`{"name":"exec","arguments":{"command":"sleep 600","background":true}}`), nil)
	has("task of a forwarded call", began, `"taskId":"exec.p_`)

	has("job", call(a, "cron", is(`{"action":"add","name":"later","every":"1h","tool":"datetime"}`)), "later")
	has("job", call(b, "cron", is(`{"action":"list"}`)), "later")

	handle := regexp.MustCompile(`\br_[a-z2-7]{26}\b`).FindString(call(a, "exec", is(`{"command":"seq -f 'line %g of a long result' 100000"}`)))
	has("result", call(b, "read_result", map[string]any{"id": handle, "tail": 3}), "line 100000 of a long result")

	change := latest(t, call(a, "history", is(`{"path":"notes.txt","limit":1}`)))
	has("today", finish(t, apart(path, "today", "--diff", "--config", plain, "--data", dirs[1])), "notes.txt", change,
		"-changed by a person", "+mine")
	has("undo", finish(t, apart(path, "undo", change, "--yes", "--config", plain, "--data", dirs[1])), "Undone")
	has("undo", call(b, "undo", map[string]any{"change": latest(t, call(a, "history", is(`{"path":"notes.txt","limit":1}`)))}), "notes.txt")
	has("undo", call(a, "read_file", is(`{"path":"notes.txt"}`)), "mine")

	finish(t, apart(path, "teams", "create", "crew", "--lead", "lead", "--config", plain, "--data", dirs[0]))
	has("board", call(a, "team_tasks", is(`{"action":"create","title":"Paint the shed"}`)), "Paint the shed")
	has("board", call(b, "team_tasks", is(`{"action":"list"}`)), "Paint the shed")

	if err := os.WriteFile(filepath.Join(work, "plan.csv"), []byte("word\npaint\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, w := range on {
		has("document", call(w, "read_document", is(`{"path":"plan.csv"}`)), "paint")
	}
	if readings := count(t, dsn, "SELECT count(*) FROM kept WHERE noun = 'cache:reading'"); readings != 1 {
		t.Errorf("%d readings of the document are kept, want that of the first server", readings)
	}

	session := a.open(t)
	if status, body := b.in(t, session, token, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 200 || !strings.Contains(body, "read_file") {
		t.Errorf("a session of the other server: %d %.200s", status, body)
	}
	other := regexp.MustCompile(`mcpt_\w+`).FindString(finish(t, apart(path, "token", "create", "--name", "bob", "--profile",
		"full", "--user", "bob", "--config", plain, "--data", dirs[0])))
	if status, _ := b.in(t, session, other, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
		t.Errorf("the session of another user has status %d", status)
	}
	if status, _ := b.in(t, session[:len(session)-1]+"x", token, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
		t.Errorf("a session that nobody has opened has status %d", status)
	}

	verified := finish(t, apart(path, "audit", "verify", "--config", plain, "--data", dirs[1]))
	if strings.Contains(verified, "another key") {
		t.Errorf("the audit log has two keys: %s", verified)
	}

	call(a, "write_file", is(`{"path":"last.txt","content":"written on a"}`))
	change = latest(t, call(a, "history", is(`{"path":"last.txt","limit":1}`)))

	a.kill()
	has("result", call(b, "read_result", map[string]any{"id": handle, "tail": 3}), "line 100000 of a long result")
	has("undo", call(b, "undo", map[string]any{"change": change}), "last.txt")
	has("document", call(b, "read_document", is(`{"path":"plan.csv"}`)), "paint")
	has("board", call(b, "team_tasks", is(`{"action":"list"}`)), "Paint the shed")
	has("job", call(b, "cron", is(`{"action":"list"}`)), "later")
	has("secret", call(b, "exec", map[string]any{"command": "printf 'opensesame-%d' 77"}), "[REDACTED")
	has("generated file", call(onManaged(b), "read_file", map[string]any{"path": drawing}), "Sheds")
	eventually(t, "a browser begins anew on the other server", func() bool { // once the lease of the killed one has ended
		return strings.Contains(call(b, "browser", is(`{"action":"open","url":"page.html"}`)), "Hello from a page")
	})
	has("managed workspace", call(onManaged(b), "read_file", is(`{"path":"made/on-a.txt"}`)), "managedon b")
	has("its server was killed", call(b, "process", map[string]any{"action": "poll", "id": id}), "the server", "ended")
	has("its server was killed", call(b, "process", is(`{"action":"list"}`)), id, "its server ")
	if status, body := b.in(t, session, token, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); status != 200 {
		t.Errorf("after the end of the other server: %d %.200s", status, body)
	}
}

// latest returns the id of the latest change in the answer of history.
func latest(t *testing.T, history string) string {
	t.Helper()
	id := regexp.MustCompile(`(?m)^[a-z2-7]{8}\b`).FindString(history)
	if id == "" {
		t.Fatalf("no change in %q", history)
	}
	return id
}

// count returns the number that a statement returns.
func count(t *testing.T, dsn, statement string) (n int) {
	t.Helper()
	s := storetest.Open(t, dsn)
	if err := s.Row(t.Context(), statement, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// modern sends a request of revision 2026-07-28 of a client with tasks and apps, and returns its whole answer. line, if it
// is not nil, gets each line of the answer as it comes.
func (w *wire) modern(t *testing.T, method string, params map[string]any, line func(string)) string {
	t.Helper()
	const version = "2026-07-28"
	name, _ := cmp.Or(params["taskId"], params["name"]).(string)
	meta, _ := params["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["io.modelcontextprotocol/protocolVersion"] = version
	meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{"extensions": map[string]any{
		"io.modelcontextprotocol/tasks": map[string]any{},
		"io.modelcontextprotocol/ui":    map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}},
	}}
	params["_meta"] = meta
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + w.token, "Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all strings.Builder
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line != nil {
			line(lines.Text())
		}
		all.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// until sends a request again and again until its answer has a word.
func (w *wire) until(t *testing.T, word, method string, params map[string]any) {
	t.Helper()
	body := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if body = w.modern(t, method, params, nil); strings.Contains(body, word) {
			return
		}
	}
	t.Fatalf("%s: %q never had %q", method, body, word)
}

// open opens a session of revision 2025-11-25, and returns its id.
func (w *wire) open(t *testing.T) string {
	t.Helper()
	r := w.send(t, "", w.token, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	defer r.Body.Close()
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatalf("no session: %d", r.StatusCode)
	}
	return id
}

// in sends a message in a session.
func (w *wire) in(t *testing.T, session, token, body string) (status int, text string) {
	t.Helper()
	r := w.send(t, session, token, body)
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(raw)
}

func (w *wire) send(t *testing.T, session, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25",
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", body, err))
	}
	return answer
}
