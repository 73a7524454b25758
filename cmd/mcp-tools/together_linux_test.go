package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob/s3test"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// An apartTeam is a team that shares nothing but services: replicas with managed workspaces, on PostgreSQL, a bucket, and
// Docker engines that are reached over mutual TLS.
type apartTeam struct {
	*managedTeam
	bucket  *s3test.Server
	engines []*engine
	store   *store.Store
}

func newApartTeam(t *testing.T) *apartTeam {
	m := &apartTeam{managedTeam: newManagedTeam(t), bucket: new(s3test.Server)}
	m.store = storetest.Open(t, m.dsn)
	dir, certs := t.TempDir(), t.TempDir()
	m.engines = startEngines(t, certs)
	// Containers need a static program. The tests are none, so a small one is beside a copy of them.
	script(t, `cp -L "$1" "$2/mcp-tools"; CGO_ENABLED=0 go build -o "$2/mcp-tools-linux" ../../internal/sandbox/docker/testdata/agent`,
		m.path, dir)
	m.path = filepath.Join(dir, "mcp-tools")
	versitygw(t, m.bucket)
	front := httptest.NewServer(m.bucket)
	t.Cleanup(front.Close)
	for name, value := range map[string]string{"id": s3test.Key, "secret": s3test.Secret} {
		if err := os.WriteFile(filepath.Join(certs, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.sandbox = nil
	m.blobs = ", blobs: {endpoint: '" + front.URL + "', bucket: " + s3test.Bucket + ", path_style: true, access_key: 'file:" +
		certs + "/id', secret_key: 'file:" + certs + "/secret'}"
	m.common = fmt.Sprintf("sandbox: {mode: docker, memory: 64MiB, docker: {image: '%s', hosts: ['%s', '%s'], certs: %s}}\n",
		image, m.engines[0].address, m.engines[1].address, certs)
	return m
}

// versitygw puts a real S3 server behind a proxy, if MCP_TOOLS_VERSITYGW names one: .ci/nightly does.
func versitygw(t *testing.T, front *s3test.Server) {
	program := os.Getenv("MCP_TOOLS_VERSITYGW")
	if program == "" {
		return
	}
	dir, address := t.TempDir(), freeAddress(t)
	if err := os.Mkdir(filepath.Join(dir, s3test.Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--access", s3test.Key, "--secret", s3test.Secret, "--port", address, "posix", "--nometa", dir)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("versitygw: %s", said.String()[max(0, said.Len()-2000):])
		}
	})
	at := &url.URL{Scheme: "http", Host: address}
	eventually(t, "versitygw answers", func() bool {
		r, err := http.Get(at.String())
		if err == nil {
			r.Body.Close()
		}
		return err == nil
	})
	front.Behind = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host // it is signed
	}}
}

// stored waits until the store has a file of the workspace.
func (m *apartTeam) stored(name string) {
	m.Helper()
	eventually(m.T, name+" is in the store", func() bool {
		n := 0
		if err := m.store.Row(m.Context(), "SELECT count(*) FROM kept WHERE noun = 'workspace' AND name = $1", []any{name}, &n); err != nil {
			m.Error(err)
		}
		return n > 0
	})
}

// there waits until the machine of a replica has a file with a text, which a call makes that does not end.
func there(t *testing.T, r *managedReplica, answer <-chan string, name, text string) {
	t.Helper()
	eventually(t, name+" is on the machine of the replica", func() bool {
		select {
		case early := <-answer:
			t.Fatalf("the call has ended before it made %s: %s", name, early)
		default:
		}
		is, _ := os.ReadFile(filepath.Join(r.work, name))
		return strings.Contains(string(is), text)
	})
}

// has reports words that a text lacks.
func has(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q lacks %q", what, text, word)
		}
	}
	t.Logf("%s: %s", what, text)
}

// TestTogether has two replicas that share nothing but services, and makes each of the services and of the replicas fail
// while they work. The answers are those that an agent reads.
func TestTogether(t *testing.T) {
	t.Parallel() // it waits for leases
	m := newApartTeam(t)
	a, b := m.replica(""), m.replica("")
	for _, c := range []struct {
		name string
		test func(t *testing.T, m *apartTeam, a, b *managedReplica)
	}{
		{"engines", testEngines}, {"kills", testKills}, {"slow bucket", testSlowBucket}, {"failing bucket", testFailingBucket},
		{"bucket gone", testBucketGone}, {"engine killed", testEngineKilled}, {"directory removed", testDirectoryRemoved},
		{"workspace removed", testWorkspaceRemoved}, {"two holders", testTwoHolders},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, m, a, b)
			m.bucket.Fail(nil)
			for _, r := range []*managedReplica{a, b} {
				r.stop()
				r.start()
			}
			a.does("exec", `{"command":"true"}`) // it has the workspace
		})
	}
	t.Log(m.operator(b, "audit", "verify"))
}

