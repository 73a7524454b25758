//go:build unix

package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A realCluster is an API server with its etcd. The test is its scheduler and its nodes: it writes the status of pods.
type realCluster struct {
	*testing.T
	dir, port string
	line      []string
	server    *exec.Cmd
	admin     *api
	etcd      string
}

const spaces = "/api/v1/namespaces"

// newReal starts the API server in the directory MCP_TOOLS_KUBERNETES: .ci/nightly builds it.
func newReal(t *testing.T) *realCluster {
	bin := os.Getenv("MCP_TOOLS_KUBERNETES")
	if bin == "" {
		t.Skip("MCP_TOOLS_KUBERNETES does not name a directory with kube-apiserver")
	}
	c := &realCluster{T: t, dir: t.TempDir(), port: free(t)}
	c.etcd = "http://127.0.0.1:" + free(t)
	etcd := exec.CommandContext(t.Context(), needtest.Program(t, "etcd"), "--data-dir", c.dir+"/etcd", "--listen-client-urls", c.etcd,
		"--advertise-client-urls", c.etcd, "--listen-peer-urls", "http://127.0.0.1:"+free(t))
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Wait() }) // the context has killed it
	key, err := exec.Command(needtest.Program(t, "openssl"), "genrsa", "2048").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sa.key": string(key), "tokens": "admin-t,admin,1,system:masters\nserver-t,server,2\nnobody-t,nobody,3\n"} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.line = []string{filepath.Join(bin, "kube-apiserver"), "--etcd-servers", c.etcd, "--bind-address", "127.0.0.1", "--secure-port", c.port,
		"--cert-dir", c.dir + "/certs", "--token-auth-file", c.dir + "/tokens", "--authorization-mode", "RBAC", "--service-account-issuer",
		"https://kubernetes.default.svc", "--service-account-key-file", c.dir + "/sa.key", "--service-account-signing-key-file",
		c.dir + "/sa.key", "--service-cluster-ip-range", "10.0.0.0/24"}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func (c *realCluster) stop() {
	_ = c.server.Process.Kill()
	_ = c.server.Wait()
}

// start starts the API server, and waits until it is ready.
func (c *realCluster) start() {
	c.Helper()
	c.server = exec.Command(c.line[0], c.line[1:]...)
	log, err := os.Create(c.dir + "/log")
	if err != nil {
		c.Fatal(err)
	}
	c.server.Stderr = log
	if err := c.server.Start(); err != nil {
		c.Fatal(err)
	}
	for late := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if c.admin, err = connect(c.config("admin-t")); err == nil {
			if err = c.admin.do(c.Context(), http.MethodGet, "/readyz", nil, nil, nil); err == nil {
				return
			}
		}
		if time.Now().After(late) {
			text, _ := os.ReadFile(c.dir + "/log")
			c.Fatalf("the API server does not start: %v\n%s", err, text[max(0, len(text)-2000):])
		}
	}
}

// config returns the file of a kubeconfig with a token.
func (c *realCluster) config(token string) string {
	file := filepath.Join(c.dir, "config-"+token)
	text := fmt.Sprintf("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: "+
		"{server: 'https://127.0.0.1:%s', certificate-authority: certs/apiserver.crt}}]\nusers: [{name: u, user: {token: %s}}]\n", c.port, token)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	return file
}

// send sends an object as the administrator.
func (c *realCluster) send(method, path, object string) {
	c.Helper()
	if err := c.admin.do(c.Context(), method, path, nil, json.RawMessage(object), nil); err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
}

