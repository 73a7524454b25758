//go:build unix

package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/docker"
)

// TestMain is also what runs in pods: the init container, and the agent without the filter of system calls that a container gets.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case InstallArg:
			syscall.Exit(Install(os.Args[2:]))
		case docker.StageArg:
			syscall.Exit(agent.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// A cluster of the tests speaks the documented wire format of the API: pods are created, read, watched, deleted and attached to. Its one
// node runs a process for each container, in directories for the volumes.
type fakeCluster struct {
	t    *testing.T
	http *httptest.Server
	base string // of the directories in pods

	mu       sync.Mutex
	pods     map[string]*fakePod
	policies string // JSON of the list
	version  int
	changed  chan struct{}
	requests []string
	attached []*websocket.Conn
	// refuse returns an answer in place of the real one; 0 for none.
	refuse func(r *http.Request) (code int, message string)
	// start changes the status of a new pod, and returns false if it never runs. It is set before the first request.
	start func(p *fakePod) bool
}

// A fakePod is a pod and its process.
type fakePod struct {
	pod     pod
	version int
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	errs    io.Reader
	ended   chan struct{}
}

const (
	testToken = "token-of-the-service-account"
	denyAll   = `{"items":[{"metadata":{"name":"deny"},"spec":{"podSelector":{},"policyTypes":["Ingress","Egress"]}}]}`
)

func newCluster(t *testing.T) *fakeCluster {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &fakeCluster{t: t, base: base, pods: map[string]*fakePod{}, policies: denyAll, changed: make(chan struct{})}
	mux := http.NewServeMux()
	const in = "/api/v1/namespaces/{namespace}/pods"
	mux.HandleFunc("POST "+in, c.create)
	mux.HandleFunc("GET "+in, c.list)
	mux.HandleFunc("GET "+in+"/{name}", c.get)
	mux.HandleFunc("DELETE "+in+"/{name}", c.remove)
	mux.HandleFunc("GET "+in+"/{name}/attach", c.attach)
	mux.HandleFunc("GET /apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, _ = io.WriteString(w, c.policies)
	})
	c.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		what := r.Method + " " + r.URL.Path
		if r.URL.Query().Has("watch") {
			what += "?watch"
		}
		c.requests = append(c.requests, what)
		refuse := c.refuse
		c.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+testToken {
			refusal(w, 401, "Unauthorized")
			return
		}
		if refuse != nil {
			if code, message := refuse(r); code != 0 {
				refusal(w, code, message)
				return
			}
		}
		mux.ServeHTTP(w, r)
	}))
	c.http.StartTLS()
	t.Cleanup(func() {
		c.mu.Lock()
		all := slices.Collect(maps.Values(c.pods))
		c.mu.Unlock()
		for _, p := range all {
			c.end(p, "Failed", "Killed", "")
		}
		c.cut()
		c.http.Close()
	})
	return c
}

// cut cuts all connections.
func (c *fakeCluster) cut() {
	c.mu.Lock()
	for _, conn := range c.attached {
		conn.CloseNow()
	}
	c.mu.Unlock()
	c.http.CloseClientConnections()
}

func refusal(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": http.StatusText(code), "code": code,
	})
}

// kubeconfig writes a file with the address and the token.
func (c *fakeCluster) kubeconfig() string {
	c.t.Helper()
	dir := c.t.TempDir()
	ca := pemOf(c.http.Certificate().Raw)
	for name, text := range map[string]string{"ca.pem": ca, "token": testToken + "\n", "config": fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: test, user: server}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority: ca.pem}}]