// operator runs a command of an operator on the machine of a replica.
func (m *apartTeam) operator(r *managedReplica, args ...string) string {
	m.Helper()
	return finish(m.T, apart(m.path, append(args, "--config", r.file, "--data", r.data)...))
}

// testEngines has a command of one replica, and another one of the other replica.
func testEngines(t *testing.T, m *apartTeam, a, b *managedReplica) {
	a.does("write_file", `{"path":"notes.txt","content":"by a tool\n"}`, "created")
	a.does("exec", `{"command":"echo by a command >> notes.txt; mkdir src; seq 1000 > src/numbers"}`)
	b.does("exec", `{"command":"cat notes.txt; tail -n 1 src/numbers"}`, "by a command", "1000") // a has it
	has(t, "sandboxes", m.operator(a, "sandbox", "list"), "tcp://127.0.0.1:")
	has(t, "workspaces", m.operator(a, "workspaces", "list"), "work", "user ann")
	a.stop()
	b.does("exec", `{"command":"cat notes.txt; echo by b >> notes.txt"}`, "by a command")
	b.does("read_file", `{"path":"notes.txt"}`, "by b")
}

// testKills kills one replica in the middle of a command, and the other one while it stores what a command has changed.
func testKills(t *testing.T, m *apartTeam, a, b *managedReplica) {
	a.does("write_file", `{"path":"notes.txt","content":"by a tool\n"}`)
	answer := a.begin("exec", `{"command":"echo half >> notes.txt; echo of a killed server > half.txt; sleep 600"}`)
	m.stored("half.txt")
	a.kill()
	has(t, "the call of the first replica", <-answer, "no answer")
	b.does("exec", `{"command":"cat notes.txt half.txt; echo by b >> notes.txt"}`, "by a tool", "half", "of a killed server")

	var once sync.Once
	blocked, release := make(chan struct{}), make(chan struct{})
	m.bucket.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			once.Do(func() { close(blocked) })
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	answer = b.begin("exec", `{"command":"echo not acknowledged >> notes.txt; for i in $(seq 40); do echo $i > many-$i; done"}`)
	<-blocked
	b.kill()
	close(release)
	m.bucket.Fail(nil)
	has(t, "the call of the second replica", <-answer, "no answer")
	a.start()
	seen := a.does("exec", `{"command":"cat notes.txt; ls"}`, "by a tool", "half", "by b", "half.txt")
	for _, word := range []string{"not acknowledged", "many-"} {
		if strings.Contains(seen, word) {
			t.Errorf("%q has %q", seen, word)
		}
	}
	a.does("write_file", `{"path":"notes.txt","content":"a goes on\n","append":true}`)
	a.stop()
	b.start()
	has(t, "the first call on the machine of the second replica", b.does("list_files", `{"path":"."}`), "conflict-", "41 files")
	b.does("read_file", `{"path":"notes.txt"}`, "by b", "a goes on")
	b.does("exec", `{"command":"cat conflict-*/notes.txt; ls conflict-* | wc -l; rm -r conflict-*"}`, "not acknowledged", "41")
}

// testSlowBucket has a bucket that answers after two seconds.
func testSlowBucket(t *testing.T, m *apartTeam, _, b *managedReplica) {
	m.bucket.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-time.After(2 * time.Second):
		case <-r.Context().Done():
		}
		return false
	})
	began := time.Now()
	b.does("write_file", `{"path":"slow.txt","content":"slow"}`, "created")
	b.does("exec", `{"command":"for i in $(seq 20); do echo slow $i > slow-$i; done; echo done"}`, "done")
	t.Logf("a file and 20 files of a command: %s", time.Since(began))
	m.stored("slow-20")
}

// testFailingBucket has a bucket that answers with errors.
func testFailingBucket(t *testing.T, m *apartTeam, _, b *managedReplica) {
	for status, code := range map[int]string{http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "SlowDown"} {
		m.bucket.Fail(func(w http.ResponseWriter, _ *http.Request) bool {
			s3test.Error(w, status, code, "Please try again.")
			return true
		})
		has(t, "a change", b.does("write_file", fmt.Sprintf(`{"path":"%s.txt","content":"%[1]s"}`, code)),
			"unavailable: ", "do not repeat the call", "created")
		has(t, "a command", b.does("exec", `{"command":"seq 30000 | sed 's/^/line /'"}`), "unavailable: ", "line 1\n", "could not be stored")
		has(t, "reading", b.does("read_file", fmt.Sprintf(`{"path":"%s.txt"}`, code)), code)
		m.bucket.Fail(nil)
		m.stored(code + ".txt") // without another call
	}
}

