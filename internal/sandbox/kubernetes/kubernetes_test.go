//go:build unix

package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// long stops a hang.
const long = time.Minute

// A place is a launcher and a workspace.
type place struct {
	*testing.T
	*Launcher
	cluster *fakeCluster
	dir     string
	number  int
}

func newPlace(t *testing.T) *place {
	t.Helper()
	c := newCluster(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{
		Image: "python:3.14", Agent: "mcp-tools:1", Namespace: "boxes", Kubeconfig: c.kubeconfig(), Disk: 1 << 30, base: c.base,
	})
	t.Cleanup(func() { l.Close() })
	return &place{T: t, Launcher: l, cluster: c, dir: dir}
}

func (p *place) spec() sandbox.Spec {
	p.number++
	return sandbox.Spec{
		ID: "id" + string(rune('a'+p.number)), Owner: "ann", Session: "s1", Binds: p.Layout(sandbox.Directories{Dir: p.dir}).Binds,
		Limits:  sandbox.Limits{Memory: 128 << 20, Processes: 64, Temp: 16 << 20},
		Require: []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Memory},
	}
}

func (p *place) try(s sandbox.Spec) (*box.Box, error) {
	ctx, cancel := context.WithTimeout(p.Context(), long)
	defer cancel()
	link, err := p.Launch(ctx, s)
	if err != nil {
		return nil, err
	}
	b, err := box.Open(ctx, link)
	if err == nil {
		p.Cleanup(func() { b.Close() })
	}
	return b, err
}

func (p *place) open(s sandbox.Spec) *box.Box {
	p.Helper()
	b, err := p.try(s)
	if err != nil {
		p.Fatal(err)
	}
	return b
}

// A sink gathers what comes of a command.
type sink struct {
	mu   sync.Mutex
	out  bytes.Buffer
	exit wire.ExitBody
	err  error
	gone chan struct{}
}

func (s *sink) Output(_ sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(data)
}
func (s *sink) Skipped(sandbox.Stream, int64) {}
func (s *sink) Exited(e wire.ExitBody)        { s.exit = e }
func (s *sink) Gone(err error)                { s.err = err; close(s.gone) }

func (s *sink) wait(t *testing.T) string {
	t.Helper()
	select {
	case <-s.gone:
	case <-time.After(long):
		t.Fatal("the command does not end")
	}
	return s.out.String()
}

func (p *place) start(b *box.Box, line string) *sink {
	p.Helper()
	s := &sink{gone: make(chan struct{})}
	_, err := b.Start(p.Context(), wire.StartBody{
		Argv: []string{"/bin/sh", "-c", line}, Dir: p.cluster.base + "/workspace", Env: []string{"PATH=/usr/bin:/bin"}, Merge: true, Timeout: long,
	}, s)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *place) run(b *box.Box, line string) string {
	p.Helper()
	return p.start(b, line).wait(p.T)
}

// TestPod runs commands in a pod, with files and the proxy over the stream.
func TestPod(t *testing.T) {
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.dir, "in"), []byte("from here\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(t.TempDir(), "proxy")
	listener, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the proxy
		_, _ = io.WriteString(w, strings.Repeat("x", 3<<20)+r.Host)
	}))
	s := p.spec()
	s.Proxy = sock
	b := p.open(s)
	if got := p.run(b, "cat in; echo out > made"); got != "from here\n" {
		t.Errorf("%q", got)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "made")); string(text) != "out\n" {
		t.Errorf("%q, %v", text, err)
	}
	conn, err := net.Dial("tcp", "127.0.0.1:3128") // the process of the pod has the network of this machine
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET http://example.com/ HTTP/1.0\r\nHost: example.com\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !bytes.HasSuffix(answer, []byte("xexample.com")) || len(answer) < 3<<20 {
		t.Errorf("the proxy answers %d bytes, %v", len(answer), err)
	}
	big := p.run(b, "head -c 5000000 /dev/zero | tr '\\0' y")
	if len(big) != 5000000 {
		t.Errorf("%d bytes of output", len(big))
	}
	running := p.start(b, "sleep 4242")
	pod := p.cluster.only()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	running.wait(t)
	p.cluster.wait(pod)
	if n := p.cluster.count(); n != 0 {
		t.Errorf("%d pods are left", n)
	}
	f := p.Probe(t.Context())
	if !f.Works || !f.Proxy || len(f.Guarantees) != 5 || f.Advice != "" {
		t.Errorf("%+v", f)
	}
	if hosts := p.Hosts(t.Context()); hosts[0].Name != "kubernetes/boxes" || hosts[0].Problem != "" {
		t.Errorf("%+v", hosts)
	}
}

