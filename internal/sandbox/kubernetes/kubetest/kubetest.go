// Package kubetest starts Kubernetes for tests: [New] an API server with its etcd, [Cluster.StartNode] a node whose pods
// run. The programs of Kubernetes are in the directory that MCP_TOOLS_KUBERNETES names: .ci/nightly builds them.
package kubetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

const (
	// Admin is the token of an administrator, Server of the server of [Cluster.Space], and Nobody of a user without rights.
	Admin, Server, Nobody = "admin-t", "server-t", "nobody-t"
	// hang is how long something may take before the test fails.
	hang = 5 * time.Minute
)

// A Cluster is an API server with its etcd, and perhaps a node.
type Cluster struct {
	Etcd string // the URL of etcd

	t              testing.TB
	dir, bin, port string
	line           []string
	server         *exec.Cmd
	kubelet        *exec.Cmd
	client         *http.Client
}

// New starts an API server, whose authorizer is RBAC.
func New(t testing.TB) *Cluster {
	t.Helper()
	bin := os.Getenv("MCP_TOOLS_KUBERNETES")
	if bin == "" {
		t.Skip("MCP_TOOLS_KUBERNETES does not name a directory with the programs of Kubernetes")
	}
	dir, err := os.MkdirTemp("/tmp", "kube") // a short name: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &Cluster{t: t, dir: dir, bin: bin, port: free(t), client: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // its certificate is made at its start
	}}
	c.Etcd = "http://127.0.0.1:" + free(t)
	etcd := c.run("etcd", needtest.Program(t, "etcd"), "--data-dir", dir+"/etcd", "--listen-client-urls", c.Etcd,
		"--advertise-client-urls", c.Etcd, "--listen-peer-urls", "http://127.0.0.1:"+free(t))
	t.Cleanup(func() { end(etcd) })
	key, err := exec.Command(needtest.Program(t, "openssl"), "genrsa", "2048").Output()
	if err != nil {
		t.Fatal(err)
	}
	c.write("sa.key", string(key))
	c.write("tokens", Admin+",admin,1,system:masters\n"+Server+",server,2\n"+Nobody+",nobody,3\n")
	c.line = []string{filepath.Join(bin, "kube-apiserver"), "--etcd-servers", c.Etcd, "--bind-address", "127.0.0.1", "--secure-port", c.port,
		"--cert-dir", dir + "/certs", "--token-auth-file", dir + "/tokens", "--authorization-mode", "RBAC", "--service-account-issuer",
		"https://kubernetes.default.svc", "--service-account-key-file", dir + "/sa.key", "--service-account-signing-key-file",
		dir + "/sa.key", "--service-cluster-ip-range", "10.0.0.0/24", "--kubelet-preferred-address-types", "Hostname"}
	c.Start()
	t.Cleanup(c.Stop)
	return c
}

// free returns a free port.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func (c *Cluster) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return path
}

// run starts a program, whose output goes to a file.
func (c *Cluster) run(log string, line ...string) *exec.Cmd {
	c.t.Helper()
	f, err := os.OpenFile(filepath.Join(c.dir, log+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Until calls try until it returns nil.
func (c *Cluster) Until(what, log string, try func() error) {
	c.t.Helper()
	for late := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(late) {
			text, _ := os.ReadFile(filepath.Join(c.dir, log+".log"))
			c.t.Fatalf("%s: %v\n%s", what, err, text[max(0, len(text)-4000):])
		}
	}
}

// Stop kills the API server.
func (c *Cluster) Stop() { end(c.server) }

// Start starts the API server again, and waits until it is ready.
func (c *Cluster) Start() {
	c.t.Helper()
	c.server = c.run("apiserver", c.line...)
	c.Until("the API server does not start", "apiserver", func() error { return c.Do(http.MethodGet, "/readyz", "", nil) })
}

// Config returns the file of a kubeconfig with a token.
func (c *Cluster) Config(token string) string {
	c.t.Helper()
	return c.write("config-"+token, fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%s', certificate-authority: %s/certs/apiserver.crt}}]\nusers: [{name: u, user: {token: %s}}]\n",
		c.port, c.dir, token))
}

// Do sends a request as the administrator, and decodes the answer into a value that is not nil.
func (c *Cluster) Do(method, path, object string, into any) error {
	return c.send(method, path, "application/json", object, into)
}

// Patch changes an object as the administrator.
func (c *Cluster) Patch(path, change string) {
	c.t.Helper()
	if err := c.send(http.MethodPatch, path, "application/merge-patch+json", change, nil); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) send(method, path, kind, object string, into any) error {
	r, err := http.NewRequestWithContext(context.Background(), method, "https://127.0.0.1:"+c.port+path, bytes.NewReader([]byte(object)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+Admin)
	r.Header.Set("Content-Type", kind)
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// Send sends an object as the administrator.
func (c *Cluster) Send(method, path, object string) {
	c.t.Helper()
	if err := c.Do(method, path, object, nil); err != nil {
		c.t.Fatal(err)
	}
}

// Space creates a namespace with restricted Pod Security, where the user of the token Server has the rights of
// docs/guides/kubernetes.md.
func (c *Cluster) Space(name string) {
	c.t.Helper()
	const spaces = "/api/v1/namespaces"
	c.Send("POST", spaces, `{"metadata":{"name":"`+name+`","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	c.Send("POST", spaces+"/"+name+"/serviceaccounts", `{"metadata":{"name":"default"}}`)
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + name
	c.Send("POST", rbac+"/roles", `{"metadata":{"name":"r"},"rules":[
		{"apiGroups":[""],"resources":["pods"],"verbs":["create","get","list","watch","delete"]},
		{"apiGroups":[""],"resources":["pods/attach"],"verbs":["create","get"]},
		{"apiGroups":["networking.k8s.io"],"resources":["networkpolicies"],"verbs":["list"]}]}`)
	c.Send("POST", rbac+"/rolebindings", `{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},
		"subjects":[{"kind":"User","name":"server","apiGroup":"rbac.authorization.k8s.io"}]}`)
	c.Send("POST", "/apis/networking.k8s.io/v1/namespaces/"+name+"/networkpolicies",
		`{"metadata":{"name":"deny"},"spec":{"podSelector":{},"policyTypes":["Ingress","Egress"]}}`)
}