// testBucketGone has a bucket that does not answer for 20 seconds.
func testBucketGone(t *testing.T, m *apartTeam, a, b *managedReplica) {
	gone := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	m.bucket.Fail(gone)
	back := time.AfterFunc(20*time.Second, func() { m.bucket.Fail(nil) })
	defer back.Stop()
	has(t, "a change", a.does("write_file", `{"path":"gone.txt","content":"gone\n"}`), "unavailable: ", "do not repeat the call")
	has(t, "a command", a.does("exec", `{"command":"cat gone.txt; echo more >> gone.txt"}`), "unavailable: ", "do not repeat the call", "returned:\ngone")
	a.does("read_file", `{"path":"gone.txt"}`, "more")
	m.stored("gone.txt")
	a.stop()
	m.bucket.Fail(gone)
	has(t, "a replica that must fetch the files", b.does("read_file", `{"path":"gone.txt"}`), "unavailable: the files of the workspace", "try again")
	m.bucket.Fail(nil)
	b.does("read_file", `{"path":"gone.txt"}`, "gone", "more")
}

// testEngineKilled kills the engine of a command.
func testEngineKilled(t *testing.T, m *apartTeam, a, b *managedReplica) {
	answer := a.begin("exec", `{"command":"echo before the end > engine.txt; sleep 600"}`)
	there(t, a, answer, "engine.txt", "before the end")
	list := m.operator(a, "sandbox", "list")
	lost := m.engines[slices.IndexFunc(m.engines, func(e *engine) bool { return strings.Contains(list, e.address) })]
	lost.kill()
	has(t, "the command on the killed engine", <-answer, "lost", lost.address)
	a.does("exec", `{"command":"cat engine.txt; echo on the other > other.txt"}`, "before the end")
	b.does("read_file", `{"path":"other.txt"}`, "on the other")
}

// testDirectoryRemoved removes the directory of the workspace under a command.
func testDirectoryRemoved(t *testing.T, m *apartTeam, a, b *managedReplica) {
	a.does("write_file", `{"path":"before.txt","content":"acknowledged\n"}`, "created")
	answer := a.begin("exec", `{"command":"echo early > early.txt; until [ -e go ]; do sleep 0.2; done; echo late > late.txt; cat before.txt"}`)
	there(t, a, answer, "early.txt", "early")
	if err := os.RemoveAll(a.work); err != nil {
		t.Fatal(err)
	}
	has(t, "the next call", b.does("read_file", `{"path":"before.txt"}`), "acknowledged", "was removed on the server")
	b.does("write_file", `{"path":"go","content":"go"}`, "created")
	b.does("exec", `{"command":"ls"}`, "before.txt", "go") // brings the file to the command
	has(t, "the command", <-answer, "acknowledged")
	has(t, "the files after it", b.does("exec", `{"command":"cat before.txt late.txt"}`), "acknowledged", "late")
}

// testWorkspaceRemoved tries to remove the workspace from the store while a command runs in it.
func testWorkspaceRemoved(t *testing.T, m *apartTeam, a, b *managedReplica) {
	answer := a.begin("exec", `{"command":"echo early > early-on.txt; until [ -e go-on ]; do sleep 0.2; done; echo late"}`)
	there(t, a, answer, "early-on.txt", "early")
	out, err := apart(m.path, "workspaces", "remove", "work", "--yes", "--config", b.file, "--data", b.data).CombinedOutput()
	if err == nil {
		t.Error("a workspace was removed that a replica works on")
	}
	has(t, "workspaces remove", string(out), "works on")
	b.does("write_file", `{"path":"go-on","content":""}`)
	b.does("exec", `{"command":"true"}`) // brings the file to the command
	has(t, "the command", <-answer, "late")
	a.stop()
	b.stop()
	has(t, "workspaces remove", m.operator(b, "workspaces", "remove", "work", "--yes"), "was removed")
	a.start()
	a.does("list_files", `{"path":"."}`, "0 entries")
}

// testTwoHolders freezes the replica that has the workspace, until the other one has it too.
func testTwoHolders(t *testing.T, m *apartTeam, a, b *managedReplica) {
	a.does("write_file", `{"path":"notes.txt","content":"by a\n"}`)
	answer := a.begin("exec", `{"command":"echo of the frozen one >> notes.txt; sleep 4; echo of the frozen one > frozen.txt"}`)
	there(t, a, answer, "notes.txt", "of the frozen one")
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b.does("read_file", `{"path":"notes.txt"}`, "by a")
	t.Logf("the other replica has it after %s", time.Since(began))
	b.does("write_file", `{"path":"notes.txt","content":"b goes on\n","append":true}`, "notes.txt")
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	has(t, "the call of the frozen replica", <-answer, "conflict-")
	eventually(t, "the changes of the frozen replica are put aside", func() bool {
		return strings.Contains(a.does("list_files", `{"path":"."}`), "conflict-")
	})
	has(t, "the files", b.does("exec", `{"command":"cat notes.txt; echo; cat conflict-*/*"}`), "b goes on", "of the frozen one")
}