// TestLostServer cuts the stream, as the end of the server does: nothing of the pod runs on, and the next server removes the pod.
func TestLostServer(t *testing.T) {
	p := newPlace(t)
	b := p.open(p.spec())
	s := p.start(b, "(setsid sleep 4242 &); sleep 4242")
	pod := p.cluster.only()
	p.cluster.mu.Lock()
	p.cluster.refuse = func(*http.Request) (int, string) { return 503, "no leader" }
	p.cluster.mu.Unlock()
	p.cluster.cut()
	s.wait(t)
	if !errors.Is(s.err, box.ErrLost) {
		t.Errorf("%v", s.err)
	}
	p.cluster.wait(pod)
	if n := p.cluster.count(); n != 1 {
		t.Fatalf("%d pods are there", n)
	}
	p.cluster.mu.Lock()
	p.cluster.refuse = nil
	p.cluster.mu.Unlock()
	b.Close()
	p.open(p.spec()) // the next pod of this server or another removes what has ended
	p.reaping.Wait()
	if n := p.cluster.count(); n != 1 {
		t.Errorf("%d pods are there", n)
	}
}

// TestEnds has pods that end while a command runs: the error says why.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*fakeCluster, *fakePod)
		want string
	}{
		"evicted": {func(c *fakeCluster, p *fakePod) {
			c.end(p, "Failed", "Evicted", "The node was low on resource: memory.")
		}, "the pod has ended: Evicted: The node was low on resource: memory."},
		"deadline": {func(c *fakeCluster, p *fakePod) {
			c.end(p, "Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
		}, "DeadlineExceeded"},
		"over its memory": {func(c *fakeCluster, p *fakePod) { // with cgroup v2 the kernel ends all processes of the container
			c.change(p, func(s *podStatus) {
				s.ContainerStatuses = []containerStatus{{Name: container, State: containerState{Terminated: &cause{Reason: "OOMKilled", ExitCode: 137}}}}
			})
			c.end(p, "Failed", "", "")
		}, "the pod has ended: OOMKilled with the exit code 137"},
		"node lost": {func(c *fakeCluster, p *fakePod) {
			c.change(p, func(s *podStatus) {
				s.Reason, s.Message = "NodeLost", "Node n1 which was running the pod is unresponsive"
			})
			c.cut()
		}, "NodeLost: Node n1 which was running the pod is unresponsive"},
		"deleted": {func(c *fakeCluster, p *fakePod) {
			c.change(p, func(*podStatus) { delete(c.pods, p.pod.Metadata.Name) })
			c.end(p, "Failed", "", "")
		}, "the pod was deleted"},
		"deleted with grace": {func(c *fakeCluster, p *fakePod) { // it is there until its containers have ended
			c.change(p, func(*podStatus) { p.pod.Metadata.Deleted = "2026-01-01T00:00:00Z" })
			c.end(p, "Failed", "", "")
		}, "the pod was deleted"},
		"preempted": {func(c *fakeCluster, p *fakePod) {
			c.change(p, func(s *podStatus) {
				p.pod.Metadata.Deleted = "2026-01-01T00:00:00Z"
				s.Conditions = []condition{{Type: "DisruptionTarget", Status: "True", Reason: "PreemptionByScheduler", Message: "preempting to accommodate a higher priority pod"}}
			})
			c.end(p, "Failed", "", "")
		}, "the pod was deleted: PreemptionByScheduler: preempting to accommodate a higher priority pod"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			b := p.open(p.spec())
			s := p.start(b, "sleep 4242")
			pod := p.cluster.only()
			c.end(p.cluster, pod)
			s.wait(t)
			if !errors.Is(s.err, box.ErrLost) || !strings.Contains(s.err.Error(), c.want) || !strings.Contains(s.err.Error(), "kubernetes/boxes") {
				t.Errorf("%v", s.err)
			}
			b.Close()
			p.cluster.wait(pod)
			if n := p.cluster.count(); n != 0 {
				t.Errorf("%d pods are left", n)
			}
		})
	}
}

