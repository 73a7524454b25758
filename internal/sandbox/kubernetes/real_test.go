//go:build linux

package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kubernetes/kubetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A realCluster is an API server. The test is its scheduler and its nodes: it writes the status of pods.
type realCluster struct {
	*kubetest.Cluster
	*testing.T

	admin *api
}

func newReal(t *testing.T) *realCluster {
	c := &realCluster{Cluster: kubetest.New(t), T: t}
	var err error
	if c.admin, err = connect(c.Config(kubetest.Admin)); err != nil {
		t.Fatal(err)
	}
	return c
}

// launcher returns a launcher for a namespace.
func (c *realCluster) launcher(name, token string) *Launcher {
	l := New(Options{Image: "python:3.14", Agent: "mcp-tools:1", Namespace: name, Kubeconfig: c.Config(token), Disk: 1 << 30})
	c.Cleanup(func() { l.Close() })
	return l
}

func spec(id string) sandbox.Spec {
	return sandbox.Spec{ID: id, Owner: "ann", Session: "s", Limits: sandbox.Limits{Memory: 128 << 20, Temp: 16 << 20},
		Require: []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Memory}}
}

// status writes the status of a pod, as a kubelet does.
func (c *realCluster) status(namespace, pod, status string) {
	c.Helper()
	c.Patch(pods(namespace)+"/"+pod+"/status", `{"status":`+status+`}`)
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
	c.Space("boxes")
	l := c.launcher("boxes", kubetest.Server)
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
	c.status("boxes", p.Metadata.Name, ran)
	c.says(<-result, tool.Unavailable, "API server of Kubernetes")
	if list, err := c.admin.list(t.Context(), "boxes", selector); err != nil || len(list) != 0 {
		t.Errorf("%d pods are left, %v", len(list), err)
	}

	for name, try := range map[string]struct{ status, want string }{
		"expired": {`{"phase":"Failed","reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}`, "DeadlineExceeded"},
		"image":   {`{"containerStatuses":[{"name":"sandbox","image":"i","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"ErrImagePull","message":"not found"}}}]}`, "cannot be pulled: not found"},
	} {
		result := c.launch(l, spec(name))
		c.status("boxes", c.only("boxes").Metadata.Name, try.status)
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
	c.Stop()
	c.Start()
	c.status("boxes", p.Metadata.Name, `{"phase":"Failed","reason":"Evicted","message":"low on memory"}`)
	c.says(<-result, tool.Unavailable, "Evicted: low on memory")

	// A watch from a version that etcd has compacted ends, and the pod is read again.
	if err := l.api.create(t.Context(), "boxes", l.pod(spec("old")), false); err != nil {
		t.Fatal(err)
	}
	old := c.only("boxes")
	for n := range 3 {
		c.status("boxes", old.Metadata.Name, fmt.Sprintf(`{"message":"change %d"}`, n))
	}
	body := fmt.Sprintf(`{"revision":%q,"physical":true}`, c.only("boxes").Metadata.ResourceVersion)
	if resp, err := http.Post(c.Etcd+"/v3/kv/compaction", "application/json", bytes.NewReader([]byte(body))); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	c.Stop()
	c.Start() // without the history of its cache
	err := l.api.watch(t.Context(), "boxes", old, func(pod) (bool, error) { return false, nil })
	if !errors.Is(err, errWatchEnded) {
		t.Errorf("a watch from an old version: %v", err)
	}
	l.reap(l.api)
	c.only("boxes") // it has not ended
	c.status("boxes", old.Metadata.Name, `{"phase":"Succeeded"}`)
	l.reap(l.api)
	if list, err := c.admin.list(t.Context(), "boxes", selector); err != nil || len(list) != 0 {
		t.Errorf("%d pods are left after a server has collected those that ended, %v", len(list), err)
	}

	// Refusals.
	_, err = c.launcher("boxes", kubetest.Nobody).Launch(t.Context(), spec("nobody"))
	c.says(err, tool.Unavailable, "lacks a right in the namespace boxes")
	_, err = c.launcher("boxes", "wrong-t").Launch(t.Context(), spec("wrong"))
	c.says(err, tool.Unavailable, "lacks a right")
	c.Send("POST", "/api/v1/namespaces/boxes/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}}}`)
	c.Send("PUT", "/api/v1/namespaces/boxes/resourcequotas/q/status", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}},"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}`)
	_, err = l.Launch(t.Context(), spec("quota"))
	c.says(err, tool.Busy, "the quota of the namespace boxes is used up")
	if err := c.admin.do(t.Context(), http.MethodDelete, "/api/v1/namespaces/boxes/resourcequotas/q", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.admin.do(t.Context(), http.MethodDelete, "/apis/networking.k8s.io/v1/namespaces/boxes/networkpolicies/deny", url.Values{}, nil, nil)
	_, err = l.Launch(t.Context(), spec("open"))
	c.says(err, tool.Unavailable, "cannot give the required guarantees of the sandbox: network")
	open := l.pod(spec("capable"))
	open.Spec.Containers[0].SecurityContext.Capabilities.Drop = nil
	c.says(l.explain(l.api.create(t.Context(), "boxes", open, false)), tool.Unavailable, "does not admit the pods of sandboxes")
	c.Stop()
	_, err = l.Launch(t.Context(), spec("gone"))
	c.says(err, tool.Unavailable, "cannot be reached")
	c.Start()
}