// space creates a namespace with restricted Pod Security, where the server has the rights of docs/guides/kubernetes.md.
func (c *realCluster) space(name string) {
	c.Helper()
	c.send("POST", spaces, `{"metadata":{"name":"`+name+`","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	c.send("POST", spaces+"/"+name+"/serviceaccounts", `{"metadata":{"name":"default"}}`)
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + name
	c.send("POST", rbac+"/roles", `{"metadata":{"name":"r"},"rules":[
		{"apiGroups":[""],"resources":["pods"],"verbs":["create","get","list","watch","delete"]},
		{"apiGroups":[""],"resources":["pods/attach"],"verbs":["create","get"]},
		{"apiGroups":["networking.k8s.io"],"resources":["networkpolicies"],"verbs":["list"]}]}`)
	c.send("POST", rbac+"/rolebindings", `{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
		"subjects":[{"kind":"User","name":"server","apiGroup":"rbac.authorization.k8s.io"}]}`)
	c.send("POST", "/apis/networking.k8s.io/v1/namespaces/"+name+"/networkpolicies",
		`{"metadata":{"name":"deny"},"spec":{"podSelector":{},"policyTypes":["Ingress","Egress"]}}`)
}

// launcher returns a launcher for a namespace.
func (c *realCluster) launcher(name, token string) *Launcher {
	l := New(Options{Image: "python:3.14", Agent: "mcp-tools:1", Namespace: name, Kubeconfig: c.config(token), Disk: 1 << 30})
	c.Cleanup(func() { l.Close() })
	return l
}

func spec(id string) sandbox.Spec {
	return sandbox.Spec{ID: id, Owner: "ann", Session: "s", Limits: sandbox.Limits{Memory: 128 << 20, Temp: 16 << 20},
		Require: []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Memory}}
}

// set writes the status of a pod, as a kubelet does.
func (c *realCluster) set(name, pod, status string) {
	c.Helper()
	r, err := c.admin.request(c.Context(), http.MethodPatch, pods(name)+"/"+pod+"/status", nil, []byte(`{"status":`+status+`}`))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := c.admin.client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.Fatal(failure(resp))
	}
}

// only waits for the one pod of a namespace.
func (c *realCluster) only(name string) pod {
	c.Helper()
	for late := time.Now().Add(long); ; time.Sleep(20 * time.Millisecond) {
		list, err := c.admin.list(c.Context(), name, selector)
		if err == nil && len(list) == 1 {
			return list[0]
		}
		if time.Now().After(late) {
			c.Fatalf("%d pods, %v", len(list), err)
		}
	}
}

// launch launches in the background.
func (c *realCluster) launch(l *Launcher, s sandbox.Spec) <-chan error {
	result := make(chan error, 1)
	ctx, cancel := context.WithTimeout(c.Context(), long)
	go func() {
		defer cancel()
		_, err := l.Launch(ctx, s)
		result <- err
	}()
	return result
}

func (c *realCluster) says(err error, kind tool.Kind, want string) {
	c.Helper()
	known := (*tool.Error)(nil)
	if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.What, want) || known.Next == "" {
		c.Errorf("%v, want %q", err, want)
	}
}

// TestRealServer tries the requests against the API server of Kubernetes: its admission of pods, authorization, quotas, watches and
// deletions. Nothing runs in the pods, so streams are not part of it.
func TestRealServer(t *testing.T) {
	c := newReal(t)
	c.space("boxes")
	l := c.launcher("boxes", "server-t")
	ran := `{"phase":"Running","containerStatuses":[{"name":"sandbox","image":"i","imageID":"x","ready":true,"restartCount":0,"state":{"running":{}}}]}`

	f := l.Probe(t.Context())
	if !f.Works || len(f.Guarantees) != 5 {
		t.Errorf("the probe: %+v", f)
	}

	// A pod passes restricted Pod Security, its status is watched, and it is deleted when the attachment fails: it has no node.
	result := c.launch(l, spec("one"))
	p := c.only("boxes")
	if p.Spec.ActiveDeadlineSeconds != deadline || p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
		t.Errorf("the pod is stored as %+v", p.Spec)
	}
	c.set("boxes", p.Metadata.Name, ran)
	c.says(<-result, tool.Unavailable, "API server of Kubernetes")
	if list, err := c.admin.list(t.Context(), "boxes", selector); err != nil || len(list) != 0 {
		t.Errorf("%d pods are left, %v", len(list), err)
	}

	for name, try := range map[string]struct{ status, want string }{
		"expired": {`{"phase":"Failed","reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}`, "DeadlineExceeded"},
		"image":   {`{"containerStatuses":[{"name":"sandbox","image":"i","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"ErrImagePull","message":"not found"}}}]}`, "cannot be pulled: not found"},
	} {
		result := c.launch(l, spec(name))
		c.set("boxes", c.only("boxes").Metadata.Name, try.status)
		c.says(<-result, tool.Unavailable, try.want)
	}

	// Somebody deletes the pod.
	result = c.launch(l, spec("deleted"))
	if err := c.admin.remove(t.Context(), "boxes", c.only("boxes").Metadata.Name); err != nil {
		t.Fatal(err)
	}
	c.says(<-result, tool.Unavailable, "deleted while it started")

	// The API server is killed while a pod starts, and comes back.
	result = c.launch(l, spec("back"))
	p = c.only("boxes")
	c.stop()
	c.start()
	c.set("boxes", p.Metadata.Name, `{"phase":"Failed","reason":"Evicted","message":"low on memory"}`)
	c.says(<-result, tool.Unavailable, "Evicted: low on memory")

	// A watch from a version that etcd has compacted ends, and the pod is read again.
	if err := l.api.create(t.Context(), "boxes", l.pod(spec("old")), false); err != nil {
		t.Fatal(err)
	}
	old := c.only("boxes")
	for n := range 3 {
		c.set("boxes", old.Metadata.Name, fmt.Sprintf(`{"message":"change %d"}`, n))
	}
	body := fmt.Sprintf(`{"revision":%q,"physical":true}`, c.only("boxes").Metadata.ResourceVersion)
	if resp, err := http.Post(c.etcd+"/v3/kv/compaction", "application/json", bytes.NewReader([]byte(body))); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	c.stop()
	c.start() // without the history of its cache
	err := l.api.watch(t.Context(), "boxes", old, func(pod) (bool, error) { return false, nil })
	if !errors.Is(err, errWatchEnded) {
		t.Errorf("a watch from an old version: %v", err)
	}
	l.reap(l.api)
	c.only("boxes") // it has not ended
	c.set("boxes", old.Metadata.Name, `{"phase":"Succeeded"}`)
	l.reap(l.api)
	if list, err := c.admin.list(t.Context(), "boxes", selector); err != nil || len(list) != 0 {
		t.Errorf("%d pods are left after a server has collected those that ended, %v", len(list), err)
	}

	// Refusals.
	_, err = c.launcher("boxes", "nobody-t").Launch(t.Context(), spec("nobody"))
	c.says(err, tool.Unavailable, "lacks a right in the namespace boxes")
	_, err = c.launcher("boxes", "wrong-t").Launch(t.Context(), spec("wrong"))
	c.says(err, tool.Unavailable, "lacks a right")
	c.send("POST", spaces+"/boxes/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}}}`)
	c.send("PUT", spaces+"/boxes/resourcequotas/q/status", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}},"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}`)
	_, err = l.Launch(t.Context(), spec("quota"))
	c.says(err, tool.Busy, "the quota of the namespace boxes is used up")
	if err := c.admin.do(t.Context(), http.MethodDelete, spaces+"/boxes/resourcequotas/q", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.admin.do(t.Context(), http.MethodDelete, "/apis/networking.k8s.io/v1/namespaces/boxes/networkpolicies/deny", url.Values{}, nil, nil)
	_, err = l.Launch(t.Context(), spec("open"))
	c.says(err, tool.Unavailable, "cannot give the required guarantees of the sandbox: network")
	open := l.pod(spec("capable"))
	open.Spec.Containers[0].SecurityContext.Capabilities.Drop = nil
	c.says(l.explain(l.api.create(t.Context(), "boxes", open, false)), tool.Unavailable, "does not admit the pods of sandboxes")
	c.stop()
	_, err = l.Launch(t.Context(), spec("gone"))
	c.says(err, tool.Unavailable, "cannot be reached")
	c.start()
}