// TestRefusals has clusters in which no pod starts: the error says why, and nothing is left.
func TestRefusals(t *testing.T) {
	refuse := func(code int, method, message string) func(*fakeCluster) {
		return func(c *fakeCluster) {
			c.refuse = func(r *http.Request) (int, string) {
				if r.Method == method {
					return code, message
				}
				return 0, ""
			}
		}
	}
	waits := func(reason, message string) func(*fakeCluster) {
		return func(c *fakeCluster) {
			c.start = func(p *fakePod) bool {
				c.change(p, func(s *podStatus) {
					s.ContainerStatuses = []containerStatus{{Name: container, State: containerState{Waiting: &cause{Reason: reason, Message: message}}}}
				})
				return false
			}
		}
	}
	for name, c := range map[string]struct {
		set  func(*fakeCluster)
		kind tool.Kind
		want string
	}{
		"image":    {waits("ErrImagePull", "python:3.14: not found"), tool.Unavailable, "the image python:3.14 of the sandbox cannot be pulled: python:3.14: not found"},
		"config":   {waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), tool.Unavailable, "runAsNonRoot"},
		"quota":    {refuse(403, "POST", `pods "x" is forbidden: exceeded quota: boxes, requested: memory=1Gi`), tool.Busy, "the quota of the namespace boxes is used up"},
		"security": {refuse(403, "POST", `pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile`), tool.Unavailable, "does not admit the pods of sandboxes"},
		"rights":   {refuse(403, "POST", `pods is forbidden: User "x" cannot create resource "pods"`), tool.Unavailable, "lacks a right in the namespace boxes"},
		"token":    {refuse(401, "GET", "Unauthorized"), tool.Unavailable, "lacks a right"},
		"broken":   {refuse(500, "POST", "etcdserver: request timed out"), tool.Unavailable, "etcdserver: request timed out"},
		"policy":   {func(c *fakeCluster) { c.policies = `{"items":[]}` }, tool.Unavailable, "cannot give the required guarantees of the sandbox: network"},
		"gone":     {func(c *fakeCluster) { c.http.Close() }, tool.Unavailable, "cannot be reached"},
		"deleted": {func(c *fakeCluster) {
			c.start = func(p *fakePod) bool {
				c.change(p, func(*podStatus) { delete(c.pods, p.pod.Metadata.Name) })
				return false
			}
		}, tool.Unavailable, "deleted while it started"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.set(p.cluster)
			_, err := p.try(p.spec())
			known := (*tool.Error)(nil)
			if !errors.As(err, &known) || known.Kind != c.kind || !strings.Contains(known.What, c.want) || known.Next == "" {
				t.Errorf("%v", err)
			}
			if n := p.cluster.count(); n != 0 {
				t.Errorf("%d pods are left", n)
			}
			if known != nil && strings.Contains(known.Error(), p.dir) {
				t.Errorf("the error names a path of the machine: %v", known)
			}
		})
	}
}