users: [{name: server, user: {tokenFile: %q}}]
`, c.http.URL, filepath.Join(dir, "token"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	return filepath.Join(dir, "config")
}

// change changes a pod, and wakes the watches.
func (c *fakeCluster) change(p *fakePod, do func(*podStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	p.version = c.version
	do(&p.pod.Status)
	p.pod.Metadata.ResourceVersion = fmt.Sprint(p.version)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *fakeCluster) create(w http.ResponseWriter, r *http.Request) {
	p := &fakePod{ended: make(chan struct{})}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p.pod); err != nil {
		refusal(w, 400, err.Error())
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		c.mu.Lock()
		taken := c.pods[p.pod.Metadata.Name] != nil
		if !taken {
			c.pods[p.pod.Metadata.Name] = p
		}
		c.mu.Unlock()
		if taken {
			refusal(w, 409, "the pod exists already")
			return
		}
		c.change(p, func(s *podStatus) { s.Phase = "Pending" })
		if c.start == nil || c.start(p) {
			go c.run(p)
		}
	}
	w.WriteHeader(201)
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(p.pod)
}

// run is the kubelet.
func (c *fakeCluster) run(p *fakePod) {
	spec := p.pod.Spec
	for _, m := range spec.Containers[0].VolumeMounts {
		if err := os.MkdirAll(m.MountPath, 0o755); err != nil {
			c.t.Error(err)
		}
	}
	if out, err := exec.Command(os.Args[0], spec.InitContainers[0].Args...).CombinedOutput(); err != nil {
		c.t.Errorf("the init container: %v: %s", err, out)
		return
	}
	cmd := exec.Command(spec.Containers[0].Command[0], spec.Containers[0].Command[1:]...)
	cmd.Dir, cmd.SysProcAttr = spec.Containers[0].WorkingDir, &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Error(err)
		return
	}
	out, theirOut, _ := os.Pipe()
	errs, theirErrs, _ := os.Pipe()
	cmd.Stdout, cmd.Stderr = theirOut, theirErrs
	err = cmd.Start()
	theirOut.Close()
	theirErrs.Close()
	if err != nil {
		c.t.Error(err)
		return
	}
	c.change(p, func(s *podStatus) {
		p.cmd, p.in, p.out, p.errs = cmd, in, out, errs
		s.Phase = "Running"
		s.ContainerStatuses = []containerStatus{{Name: container, State: containerState{Running: &struct{}{}}}}
	})
	_ = cmd.Wait()
	close(p.ended)
	c.change(p, func(s *podStatus) {
		if s.Phase == "Running" {
			s.Phase = "Succeeded"
			s.ContainerStatuses = []containerStatus{{Name: container, State: containerState{Terminated: &cause{Reason: "Completed"}}}}
		}
	})
}

// end kills the process of a pod, with a reason in its status.
func (c *fakeCluster) end(p *fakePod, phase, reason, message string) {
	c.change(p, func(s *podStatus) { s.Phase, s.Reason, s.Message = phase, reason, message })
	c.mu.Lock()
	cmd := p.cmd
	c.mu.Unlock()
	if cmd != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

func (c *fakeCluster) find(w http.ResponseWriter, r *http.Request) *fakePod {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[r.PathValue("name")]
	if p == nil {
		refusal(w, 404, `pods "`+r.PathValue("name")+`" not found`)
	}
	return p
}

func (c *fakeCluster) get(w http.ResponseWriter, r *http.Request) {
	if p := c.find(w, r); p != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(p.pod)
	}
}

func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		c.watch(w, r)
		return
	}
	if r.URL.Query().Get("labelSelector") != selector {
		refusal(w, 400, "a selector is missing")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[string]any{"items": []pod{}}
	for _, p := range c.pods {
		list["items"] = append(list["items"].([]pod), p.pod)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// watch sends the changes of one pod after a version.
func (c *fakeCluster) watch(w http.ResponseWriter, r *http.Request) {
	name, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	var seen int
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &seen)
	for {
		c.mu.Lock()
		p, changed := c.pods[name], c.changed
		if p == nil {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "DELETED", "object": map[string]any{}})
			c.mu.Unlock()
			return
		}
		if p.version > seen {
			seen = p.version
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": p.pod})
		}
		c.mu.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (c *fakeCluster) remove(w http.ResponseWriter, r *http.Request) {
	if p := c.find(w, r); p != nil {
		c.end(p, p.pod.Status.Phase, "", "")
		c.change(p, func(*podStatus) { delete(c.pods, p.pod.Metadata.Name) })
		_, _ = io.WriteString(w, "{}")
	}
}

// attach joins a WebSocket to the streams of the process, as version 5 of the protocol says. Stdin ends with the connection.
func (c *fakeCluster) attach(w http.ResponseWriter, r *http.Request) {
	p := c.find(w, r)
	if p == nil {
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.attached = append(c.attached, conn)
	in, streams := p.in, map[byte]io.Reader{1: p.out, 2: p.errs}
	c.mu.Unlock()
	go func() {
		defer in.Close()
		for {
			_, m, err := conn.Read(ctx)
			if err != nil || len(m) > 1 && m[0] == 255 && m[1] == 0 {
				return
			}
			if len(m) > 0 && m[0] == 0 {
				if _, err := in.Write(m[1:]); err != nil {
					return
				}
			}
		}
	}()
	var copying sync.WaitGroup
	for channel, from := range streams {
		copying.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := from.Read(buf[1:])
				buf[0] = channel
				if n > 0 && conn.Write(ctx, websocket.MessageBinary, buf[:n+1]) != nil || err != nil {
					return
				}
			}
		})
	}
	copying.Wait()
	_ = conn.Write(ctx, websocket.MessageBinary, append([]byte{3}, `{"metadata":{},"status":"Success"}`...))
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

// wait waits until no process of a pod runs any more.
func (c *fakeCluster) wait(p *fakePod) {
	c.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		c.t.Fatal("the process of the pod does not end")
	}
}

// only returns the one pod of the cluster.
func (c *fakeCluster) only() *fakePod {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pods) != 1 {
		c.t.Fatalf("there are %d pods", len(c.pods))
	}
	for _, p := range c.pods {
		return p
	}
	return nil
}

func (c *fakeCluster) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}