// TestNotInTime has pods that do not start: the error says why when the time is over.
func TestNotInTime(t *testing.T) {
	for want, c := range map[string]condition{
		"no node takes it: 0/3 nodes are available: insufficient memory.": {Type: "PodScheduled", Status: "False", Reason: "Unschedulable",
			Message: "0/3 nodes are available: insufficient memory."},
		"its node does not start it": {Type: "PodScheduled", Status: "True"},
	} {
		p := newPlace(t)
		p.cluster.start = func(pod *fakePod) bool {
			p.cluster.change(pod, func(s *podStatus) { s.Conditions = []condition{c} })
			return false
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			for !p.watched() {
				time.Sleep(time.Millisecond)
			}
			cancel(context.DeadlineExceeded)
		}()
		_, err := p.Launch(ctx, p.spec())
		if err == nil || !strings.Contains(err.Error(), "does not start in time: "+want) {
			t.Errorf("%v", err)
		}
		if n := p.cluster.count(); n != 0 {
			t.Errorf("%d pods are left", n)
		}
	}
}

// watched reports whether the pod of a test is watched: it was read before.
func (p *place) watched() bool {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	return slices.Contains(p.cluster.requests, "GET /api/v1/namespaces/boxes/pods?watch")
}

// TestGoldenPod writes the pods that testdata/podsecurity, a module of its own, has checked by the admission controller of Kubernetes.
func TestGoldenPod(t *testing.T) {
	for name, change := range map[string]func(*Launcher, *sandbox.Spec){
		"plain": func(*Launcher, *sandbox.Spec) {},
		"full": func(l *Launcher, s *sandbox.Spec) {
			l.o.Runtime, l.o.PullSecret, l.o.CPU, s.Proxy = "gvisor", "registry", "500m", "/run/proxy.sock"
			s.Limits.FileSize = 2 << 30
		},
	} {
		l := New(Options{Image: "python:3.14", Agent: "ghcr.io/mcp-tools/mcp-tools:1.0.0", Namespace: "boxes", Disk: 4 << 30, Data: "/data"})
		s := sandbox.Spec{ID: "abc", Owner: "ann", Session: "s1", Limits: sandbox.Limits{Memory: 512 << 20, Temp: 512 << 20}}
		change(l, &s)
		text, err := json.MarshalIndent(l.pod(s), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", name+".json"), append(text, '\n'))
	}
}

func TestIsolated(t *testing.T) {
	for text, want := range map[string]bool{
		`[]`: false,
		`[{"spec":{"podSelector":{},"policyTypes":["Ingress","Egress"]}}]`:                                                             true,
		`[{"spec":{"podSelector":{"matchLabels":{"app.kubernetes.io/name":"mcp-tools-sandbox"}},"policyTypes":["Ingress","Egress"]}}]`: true,
		`[{"spec":{"podSelector":{"matchLabels":{"app":"x"}},"policyTypes":["Ingress","Egress"]}}]`:                                    false,
		`[{"spec":{"podSelector":{},"policyTypes":["Ingress"]}}]`:                                                                      false,
		`[{"spec":{"podSelector":{},"policyTypes":["Ingress","Egress"]}},{"spec":{"podSelector":{},"egress":[{}]}}]`:                   false,
		`[{"spec":{"podSelector":{"matchExpressions":[{}]},"policyTypes":["Ingress","Egress"]}}]`:                                      false,
	} {
		var list []policy
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		if got := isolated(list); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	head := "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
	for text, want := range map[string]string{
		"{":  "is not valid",
		head: "has no cluster for its current context",
		head + "clusters: [{name: c, cluster: {server: 'ftp://x'}}]":                                                                "is not valid",
		head + "clusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {exec: {command: aws}}}]":            "plugin",
		head + "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority-data: '!'}}]":                             "base64",
		head + "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority-data: 'eA=='}}]":                          "authority is not valid",
		head + "clusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {client-certificate-data: 'eA=='}}]": "certificate of the client",
		head + "clusters: [{name: c, cluster: {server: 'https://x:6443'}}]\nusers: [{name: u, user: {token: abc}}]":                 "",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := connect(path)
		if want == "" && (err != nil || a.name != "x:6443") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
